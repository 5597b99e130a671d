// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The tables of a run. Each figure is printed as it comes, so that an error loses none of those before it.
package final class Report: Sendable {
    private let verdicts = Mutex<[String]>([])
    /// The tables that an error ended.
    private let broken = Mutex<[String]>([])

    package init() {}

    /// Prints a figure in the table that was begun.
    package func add(_ figure: Figure) {
        print(figure.row)
        if let verdict = figure.verdict { verdicts.withLock { $0.append(verdict) } }
        fflush(nil)
    }

    package func add(_ figures: [Figure]) {
        for figure in figures { add(figure) }
    }

    /// Begins a table, and fills it. An error ends this table alone.
    package func table(_ name: String, _ fill: (Report) async throws -> Void) async {
        print("\n### \(name)\n")
        print(Figure.head)
        let start = ContinuousClock.now
        do {
            try await fill(self)
        } catch {
            broken.withLock { $0.append(name) }
            note("\(name): \(error)")
        }
        fflush(nil)
        note("\(name): \(Figure.seconds(Measure.seconds(ContinuousClock.now - start)))")
    }

    /// Prints the goals, and the tables that are not whole.
    ///
    /// - Returns: the exit code.
    package func end() -> Int32 {
        print("\n### goals\n")
        for verdict in verdicts.withLock(\.self) { print("* \(verdict)") }
        let broken = broken.withLock(\.self)
        for name in broken { print("* not whole: \(name)") }
        return broken.isEmpty ? 0 : 1
    }
}

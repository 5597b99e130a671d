// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

@testable import Tresor
@testable import TresorCore

/// The number of cores.
let cores = Cores.count

/// Prints the tables of `Benchmarks/README.md`. Arguments: the built program, a directory to work in, and the names of
/// the tables, none for all.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("--") }
        guard let program = arguments.first, let directory = arguments.dropFirst().first else { usage() }
        let wanted = Set(arguments.dropFirst(2))
        let tables: [(name: String, figures: () async throws -> [Figure])] = [
            ("records", { try await Records.figures() }),
            ("many", { try await Many.figures() }),
            ("files", { try await Files(program, in: directory).figures() }),
            ("commands", { try await Files(program, in: directory).commands() }),
            ("tresors", { try await Tresors(program, in: directory).figures() }),
            ("plans", { try await Plans.figures(program, in: directory) }),
            ("logs", { try await Logs.figures() }),
            ("people", { try await People.figures(in: directory) }),
            ("approvals", { try await Approvals.figures(in: directory) }),
            ("passwords", { try await Passwords.figures() }),
            ("before", { try await Before(program, in: directory)?.figures() ?? [] }),
        ]
        guard wanted.isSubset(of: tables.map(\.name)) else { usage() }
        var verdicts: [String] = []
        for table in tables where wanted.isEmpty || wanted.contains(table.name) {
            print("\n### \(table.name)\n")
            print(Figure.head)
            let start = ContinuousClock.now
            let figures = try await table.figures()
            for figure in figures { print(figure.row) }
            verdicts += figures.compactMap(\.verdict)
            fflush(nil)
            note("\(table.name): \(Figure.seconds(Measure.seconds(ContinuousClock.now - start)))")
        }
        print("\n### goals\n")
        for verdict in verdicts { print("* \(verdict)") }
    }

    private static func usage() -> Never {
        print(
            "usage: Benchmarks/run [--processor-time] "
                + "[records|many|files|commands|tresors|plans|logs|people|approvals|passwords|before]…")
        exit(64)
    }
}

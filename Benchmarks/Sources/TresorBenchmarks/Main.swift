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
        guard let program = arguments.first, let directory = arguments.dropFirst().first else {
            print(
                "usage: TresorBenchmarks PROGRAM DIRECTORY [records|many|files|commands|tresors|logs|people|passwords]…"
            )
            exit(64)
        }
        let wanted = Set(arguments.dropFirst(2))
        let tables: [(name: String, figures: () async throws -> [Figure])] = [
            ("records", { try await Records.figures() }),
            ("many", { try await Many.figures() }),
            ("files", { try await Files(program, in: directory).figures() }),
            ("commands", { try await Files(program, in: directory).commands() }),
            ("tresors", { try await Tresors(program, in: directory).figures() }),
            ("logs", { try await Logs.figures() }),
            ("people", { try await People.figures(in: directory) }),
            ("passwords", { try await Passwords.figures() }),
        ]
        for table in tables where wanted.isEmpty || wanted.contains(table.name) {
            print("\n### \(table.name)\n")
            print("| work | time | beside | its time | ratio | goal | met |")
            print("|---|---|---|---|---|---|---|")
            let start = ContinuousClock.now
            for figure in try await table.figures() { print(figure.row) }
            fflush(nil)
            let elapsed = Figure.seconds(Measure.seconds(ContinuousClock.now - start))
            FileHandle.standardError.write(Data("\(table.name): \(elapsed)\n".utf8))
        }
    }
}

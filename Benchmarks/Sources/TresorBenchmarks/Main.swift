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
        let tables: [(name: String, fill: @Sendable (Report) async throws -> Void)] = [
            ("records", { $0.add(try await Records.figures()) }),
            ("many", { $0.add(try await Many.figures()) }),
            ("files", { $0.add(try await Files(program, in: directory).figures()) }),
            ("commands", { $0.add(try await Files(program, in: directory).commands()) }),
            ("tresors", { $0.add(try await Tresors(program, in: directory).figures()) }),
            ("plans", { try await Plans.measure(program, in: directory, for: $0) }),
            ("logs", { $0.add(try await Logs.figures()) }),
            ("people", { $0.add(try await People.figures(in: directory)) }),
            ("approvals", { $0.add(try await Approvals.figures(in: directory)) }),
            ("login", { try await Logins.measure(program, in: directory, for: $0) }),
            ("passwords", { $0.add(try await Passwords.figures()) }),
            ("before", { try await Before(program, in: directory)?.measure(for: $0) }),
        ]
        guard wanted.isSubset(of: tables.map(\.name)) else { usage() }
        let report = Report()
        for table in tables where wanted.isEmpty || wanted.contains(table.name) {
            await report.table(table.name, table.fill)
        }
        exit(report.end())
    }

    private static func usage() -> Never {
        print(
            "usage: Benchmarks/run [--processor-time] "
                + "[records|many|files|commands|tresors|plans|logs|people|approvals|login|passwords|before]…")
        exit(64)
    }
}

// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Measuring
import Serving

/// Prints the tables of the service of `Benchmarks/README.md`. Arguments: a directory to work in, and the names of the
/// tables, none for all; `A230` is a row of *hostile*. `Benchmarks/service` starts it, and what it compares the service with.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let directory = arguments.first, let site = Site(directory) else {
            usage()
        }
        guard wire_allow_files(12_000) == 0 else { throw LoadFailure("12000 open files are not allowed") }
        let words = Set(arguments.dropFirst())
        let rows = words.filter { $0.hasPrefix("A") }
        let wanted = words.subtracting(rows).union(rows.isEmpty ? [] : ["hostile"])
        let tables: [(name: String, fill: @Sendable (Report) async throws -> Void)] = [
            ("append", { $0.add(try await AppendLoad(site).figures()) }),
            ("length", { $0.add(try await LengthLoad(site).figures()) }),
            ("share", { try await ShareLoad(site).measure(for: $0) }),
            ("idle", { $0.add(try await IdleLoad(site).figures()) }),
            ("hostile", { try await HostileLoad(site, rows: rows).measure(for: $0) }),
        ]
        guard wanted.isSubset(of: tables.map(\.name)) else { usage() }
        let report = Report()
        for table in tables where wanted.isEmpty || wanted.contains(table.name) {
            await report.table(table.name, table.fill)
        }
        exit(report.end())
    }

    private static func usage() -> Never {
        print("usage: Benchmarks/service [append|length|share|idle|hostile [A230…]]…")
        exit(64)
    }
}

/// Runs `body` on so many threads at the same time, and returns the values in order.
func onThreads<Value: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Value) async throws -> [Value]
{
    try await withThrowingTaskGroup(of: (Int, Value).self) { group in
        for number in 0..<count {
            group.addTask {
                try await withCheckedThrowingContinuation { continuation in
                    let thread = Thread {
                        continuation.resume(with: Result { (number, try body(number)) })
                    }
                    thread.stackSize = 1 << 20
                    thread.start()
                }
            }
        }
        return try await group.reduce(into: [Int: Value]()) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(\.value)
    }
}

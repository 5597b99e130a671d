// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The table of records on random logs, beside that of `vectors/verify.py`, which is written from SPEC alone. Seeds 0 to
/// 999, or as many as `TRESOR_LOGS` says.
@Suite struct RecordTableTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func theTableAgreesWithTheSecondImplementation(batch: Int) throws {
        let seeds = seeds("TRESOR_LOGS", else: 1000, batch: batch, of: Self.batchCount)
        guard !seeds.isEmpty else { return }
        var lines: [String] = []
        var expected: [String] = []
        var conflicts = 0
        for seed in seeds {
            var dice = Dice(seed: seed)
            let commits = try Self.commits(using: &dice)
            lines.append(
                commits.flatMap { commit in commit.items.map { Self.line($0, at: commit.sequence) } }
                    .joined(separator: " "))
            let table = Self.table(commits)
            expected.append(Self.facts(table, commits))
            conflicts += table.names.count { table.heads(of: $0).count > 1 }
            // In any order of arrival it is the same.
            let late = Self.shuffled(commits, using: &dice)
            #expect(Self.facts(late, commits) == expected.last, "seed \(seed)")
        }
        let found = try Self.secondOpinion(lines)
        #expect(found.count == expected.count)
        for (seed, (one, two)) in zip(seeds, zip(expected, found)) where one != two {
            Issue.record("seed \(seed): \(one), but \(two)")
        }
        #expect(seeds.count < 100 || conflicts > seeds.count / 4)
    }

    /// An index has its rows by rising name, and all of them are checked before one is looked up.
    @Test func theRowsOfAnIndexAreInOrder() throws {
        func rows(_ names: [String], at revision: UInt64 = 4) throws -> [UInt8] {
            var encoder = ByteEncoder()
            for name in names {
                var table = RecordTable()
                table.take(.items([try Item(name, "text of \(name)")]), at: revision)
                var row = ByteEncoder()
                table.encode(into: &row)
                // Behind the number of void commits and that of rows.
                encoder.raw(row.bytes.dropFirst(8))
            }
            return encoder.bytes
        }
        let names = ["a", "b/\u{e9}", "b/\u{4e2d}", "event/1", "event/12", "event/2"]
        let whole = try rows(names)
        let index = try IndexedRows(whole, count: names.count, upto: 4)
        for name in names {
            let record = try Name(typed: name)
            #expect(index.versions(of: record)?.heads.map(\.revision) == [4])
            #expect(index.all[record]?.heads == index.versions(of: record)?.heads)
        }
        for name in ["A", "b", "b/\u{ea}", "event/", "event/11", "z"] {
            let record = try Name(typed: name)
            #expect(index.versions(of: record)?.heads == nil)
        }
        for end in whole.indices {
            #expect(error { _ = try IndexedRows(Array(whole[..<end]), count: names.count, upto: 4) } == .altered)
        }
        #expect(error { _ = try IndexedRows(whole, count: 5, upto: 4) } == .altered)
        #expect(error { _ = try IndexedRows(whole, count: 6, upto: 3) } == .altered)
        for wrong in [["a", "a"], ["b", "a"]] {
            let bytes = try rows(wrong)
            #expect(error { _ = try IndexedRows(bytes, count: 2, upto: 4) } == .altered)
        }
        #expect(try IndexedRows([], count: 0, upto: 0).all.isEmpty)
    }

    private struct Commit {
        let sequence: UInt64
        let items: [Item]
    }

    /// Devices that have seen much or little write a few records.
    private static func commits(using dice: inout Dice) throws -> [Commit] {
        var commits: [Commit] = []
        var sequence: UInt64 = 0
        for _ in 0..<Int.random(in: 1...12, using: &dice) {
            sequence += UInt64.random(in: 1...3, using: &dice)
            let seen = table(Array(commits.prefix(Int.random(in: 0...commits.count, using: &dice))))
            let names = Set((0..<Int.random(in: 1...3, using: &dice)).map { _ in Int.random(in: 0..<4, using: &dice) })
            let items = try names.sorted().map { number throws in
                let record = try Name(typed: "r\(number)")
                var replaces = seen.replacedNow(of: record)
                if Int.random(in: 0..<6, using: &dice) == 0, sequence > 1 {
                    replaces = Set(replaces + [UInt64.random(in: 0..<sequence, using: &dice)]).sorted()
                }
                let content: Item.Content =
                    switch Int.random(in: 0..<6, using: &dice) {
                    case 0: .deleted
                    case 1: .attachment(blob: 1, type: try Name(text: "t"))
                    default:
                        .bytes(
                            [UInt8.random(in: 0..<3, using: &dice)],
                            type: try Name(text: Bool.random(using: &dice) ? "t" : ""))
                    }
                return Item(
                    record: record, replaces: Array(replaces.prefix(16)), time: UInt64.random(in: 0..<4, using: &dice),
                    content: content)
            }
            commits.append(Commit(sequence: sequence, items: items))
        }
        return commits
    }

    private static func table(_ commits: [Commit]) -> RecordTable {
        var table = RecordTable()
        for commit in commits { table.take(.items(commit.items), at: commit.sequence) }
        return table
    }

    /// Some packs are missing at first and come later, in any order, some twice.
    private static func shuffled(_ commits: [Commit], using dice: inout Dice) -> RecordTable {
        var table = RecordTable()
        var late: [Commit] = []
        for commit in commits {
            let isLate = Bool.random(using: &dice)
            if isLate { late.append(commit) }
            table.take(isLate ? .missing(.altered) : .items(commit.items), at: commit.sequence)
        }
        for commit in late.shuffled(using: &dice) + commits { table.take(.items(commit.items), at: commit.sequence) }
        return table
    }

    @Test func anIndexHasEachVersionOnceAndNoRecordWithoutOne() throws {
        let name = try Name(text: "a")
        /// Reads an index of one record, whose versions are deletions.
        func table(_ revisions: [UInt64]) throws(TresorError) -> RecordTable {
            var encoder = ByteEncoder()
            encoder.integer(UInt32(0))
            encoder.integer(UInt32(1))
            encoder.vector16(name.bytes)
            encoder.list(revisions) { encoder, revision in
                encoder.integer(revision)
                encoder.integer(UInt64(0))
                encoder.integer(UInt32(0))
                encoder.integer(UInt8(0))
            }
            var decoder = ByteDecoder(encoder.bytes)
            return try RecordTable(from: &decoder, upto: 9)
        }
        #expect(try table([3, 9]).heads(of: name).map(\.revision) == [3, 9])
        for wrong in [[], [3, 3], [9, 3], [3, 10]] as [[UInt64]] {
            #expect(throws: TresorError.altered) { _ = try table(wrong) }
        }
    }

    private static func facts(_ table: RecordTable, _ commits: [Commit]) -> String {
        table.names.map { name in
            let aside = table.different(of: name).dropFirst()
            let rows = [
                [table.shown(of: name)?.revision ?? 0], table.heads(of: name).map(\.revision), aside.map(\.revision),
            ]
            return name.text + ":" + rows.map { $0.map(String.init).joined(separator: ",") }.joined(separator: ":")
        }.joined(separator: " ")
    }

    private static func line(_ item: Item, at sequence: UInt64) -> String {
        "\(sequence):" + item.bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// One line of facts for each line of items.
    private static func secondOpinion(_ lines: [String]) throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = FileManager.default.temporaryDirectory.appending(path: "tresor-tables-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", root.appending(path: "vectors/verify.py").path(percentEncoded: false), "--tables",
            file.path(percentEncoded: false),
        ]
        let output = Pipe()
        process.standardOutput = output
        process.environment = ProcessInfo.processInfo.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
    }
}

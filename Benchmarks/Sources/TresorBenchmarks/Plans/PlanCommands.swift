// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import TresorSQLite

@testable import TresorCore

/// Whole commands that put and get records, beside those that encrypt and decrypt files.
struct PlanCommands {
    private static let rounds = 21
    private static let setRounds = 9
    /// The records of a large set, and the bytes of each: a commit takes 1 MiB with their names.
    private static let set = (count: 1000, byteCount: 900)
    private static let heldCount = 10_000

    private let program: String
    private let directory: String

    init(_ program: String, in directory: String) {
        self.program = program
        self.directory = directory
    }

    func measure(for report: Report) async throws {
        report.add(try await one())
        report.add(try await set())
        try await held(for: report)
    }

    /// One record of 1 KiB, with another content each time.
    private func one() async throws -> Figure {
        let home = try CommandHome(program, in: "\(directory)/put")
        try home.run(["create", "interventions"])
        var content = ""
        let times = try await Measure.byTurns(
            Self.rounds, after: { content = try home.write(CareEvent.content($0, byteCount: 1024), to: "plan.json") }
        ) {
            try home.run(["put", "-t", "interventions", content])
        } _: {
            try home.run(["encrypt", "-t", "interventions", "-o", "\(home.folder)/sealed", content])
        }
        return Figure(
            work: "put 1 KiB", time: times.first, baseline: "encrypt 1 KiB", baselineTime: times.second,
            goal: .atMost(2))
    }

    /// Many records in one commit, beside one of them, each in a tresor that has none.
    private func set() async throws -> Figure {
        let home = try CommandHome(program, in: "\(directory)/set")
        var files: [String] = []
        for number in 0..<Self.set.count {
            files.append(
                try home.write(CareEvent.content(number, byteCount: Self.set.byteCount), to: "plan-\(number).json"))
        }
        var turn = 0
        let times = try await Measure.byTurns(
            Self.setRounds,
            after: { number in
                turn = number
                for name in ["one", "many"] { try home.run(["create", "\(name) \(number)"]) }
            }
        ) {
            try home.run(["put", "-t", "many \(turn)"] + files)
        } _: {
            try home.run(["put", "-t", "one \(turn)", files[0]])
        }
        return Figure(
            work: "put \(Self.set.count) records of \(Self.set.byteCount) bytes", time: times.first,
            baseline: "put one of them", baselineTime: times.second, goal: .atMost(3))
    }

    /// One of many records, beside a file of as many bytes.
    private func held(for report: Report) async throws {
        let home = try CommandHome(program, in: "\(directory)/get")
        let kinds = [
            (name: "nine", count: 9, byteCount: CareEvent.byteCount),
            (name: "five hundred", count: 500, byteCount: 1024),
        ]
        for name in kinds.map(\.name) + ["files"] { try home.run(["create", name]) }
        try await fill(home, kinds)
        try home.run(["sync"])
        for kind in kinds {
            let number = Self.heldCount / 2
            let sealed = "\(home.folder)/sealed-\(kind.count)"
            let content = try home.write(CareEvent.content(number, byteCount: kind.byteCount), to: "content")
            let name = try CareEvent.item(number).record.text
            try home.run(["encrypt", "-t", "files", "-o", sealed, content])
            let got = "\(home.folder)/got"
            let times = try await Measure.byTurns(Self.rounds, after: { _ in }) {
                try home.run(["get", "-t", kind.name, name, "-o", got])
            } _: {
                try home.run(["decrypt", "-o", "\(home.folder)/opened", sealed])
            }
            try Program("/usr/bin/cmp").run([content, got])
            report.add(
                Figure(
                    work: "get one of \(Self.heldCount) records of \(kind.byteCount) bytes, \(kind.name) in a commit",
                    time: times.first, baseline: "decrypt a file of as many bytes", baselineTime: times.second,
                    goal: .atMost(2)))
        }
    }

    /// Writes the records with the library. The store is closed when this returns.
    private func fill(
        _ home: CommandHome, _ kinds: [(name: String, count: Int, byteCount: Int)]
    ) async throws {
        let store = try await SQLiteStore.open(at: home.store, creating: false)
        let session = try await home.session(on: store)
        for kind in kinds {
            var writer = try await CommitWriter(session, try await session.tresor(kind.name).id)
            for start in stride(from: 0, to: Self.heldCount, by: kind.count) {
                let items = try (start..<min(start + kind.count, Self.heldCount)).map {
                    try CareEvent.item($0, byteCount: kind.byteCount)
                }
                try await writer.commit(items, to: store)
            }
        }
    }
}

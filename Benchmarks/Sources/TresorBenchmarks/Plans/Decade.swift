// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Foundation
import Measuring
import TresorSQLite

@testable import TresorCore
@testable import TresorCrypto

/// Ten years of a patient with fifty events a day, in six commits each day.
struct Decade {
    private static let commitCount = 21_915
    /// The events of each commit of a day.
    private static let day = [9, 8, 8, 9, 8, 8]
    private static let rounds = 3

    private let home: CommandHome
    private let folder: String

    init(_ program: String, in directory: String) throws {
        folder = "\(directory)/decade"
        home = try CommandHome(program, in: folder)
        try home.run(["create", "events"])
    }

    func measure(for report: Report) async throws {
        note("plans: writing \(Self.commitCount) commits")
        let (writer, byteCount) = try await write()
        try home.run(["sync"])
        report.add(try await fold(writer))
        report.add(try await compact(writer, byteCount))
    }

    /// - Returns: the log, and the bytes of all its records. The store is closed then.
    private func write() async throws -> (CommitWriter, byteCount: Int) {
        let store = try await SQLiteStore.open(at: home.store, creating: false)
        let session = try await home.session(on: store)
        var writer = try await CommitWriter(session, try await session.tresor("events").id)
        var (number, byteCount) = (0, 0)
        for commit in 0..<Self.commitCount {
            let count = Self.day[commit % Self.day.count]
            let items = try (number..<number + count).map { try CareEvent.item($0) }
            try await writer.commit(items, to: store)
            byteCount += items.reduce(0) { $0 + $1.bytes.count }
            number += count
        }
        return (writer, byteCount)
    }

    private func fold(_ writer: CommitWriter) async throws -> Figure {
        let (entries, tresor) = (writer.entries, writer.tresor)
        let message = Logs.signedByteCount(of: entries[1])
        let times = try await Measure.byTurns(Self.rounds) {
            _ = try Fold.state(of: entries, tresor: tresor)
        } _: {
            try Measure.onAllCores(entries.count) { baseline_verify($0, message) }
        }
        return Figure(
            work: "fold \(Self.commitCount) commits", time: times.first, baseline: "plain verification on all cores",
            baselineTime: times.second, goal: .atLeast(0.85))
    }

    /// The whole command, each time with home and store as they were before.
    private func compact(_ writer: CommitWriter, _ byteCount: Int) async throws -> [Figure] {
        let content = try home.write([UInt8](repeating: 0x20, count: byteCount), to: "content")
        let sealed = "\(folder)/sealed"
        try home.run(["encrypt", "-t", "events", "-o", sealed, content])
        let saved = "\(folder)/saved"
        try FileManager.default.createDirectory(atPath: saved, withIntermediateDirectories: true)
        try copy(from: folder, to: saved)
        var times: (compact: [Double], file: [Double], packs: [Double]) = ([], [], [])
        let state = try writer.state
        for _ in 0..<Self.rounds {
            try copy(from: saved, to: folder)
            times.compact.append(try await Measure.time { try home.run(["compact", "-t", "events", "--yes"]) })
            times.file.append(
                try await Measure.time {
                    try home.run(["decrypt", "-o", "\(folder)/opened", sealed])
                    try home.run(["encrypt", "-t", "events", "-o", "\(folder)/again", content])
                })
            times.packs.append(
                try await Measure.time { _ = try writer.open(writer.packs, of: writer.entries, in: state) })
        }
        let time = Measure.median(times.compact)
        return [
            Figure(
                work: "compact ten years of 50 events a day", time: time,
                baseline: "decrypt and encrypt a file of \(byteCount >> 20) MiB",
                baselineTime: Measure.median(times.file)),
            Figure(
                work: "compact ten years of 50 events a day", time: time,
                baseline: "opening its \(Self.commitCount) packs in memory, on one core",
                baselineTime: Measure.median(times.packs), goal: .atMost(3)),
        ]
    }

    /// Copies home and store, which nobody has open.
    private func copy(from source: String, to target: String) throws {
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: target) where name.hasPrefix("store.db") || name == "home" {
            try files.removeItem(atPath: "\(target)/\(name)")
        }
        for name in try files.contentsOfDirectory(atPath: source) where name.hasPrefix("store.db") || name == "home" {
            try files.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)")
        }
    }
}

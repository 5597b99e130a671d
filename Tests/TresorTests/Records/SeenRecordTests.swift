// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// A change replaces what its author saw, whatever the home has got since (SPEC §19.7).
@Suite struct SeenRecordTests {
    private func contents(_ name: String, _ records: Records) async throws -> [String] {
        try await records.versions(of: name).map { String(decoding: $0.content ?? [], as: UTF8.self) }.sorted()
    }

    @Test func whatCameUnseenStandsBesideTheChange() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        let device = scene.device(scene.home.copy())
        let records = device.records(in: scene.tresor)
        let known = try device.client.archive.verifiedState(of: scene.tresor)
        try await scene.put("plan", "unseen")
        let seen = try await HomeRecords(of: records).seen(at: known)
        _ = try await records.pull()
        try await records.change([.put("plan", "mine".utf8)], ifShown: [:], seen: seen)
        let mine = try #require(try await records.sync().commits.last)
        #expect(try await contents("plan", records) == ["mine", "unseen"])
        let listed = try await HomeRecords(of: records).versions(of: ["plan", "nothing"])
        #expect(listed[0].count == 2 && listed[0].contains { $0.revision == mine } && listed[1].isEmpty)
        #expect(listed[0].allSatisfy { $0.author == scene.anna.user && $0.isVerified && !$0.isDeletion })
        // A revision that is named counts as seen, and nothing else does.
        try await records.change([.put("plan", "named".utf8)], ifShown: ["plan": mine], seen: seen)
        _ = try await records.sync()
        #expect(try await contents("plan", records) == ["named", "unseen"])
        // A version that the home shows now is seen where nothing else is said.
        try await records.change([.put("plan", "all".utf8)])
        _ = try await records.sync()
        #expect(try await contents("plan", records) == ["all"])
    }

    @Test func aDeletionTakesAwayWhatWasSeen() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        let device = scene.device(scene.home.copy())
        let records = device.records(in: scene.tresor)
        let seen = try await HomeRecords(of: records).seen(at: nil)
        try await scene.put("plan", "unseen")
        try await scene.put("other", "unseen")
        _ = try await records.pull()
        try await records.change([.delete("plan")], ifShown: [:], seen: seen)
        #expect(await failure { try await records.change([.delete("other")], ifShown: [:], seen: seen) } == .notFound)
        _ = try await records.sync()
        #expect(try await contents("plan", records) == ["unseen"])
        let other = try await records.get("other").revision
        try await records.change([.delete("other")], ifShown: ["other": other], seen: seen)
        _ = try await records.sync()
        #expect(await failure { _ = try await records.get("other") } == .notFound)
    }

    @Test func whoHasReadNothingHasSeenNothing() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        let records = scene.device(scene.empty).records(in: scene.tresor)
        let seen = try await HomeRecords(of: records).seen(at: nil)
        try await records.change([.put("plan", "mine".utf8)], ifShown: [:], seen: seen)
        _ = try await records.sync()
        #expect(try await contents("plan", records) == ["first", "mine"])
    }

    /// The home read by volumes in whose place others are now. What they kept was seen all the same.
    @Test func whatEarlierVolumesKeptWasSeen() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.fill()
        _ = try await scene.records.compact()
        let device = scene.device(scene.empty)
        _ = try await device.records(in: scene.tresor).sync()
        let known = try device.client.archive.verifiedState(of: scene.tresor)
        try await scene.put("a", "a3")
        _ = try await scene.records.compact()
        _ = try await device.client.logs.state(of: scene.tresor)
        let records = device.records(in: scene.tresor)
        let seen = try await HomeRecords(of: records).seen(at: known)
        try await records.change([.put("a", "mine".utf8), .put("b", "b3".utf8)], ifShown: [:], seen: seen)
        #expect(try await records.sync().sentCount == 2)
        #expect(try await contents("a", records) == ["a3", "mine"])
        #expect(try await contents("b", records) == ["b3"])
    }

    @Test func aContentThatIsThereChangesNothing() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        let records = scene.records
        func effective(
            _ changes: [RecordChange], ifShown shown: [String: UInt64?] = [:]
        ) async throws -> [RecordChange] {
            let home = HomeRecords(of: records)
            return try await home.effective(changes, seen: try await home.seen(at: nil), ifShown: shown)
        }
        let new: [RecordChange] = [
            .put("plan", "second".utf8), .put("plan", "first".utf8, type: "text/plain"), .put("other", "first".utf8),
            .delete("plan"),
        ]
        #expect(try await effective(new + [.put("plan", "first".utf8)]) == new)
        // A condition counts, too.
        let refused = await failure { _ = try await effective([.put("plan", "first".utf8)], ifShown: ["plan": nil]) }
        #expect(refused == .busy)
        // The waiting change is there.
        try await records.put("plan", "second".utf8)
        #expect(try await effective([.put("plan", "second".utf8)]).isEmpty)
        #expect(try await effective([.put("plan", "first".utf8)]).count == 1)
        // Of several versions, none is there alone.
        let other = scene.device(scene.home.copy()).records(in: scene.tresor)
        _ = try await other.dropUnsent()
        try await other.put("plan", "third".utf8)
        _ = try await other.sync()
        _ = try await records.sync()
        #expect(try await contents("plan", records) == ["second", "third"])
        #expect(try await effective([.put("plan", "second".utf8)]).count == 1)
    }

    /// Somebody else has put another content since this home showed the first one.
    @Test func whatWasThereOnceIsNotThere() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        let home = HomeRecords(of: scene.records)
        let seen = try await home.seen(at: nil)
        try await scene.put("plan", "second", by: scene.house)
        let change: [RecordChange] = [.put("plan", "first".utf8)]
        // The log is known, and the pack is not there yet.
        _ = try await scene.anna.client.logs.state(of: scene.tresor)
        #expect(try await home.effective(change, seen: seen, ifShown: [:]) == change)
        _ = try await scene.records.sync()
        #expect(try await home.effective(change, seen: seen, ifShown: [:]) == change)
    }

    @Test func aNamedRevisionIsReplacedBeforeAllOthers() throws {
        var table = RecordTable()
        for sequence in UInt64(1)...20 {
            table.take(.items([try Item("plan", "\(sequence)", at: sequence)]), at: sequence)
        }
        let name = try Name(typed: "plan")
        #expect(table.replacedNow(of: name) == Array(5...20))
        #expect(table.replacedNow(of: name, and: 2) == [2] + Array(6...20))
        #expect(table.replacedNow(of: name, and: 20) == Array(5...20))
        #expect(table.replacedNow(of: name, and: 30) == Array(6...20) + [30])
        #expect(RecordTable().replacedNow(of: name, and: 7) == [7])
    }

    /// Without a store, what the home has is reported, and nothing is asked.
    @Test func whatTheHomeHasIsReportedWithoutAStore() async throws {
        let scene = try await CompactionTests.Scene()
        try await scene.put("plan", "first")
        try await scene.records.put("plan", "second".utf8)
        let head = try await scene.state().head.sequence
        _ = try await scene.anna.tresors.name(in: try await scene.state())
        let away = FaultyStore()
        away.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        let records = scene.device(scene.home.copy(), over: away).records(in: scene.tresor)
        let report = try await HomeRecords(of: records).report()
        #expect(report.head == head && report.isComplete && report.unsent == ["plan"])
        #expect(try await records.get("plan").content == Array("second".utf8))
    }
}

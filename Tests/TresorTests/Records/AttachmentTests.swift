// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Contents that are too large for a pack: on several devices, with and without a network (SPEC §8.5, §19.7).
@Suite struct AttachmentTests {
    private typealias Scene = AttachmentScene
    private static let large = AttachmentScene.content(70_000)

    @Test(arguments: [65_536, 65_537, 300_000, 1 << 20, (1 << 20) + 1])
    func aLargeContentReachesAnotherDevice(_ count: Int) async throws {
        let scene = try await Scene()
        let content = Scene.content(count)
        try await scene.records.put("scan", content, type: "image/png")
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(scene.isClean())
        #expect(try await scene.newest().count == (count > 65_536 ? 2 : 1))
        let second = scene.device(scene.other)
        #expect(try await second.sync().isComplete)
        let record = try await second.get("scan")
        #expect(record.content == content && record.type == "image/png" && record.author == scene.anna.user)
        #expect(scene.isClean(scene.other))
        // A second reading asks the store again: nothing of it was kept.
        scene.store.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        let without = await failure { _ = try await second.get("scan") }
        #expect(without == (count > 65_536 ? .store(.unreachable) : nil))
    }

    @Test func severalRecordsAreOneCommit() async throws {
        let scene = try await Scene()
        try await scene.records.put("d", "d".utf8)
        _ = try await scene.records.sync()
        let (b, c) = (Scene.content(70_000, 1), Scene.content(200_000, 2))
        try await scene.records.change([.put("c", c), .put("a", "a".utf8), .delete("d"), .put("b", b)])
        #expect(try await scene.records.sync().sentCount == 4)
        #expect(try await scene.newest().map(\.size).count == 3)
        let second = scene.device(scene.other)
        _ = try await second.sync()
        for (name, content) in [("a", Array("a".utf8)), ("b", b), ("c", c)] {
            #expect(try await second.get(name).content == content)
        }
        #expect(await failure { _ = try await second.get("d") } == .notFound)
    }

    @Test func aPullAndAListFetchNoAttachment() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.large, type: "image/png")
        let unsent = try #require(try await scene.records.list().records.first)
        #expect(unsent.size == .exactly(70_000) && unsent.type == "image/png" && unsent.state == .unsent)
        _ = try await scene.records.sync()
        let before = scene.calls("blob")
        let second = scene.device(scene.other)
        _ = try await second.pull()
        let listed = try #require(try await second.list().records.first)
        #expect(listed.type == "image/png")
        guard case .atMost(let most) = listed.size else { throw TresorError.failed(.other) }
        #expect(most >= 70_000 && most <= 70_000 * 17 / 16)
        let found = try await second.find("scan")
        #expect(found.content == nil && found.mostByteCount == most)
        #expect(try await second.versions(of: "scan").map(\.content) == [nil])
        #expect(scene.calls("blob") == before)
        #expect(try await second.get("scan").content == Self.large)
        #expect(scene.calls("blob") > before)
    }

    @Test func whatIsUnsentIsReadWithoutANetwork() async throws {
        let scene = try await Scene()
        let content = Scene.content((1 << 20) + 70_000)
        let down = FaultyStore(scene.store) { _ in .refusing(.store(.unreachable)) }
        let mine = scene.device(scene.home, over: down)
        try await mine.put("scan", content)
        #expect(scene.pieces() == [1: 2])
        #expect(try await mine.get("scan").content == content)
        // So it is for another program, whose identity has new keys by then.
        #expect(try await scene.device(scene.home, over: down).get("scan").content == content)
        #expect(await failure { _ = try await mine.sync() } == .store(.unreachable))
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(scene.isClean())
    }

    @Test func whatIsReplacedLeavesNothing() async throws {
        let scene = try await Scene()
        for mark in 0..<3 { try await scene.records.put("scan", Scene.content(70_000, UInt8(mark))) }
        #expect(scene.pieces().count == 1)
        #expect(try await scene.records.get("scan").content == Scene.content(70_000, 2))
        try await scene.records.put("scan", "small".utf8)
        #expect(scene.pieces().isEmpty)
        try await scene.records.put("scan", Self.large)
        try await scene.records.delete(["scan"])
        #expect(scene.pieces().isEmpty)
        try await scene.records.put("scan", Self.large)
        #expect(try await scene.records.dropUnsent() == ["scan"])
        #expect(scene.isClean())
    }

    /// A sent commit stays as it is, and a change that was made on top of it meanwhile comes behind it.
    @Test func aChangeOnTopOfWhatWasSentComesBehindIt() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.large)
        let losing = FaultyStore(scene.store) { $0.name == "append" ? .losingAnswer(.store(.unreachable)) : nil }
        #expect(try await scene.device(scene.home, over: losing).sync().held == .store(.unreachable))
        let newer = Scene.content(80_000, 9)
        try await scene.records.put("scan", newer)
        #expect(scene.pieces().count == 3)
        #expect(try await scene.records.sync().sentCount == 2)
        #expect(scene.isClean())
        let second = scene.device(scene.other)
        _ = try await second.sync()
        #expect(try await second.versions(of: "scan").count == 1)
        #expect(try await second.get("scan").content == newer)
    }

    @Test func overTheLimitsNothingIsWritten() async throws {
        let scene = try await Scene()
        _ = try await scene.records.sync()
        let before = scene.home.contents
        func refused(_ changes: [RecordChange]) async -> TresorError? {
            await failure { try await scene.records.change(changes) }
        }
        let many = (0..<1024).map { RecordChange.put("scan/\($0)", Self.large) }
        #expect(await refused(many) == .usage(.tooManyContents))
        #expect(await refused([.put("a", Self.large), .put("a", Self.large)]) == .usage(.namedTwice))
        #expect(await refused([.put("tresor/a", Self.large)]) == .usage(.nameCharacters))
        #expect(await refused([.put("a", Self.large, type: "tresor/pack")]) == .usage(.nameCharacters))
        #expect(await refused([.put("a", Self.large), .delete("b")]) == .notFound)
        #expect(scene.home.contents == before)
        #expect(await failure { try Attachments.checkHeld([1 << 39]) } == nil)
        #expect(await failure { try Attachments.checkHeld([1 << 38, (1 << 38) + 1]) } == .usage(.contentTooLong))
        #expect(await failure { try Attachments.checkHeld([.max, 1]) } == .usage(.contentTooLong))
        #expect(await failure { try Attachments.checkHeld([UInt64](repeating: 1, count: 1023)) } == nil)
        let tooMany = [UInt64](repeating: 1, count: 1024)
        #expect(await failure { try Attachments.checkHeld(tooMany) } == .usage(.tooManyContents))
    }

    @Test func aReaderTakesNothingIntoTheHome() async throws {
        let scene = try await Scene()
        let bob = try await scene.world.quick("bob")
        try scene.world.introduce(scene.anna, bob)
        try await scene.anna.share(scene.tresor, with: [bob], as: .reader)
        let home = try #require(bob.client.home as? MemoryHome)
        let records = bob.records(in: scene.tresor)
        #expect(await failure { try await records.put("scan", Self.large) } == .noAccess)
        #expect(scene.isClean(home))
    }

    /// A source that fails, and one whose task is cancelled, leave nothing.
    @Test func aSourceThatFailsLeavesNothing() async throws {
        let scene = try await Scene()
        var source = FailingSource(after: 1_100_000)
        #expect(await failure { _ = try await scene.records.attachments.hold(&source) } == .failed(.inputOutput))
        #expect(scene.isClean())
        let records = scene.records
        let task = Task { () async -> TresorError? in
            await failure {
                withUnsafeCurrentTask { $0?.cancel() }
                var source = MemorySource(Self.large)
                _ = try await records.attachments.hold(&source)
            }
        }
        #expect(await task.value == .cancelled)
        #expect(scene.isClean())
    }

    /// A content that another program writes is left alone, until that has said nothing for ten minutes.
    @Test func whatIsBeingWrittenIsLeftAlone() async throws {
        let scene = try await Scene()
        var source = MemorySource(Self.large)
        let held = try await scene.records.attachments.hold(&source)
        _ = try await scene.device(scene.home).sync()
        #expect(scene.pieces().count == 1)
        scene.world.clock.advance(by: Held.patience - 1)
        try await scene.device(scene.home).put("note", "x".utf8)
        #expect(scene.pieces().count == 1)
        scene.world.clock.advance(by: 1)
        _ = try await scene.device(scene.home).sync()
        #expect(scene.isClean())
        #expect(await failure { try await scene.records.change([.put("scan", held, type: "")]) } == .busy)
        #expect(try await scene.records.unsent() == [])
        // A clock that ran ahead when it began keeps nothing.
        scene.world.clock.advance(by: 86_400)
        var another = MemorySource(Self.large)
        _ = try await scene.records.attachments.hold(&another)
        #expect(scene.pieces().count == 1)
        scene.world.clock.now -= 86_400
        _ = try await scene.records.sync()
        #expect(scene.isClean())
    }

    /// While several contents are taken in, the first one waits as long as the others need.
    @Test func aContentWaitsForThoseBesideIt() async throws {
        let scene = try await Scene()
        var first = MemorySource(Self.large)
        let one = try await scene.records.attachments.hold(&first)
        var slow = SlowSource(Scene.content(3 << 20, 5), scene.world.clock, seconds: 250)
        let two = try await scene.records.attachments.hold(&slow, besides: [one])
        _ = try await scene.device(scene.home).sync()
        try await scene.records.change([.put("one", one, type: ""), .put("two", two, type: "")])
        #expect(try await scene.records.sync().sentCount == 2)
        #expect(try await scene.records.get("two").content == Scene.content(3 << 20, 5))
    }
}

/// A content that cannot be read to its end.
private struct FailingSource: ContentSource {
    var left: Int

    init(after count: Int) { left = count }

    mutating func read(into output: inout OutputRawSpan) throws(TresorError) {
        while output.freeCapacity > 0 {
            guard left > 0 else { throw .failed(.inputOutput) }
            left -= 1
            output.append(7)
        }
    }
}

/// A content of which each piece takes some time.
private struct SlowSource: ContentSource {
    private var base: MemorySource
    private let clock: TestClock
    private let seconds: UInt64

    init(_ bytes: [UInt8], _ clock: TestClock, seconds: UInt64) {
        base = MemorySource(bytes)
        self.clock = clock
        self.seconds = seconds
    }

    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        clock.advance(by: seconds)
        try await base.read(into: &output)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Attachments while keys change, people come and go, and owners compact (SPEC §8.5, §11.1, §19.5, §19.7).
@Suite struct AttachmentMemberTests {
    private typealias Scene = AttachmentScene
    private static let large = AttachmentScene.content(70_000)

    /// A frozen commit has an attachment of its epoch. Once its place is taken, the attachment is made again for the new one.
    @Test func aRotationMakesTheAttachmentAgain() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let first = try #require(try scene.theirs.outbox.read().sentAttachments.first)
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(scene.isClean(scene.houseHome))
        let blobs = try await scene.newest()
        #expect(blobs.count == 2 && blobs[1] != first.blob)
        _ = try await scene.records.sync()
        #expect(try await scene.records.get("scan").content == Self.large)
    }

    /// Every number is taken. What does not fit the new epoch leaves its number to what is made for it.
    @Test func aRotationNeedsNoNumberBesides() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        let until = scene.world.clock.now + Held.patience
        try await scene.theirs.outbox.change { (outbox) throws(TresorError) in
            for number in UInt16(3)...2046 { outbox[HeldNumber(number, mark: 7)] = .unfinished(until: until) }
        }
        let report = try await scene.theirs.sync()
        #expect(report.held == nil && report.sentCount == 1)
    }

    /// Another entry takes the place of what was sent, and the epoch stays: nothing is sealed or put again.
    @Test func aTakenPlaceKeepsTheAttachment() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let first = try #require(try scene.theirs.outbox.read().sentAttachments.first)
        try await scene.records.put("note", "x".utf8)
        _ = try await scene.records.sync()
        let before = scene.calls("putBlob")
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(try await scene.newest().last == first.blob)
        #expect(scene.calls("putBlob") == before)
        _ = try await scene.records.sync()
        #expect(try await scene.records.get("scan").content == Self.large)
    }

    @Test func aRenewalMakesTheAttachmentAgain() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let first = try #require(try scene.theirs.outbox.read().sentAttachments.first)
        let renewed = try scene.house.identity.renewCard(time: scene.world.clock.now)
        let newer = try await scene.world.settle(
            renewed.identity, previous: [renewed.previous], home: scene.houseHome)
        // Pieces that an earlier generation sealed open.
        #expect(try await newer.records(in: scene.tresor).get("scan").content == Self.large)
        try await newer.tresors.perform(.renew, on: scene.tresor)
        try scene.world.introduce(scene.anna, newer)
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        #expect(try await newer.records(in: scene.tresor).sync().sentCount == 1)
        #expect(scene.isClean(scene.houseHome))
        #expect(try await scene.newest().last != first.blob)
        _ = try await scene.records.sync()
        #expect(try await scene.records.get("scan").content == Self.large)
    }

    @Test func whoIsOutKeepsTheContentUntilItIsDropped() async throws {
        let scene = try await Scene()
        try await scene.records.put("plan", Self.large)
        _ = try await scene.records.sync()
        _ = try await scene.theirs.sync()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        #expect(scene.pieces(scene.houseHome).count == 2)
        try await scene.revoke()
        let report = try await scene.theirs.sync()
        #expect(report.isGone && report.unsent == ["scan"])
        // The attachment was sealed under the tresor's key.
        #expect(scene.pieces(scene.houseHome).count == 1)
        for name in ["plan", "scan"] {
            #expect(await failure { _ = try await scene.theirs.get(name) } == .noAccess)
        }
        #expect(try await scene.theirs.dropUnsent() == ["scan"])
        #expect(scene.isClean(scene.houseHome))
    }

    @Test func whoIsBackSendsWhatWasHeld() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.large)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        try await scene.revoke()
        #expect(try await scene.theirs.sync().isGone)
        try await scene.anna.share(scene.tresor, with: [scene.house], as: .writer, fromNow: true)
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(scene.isClean(scene.houseHome))
        _ = try await scene.records.sync()
        #expect(try await scene.records.get("scan").content == Self.large)
    }

    @Test func aDeletedTresorLeavesNothing() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Scene.content((1 << 20) + 9))
        let failing = scene.device(scene.home, over: scene.refusing("append"))
        #expect(try await failing.sync().held == .store(.unreachable))
        var source = MemorySource(Self.large)
        let held = try await scene.records.attachments.hold(&source)
        #expect(scene.pieces().count == 3)
        let deletion = Deletion(session: scene.anna)
        try await deletion.perform(try await deletion.plan(scene.tresor))
        #expect(scene.isClean())
        #expect(await failure { try await scene.records.change([.put("late", held, type: "")]) } != nil)
        #expect(scene.isClean())
    }

    /// A compaction keeps the attachments of what is shown and put aside, and deletes the others.
    @Test func aCompactionKeepsWhatIsShown() async throws {
        let scene = try await Scene()
        var blobs: [Blob] = []
        for mark in 1...2 {
            try await scene.records.put("scan", Scene.content(70_000, UInt8(mark)))
            _ = try await scene.records.sync()
            blobs.append(try #require(try await scene.newest().last))
        }
        try await scene.records.put("film", Self.large)
        _ = try await scene.records.sync()
        blobs.append(try #require(try await scene.newest().last))
        try await scene.records.delete(["film"])
        _ = try await scene.records.sync()
        #expect(try await scene.records.compact().checkpoint != nil)
        let reader = BlobReader(scene.store, scene.tresor)
        for (blob, isThere) in zip(blobs, [false, true, false]) { #expect(try await reader.has(blob) == isThere) }
        let second = scene.device(scene.other)
        #expect(try await second.sync().isComplete)
        let record = try await second.get("scan")
        #expect(record.content == Scene.content(70_000, 2) && record.vouchedBy == scene.anna.user)
        // A deletion and another compaction take the last one.
        try await scene.records.delete(["scan"])
        _ = try await scene.records.compact()
        #expect(try await !reader.has(blobs[1]))
    }

    @Test func anExportHasWhatVersionsNeed() async throws {
        let scene = try await Scene()
        let film = Scene.content(5 << 20, 3)
        for (name, content) in [("old", Self.large), ("film", film)] {
            try await scene.records.put(name, content)
            _ = try await scene.records.sync()
        }
        _ = try await scene.records.compact()
        try await scene.records.put("new", Scene.content(70_000, 4))
        _ = try await scene.records.sync()
        let exchange = scene.anna.client.exchange
        // The volume, the newest pack, and three attachments.
        let export = try TresorExport(try await exchange.export(scene.tresor).bytes)
        #expect(export.blobs.count == 5)
        #expect(try await exchange.export(scene.tresor, attachments: false).blobs.count == 2)
        let store = MemoryStore()
        let there = scene.device(scene.houseHome, over: store, of: scene.house)
        #expect(try await there.session.client.exchange.take(export).blobCount == 5)
        #expect(try await there.sync().isComplete)
        for (name, content) in [("old", Self.large), ("film", film), ("new", Scene.content(70_000, 4))] {
            #expect(try await there.get(name).content == content)
        }
        #expect(try await there.session.client.exchange.take(export).isNothing)
    }

    @Test func aCheckNamesRecordsWhoseContentIsLost() async throws {
        let scene = try await Scene()
        for (name, mark) in [("film", 1), ("scan", 2), ("scan", 3)] as [(String, UInt8)] {
            try await scene.records.put(name, Scene.content(600_000, mark))
            _ = try await scene.records.sync()
        }
        #expect(try await scene.records.check().lostContents == [])
        let last = try #require(try await scene.newest().last)
        let other = [UInt8](repeating: 1, count: StoredBlob.partByteCount)
        try await scene.store.putBlob(1, other, of: last.hash, in: scene.tresor)
        #expect(try await scene.records.check().lostContents == ["scan"])
        #expect(try await scene.records.check().lost == [])
        // A piece that no version needs any more is nobody's loss.
        try await scene.records.put("scan", "small".utf8)
        _ = try await scene.records.sync()
        #expect(try await scene.records.check().lostContents == [])
    }
}

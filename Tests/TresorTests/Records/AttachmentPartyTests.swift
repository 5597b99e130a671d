// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Attachments against a writer, an operator and the thief of an old seed (SPEC §8.5, §9.9, §11.1, §14.2).
@Suite struct AttachmentPartyTests {
    private typealias Scene = AttachmentScene

    private static func name(_ place: Int) -> String { "copy/\(1000 + place)" }

    /// House writes one attachment, then two commits of 200 records each that name it: each third with its size, the
    /// others with sizes that it does not have.
    private func flooded(_ count: Int) async throws -> (scene: Scene, blob: Blob, wrong: [String]) {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Scene.content(count))
        _ = try await scene.theirs.sync()
        let blob = try #require(try await scene.newest().last)
        var wrong: [String] = []
        for commit in 0..<2 {
            var (items, blobs): ([Item], [Blob]) = ([], [])
            for place in 0..<200 {
                let name = Self.name(200 * commit + place)
                if place % 3 > 0 { wrong.append(name) }
                items.append(
                    Item(
                        record: try Name(typed: name), replaces: [], time: 5,
                        content: .attachment(blob: UInt16(place + 1), type: .empty)))
                let others = UInt64(place % 3) * UInt64(1000 + place)
                blobs.append(Blob(hash: blob.hash, size: place % 3 == 2 ? blob.size - others : blob.size + others))
            }
            try await scene.commit(items, naming: blobs, by: scene.house)
        }
        #expect(try await scene.records.sync().isComplete)
        return (scene, blob, wrong)
    }

    /// Counts what is asked of a store about a blob: each part, and the whole.
    private func watch(_ scene: Scene, _ blob: Blob) -> CallCounts {
        let asked = CallCounts()
        scene.evil.showParts { hash, part, bytes in
            if hash == blob.hash { asked.count("\(part)") }
            return bytes
        }
        scene.evil.showBlobs { hash, bytes in
            if hash == blob.hash { asked.count("whole") }
            return bytes
        }
        return asked
    }

    /// A245: one attachment of some MiB, and entries of 40 bytes for each time that everybody reads it.
    @Test(arguments: [70_000, 600_000, 5 << 20]) func A245_aCheckReadsOnceWhatManyItemsName(_ count: Int) async throws {
        let (scene, blob, wrong) = try await flooded(count)
        let asked = watch(scene, blob)
        #expect(try await scene.records.check().lostContents == wrong)
        let counts = asked.counts
        #expect(counts.count == Int(blob.partCount) && Set(counts.values) == [1])
    }

    @Test(arguments: [70_000, 5 << 20]) func A245_anExportReadsOnceWhatManyItemsName(_ count: Int) async throws {
        let (scene, blob, _) = try await flooded(count)
        let asked = watch(scene, blob)
        let export = try await scene.anna.client.exchange.export(scene.tresor)
        let counts = asked.counts
        #expect(Set(counts.values) == [1])
        // The attachment, and three packs.
        #expect(export.blobs.count == 4)
        let carried = try TresorExport(export.bytes).namedBlobs()
        #expect(carried[blob] != nil)
    }

    /// A245: a pack that many commits name.
    @Test func A245_aCheckReadsOnceWhatManyCommitsName() async throws {
        let scene = try await Scene()
        let item = Item(record: try Name(typed: "a"), replaces: [], time: 5, content: .deleted)
        try await scene.commit([item], naming: [], by: scene.house)
        let pack = try #require(try await scene.newest().first)
        for place in 0..<8 {
            let named = Blob(hash: pack.hash, size: pack.size + UInt64(place % 2))
            try await scene.commit([item], naming: [], pack: named, by: scene.house)
        }
        _ = try await scene.records.sync()
        let asked = watch(scene, pack)
        #expect(try await scene.records.check().lost.count == 4)
        #expect(asked.counts == ["whole": 1])
    }

    /// A143: an operator shows one reader each part of an attachment but one. The reader names it, and reads everything
    /// else; nobody else notices anything.
    @Test func A143_partsThatOneReaderIsNotShownAreMissingForThatReaderAlone() async throws {
        let scene = try await Scene()
        let content = Scene.content(600_000)
        try await scene.records.put("scan", content)
        try await scene.records.put("note", "x".utf8)
        _ = try await scene.records.sync()
        let commits = try await CommitReader(client: scene.anna.client).commits(of: try await scene.state(), from: 0)
        let blobs = try commits.flatMap { try $0.body.blobs }
        let large = blobs.first { $0.size > 600_000 }
        let blob = try #require(large)
        let hiding = EvilStore(scene.store)
        let reader = scene.device(scene.houseHome, over: hiding, of: scene.house)
        _ = try await reader.sync()
        for hidden in 0..<blob.partCount {
            hiding.showParts { hash, part, bytes in hash == blob.hash && part == hidden ? nil : bytes }
            #expect(await failure { _ = try await reader.get("scan") } == .store(.withheld))
            var sink = MemorySink()
            let error = await failure { _ = try await reader.attachments.get("scan", to: &sink) }
            #expect(error == .store(.withheld))
            #expect(try await reader.get("note").content == Array("x".utf8))
            #expect(try await reader.sync().isComplete)
            #expect(try await reader.check().lostContents == ["scan"])
        }
        #expect(try await scene.records.get("scan").content == content)
        #expect(try await scene.records.check().lostContents == [])
        hiding.showParts { $2 }
        #expect(try await reader.get("scan").content == content)
    }

    /// A141, A150: the thief of an old seed has the home as it was when a commit was frozen. The keys were renewed since.
    /// Nothing of it comes into the log, and nothing that was held or sealed later opens.
    @Test func A141_A150_theThiefOfAnOldSeedSendsNothingThatIsUnsent() async throws {
        let scene = try await Scene()
        let (old, content) = (scene.house, Scene.content(70_000))
        try await scene.theirs.put("scan", content)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: old)
        #expect(try await failing.sync().held == .store(.unreachable))
        let before = try await scene.state()
        let oldKeys = try await old.keyRing.keys(of: before.epoch, in: before)
        let stolen = scene.houseHome.copy()
        let frozen = try #require(try scene.theirs.outbox.read().sent)
        let lost = try #require(try scene.theirs.outbox.read().sentAttachments.first)

        let renewed = try old.identity.renewCard(time: scene.world.clock.now)
        let newer = try await scene.world.settle(
            renewed.identity, previous: [renewed.previous], home: scene.houseHome)
        try await newer.tresors.perform(.renew, on: scene.tresor)
        try scene.world.introduce(scene.anna, newer)
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        let count = try await scene.state().entryCount

        // As it was frozen, and made anew by the old seed.
        let place = frozen.entry.sequence
        let late = LogChange(
            tresor: scene.tresor, sequence: place, previous: frozen.entry.previous, entry: frozen.entry.bytes,
            blobs: [StoredBlob(hash: lost.blob.hash, size: lost.blob.size, bytes: nil)])
        #expect(try await scene.store.append(late) == .conflict)
        let thief = scene.device(stolen, of: old)
        let refused = await failure {
            if let held = try await thief.sync().held { throw held }
        }
        #expect(refused == .noAccess)
        #expect(try await scene.state().entryCount == count)
        // Nor does a new commit for the place that is free now: nobody reads a log on which a store puts it.
        let now = try await scene.state()
        let made = try Entry(
            tresor: scene.tresor, sequence: now.head.sequence + 1, previous: now.head.hash, author: old.identity,
            time: scene.world.clock.now, body: .commit(CommitBody(epoch: now.epoch, blobs: [lost.blob])))
        var fold = Fold(state: now)
        let denied = error { try fold.apply(made.bytes) }
        #expect(denied == .noAccess)
        let lying = EvilStore(scene.store)
        lying.append(made.bytes)
        let reader = scene.device(scene.other, over: lying)
        let read = await failure { _ = try await reader.sync() }
        #expect(read == .noAccess)
        #expect(try await scene.device(scene.other).sync().isComplete)

        // The pieces that the person sends now, and those that the home holds now.
        let mine = newer.records(in: scene.tresor)
        #expect(try await mine.sync().sentCount == 1)
        let entry = try #require(
            try await CommitReader(client: scene.anna.client).commits(of: try await scene.state(), from: 0).last)
        let item = Item(
            record: try Name(typed: "scan"), replaces: [], time: 0, content: .attachment(blob: 1, type: .empty))
        let attachment = try #require(Attachment(of: item, in: entry))
        #expect(attachment.blob != lost.blob)
        let source = try BlobSource(attachment.blob, in: scene.store, of: scene.tresor)
        var sink = MemorySink()
        let state = try await scene.state()
        let opened = await failure {
            _ = try await attachment.openAttachment(source, with: oldKeys, in: state, to: &sink)
        }
        #expect(opened == .altered && sink.bytes.isEmpty)
        try await mine.put("film", Scene.content(70_000, 7))
        let sealed = try #require(scene.houseHome.read(.outbox(scene.tresor)))
        let number = try #require(try mine.outbox.read().held.first?.number)
        let piece = try #require(scene.houseHome.read(.unsent(scene.tresor, number: number.value, piece: 0)))
        #expect(await failure { _ = try Outbox(sealed: sealed, of: scene.tresor, as: old.identity) } == .altered)
        let opens = await failure {
            _ = try Outbox.openPiece(piece, 0, of: number, in: scene.tresor, as: old.identity)
        }
        #expect(opens == .altered)
    }
}

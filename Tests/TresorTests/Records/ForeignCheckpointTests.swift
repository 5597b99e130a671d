// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Checkpoints that other programs made (SPEC §19.5).
@Suite struct ForeignCheckpointTests {
    private let scene: CompactionTests.Scene

    init() async throws {
        scene = try await CompactionTests.Scene()
        try await scene.fill()
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
    }

    /// Appends an entry with its blob, whatever they say.
    @discardableResult private func append(
        by author: Session, _ make: (LogState, EpochKeys) throws -> (blob: [UInt8], body: (Blob) -> EntryBody)
    ) async throws -> UInt64 {
        let state = try await scene.state()
        let (bytes, body) = try make(state, try await author.keyRing.keys(of: state.epoch, in: state))
        let blob = try Blob(of: bytes)
        let entry = try Entry(
            tresor: scene.tresor, sequence: state.head.sequence + 1, previous: state.head.hash,
            author: author.identity, time: scene.world.clock.now, body: body(blob))
        let previous = try await scene.store.entries(of: scene.tresor, from: state.head.sequence, limit: 1)
        let change = LogChange(
            tresor: scene.tresor, sequence: entry.sequence, previous: previous.first, entry: entry.bytes,
            blobs: [StoredBlob(hash: blob.hash, size: blob.size, bytes: bytes)])
        #expect(try await scene.store.append(change) == .done)
        return entry.sequence
    }

    /// A checkpoint up to the head with one volume, by the other owner.
    private func checkpoint(_ kept: [Kept]) async throws -> UInt64 {
        let (late, time) = (scene.late, scene.world.clock.now)
        return try await append(by: late) { state, keys in
            let volume = try Volume(of: kept).seal(with: keys, at: state, by: late.identity, time: time)
            let (upto, epoch) = (state.head.sequence, state.epoch)
            return (
                volume.bytes, { .checkpoint(CheckpointBody(upto: upto, epoch: epoch, volumes: [$0])) }
            )
        }
    }

    /// A checkpoint that keeps one version of one record, with another content than its pack.
    private func falseCheckpoint() async throws -> UInt64 {
        _ = try await scene.records.sync()
        let revision = try #require(try await scene.records.get("a").revision)
        let item = Item(
            record: try Name(typed: "a"), replaces: [], time: 5, content: .bytes(Array("false".utf8), type: .empty))
        return try await checkpoint([Kept(sequence: revision, item: item)])
    }

    private func entries() async throws -> [Entry] {
        try await scene.store.entries(of: scene.tresor, from: 0, limit: 100).map { try Entry($0) }
    }

    /// The versions that no later one replaces, as a checkpoint keeps them.
    private func current() async throws -> [Kept] {
        _ = try await scene.records.sync()
        let view = try await scene.records.view()
        let packs = PackReader(client: scene.anna.client, tresor: scene.tresor)
        var kept: [Kept] = []
        for name in view.table.names {
            for head in view.table.heads(of: name) {
                let item = try view.item(of: name, at: head.revision, from: packs)
                kept.append(Kept(sequence: head.revision, item: item))
            }
        }
        return kept.sorted { ($0.sequence, $0.item.record) < ($1.sequence, $1.item.record) }
    }

    @Test func A147_packsAreNotDeletedForAFalseCheckpoint() async throws {
        let records = scene.records
        let sequence = try await falseCheckpoint()
        let stored = try await scene.stored()
        _ = try await records.sync()
        let unneeded = UnneededBlobs(session: scene.anna, view: try await records.view(), entries: try await entries())
        #expect(await failure { _ = try await unneeded.proved() } == .altered)
        #expect(try await scene.stored() == stored)
        let found = try await records.check()
        #expect(found.checkpoint == sequence && found.checkpointError == .altered)
        // Who has no pack takes the owner's word, and sees whose it is.
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await other.get("a").vouchedBy == scene.late.user)
        #expect(try await scene.text("a", records) == "a2")
        // Who has the packs makes a checkpoint that holds.
        let report = try await records.compact()
        #expect(report.checkpoint == sequence + 1 && report.keptCount == 4)
        #expect(try await records.check().checkpointError == nil)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("a", other) == "a2")
        #expect(try await other.get("a").vouchedBy == scene.anna.user)
    }

    @Test func A147_aPackThatIsMissingAboveHidesNoFalseCheckpoint() async throws {
        let sequence = try await falseCheckpoint()
        try await scene.put("e", "e1", by: scene.house)
        let lost = try #require(try await scene.blobs().max { $0.key < $1.key }?.value.first)
        try await scene.store.deleteBlobs([lost.hash], in: scene.tresor)
        #expect(try await !scene.records.sync().isComplete)
        let found = try await scene.records.check()
        #expect(found.checkpoint == sequence && found.lost == [sequence + 1] && found.checkpointError == .altered)
    }

    @Test func A147_whoReadsVolumesComparesThemBeforeTheEvidenceGoes() async throws {
        let sequence = try await falseCheckpoint()
        let device = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await device.sync().isComplete)
        #expect(try await scene.text("a", device) == "false")
        #expect(try await device.compact().checkpoint == sequence + 1)
        #expect(try await scene.text("a", device) == "a2")
    }

    @Test func A147_whoCannotHaveThePacksDeletesNoneForAnothersCheckpoint() async throws {
        let sequence = try await falseCheckpoint()
        let lost = try #require(try await scene.blobs().min { $0.key < $1.key }?.value.first)
        try await scene.store.deleteBlobs([lost.hash], in: scene.tresor)
        let stored = try await scene.stored()
        let device = scene.device(scene.empty).records(in: scene.tresor)
        #expect(await failure { _ = try await device.compact() } == .store(.withheld))
        // Nor does a new checkpoint make another's content one's own.
        try await scene.put("e", "e1", by: scene.house)
        #expect(await failure { _ = try await device.compact() } == .store(.withheld))
        #expect(Set(try await scene.stored()).isSuperset(of: stored))
        #expect(try await scene.state().checkpoint == sequence)
    }

    /// The packs went for the first checkpoint. The second one was never gone on with, and its owner does not come back.
    @Test func A147_volumesOfAnEarlierCheckpointTellWhatLaterOnesShouldSay() async throws {
        _ = try await scene.records.compact()
        try await scene.put("e", "e1", by: scene.house)
        let revision = try await scene.state().head.sequence
        let sequence = try await checkpoint(try await current())
        let before = try await scene.stored()
        let device = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await device.sync().isComplete)
        #expect(try await device.get("a").vouchedBy == scene.late.user)
        // Nothing is left to gain; what the second one replaced goes.
        let report = try await device.compact()
        #expect(report.checkpoint == nil && report.deletedCount == before.count - 1)
        #expect(before == [revision - 1, revision, sequence])
        #expect(try await scene.stored() == [sequence])
        #expect(try await scene.text("a", device) == "a2")
        #expect(try await scene.text("e", device) == "e1")
    }

    @Test func A147_volumesThatDifferFromThoseOfAnEarlierCheckpointAreMadeAnew() async throws {
        let first = try #require(try await scene.records.compact().checkpoint)
        try await scene.put("e", "e1", by: scene.house)
        var kept = try await current()
        let place = try #require(kept.firstIndex { $0.item.record.text == "a" })
        let item = Item(
            record: kept[place].item.record, replaces: [], time: 5, content: .bytes(Array("false".utf8), type: .empty))
        kept[place] = Kept(sequence: kept[place].sequence, item: item)
        let sequence = try await checkpoint(kept)
        let device = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await device.sync().isComplete)
        #expect(try await scene.text("a", device) == "false")
        #expect(try await device.compact().checkpoint == sequence + 1)
        #expect(try await scene.text("a", device) == "a2")
        #expect(try await scene.stored() == [sequence + 1] && first < sequence)
    }

    /// It had been replaced before the first checkpoint, says that one. Only its pack could tell.
    @Test func A147_aVersionThatAnEarlierCheckpointLeftOutIsNoProof() async throws {
        let first = try #require(try await current().first)
        _ = try await scene.records.compact()
        try await scene.put("e", "e1", by: scene.house)
        let old = Kept(sequence: first.sequence - 1, item: first.item)
        let sequence = try await checkpoint([old] + (try await current()))
        let device = scene.device(scene.empty)
        let records = device.records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        let known = try await records.view()
        try await RecordPull(session: device, state: known.state).fetchReplaced(known.checkpoints)
        let view = try await RecordView.read(at: known.state, from: nil, by: .earliest, of: device)
        let unneeded = UnneededBlobs(session: device, view: view, entries: try await entries())
        #expect(await failure { _ = try await unneeded.proved() } == .store(.withheld))
        #expect(try await records.compact().checkpoint == sequence + 1)
    }

    /// The deletion for the second checkpoint had begun with the volumes of the first one.
    @Test func A147_aDeletionThatBeganLeavesAnothersWordAlone() async throws {
        _ = try await scene.records.compact()
        try await scene.put("e", "e1", by: scene.house)
        _ = try await checkpoint(try await current())
        let first = try #require(try await scene.blobs().filter { $0.key > 10 }.min { $0.key < $1.key }?.value.first)
        try await scene.store.deleteBlobs([first.hash], in: scene.tresor)
        let stored = try await scene.stored()
        let device = scene.device(scene.empty).records(in: scene.tresor)
        #expect(await failure { _ = try await device.compact() } == .store(.withheld))
        #expect(try await scene.stored() == stored)
        // Who has read the records before goes on.
        _ = try await scene.records.compact()
        #expect(try await scene.stored().count == 1)
    }

    /// A pack that only later releases read makes the tresor incomplete, until a program that reads it made a checkpoint.
    @Test func aCheckpointStandsForAPackThatDoesNotOpenHere() async throws {
        let records = scene.records
        let kept = try await current()
        let (house, time) = (scene.house, scene.world.clock.now)
        try await append(by: house) { state, keys in
            let pack = try FileSealer.sealFile(
                [1, 0, 0], type: .pack, record: .empty, keys: keys, state: state, author: house.identity, time: time)
            let epoch = state.epoch
            return (pack.bytes, { .commit(CommitBody(epoch: epoch, blobs: [$0])) })
        }
        #expect(try await records.sync().isComplete == false)
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        _ = try await checkpoint(kept)
        #expect(try await records.sync().isComplete)
        #expect(try await records.get("a").vouchedBy == scene.late.user)
    }
}

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
    let scene: CompactionTests.Scene

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
        let change = LogChange(
            tresor: scene.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
            blobs: [StoredBlob(hash: blob.hash, size: blob.size, bytes: bytes)])
        #expect(try await scene.store.append(change) == .done)
        return entry.sequence
    }

    /// A checkpoint with one volume, by another owner; up to the head unless another entry is named.
    func checkpoint(_ kept: [KeptItem], by owner: Session? = nil, upto: UInt64? = nil) async throws -> UInt64 {
        let (owner, time) = (owner ?? scene.late, scene.world.clock.now)
        return try await append(by: owner) { state, keys in
            let volume = try Volume(of: kept).seal(with: keys, at: state, by: owner.identity, time: time)
            let (upto, epoch) = (upto ?? state.head.sequence, state.epoch)
            return (
                volume.bytes, { .checkpoint(CheckpointBody(upto: upto, epoch: epoch, volumes: [$0])) }
            )
        }
    }

    /// A checkpoint that keeps one version of one record, with another content than its pack.
    private func falseCheckpoint(by owner: Session? = nil) async throws -> UInt64 {
        _ = try await scene.records.sync()
        let revision = try #require(try await scene.records.get("a").revision)
        let item = Item(
            record: try Name(typed: "a"), replaces: [], time: 5, content: .bytes(Array("false".utf8), type: .empty))
        return try await checkpoint([KeptItem(sequence: revision, item: item)], by: owner)
    }

    private func entries() async throws -> [Entry] {
        try await scene.store.entries(of: scene.tresor, from: 0, limit: 100).map { try Entry($0) }
    }

    /// The versions that no later one replaces, as a checkpoint keeps them.
    func current() async throws -> [KeptItem] {
        _ = try await scene.records.sync()
        let view = try await scene.records.view()
        let packs = PackReader(client: scene.anna.client, tresor: scene.tresor)
        var kept: [KeptItem] = []
        for name in view.table.names {
            for head in view.table.heads(of: name) {
                let item = try view.item(of: name, at: head.revision, from: packs)
                kept.append(KeptItem(sequence: head.revision, item: item))
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
        // A reader without a pack takes the owner's word, and sees whose it is.
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await other.get("a").vouchedBy == scene.late.user)
        #expect(try await scene.text("a", records) == "a2")
        // A reader with the packs makes a checkpoint that holds.
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
        // The plan alone has read the packs.
        #expect(try await device.compact(isDryRun: true).volumeCount == 1)
        #expect(try await scene.text("a", device) == "a2")
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

    /// A thief of late's seed can renew late's keys too. Nobody has compared the new ones.
    @Test func A147_volumesByAKeyThatWasNotComparedAreNotSealedAgain() async throws {
        let renewed = try await scene.late.renewal.renew(password: password("late"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        let sequence = try #require(try await renewed.records(in: scene.tresor).compact().checkpoint)
        let device = scene.device(scene.empty)
        let records = device.records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        for isDryRun in [true, false] {
            #expect(await failure { _ = try await records.compact(isDryRun: isDryRun) } == .unverified)
        }
        // There is something to gain then, and still nothing is sealed again.
        try await records.put("e", "e1".utf8)
        #expect(await failure { _ = try await records.compact() } == .unverified)
        #expect(try await records.unsent() == [])
        #expect(try await scene.state().checkpoint == sequence)
        try device.client.people.pinBlocking(renewed.identity.chain)
        #expect(try await records.compact().keptCount == 5)
        #expect(try await scene.text("a", records) == "a2")
    }

    /// A thief of anna's seed made a checkpoint before she replaced it. A new device of hers has no pack.
    @Test func A147_whatOnesFormerKeySaysIsComparedToo() async throws {
        let sequence = try await falseCheckpoint(by: scene.anna)
        let device = scene.device(scene.empty)
        let renewed = try await device.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        let records = renewed.records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        #expect(try await scene.text("a", records) == "false")
        let blobs = try await scene.blobs().filter { $0.key < sequence }
        let lost = try #require(blobs.min { $0.key < $1.key }?.value.first)
        let pack = try #require(try await BlobReader(scene.store, scene.tresor).read([lost])[lost])
        // As long as a pack is lacking, nothing of it is sealed by the new key.
        try await scene.store.deleteBlobs([lost.hash], in: scene.tresor)
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(try await scene.state().checkpoint == sequence)
        try await scene.store.putBlob(0, pack, of: lost.hash, in: scene.tresor)
        #expect(try await records.compact().keptCount == 4)
        #expect(try await scene.text("a", records) == "a2")
    }

    /// Packs went for a checkpoint of anna's. House made the next one, and nobody has gone on with it.
    private func unfinished(_ change: (inout [KeptItem]) throws -> Void = { _ in }) async throws -> UInt64 {
        try await scene.anna.share(scene.tresor, with: [scene.house], as: .owner)
        _ = try await scene.records.compact()
        try await scene.put("e", "e1", by: scene.house)
        var kept = try await current()
        try change(&kept)
        return try await checkpoint(kept, by: scene.house)
    }

    @Test func A147_volumesOfAnEarlierCheckpointTellWhatLaterOnesShouldSay() async throws {
        let sequence = try await unfinished()
        let records = scene.late.records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        #expect(try await records.get("a").vouchedBy == scene.house.user)
        // Their own takes its place: with the earlier volumes, what it was compared with goes.
        #expect(try await records.compact().checkpoint == sequence + 1)
        #expect(try await scene.stored() == [sequence + 1])
        #expect(try await scene.text("a", records) == "a2")
        #expect(try await scene.text("e", records) == "e1")
        #expect(try await records.get("a").vouchedBy == scene.late.user)
    }

    @Test func A147_ofTwoThatOthersMadeNoneIsBelievedAgainstTheOther() async throws {
        let sequence = try await unfinished { kept in
            let place = try #require(kept.firstIndex { $0.item.record.text == "a" })
            let item = Item(
                record: kept[place].item.record, replaces: [], time: 5,
                content: .bytes(Array("false".utf8), type: .empty))
            kept[place] = KeptItem(sequence: kept[place].sequence, item: item)
        }
        let stored = try await scene.stored()
        let records = scene.late.records(in: scene.tresor)
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(try await scene.state().checkpoint == sequence)
        #expect(try await scene.stored() == stored)
        // A reader with the packs tells.
        #expect(try await scene.records.compact().checkpoint == sequence + 1)
        #expect(try await records.sync().isComplete)
        #expect(try await scene.text("a", records) == "a2")
    }

    /// A checkpoint may keep a version that a later one replaced. Of one that earlier volumes left out, only the pack
    /// could tell.
    @Test func A147_whatEarlierVolumesLeftOutIsNotTaken() async throws {
        _ = try await scene.records.sync()
        let view = try await scene.records.view()
        let packs = PackReader(client: scene.anna.client, tresor: scene.tresor)
        let first = try #require(view.commits.keys.min())
        let entry = try #require(try await entries().first { $0.isCommit && $0.sequence < first })
        let old = KeptItem(sequence: entry.sequence, item: try #require(try view.items(of: entry, from: packs).first))
        let sequence = try await unfinished { $0.insert(old, at: 0) }
        let records = scene.late.records(in: scene.tresor)
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(try await scene.records.check().checkpointError == nil)
        #expect(try await scene.records.compact().checkpoint == nil)
        #expect(try await scene.stored() == [sequence])
    }

    /// The deletion for the second checkpoint had begun with the volumes of the first one.
    @Test func A147_aDeletionThatBeganLeavesAnothersWordAlone() async throws {
        let sequence = try await unfinished()
        let earlier = try #require(try await scene.stored().min())
        let volumes = try #require(try await scene.blobs()[earlier])
        try await scene.store.deleteBlobs(volumes.map(\.hash), in: scene.tresor)
        let stored = try await scene.stored()
        let records = scene.late.records(in: scene.tresor)
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(try await scene.stored() == stored)
        // A reader who has read the records before goes on.
        #expect(try await scene.records.compact().checkpoint == nil)
        #expect(try await scene.stored() == [sequence])
    }

    /// Packs that an earlier, false checkpoint needs may come to the store again.
    @Test func A147_anEarlierCheckpointIsNotBelievedAgainstOnesOwn() async throws {
        let sequence = try await falseCheckpoint()
        let volumes = try #require(try await scene.blobs()[sequence])
        let volume = try #require(try await BlobReader(scene.store, scene.tresor).read(volumes)[volumes[0]])
        try await scene.put("e", "e1", by: scene.house)
        let packs = try #require(try await scene.blobs()[sequence + 1])
        let pack = try #require(try await BlobReader(scene.store, scene.tresor).read(packs)[packs[0]])
        let own = try #require(try await scene.records.compact().checkpoint)
        for (blob, bytes) in [(volumes[0], volume), (packs[0], pack)] {
            try await scene.store.putBlob(0, bytes, of: blob.hash, in: scene.tresor)
        }
        let device = scene.device(scene.empty).records(in: scene.tresor)
        _ = try await device.compact()
        #expect(try await scene.state().checkpoint == own)
        for name in ["a", "b", "c"] { #expect(try await scene.text(name, device) == "\(name)2") }
        #expect(try await scene.text("e", device) == "e1")
    }

    /// No commit lies between the checkpoints, so no pack is left that could tell.
    @Test func A147_volumesAloneTellWhatAFalseCheckpointShouldSay() async throws {
        _ = try await scene.records.compact()
        let sequence = try await falseCheckpoint()
        let records = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        #expect(try await records.compact().checkpoint == sequence + 1)
        for name in ["a", "b", "c"] { #expect(try await scene.text(name, records) == "\(name)2") }
        #expect(try await scene.stored() == [sequence + 1])
    }

    @Test func A147_volumesThatTellMoreStayInTheHome() async throws {
        let own = try #require(try await scene.records.compact().checkpoint)
        let records = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        let sequence = try await falseCheckpoint()
        let volumes = try #require(try await scene.blobs()[own])
        try await scene.store.deleteBlobs(volumes.map(\.hash), in: scene.tresor)
        #expect(try await records.sync().isComplete)
        #expect(try await records.compact().checkpoint == sequence + 1)
        for name in ["a", "b", "c"] { #expect(try await scene.text(name, records) == "\(name)2") }
    }

    /// No pack is left. A device with volumes of its own reads by these, and a deep check names the false ones.
    @Test func A147_onesOwnEarlierVolumesAreReadAndCompared() async throws {
        _ = try await scene.records.compact()
        let stranger = scene.device(scene.empty.copy()).records(in: scene.tresor)
        let records = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        #expect(try await records.check().checkpointError == nil)
        let sequence = try await falseCheckpoint()
        for _ in 0..<2 { #expect(try await records.sync().isComplete) }
        for name in ["a", "b", "c"] { #expect(try await scene.text(name, records) == "\(name)2") }
        #expect(try await records.get("a").vouchedBy == scene.anna.user)
        let found = try await records.check()
        #expect(found.checkpoint == sequence && found.checkpointError == .altered)
        // A reader who has nothing else takes the owner's word.
        #expect(try await stranger.sync().isComplete)
        #expect(try await scene.text("a", stranger) == "false")
        #expect(try await stranger.check().checkpointError == nil)
    }

    @Test func whatAnotherOwnerSealedTrulyTakesThePlaceOfOnesOwnVolumes() async throws {
        let own = try #require(try await scene.records.compact().checkpoint)
        let records = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        try await scene.put("e", "e1", by: scene.house)
        #expect(try await records.sync().isComplete)
        _ = try await scene.late.records(in: scene.tresor).compact()
        #expect(try await records.sync().isComplete)
        for name in ["a", "e"] { #expect(try await records.get(name).vouchedBy == scene.late.user) }
        #expect(scene.empty.read(.volume(scene.tresor, checkpoint: own, number: 0)) == nil)
        #expect(try await records.check().checkpointError == nil)
    }

    /// A checkpoint of late's whose volume nobody can open.
    private func senseless() async throws -> UInt64 {
        try await append(by: scene.late) { state, _ in
            let (upto, epoch) = (state.head.sequence, state.epoch)
            return (
                [UInt8](repeating: 7, count: 700),
                { .checkpoint(CheckpointBody(upto: upto, epoch: epoch, volumes: [$0])) }
            )
        }
    }

    /// The store has every pack, or a home has volumes of its own.
    @Test(arguments: [true, false]) func volumesThatDoNotOpenShutNobodyOut(hasPacks: Bool) async throws {
        let records = scene.device(scene.empty).records(in: scene.tresor)
        _ = try await scene.records.sync()
        if !hasPacks {
            _ = try await scene.records.compact()
            _ = try await records.sync()
        }
        let sequence = try await senseless()
        #expect(try await records.sync().isComplete)
        #expect(try await scene.text("a", records) == "a2")
        let report = try await records.compact()
        #expect(report.checkpoint == sequence + 1, "\(report) \(sequence)")
        let stored = try await scene.stored()
        #expect(stored == [sequence + 1])
    }

    /// Nothing is deleted for a checkpoint that came behind one's own, before it was compared too.
    @Test func A147_aFalseCheckpointBehindOnesOwnIsCompared() async throws {
        _ = try await scene.records.sync()
        let item = Item(
            record: try Name(typed: "a"), replaces: [], time: 5, content: .bytes(Array("false".utf8), type: .empty))
        let appended = CallCounts()
        let store = FaultyStore(scene.store) { call in
            if call.name == "append" { appended.count("append") }
            guard call.name == "entries", appended.counts["append"] == 1 else { return nil }
            appended.count("append")
            try? await scene.put("e", "e1", by: scene.house)
            guard let revision = try? await scene.state().head.sequence else { return nil }
            _ = try? await checkpoint([KeptItem(sequence: revision, item: item)])
            return nil
        }
        let records = scene.device(scene.home, over: store).records(in: scene.tresor)
        #expect(await failure { _ = try await records.compact() } == .altered)
        #expect(appended.counts["append"] == 2)
        #expect(try await scene.stored().count == 11)
        #expect(try await scene.records.compact().checkpoint != nil)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("e", other) == "e1")
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

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// A compaction gives the store volumes one after another, and takes many blobs from it (SPEC §19.7).
@Suite struct CompactionDeletionTests {
    private typealias Scene = CompactionTests.Scene

    /// Appends a commit of one record with attachments that no item names.
    private func commit(_ record: String, attachmentCount: Int, in scene: Scene) async throws -> [Hash256] {
        let (state, time) = (try await scene.state(), scene.world.clock.now)
        let keys = try await scene.anna.keyRing.keys(of: state.epoch, in: state)
        let items = [try Item(record, "one")]
        var contents = [
            try Pack.sealPack(items, with: keys, at: state, by: scene.anna.identity, time: time).bytes
        ]
        for number in 0..<attachmentCount {
            let mark = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
            contents.append([UInt8](repeating: 7, count: 672) + mark)
        }
        var blobs: [StoredBlob] = []
        for bytes in contents {
            let blob = try Blob(of: bytes)
            blobs.append(StoredBlob(hash: blob.hash, size: blob.size, bytes: bytes))
        }
        let body = CommitBody(epoch: state.epoch, blobs: blobs.map { Blob(hash: $0.hash, size: $0.size) })
        let entry = try Entry(
            tresor: scene.tresor, sequence: state.head.sequence + 1, previous: state.head.hash,
            author: scene.anna.identity, time: time, body: .commit(body))
        let change = LogChange(
            tresor: scene.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
            blobs: blobs)
        #expect(try await scene.store.append(change) == .done)
        return blobs.map(\.hash)
    }

    /// How many of some blobs a store has.
    private func count(of blobs: [Hash256], in scene: Scene) async throws -> Int {
        var count = 0
        for blob in blobs where try await scene.store.blob(blob, part: 0, in: scene.tresor) != nil { count += 1 }
        return count
    }

    /// A store whose second deletion fails.
    private func failingTwice(_ scene: Scene) -> FaultyStore {
        let counts = CallCounts()
        return FaultyStore(scene.store) { call in
            guard call.name == "deleteBlobs" else { return nil }
            counts.count("deleteBlobs")
            return counts.counts["deleteBlobs"] == 2 ? .refusing(.store(.unreachable)) : nil
        }
    }

    @Test func moreBlobsThanAreDeletedAtOnceAreDeleted() async throws {
        let scene = try await Scene()
        let blobs = try await commit("a", attachmentCount: 300, in: scene)
        try await scene.put("b", "b1")
        let calls = scene.store.calls.count
        let report = try await scene.records.compact()
        #expect(report.keptCount == 2 && report.recordCount == 2 && report.deletedCount == 302)
        // Each pack has at least as many bytes.
        #expect(report.deletedByteCount >= 302 * 674)
        let deletions = scene.store.calls.dropFirst(calls).filter { $0.name == "deleteBlobs" }
        #expect(deletions.count == 2)
        #expect(try await count(of: blobs, in: scene) == 0)
        #expect(try await scene.stored() == [try #require(report.checkpoint)])
    }

    /// The packs go last. As long as one is there, the next compaction knows that the deletion was not ended.
    @Test func aDeletionThatEndsBetweenTwoBatchesIsGoneOnWith() async throws {
        let scene = try await Scene()
        let blobs = try await commit("a", attachmentCount: 300, in: scene)
        try await scene.put("b", "b1")
        let device = scene.device(scene.home, over: failingTwice(scene))
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } == .store(.unreachable))
        #expect(try await count(of: blobs, in: scene) == 45)
        let plan = try await scene.records.compactionPlan().report
        #expect(plan.volumeCount == 0 && plan.deletedCount == 302)
        #expect(try await scene.records.compact().checkpoint == nil)
        #expect(try await count(of: blobs, in: scene) == 0)
        #expect(try await scene.records.compact(isDryRun: true).deletedCount == 0)
    }

    @Test func ofTwoAttachmentsOfOnePackTheReplacedOneGoes() async throws {
        let scene = try await Scene()
        let contents = (0..<3).map { AttachmentScene.content(70_000, UInt8($0)) }
        let records = scene.records
        try await records.change([.put("photo", contents[0]), .put("scan", contents[1])])
        _ = try await records.sync()
        let first = try await scene.blobs().values.first { $0.count == 3 }
        let blobs = try #require(first).map(\.hash)
        try await records.put("scan", contents[2])
        _ = try await records.sync()
        let report = try await records.compact()
        #expect(report.keptCount == 2 && report.deletedCount == 3)
        var there: [Bool] = []
        for blob in blobs { there.append(try await count(of: [blob], in: scene) == 1) }
        // The pack, the photo and the first scan.
        #expect(there == [false, true, false])
        let other = scene.device(scene.empty).records(in: scene.tresor)
        _ = try await other.sync()
        #expect(try await other.get("photo").content == contents[0])
        #expect(try await other.get("scan").content == contents[2])
        // The next one keeps it again, and takes it once it is deleted. What is long gone counts no more.
        try await records.put("note", "x".utf8)
        _ = try await records.sync()
        let planned = try await records.compact(isDryRun: true)
        #expect(planned.deletedCount == 2)
        #expect(try await records.compact().deletedCount == 2)
        #expect(try await count(of: [blobs[1]], in: scene) == 1)
        try await records.delete(["photo"])
        #expect(try await records.compact().deletedCount == 3)
        #expect(try await count(of: [blobs[1]], in: scene) == 0)
    }

    /// Twenty records that fill two volumes.
    private func fillTwoVolumes(_ scene: Scene) async throws {
        let content = [UInt8](repeating: 9, count: Item.maximumContentByteCount)
        for first in [0, 10] {
            try await scene.records.change((first..<(first + 10)).map { .put("scan/\($0 + 10)", content) })
            _ = try await scene.records.sync()
        }
    }

    @Test func eachVolumeIsInTheStoreBeforeTheNextOneAndTheEntryLast() async throws {
        let scene = try await Scene()
        try await fillTwoVolumes(scene)
        let store = VolumeStore(truth: scene.store)
        let report = try await scene.device(scene.home, over: store).records(in: scene.tresor).compact()
        #expect(report.volumeCount == 2)
        let checkpoint = try #require(report.checkpoint)
        let blobs = try await scene.blobs()[checkpoint] ?? []
        #expect(store.hashes == blobs.map(\.hash))
        // The entry brings none itself.
        #expect(store.sentByteCount == 0)
        #expect(try await scene.stored() == [checkpoint])
    }

    @Test func aStoreThatFailsBetweenTwoVolumesKeepsEveryPack() async throws {
        let scene = try await Scene()
        try await fillTwoVolumes(scene)
        let (count, stored) = (try await scene.state().entryCount, try await scene.stored())
        let counts = CallCounts()
        let faulty = FaultyStore(scene.store) { call in
            guard call.name == "putBlob" else { return nil }
            counts.count("putBlob")
            return counts.counts["putBlob"] == 6 ? .refusing(.store(.unreachable)) : nil
        }
        let store = VolumeStore(truth: faulty)
        let device = scene.device(scene.home, over: store).records(in: scene.tresor)
        #expect(await failure { _ = try await device.compact() } == .store(.unreachable))
        #expect(try await scene.state().entryCount == count)
        #expect(try await scene.stored() == stored)
        // The first one is there no more: no entry names it.
        #expect(store.hashes.count == 2)
        #expect(try await self.count(of: store.hashes, in: scene) == 0)
        #expect(try await scene.records.compact().checkpoint == count)
        #expect(try await scene.stored() == [count])
    }

    /// The volumes that were put and that no entry names, as far as the store has them.
    private func strayVolumes(of store: VolumeStore, in scene: Scene) async throws -> Int {
        let named = Set(try await scene.blobs().values.joined().map(\.hash))
        return try await count(of: store.hashes.filter { !named.contains($0) }, in: scene)
    }

    /// It is cancelled at each call to the store in turn.
    @Test func aCancelledCompactionLeavesNoVolumeBehind() async throws {
        var putCount = 0
        for point in 0... {
            let scene = try await Scene()
            try await scene.fill()
            let cancellation = CallCancellation(of: scene.store, at: point)
            let store = VolumeStore(truth: cancellation.store)
            let records = scene.device(scene.home, over: store).records(in: scene.tresor)
            let error = await Task { await failure { _ = try await records.compact() } }.value
            if error != nil, !store.hashes.isEmpty { putCount += 1 }
            #expect(try await strayVolumes(of: store, in: scene) == 0, "\(point)")
            guard cancellation.hasCome else { break }
            _ = try await scene.records.compact()
            #expect(try await scene.stored() == [try await scene.state().checkpoint], "\(point)")
        }
        #expect(putCount > 1)
    }

    /// The home is full, or fails, at each of its writes in turn.
    @Test func aHomeThatFailsLeavesNoVolumeBehind() async throws {
        for writes in 0..<12 {
            let scene = try await Scene()
            try await scene.fill()
            let store = VolumeStore(truth: scene.store)
            scene.home.fill(after: writes)
            let device = scene.device(scene.home, over: store).records(in: scene.tresor)
            _ = await failure { _ = try await device.compact() }
            scene.home.fill(after: nil)
            #expect(try await strayVolumes(of: store, in: scene) == 0, "\(writes)")
        }
    }

    /// House changes a record whenever a checkpoint is sent. What was sealed serves again, as long as it says what it has
    /// to.
    @Test func onABusyTresorWhatWasSealedServesAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let (counts, house) = (CallCounts(), scene.house.records(in: scene.tresor))
        let busy = FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            guard let count = counts.counts["append"], count < 5 else { return nil }
            try? await house.put("a", "busy \(count)".utf8)
            _ = try? await house.sync()
            return nil
        }
        let store = VolumeStore(truth: busy)
        let records = scene.device(scene.home, over: store).records(in: scene.tresor)
        let report = try await records.compact()
        #expect(counts.counts["append"] == 5 && store.hashes.count == 2)
        let checkpoint = try #require(report.checkpoint)
        // It stands for the first of these changes, and three came behind that.
        #expect(report.upto == checkpoint - 4 && report.keptCount == 4)
        #expect(try await strayVolumes(of: store, in: scene) == 0)
        #expect(try await records.check().checkpointError == nil)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("a", other) == "busy 4")
        #expect(try await scene.text("b", other) == "b2")
        #expect(try await other.versions(of: "a").count == 1)
    }

    /// Beside a version that was replaced meanwhile, every later one would have to be kept.
    @Test func ofARecordWithTwoVersionsTheSealedOnesDoNotServeAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let house = scene.house.records(in: scene.tresor)
        let records = scene.records
        _ = try await house.sync()
        _ = try await records.sync()
        for (person, text) in [(records, "mine"), (house, "theirs")] { try await person.put("a", text.utf8) }
        for person in [records, house] { #expect(try await person.sync().sentCount == 1) }
        #expect(try await records.sync().isComplete)
        #expect(try await records.versions(of: "a").count == 2)
        let counts = CallCounts()
        let busy = FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            guard let count = counts.counts["append"], count < 3 else { return nil }
            // The second change replaces both versions.
            try? await house.put(count == 1 ? "b" : "a", "busy".utf8)
            _ = try? await house.sync()
            return nil
        }
        let store = VolumeStore(truth: busy)
        let device = scene.device(scene.home, over: store).records(in: scene.tresor)
        let report = try await device.compact()
        #expect(counts.counts["append"] == 3 && store.hashes.count == 3)
        #expect(report.upto == (report.checkpoint ?? 0) - 1)
        #expect(try await device.check().checkpointError == nil)
    }

    @Test func fewBlobsAreDeletedAtOnce() {
        func blob(_ size: UInt64) -> Blob { Blob(hash: .zero, size: size) }
        func counts(_ sizes: [UInt64]) -> [Int] { BlobPortion.all(of: sizes.map(blob)).map(\.count) }
        let most = BlobPortion.maximumByteCount
        #expect(counts([]) == [])
        #expect(counts([most, 1, most - 1, 1]) == [1, 2, 1])
        #expect(counts([.max, .max, 1, most]) == [1, 1, 1, 1])
        #expect(counts([UInt64](repeating: 674, count: 600)) == [256, 256, 88])
    }

    /// Nothing is deleted for volumes that are not there.
    @Test func aVolumeThatTheStoreLosesBeforeTheEntryIsMadeAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let store = VolumeStore(truth: scene.store, losing: true)
        let report = try await scene.device(scene.home, over: store).records(in: scene.tresor).compact()
        #expect(store.hashes.count == 2)
        #expect(try await scene.stored() == [try #require(report.checkpoint)])
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("b", other) == "b2")
    }
}

/// A store that notes which blobs are put, and may lose the first of them just before an entry comes.
private final class VolumeStore: FrontStore {
    private struct State {
        var hashes: [Hash256] = []
        var sentByteCount = 0
        var losing: Bool
    }

    let truth: any Store
    private let state: Mutex<State>

    init(truth: any Store, losing: Bool = false) {
        self.truth = truth
        state = Mutex(State(losing: losing))
    }

    /// The blobs that were put, in order.
    var hashes: [Hash256] { state.withLock(\.hashes) }
    /// The bytes of blobs that came with entries.
    var sentByteCount: Int { state.withLock(\.sentByteCount) }

    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        state.withLock { if $0.hashes.last != hash { $0.hashes.append(hash) } }
        try await truth.putBlob(part, bytes, of: hash, in: tresor)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let lost = state.withLock { state -> Hash256? in
            state.sentByteCount += change.blobs.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
            defer { state.losing = false }
            return state.losing ? state.hashes.first : nil
        }
        if let lost { try await truth.deleteBlobs([lost], in: change.tresor) }
        return try await truth.append(change)
    }
}

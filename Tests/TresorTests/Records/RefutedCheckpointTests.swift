// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// False checkpoints that hide behind what nobody here can judge, and that are judged once (SPEC §19.5, §19.7).
@Suite struct RefutedCheckpointTests {
    private let foreign: ForeignCheckpointTests
    private var scene: CompactionTests.Scene { foreign.scene }

    init() async throws { foreign = try await ForeignCheckpointTests() }

    /// The words of a version in place of those of its pack.
    private func lie(at revision: UInt64) throws -> KeptItem {
        let content = Item.Content.bytes(Array("false".utf8), type: .empty)
        return KeptItem(
            sequence: revision, item: Item(record: try Name(typed: "a"), replaces: [], time: 5, content: content))
    }

    /// Beside the false item, the checkpoint keeps a version that the earlier volumes left out; or the pack of a commit
    /// before it, above what it stands for, is missing.
    @Test(arguments: [false, true]) func A147_whatNobodyCanTellHidesNoFalseItem(isMissing: Bool) async throws {
        _ = try await scene.records.sync()
        let revision = try #require(try await scene.records.get("a").revision)
        let upto = try await scene.state().head.sequence
        let records: Records
        let sequence: UInt64
        var lost: [UInt64] = []
        if isMissing {
            records = scene.records
            try await scene.put("e", "e1", by: scene.house)
            lost = [try await scene.state().head.sequence]
            let pack = try #require(try await scene.blobs()[lost[0]]?.first)
            try await scene.store.deleteBlobs([pack.hash], in: scene.tresor)
            sequence = try await foreign.checkpoint([try lie(at: revision)], upto: upto)
            #expect(try await !records.sync().isComplete)
        } else {
            let view = try await scene.records.view()
            let packs = PackReader(client: scene.anna.client, tresor: scene.tresor)
            let commits = try await CommitReader(client: scene.anna.client).commits(of: view.state, from: 0)
            let first = try #require(commits.first)
            let items = try view.items(of: first, from: packs)
            let old = KeptItem(sequence: first.sequence, item: try #require(items.first))
            _ = try await scene.records.compact()
            records = scene.device(scene.empty).records(in: scene.tresor)
            #expect(try await records.sync().isComplete)
            sequence = try await foreign.checkpoint([old, try lie(at: revision)])
            #expect(try await records.sync().isComplete)
        }
        let found = try await records.check()
        #expect(found.checkpoint == sequence && found.checkpointError == .altered)
        if isMissing { #expect(found.lost == lost) }
    }

    /// A head that is not kept is missed too, whatever else is kept that nobody here can judge.
    @Test func A147_anExtraItemHidesNoVersionThatIsLeftOut() async throws {
        let kept = try await foreign.current()
        let view = try await scene.records.view()
        let packs = PackReader(client: scene.anna.client, tresor: scene.tresor)
        let commits = try await CommitReader(client: scene.anna.client).commits(of: view.state, from: 0)
        let first = try #require(commits.first)
        let items = try view.items(of: first, from: packs)
        let old = KeptItem(sequence: first.sequence, item: try #require(items.first))
        _ = try await scene.records.compact()
        let records = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        _ = try await foreign.checkpoint([old] + kept.filter { $0.item.record.text != "c" })
        #expect(try await records.sync().isComplete)
        #expect(try await records.check().checkpointError == .altered)
        #expect(try await scene.text("c", records) == "c2")
    }

    /// The volumes by which a device reads are opened for a new checkpoint, and not for each sync after it.
    @Test func aFalseCheckpointIsJudgedOnce() async throws {
        _ = try await scene.records.sync()
        let revision = try #require(try await scene.records.get("a").revision)
        let own = try #require(try await scene.records.compact().checkpoint)
        let home = VolumeCountingHome(scene.empty, .volume(scene.tresor, checkpoint: own, number: 0))
        let session = Session(client: scene.world.client(home), identity: scene.anna.identity)
        let records = session.records(in: scene.tresor)
        #expect(try await records.sync().isComplete)
        _ = try await foreign.checkpoint([try lie(at: revision)])
        #expect(try await records.sync().isComplete)
        for text in ["e1", "e2"] {
            try await scene.put("e", text, by: scene.house)
            let count = home.count
            let synced = try await records.sync()
            #expect(synced.isComplete && synced.receivedCount == 1)
            #expect(home.count == count)
            #expect(try await scene.text("e", records) == text)
            #expect(try await scene.text("a", records) == "a2")
        }
        // A checkpoint that holds is taken again.
        _ = try await scene.records.compact()
        #expect(try await records.sync().isComplete)
        #expect(try await scene.text("e", records) == "e2")
        #expect(scene.empty.read(.volume(scene.tresor, checkpoint: own, number: 0)) == nil)
    }
}

/// A home that counts how often one of its objects is read.
private final class VolumeCountingHome: ForwardingHome {
    let base: MemoryHome
    private let object: HomeObject
    private let reads = Mutex(0)

    init(_ base: MemoryHome, _ object: HomeObject) { (self.base, self.object) = (base, object) }

    /// How often the object was read.
    var count: Int { reads.withLock { $0 } }

    func look() {}

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        if object == self.object { reads.withLock { $0 += 1 } }
        return base.read(object)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The index of a home (SPEC §8.5) where keys, packs or entries are out of reach, or where it may not be written.
@Suite struct RecordIndexLossTests {
    private let scene: CompactionTests.Scene
    private let index: HomeObject
    private let packs: HomeObject

    init() async throws {
        scene = try await CompactionTests.Scene()
        index = .recordIndex(scene.tresor)
        packs = .records(scene.tresor, part: 0)
    }

    /// The records of a program that keeps an index of few packs.
    private func open(_ home: any Home, _ identity: Identity? = nil, over store: (any Store)? = nil) -> Records {
        var world = scene.world
        if let store { world.store = store }
        let session = Session(client: world.client(home), identity: identity ?? scene.anna.identity)
        var records = session.records(in: scene.tresor)
        records.leastIndexedCount = 1
        return records
    }

    /// Takes the pack of the first commit, which a later one replaces, out of the home and the store.
    private func loseReplaced() async throws {
        let blobs = try await scene.blobs()
        let first = try #require(blobs.keys.min())
        var piece = try KeptPacks(try #require(scene.home.read(packs)))
        piece.packs[first] = nil
        try scene.home.replace(packs, with: piece.bytes)
        try await scene.store.deleteBlobs((blobs[first] ?? []).map(\.hash), in: scene.tresor)
    }

    /// Records of two epochs, and an index of both in the home of anna.
    private func fillTwoEpochs() async throws {
        try await scene.put("a", "a1")
        try await scene.anna.tresor(scene.tresor).perform(.rotate)
        try await scene.put("b", "b1")
        _ = try await open(scene.home).view()
        await HomeRecords(of: scene.records).keepWraps()
    }

    @Test func theKeysOfAllEpochsComeFromTheHome() async throws {
        try await fillTwoEpochs()
        let records = open(scene.home)
        let before = scene.store.calls.count
        #expect(try await scene.text("a", records) == "a1")
        #expect(try await scene.text("b", records) == "b1")
        #expect(records.cache.view?.isIndexed == true)
        #expect(scene.store.calls.count == before)
        // A home without wraps asks for them.
        scene.home.delete(.wraps)
        #expect(try await scene.text("a", open(scene.home)) == "a1")
    }

    @Test func aCompactionByAnIndexReadsAllEpochs() async throws {
        try await fillTwoEpochs()
        let report = try await open(scene.home).compact()
        #expect(report.keptCount == 2 && report.deletedCount == 2)
    }

    @Test func keysOutOfReachCountAsMissing() async throws {
        try await fillTwoEpochs()
        scene.home.delete(.wraps)
        scene.store.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        let records = open(scene.home)
        let (read, anew) = try await records.bothFacts()
        #expect(read == anew)
        #expect(records.cache.view?.isIndexed == false)
        #expect(records.cache.view?.missing.count == 2)
    }

    @Test(arguments: [false, true]) func anOwnTresorIsReadAnew(isDamaged: Bool) async throws {
        try await scene.anna.exchange()
        let own = try #require(try await scene.anna.ownTresors().first).tresor
        var records = scene.anna.records(in: own)
        records.leastIndexedCount = 1
        _ = try await records.view()
        #expect(scene.home.read(.recordIndex(own)) != nil)
        let kept = try #require(scene.home.read(.records(own, part: 0)))
        if isDamaged {
            var piece = try KeptPacks(kept)
            for (sequence, pack) in piece.packs { piece.packs[sequence] = flipped(pack, 700) }
            try scene.home.replace(.records(own, part: 0), with: piece.bytes)
        } else {
            scene.home.delete(.records(own, part: 0))
        }
        try await scene.device(scene.home).exchange()
        #expect(scene.home.read(.records(own, part: 0)) == kept)
    }

    @Test func versionsOfOthersAreReadAnew() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        _ = try await open(scene.home).view()
        let home = HomeRecords(of: open(scene.home))
        let seen = try await home.seen(at: nil)
        scene.home.delete(.log(scene.tresor))
        let versions = try await home.ofOthers(["a", "d"], in: seen)
        #expect(versions.map { $0.map(\.author) } == [[], [scene.house.user]])
    }

    @Test func aForkIsNoLostPack() async throws {
        try await scene.fill()
        _ = try await open(scene.home).view()
        let evil = EvilStore(scene.store)
        let records = open(scene.home, over: evil)
        _ = try await records.pull()
        scene.home.delete(packs)
        evil.frozen(2)
        #expect(await failure { _ = try await records.get("a") } == .forked)
    }

    /// Somebody else may have read more, or have deleted the tresor.
    @Test func nothingIsKeptOfAnotherHead() async throws {
        try await scene.fill()
        let before = try await scene.state()
        try await scene.put("a", "a3")
        var records = open(scene.home)
        records.leastIndexedCount = 9
        let older = try await records.view(at: before)
        let file = IndexFile(session: records.session, tresor: scene.tresor)
        #expect(try file.keep(older) == false)
        #expect(scene.home.read(index) == nil)
        // Packs that were looked at count on.
        var late = open(scene.home)
        late.leastIndexedCount = 8
        _ = try await late.view(at: before)
        #expect(scene.home.read(index) == nil)
        late.leastIndexedCount = 9
        _ = try await late.view()
        #expect(scene.home.read(index) != nil)
    }

    @Test func theEntriesOfCheckpointsLieInIt() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        let home = scene.home.copy()
        _ = try await scene.records.compact()
        _ = try await open(home).pull()
        let reading = CountingHome(home: home)
        _ = try await open(reading).readableState()
        let counting = CountingHome(home: home)
        let records = open(counting)
        #expect(try await scene.text("a", records) == "a2")
        #expect(records.cache.view?.isIndexed == true && records.cache.view?.checkpoints.count == 1)
        // The entry of the one commit.
        #expect(counting.tally.counts["home log", default: 0] == reading.tally.counts["home log", default: 0] + 1)
    }

    @Test func itGoesBeforeThePacks() async throws {
        try await scene.fill()
        let kept = try #require(scene.house.client.home as? MemoryHome)
        _ = try await open(kept, scene.house.identity).pull()
        #expect(kept.read(index) != nil && kept.read(packs) != nil)
        let person = try await scene.anna.people.person(scene.house.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        for point in 0... {
            let home = StoppingHome(kept.copy(), stoppingAt: point)
            _ = try? await open(home, scene.house.identity).pull()
            #expect(home.base.read(index) == nil || home.base.read(packs) != nil, "\(point)")
            guard home.stop != nil else { break }
        }
    }

    /// One that others may read keeps no packs in a home, and is found before the store deletes anything.
    @Test func anIndexOpenToOthersHoldsUpNoPurge() async throws {
        try await scene.fill()
        let theirs = try #require(scene.house.client.home as? MemoryHome)
        _ = try await open(theirs, scene.house.identity).pull()
        let open = OpenIndexHome(base: scene.home, index: index)
        _ = try await self.open(scene.home).view()
        let deletion = Deletion(session: Session(client: scene.world.client(open), identity: scene.anna.identity))
        let plan = try await deletion.plan(scene.tresor)
        #expect(await failure { try await deletion.perform(plan) } == .failed(.permissions))
        #expect(try await scene.state().members[scene.house.user] != nil)
        let person = try await scene.anna.people.person(scene.house.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        let home = OpenIndexHome(base: theirs, index: index)
        #expect(try await self.open(home, scene.house.identity).pull().isGone)
        #expect(theirs.read(index) == nil && theirs.read(packs) == nil)
    }

    @Test func aLongRunningCompactionFetchesWhatWasLost() async throws {
        try await scene.fill()
        let records = scene.records
        _ = try await records.pull()
        scene.home.delete(packs)
        let report = try await records.compact()
        #expect(report.keptCount == 4 && report.deletedCount == 8)
    }

    /// An index hides from no owner that a pack is gone, also of a version that nobody needs any more.
    @Test func A147_aCompactionWithoutAPackIsRefusedInSpiteOfAnIndex() async throws {
        try await scene.fill()
        _ = try await open(scene.home).view()
        try await loseReplaced()
        let records = scene.records
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(scene.home.read(index) == nil)
        #expect(try await scene.state().checkpoint == 0)
    }

    /// Nor does a program that has read the pack.
    @Test func A147_aLongRunningCompactionWithoutAPackIsRefused() async throws {
        try await scene.fill()
        let records = scene.records
        _ = try await records.pull()
        try await loseReplaced()
        #expect(await failure { _ = try await records.compact() } == .store(.withheld))
        #expect(try await scene.state().checkpoint == 0)
    }

    @Test func eachReaderTakesWholeParts() {
        let parts = PackFiles.byPart([1, 63, 64, 127, 128] as [UInt64]) { $0 }
        #expect(parts == [[1, 63], [64, 127], [128]])
    }

    /// A home that only believes that it has the packs forgets no volumes of its own.
    @Test(arguments: [false, true])
    func A147_onesOwnVolumesStayWhereNobodyLookedAtThePacks(isIndexed: Bool) async throws {
        let foreign = try await ForeignCheckpointTests()
        let scene = foreign.scene
        let own = try #require(try await scene.records.compact().checkpoint)
        let home = scene.home.copy()
        func open() -> Records {
            var records = scene.device(home).records(in: scene.tresor)
            records.leastIndexedCount = isIndexed ? 1 : .max
            return records
        }
        _ = try await open().view()
        let records = open()
        #expect(try await records.pull().isComplete)
        #expect(records.cache.view?.isIndexed == isIndexed)
        home.delete(.records(scene.tresor, part: 0))
        _ = try await foreign.checkpoint(try await foreign.current().filter { $0.item.record.text != "a" })
        _ = try await records.pull()
        #expect(home.read(.volume(scene.tresor, checkpoint: own, number: 0)) != nil)
        if !isIndexed {
            // A reading finds the loss out, and the next pull reads by what is left.
            #expect(await failure { _ = try await records.get("a") } == .store(.withheld))
            _ = try await records.pull()
        }
        #expect(try await scene.text("a", records) == "a2")
    }
}

/// A home in which others may read the index.
private struct OpenIndexHome: Home {
    let base: MemoryHome
    let index: HomeObject

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        let bytes = base.read(object)
        guard bytes == nil || object != index else { throw .failed(.permissions) }
        return bytes
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try base.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? { try base.readSecret(object) }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try base.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) { base.delete(object) }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try base.exclusively(body)
    }

    func slotLock() throws(TresorError) -> SlotLock? { base.slotLock() }
}

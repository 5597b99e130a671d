// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The index that a home keeps of the records (SPEC §8.5): it says what packs said, and nothing else.
@Suite struct RecordIndexTests {
    private let scene: CompactionTests.Scene
    private let index: HomeObject

    init() async throws {
        scene = try await CompactionTests.Scene()
        index = .recordIndex(scene.tresor)
    }

    /// The records of a program that keeps an index of few packs.
    private func open(_ home: any Home, _ identity: Identity? = nil) -> Records {
        let session = Session(client: scene.world.client(home), identity: identity ?? scene.anna.identity)
        var records = session.records(in: scene.tresor)
        records.leastIndexedCount = 1
        return records
    }

    /// Expects that a view goes by an index or not, and that it says what one without says.
    private func expect(
        _ records: Records, byIndex isIndexed: Bool, at source: SourceLocation = #_sourceLocation
    ) async throws {
        let (read, anew) = try await records.bothFacts()
        #expect(read == anew, sourceLocation: source)
        #expect(records.cache.view?.isIndexed == isIndexed, sourceLocation: source)
    }

    /// Damages the packs that the home keeps of a part.
    private func damage(_ home: MemoryHome, part: UInt64 = 0, except kept: UInt64? = nil) throws {
        let place = HomeObject.records(scene.tresor, part: part)
        var piece = try KeptPacks(try #require(home.read(place)))
        for (sequence, pack) in piece.packs where sequence != kept { piece.packs[sequence] = flipped(pack, 700) }
        try home.replace(place, with: piece.bytes)
    }

    @Test func theNextProgramOpensOnePackAlone() async throws {
        let mine = scene.records
        for number in 1..<64 {
            try await mine.put("event/\(number)", "\(number)".utf8)
            _ = try await mine.sync()
        }
        #expect(scene.home.read(index) == nil)
        try await mine.put("event/64", "64".utf8)
        _ = try await mine.sync()
        #expect(scene.home.read(index) != nil)
        let revision = try #require(try await mine.get("event/7").revision)
        let home = scene.home.copy()
        for part: UInt64 in 0...1 { try damage(home, part: part, except: revision) }
        let counting = CountingHome(home: home)
        let records = open(counting)
        #expect(try await records.get("event/7").content == Array("7".utf8))
        #expect(records.cache.view?.isIndexed == true)
        // The piece that has it.
        #expect(counting.tally.counts["home records"] == 1)
        home.delete(index)
        #expect(await failure { _ = try await open(home).get("event/7") } == .store(.withheld))
    }

    @Test func aFewLargePacksAreIndexedToo() async throws {
        let (mine, content) = (scene.records, [UInt8](repeating: 7, count: 60_000))
        for number in 1...2 {
            #expect(scene.home.read(index) == nil)
            try await mine.change((1...10).map { .put("event/\(number)/\($0)", content) })
            _ = try await mine.sync()
        }
        #expect(scene.home.read(index) != nil)
        let records = open(scene.home)
        #expect(try await records.get("event/1/7").content == content)
        #expect(records.cache.view?.isIndexed == true)
    }

    @Test func withoutAnIndexEachPieceIsReadOnce() async throws {
        let (mine, content) = (scene.records, [UInt8](repeating: 7, count: 60_000))
        for number in 1...10 {
            try await mine.change((1...10).map { .put("event/\(number)/\($0)", content) })
            _ = try await mine.sync()
        }
        let home = scene.home.copy()
        home.delete(index)
        var (pieceCount, byteCount) = (0, 0)
        while let piece = home.read(.records(scene.tresor, part: 0, piece: UInt64(pieceCount))) {
            (pieceCount, byteCount) = (pieceCount + 1, byteCount + piece.count)
        }
        // More than is held at once.
        #expect(byteCount > 5 << 20 && pieceCount > 4)
        let counting = CountingHome(home: home)
        let view = try await open(counting).view()
        #expect(view.table.names.count == 100 && !view.isIndexed)
        #expect(counting.tally.counts["home records"] == pieceCount)
    }

    @Test func whatCameSinceIsReadOnTopOfAnIndex() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        try await expect(open(scene.home), byIndex: false)
        try await expect(open(scene.home), byIndex: true)
        try await scene.put("e", "e1", by: scene.house)
        let records = open(scene.home)
        #expect(try await records.pull().receivedCount == 1)
        try await expect(records, byIndex: true)
        #expect(try await scene.text("e", records) == "e1")
        #expect(try await records.list().records.map(\.name) == ["a", "b", "c", "e"])
    }

    @Test func whatTheHomeHasLostIsReadAnew() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        _ = try await open(scene.home).view()
        let kept = scene.home.contents
        for isPulled in [false, true] {
            for (object, bytes) in kept { try scene.home.replace(object, with: bytes) }
            let records = open(scene.home)
            if isPulled { #expect(try await records.pull().receivedCount == 0) }
            try damage(scene.home)
            if isPulled {
                // As a pull found it out before there was an index.
                #expect(try await scene.text("a", records) == "a2")
            } else {
                #expect(await failure { _ = try await records.get("a") } == .store(.withheld))
                #expect(scene.home.read(index) == nil)
                #expect(try await records.pull().receivedCount == 8)
                #expect(try await scene.text("a", records) == "a2")
            }
        }
    }

    @Test func aPartOfTheLogThatIsLostIsReadAnew() async throws {
        try await scene.fill()
        _ = try await open(scene.home).view()
        let records = open(scene.home)
        _ = try await records.view()
        scene.home.delete(.log(scene.tresor))
        #expect(try await scene.text("a", records) == "a2")
        #expect(records.cache.view?.isIndexed == false)
    }

    @Test func aHomeThatIsFullLosesNothing() async throws {
        try await scene.fill()
        scene.home.fill(after: 0)
        #expect(try await scene.text("a", open(scene.home)) == "a2")
        #expect(scene.home.read(index) == nil)
    }

    @Test func nothingIsKeptOfWhatIsIncomplete() async throws {
        try await scene.fill()
        try damage(scene.home)
        try await expect(open(scene.home), byIndex: false)
        #expect(scene.home.read(index) == nil)
        // Nor where volumes stand for packs.
        _ = try await scene.records.compact()
        let late = open(scene.empty)
        _ = try await late.pull()
        try await expect(late, byIndex: false)
        #expect(scene.empty.read(index) == nil)
    }

    @Test func A149_anOlderIndexShowsNothingOlder() async throws {
        try await scene.fill()
        _ = try await open(scene.home).view()
        let older = try #require(scene.home.read(index))
        try await scene.put("a", "a3")
        _ = try await open(scene.home).view()
        #expect(scene.home.read(index) != older)
        try scene.home.replace(index, with: older)
        let records = open(scene.home)
        try await expect(records, byIndex: true)
        #expect(try await scene.text("a", records) == "a3")
    }

    @Test func A149_anIndexOfAnotherHeadOrOtherBytesCountsForNothing() async throws {
        try await scene.fill()
        let before = scene.home.copy()
        try await scene.put("a", "a3")
        _ = try await open(scene.home).view()
        let newer = try #require(scene.home.read(index))
        // A home that was put back does not know this head.
        try before.replace(index, with: newer)
        try await expect(open(before), byIndex: false)
        let flips = [3, 200, 400, 8 * newer.count - 1].map { flipped(newer, $0) }
        for bytes in [[], Array(newer.prefix(40))] + flips {
            try scene.home.replace(index, with: bytes)
            try await expect(open(scene.home), byIndex: false)
        }
    }

    /// A thief of a former seed, who writes into the home, hides nothing behind an index.
    @Test func A149_anIndexOfAFormerSeedCountsForNothing() async throws {
        try await scene.fill()
        let state = try await scene.state()
        let member = try #require(state.members[scene.anna.user])
        let forged = try IndexFile(session: scene.anna, tresor: scene.tresor).sealed(
            RecordIndex(head: state.head, epochs: [], checkpoints: [], table: RecordTable()), for: member)
        try scene.home.replace(index, with: forged)
        let former = try await RecordView.indexed(at: state, of: scene.anna)
        #expect(former?.table.names == [])
        let renewed = try scene.anna.identity.renewCard(time: scene.world.clock.now).identity
        let now = try await RecordView.indexed(at: state, of: open(scene.home, renewed).session)
        #expect(now == nil)
    }

    @Test func anIndexIsOfOneMembership() async throws {
        try await scene.fill()
        let home = try #require(scene.house.client.home as? MemoryHome)
        _ = try await open(home, scene.house.identity).pull()
        let kept = try #require(home.read(index))
        let person = try await scene.anna.people.person(scene.house.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        try await scene.anna.share(scene.tresor, with: [scene.house], as: .writer)
        let records = open(home, scene.house.identity)
        _ = try await records.pull()
        try await expect(records, byIndex: false)
        #expect(home.read(index) != kept)
        // Nor does it open for somebody else.
        try scene.home.replace(index, with: kept)
        try await expect(open(scene.home), byIndex: false)
    }

    @Test func nobodyWaitsForTheLockToKeepOne() async throws {
        try await scene.fill()
        let home = CountingHome(home: scene.home)
        _ = try await open(home).view()
        #expect(scene.home.read(index) != nil)
        #expect(home.tally.counts["home locks at once"] == 1)
    }

    @Test func itGoesWithThePacks() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        let home = try #require(scene.house.client.home as? MemoryHome)
        _ = try await open(home, scene.house.identity).pull()
        #expect(home.read(index) != nil)
        let person = try await scene.anna.people.person(scene.house.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        #expect(try await open(home, scene.house.identity).pull().isGone)
        #expect(home.read(index) == nil)
        _ = try await open(scene.home).view()
        #expect(scene.home.read(index) != nil)
        let deletion = Deletion(session: scene.anna)
        try await deletion.perform(try await deletion.plan(scene.tresor))
        #expect(scene.home.read(index) == nil)
    }

    @Test func aNewCheckpointChangesNothingWhileAllPacksAreThere() async throws {
        try await scene.fill()
        _ = try await scene.records.pull()
        let (whole, behind) = (scene.home.copy(), scene.home.copy())
        for home in [whole, behind] { _ = try await open(home).view() }
        _ = try await scene.records.compact()
        let records = open(whole)
        #expect(try await records.pull().receivedCount == 0)
        try await expect(records, byIndex: true)
        #expect(records.cache.view?.checkpoints.count == 1)
        // Volumes alone tell of versions that came since, and went for the next checkpoint.
        try await scene.put("e", "e1")
        _ = try await scene.records.compact()
        let late = open(behind)
        #expect(try await late.pull().isComplete)
        try await expect(late, byIndex: false)
        #expect(late.cache.view?.isByPacks == false)
        // Nobody tries that index again.
        #expect(behind.read(index) == nil)
        #expect(try await scene.text("e", late) == "e1")
    }

    @Test(arguments: [false, true]) func aCompactionOpensEachPackOnce(byIndex isIndexed: Bool) async throws {
        for name in ["a", "b", "c"] { try await scene.put(name, name) }
        if isIndexed { _ = try await open(scene.home).view() }
        let home = CountingHome(home: scene.home)
        let session = Session(client: scene.world.client(home), identity: scene.anna.identity)
        let report = try await session.records(in: scene.tresor).compact()
        #expect(report.keptCount == 3 && report.deletedCount == 3)
        // The piece, to read the records and to seal them; with the end of its part, to see that nothing is lost, and with an
        // index once more in place of the first.
        #expect(home.tally.counts["home records"] == (isIndexed ? 5 : 4))
    }

    @Test func aCompactionFetchesWhatWasLost() async throws {
        try await scene.fill()
        _ = try await open(scene.home).view()
        scene.home.delete(.records(scene.tresor, part: 0))
        let report = try await scene.records.compact()
        #expect(report.keptCount == 4 && report.deletedCount == 8)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Compaction: volumes in the place of packs, and what everybody reads then (SPEC §19.5, §19.7).
@Suite struct CompactionTests {
    /// Anna's tresor, which house writes too, and a device of anna's that has read nothing of it.
    struct Scene {
        let store = FaultyStore()
        let world: World
        let anna: Session
        let house: Session
        let late: Session
        let tresor: TresorID
        let home: MemoryHome
        let empty: MemoryHome

        init() async throws {
            world = World(store: store)
            (anna, house) = (try await world.quick("anna"), try await world.quick("house"))
            late = try await world.quick("late")
            try world.introduce(anna, house, late)
            home = try #require(anna.client.home as? MemoryHome)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            empty = home.copy()
            try await anna.share(tresor, with: [house], as: .writer)
        }

        var records: Records { anna.records(in: tresor) }

        /// A device of anna's with this home, over this store.
        func device(_ home: MemoryHome, over store: (any Store)? = nil) -> Session {
            var world = world
            if let store { world.store = store }
            return Session(client: world.client(home), identity: anna.identity)
        }

        func put(_ name: String, _ text: String, by session: Session? = nil) async throws {
            let records = (session ?? anna).records(in: tresor)
            _ = try await records.sync()
            try await records.put(name, text.utf8)
            #expect(try await records.sync().sentCount == 1)
        }

        /// Eight commits: of three records two contents each, and one that house deletes.
        func fill() async throws {
            for round in 1...2 { for name in ["a", "b", "c"] { try await put(name, "\(name)\(round)") } }
            try await put("d", "d1", by: house)
            let theirs = house.records(in: tresor)
            try await theirs.delete(["d"])
            _ = try await theirs.sync()
        }

        func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

        /// The blobs that entries name, by number.
        func blobs() async throws -> [UInt64: [Blob]] {
            let state = try await state()
            let entries = try await CommitReader(client: anna.client).entries(of: state, from: 0) { _ in true }
            return try entries.reduce(into: [:]) { $0[$1.sequence] = try $1.body.blobs }.filter { !$0.value.isEmpty }
        }

        /// The entries whose blobs the store has.
        func stored() async throws -> [UInt64] {
            let blobs = try await blobs()
            let found = try await BlobReader(store, tresor).read(blobs.values.flatMap(\.self))
            return blobs.filter { $0.value.allSatisfy { found[$0] != nil } }.keys.sorted()
        }

        func text(_ name: String, _ records: Records) async throws -> String {
            String(decoding: try await records.get(name).content ?? [], as: UTF8.self)
        }
    }

    @Test func aNewDeviceReadsTheVolumesAlone() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let before = try await scene.state().entryCount
        let report = try await scene.records.compact()
        #expect(report.checkpoint == before && report.upto == before - 1)
        #expect(report.keptCount == 4 && report.volumeCount == 1 && report.deletedCount == 8)
        #expect(report.waitingFor == [])
        #expect(try await scene.stored() == [before])
        let device = scene.device(scene.empty)
        let records = device.records(in: scene.tresor)
        let calls = scene.store.calls.count
        let synced = try await records.sync()
        #expect(synced.isComplete && synced.missing.isEmpty && synced.receivedCount == 1)
        #expect(scene.store.calls.dropFirst(calls).count { $0.name == "blobs" } == 1)
        for name in ["a", "b", "c"] { #expect(try await scene.text(name, records) == "\(name)2") }
        #expect(await failure { _ = try await records.get("d") } == .notFound)
        let record = try await records.get("a")
        #expect(record.vouchedBy == scene.anna.user && record.author == scene.anna.user && record.revision != nil)
        #expect(try await records.list(includingDeleted: true).records.map(\.vouchedBy).allSatisfy { $0 != nil })
        // A reader with the packs ignores the volumes.
        #expect(try await scene.records.get("a").vouchedBy == nil)
        // The blobs that came are in the home, and lie there for the next program.
        scene.store.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        #expect(try await scene.text("c", device.records(in: scene.tresor)) == "c2")
        scene.store.heal()
        // Changes go on, on top of what the volumes have.
        try await records.put("a", "a3".utf8)
        #expect(try await records.sync().sentCount == 1)
        let mine = scene.records
        #expect(try await mine.sync().receivedCount == 1)
        #expect(try await mine.versions(of: "a").map(\.content) == [Array("a3".utf8)])
    }

    @Test func withoutAnythingToGainNothingIsAppended() async throws {
        let scene = try await Scene()
        #expect(try await scene.records.compact().checkpoint == nil)
        try await scene.fill()
        #expect(try await scene.records.compact().checkpoint != nil)
        let (count, calls) = (try await scene.state().entryCount, scene.store.calls.count)
        let report = try await scene.records.compact()
        #expect(
            report.checkpoint == nil && report.keptCount == 0 && report.deletedCount == 0 && report.waitingFor == [])
        // The last deletion is repeated, in case that the store did not end it.
        #expect(scene.store.calls.dropFirst(calls).filter(\.isWrite).map(\.name) == ["deleteBlobs"])
        #expect(try await scene.state().entryCount == count)
    }

    @Test func aDryRunChangesNothing() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let calls = scene.store.calls.count
        let report = try await scene.records.compact(isDryRun: true)
        #expect(report.checkpoint == nil && report.keptCount == 4 && report.volumeCount == 1)
        #expect(report.deletedCount == 8)
        #expect(scene.store.calls.dropFirst(calls).allSatisfy { !$0.isWrite })
    }

    @Test func whatWentForAnEarlierCheckpointIsNotDeletedAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        #expect(try await scene.records.compact().deletedCount == 8)
        try await scene.put("a", "a3")
        // One pack, and the volume of the first checkpoint.
        #expect(try await scene.records.compact(isDryRun: true).deletedCount == 2)
        let report = try await scene.records.compact()
        #expect(report.deletedCount == 2)
        #expect(try await scene.stored() == [try #require(report.checkpoint)])
        // Nor are the volumes that went for the second one.
        try await scene.put("a", "a4")
        #expect(try await scene.records.compact().deletedCount == 2)
    }

    @Test func whatIsUnsentIsSentAndKept() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let records = scene.records
        try await records.put("e", "e1".utf8)
        #expect(try await records.compact().keptCount == 5)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("e", other) == "e1")
    }

    @Test func R42_whoReadsFromNowLosesNothing() async throws {
        let scene = try await Scene()
        try await scene.put("a", "a1")
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .writer, fromNow: true)
        let begun = try await scene.state().head.sequence
        try await scene.put("b", "b1")
        let report = try await scene.records.compact()
        #expect(report.upto == begun - 1 && report.keptCount == 1 && report.deletedCount == 1)
        #expect(report.waitingFor == [scene.late.user])
        let theirs = scene.late.records(in: scene.tresor)
        #expect(try await theirs.sync().isComplete)
        #expect(try await scene.text("b", theirs) == "b1")
        #expect(await failure { _ = try await theirs.get("a") } == .notFound)
        let late = try #require(scene.late.client.home as? MemoryHome)
        #expect(!late.hasVolumes)
        // Nothing more goes while they are in.
        try await scene.put("c", "c1")
        let held = try await scene.records.compact()
        #expect(held.checkpoint == nil && held.waitingFor == [scene.late.user])
        let person = try await scene.anna.people.person(scene.late.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        let free = try await scene.records.compact()
        #expect(free.checkpoint != nil && free.waitingFor == [] && free.keptCount == 3)
    }

    @Test func anOwnerAloneCompacts() async throws {
        let scene = try await Scene()
        try await scene.fill()
        #expect(await failure { _ = try await scene.house.records(in: scene.tresor).compact() } == .noAccess)
        #expect(await failure { _ = try await scene.late.records(in: scene.tresor).compact() } == .noAccess)
    }

    @Test func whileAPackIsMissingNothingIsAppended() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let count = try await scene.state().entryCount
        let lost = try #require(try await scene.blobs().values.first?.first)
        try await scene.store.deleteBlobs([lost.hash], in: scene.tresor)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(await failure { _ = try await other.compact() } == .store(.withheld))
        #expect(try await scene.state().entryCount == count)
    }

    @Test func aNewKeySealsEverythingAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let first = try #require(try await scene.records.compact().checkpoint)
        let person = try await scene.anna.people.person(scene.house.user)
        _ = try await scene.house.records(in: scene.tresor).sync()
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        let report = try await scene.records.compact()
        let second = try #require(report.checkpoint)
        #expect(second > first && report.keptCount == 4)
        #expect(try await scene.stored() == [second])
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("b", other) == "b2")
    }

    @Test func aDeviceWithVolumesTakesTheNextOnes() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.compact()
        let other = scene.device(scene.empty).records(in: scene.tresor)
        _ = try await other.sync()
        let changes = other.changes()
        try await scene.put("a", "a3")
        _ = try await scene.records.compact()
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("a", other) == "a3")
        #expect(try await scene.text("c", other) == "c2")
        // The words of a volume in place of another are no news.
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.names == ["a"])
    }

    @Test func whoIsRemovedKeepsNoVolume() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let person = try await scene.anna.people.person(scene.house.user)
        let home = MemoryHome()
        try home.replace(.identity, with: try #require(scene.house.home[.identity]))
        try home.replace(.pins, with: try #require(scene.house.home[.pins]))
        let house = Session(client: scene.world.client(home), identity: scene.house.identity)
        _ = try await scene.records.compact()
        let theirs = house.records(in: scene.tresor)
        #expect(try await theirs.sync().isComplete)
        #expect(home.hasVolumes)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        #expect(try await theirs.sync().isGone)
        #expect(!home.hasVolumes)
    }

    @Test func lostVolumesAreRestored() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let sequence = try #require(try await scene.records.compact().checkpoint)
        let volume = try #require(try await scene.blobs()[sequence]?.first)
        try await scene.store.deleteBlobs([volume.hash], in: scene.tresor)
        let records = scene.records
        _ = try await records.sync()
        #expect(try await records.check().checkpointError == .store(.withheld))
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await !other.sync().isComplete)
        #expect(await failure { _ = try await other.get("a") } == .store(.withheld))
        #expect(try await records.restorePacks() == 1)
        #expect(try await records.check().checkpointError == nil)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("a", other) == "a2")
    }

    @Test func whoHasAllPacksMakesALostCheckpointAnew() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.sync()
        let copy = scene.home.copy()
        let sequence = try #require(try await scene.records.compact().checkpoint)
        let volume = try #require(try await scene.blobs()[sequence]?.first)
        try await scene.store.deleteBlobs([volume.hash], in: scene.tresor)
        let report = try await scene.device(copy).records(in: scene.tresor).compact()
        #expect(report.checkpoint == sequence + 1 && report.keptCount == 4)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("b", other) == "b2")
    }

    @Test func aRepairFromAnOldHomePutsNoErasedPackBack() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.sync()
        let copy = scene.home.copy()
        let sequence = try #require(try await scene.records.compact().checkpoint)
        #expect(try await scene.device(copy).records(in: scene.tresor).restorePacks() == 0)
        #expect(try await scene.stored() == [sequence])
    }

    @Test func anExportHasTheVolumes() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.compact()
        let export = try TresorExport(try await scene.anna.client.exchange.export(scene.tresor).bytes)
        #expect(export.blobs.count == 1)
        let device = scene.device(scene.empty, over: MemoryStore())
        _ = try await device.client.exchange.take(export)
        let records = device.records(in: scene.tresor)
        #expect(try await records.pull().isComplete)
        #expect(try await scene.text("c", records) == "c2")
    }

    @Test func manyRecordsFillSeveralVolumes() async throws {
        let scene = try await Scene()
        let records = scene.records
        for first in [0, 10] {
            let content = [UInt8](repeating: UInt8(first), count: Item.maximumContentByteCount)
            try await records.change((first..<(first + 10)).map { .put("scan/\($0 + 10)", content) })
            _ = try await records.sync()
        }
        let report = try await records.compact()
        let first = try #require(report.checkpoint)
        #expect(report.volumeCount == 2 && report.keptCount == 20)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().receivedCount == 2)
        for name in ["scan/10", "scan/25", "scan/29"] {
            #expect(try await other.get(name).content?.count == Item.maximumContentByteCount)
        }
        #expect(scene.empty.read(.volume(scene.tresor, checkpoint: first, number: 1)) != nil)
        // The volumes of a later checkpoint leave none of an earlier one behind.
        try await records.delete((12..<30).map { "scan/\($0)" })
        let second = try await records.compact()
        #expect(second.volumeCount == 1)
        #expect(try await other.sync().isComplete)
        let volume = HomeObject.volume(scene.tresor, checkpoint: try #require(second.checkpoint), number: 0)
        #expect(scene.empty.volumes == [volume] && scene.home.volumes == [volume])
    }

    /// A checkpoint that a device only knows of takes nothing from it.
    @Test func theVolumesOfAnEarlierCheckpointServeUntilTheNextOnesAreThere() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.compact()
        let device = scene.device(scene.empty)
        #expect(try await device.records(in: scene.tresor).sync().isComplete)
        try await scene.put("a", "a3")
        #expect(try await device.records(in: scene.tresor).sync().receivedCount == 1)
        let second = try #require(try await scene.records.compact().checkpoint)
        // The device reads the log alone, and the store is gone.
        #expect(try await device.client.logs.state(of: scene.tresor).checkpoint == second)
        scene.store.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        let records = device.records(in: scene.tresor)
        #expect(try await scene.text("a", records) == "a3")
        #expect(try await scene.text("b", records) == "b2")
        #expect(try await records.get("b").vouchedBy == scene.anna.user)
        #expect(try await records.list(includingDeleted: true).isComplete)
        try await records.put("b", "b3".utf8)
        scene.store.heal()
        let synced = try await records.sync()
        #expect(synced.isComplete && synced.sentCount == 1)
        let volume = HomeObject.volume(scene.tresor, checkpoint: second, number: 0)
        #expect(scene.empty.volumes == [volume])
        _ = try await scene.records.sync()
        for reader in [records, scene.records] {
            #expect(try await reader.versions(of: "b").map(\.content) == [Array("b3".utf8)])
            #expect(try await scene.text("a", reader) == "a3")
        }
    }
}

extension MemoryHome {
    fileprivate var volumes: [HomeObject] {
        contents.keys.filter { if case .volume = $0.kind { true } else { false } }
    }

    fileprivate var hasVolumes: Bool { !volumes.isEmpty }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Compactions between whose plan and carrying out something happens (SPEC §19.7).
@Suite struct CompactionPlanTests {
    private typealias Scene = CompactionTests.Scene

    @Test func whatWasPlannedIsCarriedOut() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let plan = try await scene.records.compactionPlan()
        scene.world.clock.advance(by: 600)
        let calls = scene.store.calls.count
        let report = try await scene.records.compact(by: plan)
        var expected = plan.report
        expected.checkpoint = try await scene.state().checkpoint
        #expect(report == expected)
        let written = scene.store.calls.dropFirst(calls).filter(\.isWrite).map(\.name)
        #expect(written == ["putBlob", "append", "deleteBlobs"])
        // The volume has the versions of the plan.
        guard case .seal(let volumes) = plan.step else { throw TresorError.failed(.other) }
        let kept = try await kept(by: try #require(report.checkpoint), in: scene)
        #expect(kept == volumes.flatMap(\.versions))
    }

    /// The versions that a checkpoint keeps.
    private func kept(by sequence: UInt64, in scene: Scene) async throws -> [VolumePlan.Version] {
        let state = try await scene.state()
        let entry = try await CommitReader(client: scene.anna.client).entry(sequence, of: state)
        let keys = try await scene.anna.keyRing.keys(of: state.epoch, in: state)
        var versions: [VolumePlan.Version] = []
        for (place, blob) in try entry.body.blobs.enumerated() {
            let bytes = try await scene.store.blobs([blob.hash], in: scene.tresor)[0]
            let volume = try Volume.openVolume(bytes, at: place, of: entry, in: state, with: keys)
            versions += volume.kept.map { VolumePlan.Version(revision: $0.sequence, record: $0.item.record) }
        }
        return versions
    }

    /// The claims of a plan are in the table.
    @Test func aPlanReadsTheLogOnceAndNoPack() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let home = CountingHome(home: scene.home)
        let session = Session(client: scene.world.client(home), identity: scene.anna.identity)
        let records = session.records(in: scene.tresor)
        _ = try await records.sync()
        home.tally.reset()
        #expect(try await records.compactionPlan().report.keptCount == 4)
        let planned = home.tally.counts
        #expect(planned["home records"] == nil)
        // It pulls, reads the state before and after, and the log once more.
        home.tally.reset()
        _ = try await records.pull()
        for _ in 0..<2 { _ = try await session.client.logs.state(of: scene.tresor) }
        let state = try await scene.state()
        _ = try await CommitReader(client: session.client).records(of: state)
        #expect(planned["home log", default: 0] <= home.tally.counts["home log", default: 0])
    }

    /// Each volume is filled to the byte as far as it holds, though nothing is read to plan it.
    @Test func aPlannedVolumeHasTheSizeOfASealedOne() throws {
        let types = [Name.empty, try Name(typed: "text/plain")]
        let contents = types.flatMap { type in
            [0, 1, 5000].map { Item.Content.bytes([UInt8](repeating: 3, count: $0), type: type) }
                + [.attachment(blob: 1, type: type)]
        }
        var kept: [KeptItem] = []
        for (number, content) in (contents + [.deleted]).enumerated() {
            let replaces = (0..<UInt64(number)).map { $0 + 1 }
            let item = Item(record: try Name(typed: "r/\(number)"), replaces: replaces, time: 5, content: content)
            #expect(item.byteCount == item.bytes.count)
            kept.append(KeptItem(sequence: UInt64(number + 20), item: item))
        }
        let volume = try Volume(of: kept)
        #expect(volume.bytes.count == kept.reduce(Volume.leastByteCount) { $0 + $1.byteCount })
        // The greatest content that still fits beside the others, and one byte more.
        let table = RecordTable(kept: kept, upto: 100)
        #expect(VolumePlan.plan(upto: 100, of: table).volumes.count == 1)
        let room = Volume.maximumByteCount - volume.bytes.count
        for (spare, count) in [(0, 1), (1, 2)] {
            var (all, left, sequence) = (kept, room + spare, UInt64(40))
            while left > 0 {
                let frame = KeptItem.byteCount(ofItem: Item.leastByteCount + 2 + 4)
                let size = left > 65_000 ? 60_000 : left - frame
                let content = Item.Content.bytes([UInt8](repeating: 4, count: size), type: .empty)
                let item = Item(record: try Name(typed: "s"), replaces: [], time: 5, content: content)
                all.append(KeptItem(sequence: sequence, item: item))
                left -= frame + size
                sequence += 1
            }
            #expect(VolumePlan.plan(upto: 100, of: RecordTable(kept: all, upto: 100)).volumes.count == count)
        }
    }

    @Test func whatOthersCommitMeanwhileIsKept() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let plan = try await scene.records.compactionPlan()
        try await scene.put("e", "e1", by: scene.house)
        let report = try await scene.records.compact(by: plan)
        #expect(plan.report.keptCount == 4 && report.keptCount == 5 && report.upto == plan.report.upto + 1)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("e", other) == "e1")
    }

    @Test func whatIsUnsentMeanwhileIsKept() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let plan = try await scene.records.compactionPlan()
        try await scene.records.put("e", "e1".utf8)
        #expect(try await scene.records.compact(by: plan).keptCount == 5)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("e", other) == "e1")
    }

    /// A person who was told that there is nothing to gain agreed to nothing.
    @Test func aPlanThatDeletesNothingDeletesNothing() async throws {
        let scene = try await Scene()
        try await scene.fill()
        _ = try await scene.records.compact()
        let plan = try await scene.records.compactionPlan()
        #expect(plan.report.volumeCount == 0 && plan.report.deletedCount == 0)
        try await scene.put("a", "a3", by: scene.house)
        let (count, stored) = (try await scene.state().entryCount, try await scene.stored())
        #expect(try await scene.records.compact(by: plan) == plan.report)
        #expect(try await scene.state().entryCount == count)
        #expect(try await scene.stored() == stored)
    }

    /// The deletion that a plan goes on with was ended, and another one came, while the person was asked.
    @Test func aPlanThatGoesOnWithAnEarlierDeletionBringsNothingBack() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let faulty = FaultyStore(scene.store) { $0.name == "deleteBlobs" ? .refusing(.store(.unreachable)) : nil }
        let device = scene.device(scene.home, over: faulty)
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } != nil)
        let plan = try await scene.records.compactionPlan()
        #expect(plan.report.volumeCount == 0 && plan.report.deletedCount == 8)
        let other = scene.device(scene.empty).records(in: scene.tresor)
        _ = try await other.sync()
        try await other.delete(["a"])
        let newest = try #require(try await other.compact().checkpoint)
        #expect(try await scene.stored() == [newest])
        _ = try await scene.records.compact(by: plan)
        #expect(try await scene.stored() == [newest])
    }

    /// Volumes whose checkpoint has no room take none.
    @Test func volumesWithoutRoomForTheirCheckpointGoAgain() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let full = FaultyStore(scene.store) { $0.name == "append" ? .refusing(.store(.full)) : nil }
        let device = scene.device(scene.home, over: full)
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } == .store(.full))
        #expect(full.calls.filter(\.isWrite).map(\.name) == ["putBlob", "append", "deleteBlobs"])
    }

    /// The store takes the checkpoint, and has no room for the reading behind it.
    @Test func volumesThatACheckpointNamesStay() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let before = try await scene.state().entryCount
        let counts = CallCounts()
        let full = FaultyStore(scene.store) { call in
            counts.count(call.name == "entries" && counts.counts["append"] != nil ? "late" : call.name)
            return call.name == "entries" && counts.counts["late"] == 1 ? .refusing(.store(.full)) : nil
        }
        let device = scene.device(scene.home, over: full)
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } == .store(.full))
        #expect(full.calls.filter(\.isWrite).map(\.name) == ["putBlob", "append"])
        #expect(try await scene.stored().contains(before))
    }

    /// The other owner's checkpoint stands for what the plan would have sealed.
    @Test func anotherOwnersCheckpointEndsAPlan() async throws {
        let scene = try await Scene()
        try await scene.fill()
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
        let plan = try await scene.records.compactionPlan()
        let theirs = try #require(try await scene.late.records(in: scene.tresor).compact().checkpoint)
        let report = try await scene.records.compact(by: plan)
        #expect(report.checkpoint == nil)
        #expect(try await scene.stored() == [theirs])
    }

    @Test func whoIsNoOwnerAnyMoreCarriesNothingOut() async throws {
        let scene = try await Scene()
        try await scene.fill()
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
        let late = scene.late.records(in: scene.tresor)
        let plan = try await late.compactionPlan()
        let person = try await scene.anna.people.person(scene.late.user)
        try await scene.anna.tresor(scene.tresor).perform(.revoke([person]))
        let stored = try await scene.stored()
        #expect(await failure { _ = try await late.compact(by: plan) } == .noAccess)
        #expect(try await scene.stored() == stored)
    }
}

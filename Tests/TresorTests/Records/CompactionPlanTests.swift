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
        #expect(written == ["append", "deleteBlobs"])
        // The volume is the one that was sealed for the plan.
        guard case .seal(let volumes) = plan.step else { throw TresorError.failed(.other) }
        #expect(try await scene.blobs()[try #require(report.checkpoint)] == volumes.map { try Blob(of: $0) })
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

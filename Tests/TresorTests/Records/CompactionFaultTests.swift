// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Compactions that something interrupts, or that meet what others write (SPEC §19.7).
@Suite struct CompactionFaultTests {
    private typealias Scene = CompactionTests.Scene

    @Test(arguments: [FaultyStore.Fault.refusing(.store(.unreachable)), .losingAnswer(.store(.unreachable))])
    func whatAStoreInterruptsIsGoneOnWith(_ fault: FaultyStore.Fault) async throws {
        for failing in ["append", "deleteBlobs"] {
            let scene = try await Scene()
            try await scene.fill()
            let before = try await scene.state().entryCount
            let faulty = FaultyStore(scene.store) { $0.name == failing ? fault : nil }
            let device = scene.device(scene.home, over: faulty)
            #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } != nil)
            if failing == "deleteBlobs", case .refusing = fault {
                let plan = try await scene.records.compact(isDryRun: true)
                #expect(plan.volumeCount == 0 && plan.deletedCount == 8)
            }
            _ = try await scene.records.compact()
            #expect(try await scene.state().entryCount == before + 1)
            #expect(try await scene.stored() == [before])
            let other = scene.device(scene.empty).records(in: scene.tresor)
            #expect(try await other.sync().isComplete)
            #expect(try await scene.text("b", other) == "b2")
        }
    }

    /// The last pack tells no more that the others are there.
    @Test func aStoreThatLosesTheLastPackLosesTheOthersToo() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let last = try #require(try await scene.blobs().max { $0.key < $1.key }?.value.first)
        let faulty = FaultyStore(scene.store) { $0.name == "deleteBlobs" ? .refusing(.store(.unreachable)) : nil }
        let device = scene.device(scene.home, over: faulty)
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } != nil)
        try await scene.store.deleteBlobs([last.hash], in: scene.tresor)
        #expect(try await scene.records.compact().deletedCount == 8)
        #expect(try await scene.stored() == [try await scene.state().checkpoint])
    }

    /// A program that runs for long has read packs that its home lost since. It only goes on with a deletion.
    @Test func aDeletionThatIsGoneOnWithFetchesWhatWasLost() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let mine = scene.records
        _ = try await mine.pull()
        let faulty = FaultyStore(scene.store) { $0.name == "deleteBlobs" ? .refusing(.store(.unreachable)) : nil }
        let device = scene.device(scene.home, over: faulty)
        #expect(await failure { _ = try await device.records(in: scene.tresor).compact() } != nil)
        let count = try await scene.state().entryCount
        scene.home.delete(.records(scene.tresor, part: 0))
        let report = try await mine.compact()
        #expect(report.checkpoint == nil && report.deletedCount == 8)
        #expect(try await scene.state().entryCount == count)
    }

    @Test func whatTheHomeInterruptsIsGoneOnWith() async throws {
        // How many compactions failed, and how many of these after the checkpoint was in the log.
        var (failureCount, lateCount) = (0, 0)
        for writes in 0..<12 {
            let scene = try await Scene()
            try await scene.fill()
            let before = try await scene.state().entryCount
            scene.home.fill(after: writes)
            let error = await failure { _ = try await scene.records.compact() }
            scene.home.fill(after: nil)
            if error != nil {
                failureCount += 1
                // Behind the back of the home, which does not know it yet.
                let entries = try await scene.store.entries(of: scene.tresor, from: before, limit: 1)
                if !entries.isEmpty { lateCount += 1 }
            }
            _ = try await scene.records.compact()
            #expect(try await scene.state().entryCount == before + 1)
            #expect(try await scene.stored() == [before])
        }
        #expect(failureCount > 0 && lateCount > 0)
    }

    /// Both see the same head. Whose entry comes second finds nothing left to gain.
    @Test func twoOwnersCompactAtTheSameMoment() async throws {
        let scene = try await Scene()
        try await scene.fill()
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
        let before = try await scene.state().entryCount
        let late = scene.late.records(in: scene.tresor)
        #expect(try await late.sync().isComplete)
        let once = CallCounts()
        let store = FaultyStore(scene.store) { call in
            guard call.name == "append", once.counts["append"] == nil else { return nil }
            once.count("append")
            _ = try? await late.compact()
            return nil
        }
        let report = try await scene.device(scene.home, over: store).records(in: scene.tresor).compact()
        // The other one stands for everything, so there is nothing left to gain.
        #expect(once.counts["append"] == 1 && report.checkpoint == nil)
        #expect(try await scene.state().checkpoint == before)
        #expect(try await scene.stored() == [before])
        let other = scene.device(scene.empty).records(in: scene.tresor)
        #expect(try await other.sync().isComplete)
        #expect(try await scene.text("a", other) == "a2")
    }

    @Test func anotherEntryThatComesFirstIsWaitedFor() async throws {
        let scene = try await Scene()
        try await scene.fill()
        let house = scene.house.records(in: scene.tresor)
        try await house.put("e", "e1".utf8)
        let once = CallCounts()
        let store = FaultyStore(scene.store) { call in
            guard call.name == "append", once.counts["append"] == nil else { return nil }
            once.count("append")
            _ = try? await house.sync()
            return nil
        }
        let report = try await scene.device(scene.home, over: store).records(in: scene.tresor).compact()
        #expect(report.keptCount == 5 && once.counts["append"] == 1)
        #expect(try await scene.stored() == [try #require(report.checkpoint)])
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto

/// Three devices for 40 days. Seeds 0 to 49, in the long run 0 to 199, or as many as `TRESOR_SIMULATIONS` says;
/// `TRESOR_SEED` names one of them.
@Suite struct RecordSimulationTests {
    private static let batchCount = LongRun.isOn ? 4 : 1

    @Test(arguments: 0..<batchCount)
    func A145_threeDevicesAgreeAndNothingIsLostOrDoubled(batch: Int) async throws {
        let seeds = seeds("TRESOR_SIMULATIONS", else: 50 * Self.batchCount, batch: batch, of: Self.batchCount)
        var tally = RecordSimulation.Tally()
        for seed in seeds {
            let simulation = RecordSimulation(seed: seed)
            let findings = try await simulation.run()
            #expect(findings == [], "TRESOR_SEED=\(seed)")
            tally.add(simulation.tally)
        }
        guard seeds.count >= 50 else { return }
        // Enough happened: each kind of fault, conflicts, and a stop before and behind each write of a sync.
        let faults = tally.faults
        #expect([faults.lostCount, faults.staleCount, faults.lateCount, faults.withheldCount].allSatisfy { $0 > 100 })
        #expect(tally.conflictCount > seeds.count / 4, "\(tally)")
        #expect(tally.compactionCount > seeds.count, "\(tally)")
        #expect(tally.indexedCount > seeds.count / 2, "\(tally)")
        #expect(tally.commitCount > 10 * seeds.count && tally.editCount > tally.commitCount, "\(tally)")
        for (object, isDeletion) in [
            ("outbox", false), ("outbox", true), ("records", false), ("log", false), ("heads", false),
        ] {
            for isBehind in [false, true] {
                let stop = StoppingHome.Stop(object: object, isDeletion: isDeletion, isBehind: isBehind)
                #expect(tally.stops[stop] != nil, "\(stop)")
            }
        }
    }

    /// A client with a flaw is noticed by one of 200 seeds. Two more flaws are those of the exhaustive model, and two of the
    /// random histories.
    @Test(arguments: RecordFlaw.allCases) func A145_aFlawIsFoundOut(_ flaw: RecordFlaw) async {
        var isFound = false
        for seed in UInt64(0)..<200 where !isFound {
            let simulation = RecordSimulation(seed: seed, flaw: flaw)
            // With a flaw, a run may end before its time.
            _ = try? await simulation.run()
            isFound = simulation.findings.contains { $0.contains(flaw.finding) }
        }
        #expect(isFound, "\(flaw)")
    }
}

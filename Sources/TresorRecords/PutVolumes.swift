// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Volumes that were put into the store for a checkpoint, and that no entry names yet.
struct PutVolumes: Sendable {
    /// The volumes, in their order.
    let blobs: [Blob]
    /// The report of a compaction that names them.
    let report: CompactReport
    /// The state for which they were sealed.
    private let state: LogState
    /// The checkpoint by whose volumes the records were read; `nil` for packs.
    private let base: UInt64?
    /// Whether other volumes were put before, for which another entry came first.
    private let isAgain: Bool
    /// The versions that they keep.
    private var revisions: [Name: Set<UInt64>] = [:]

    init(_ plan: CompactionPlan, _ volumes: [VolumePlan], blobs: [Blob], isAgain: Bool) {
        self.blobs = blobs
        self.isAgain = isAgain
        (report, state, base) = (plan.report, plan.view.state, plan.view.volumes?.checkpoint.entry.sequence)
        for version in volumes.lazy.flatMap(\.versions) {
            revisions[version.record, default: []].insert(version.revision)
        }
    }

    /// Whether a checkpoint of the state of a later plan may name them (SPEC §19.7 step 5). The first ones do not serve
    /// again: what came first is kept too, unless others write all the time.
    func serve(_ plan: CompactionPlan) -> Bool {
        let (now, upto) = (plan.view.state, report.upto)
        // At the same head, it was not another entry that stood against them: the store has lost one.
        guard isAgain, now.head != state.head, now.epoch == state.epoch, now.contains(state.head),
            upto == state.head.sequence, upto > now.floor, upto <= plan.report.upto,
            base == plan.view.volumes?.checkpoint.entry.sequence
        else { return false }
        for record in plan.view.table.names {
            let heads = plan.view.table.heads(of: record).map(\.revision).filter { $0 <= upto }
            let kept = revisions[record] ?? []
            guard kept.isSuperset(of: heads) else { return false }
            // Beside a version that is replaced by now, every later one has to be kept. Behind the only head there is none.
            guard kept.count <= 1 || heads.count == kept.count else { return false }
        }
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
public import TresorCore
import TresorCrypto

/// What a compaction did in one tresor, or would do.
public struct CompactReport: Hashable, Sendable {
    /// The tresor.
    package let tresor: TresorID
    /// The entry that says what is kept; `nil` where there was nothing to gain, and for a compaction that is only planned.
    public internal(set) var checkpoint: UInt64?
    /// The last entry whose pack is not needed any more; 0 for none.
    package internal(set) var upto: UInt64 = 0
    /// The number of versions that volumes keep; 0 where there was nothing to gain.
    package internal(set) var keptCount = 0
    /// The number of volumes that keep them.
    package internal(set) var volumeCount = 0
    /// The number of packs, attachments and earlier volumes that the store was asked to delete, or would be.
    public internal(set) var deletedCount = 0
    /// The members and waiting people who read from a later key on, and for whom packs stay: those who came first, by
    /// rising user id. They can open no volume.
    public internal(set) var waitingFor: [UserID] = []

    init(tresor: TresorID) { self.tresor = tresor }
}

/// A compaction that was decided on, and that nothing was changed for.
package struct CompactionPlan: Sendable {
    /// What is left to do.
    fileprivate enum Step: Sendable {
        /// Append a checkpoint with these volumes, sealed, and delete what they replace.
        case seal([[UInt8]])
        /// Delete what the newest checkpoint replaced. Its volumes are proved.
        case finish([Hash256])
    }

    /// What would be done.
    package let report: CompactReport
    fileprivate let unneeded: UnneededBlobs
    fileprivate let step: Step

    fileprivate var view: RecordView { unneeded.view }
}

/// Makes a checkpoint, and deletes the packs for which it stands (SPEC §19.5, §19.7).
struct Compaction: Sendable {
    /// The number of attempts while others are faster.
    private static let attemptCount = 16

    let records: Records

    private var session: Session { records.session }
    private var client: Client { session.client }
    private var tresor: TresorID { records.tresor }

    /// Decides what a compaction does. Neither the log nor the store's objects change.
    func plan() async throws(TresorError) -> CompactionPlan {
        try checkOwner(try await client.logs.state(of: tresor))
        for _ in 0..<Self.attemptCount {
            let head = try checked(try await records.pull())
            let state = try await client.logs.state(of: tresor)
            if let plan = try await plan(at: state, synced: head) { return plan }
        }
        throw .busy
    }

    /// Carries a plan out, or makes one and carries it out.
    ///
    /// What was planned to be deleted is deleted as it was planned. A checkpoint is planned again where something is
    /// unsent, or where the log has grown.
    func run(_ planned: CompactionPlan? = nil) async throws(TresorError) -> CompactReport {
        let isUnsent = try await !records.unsent().isEmpty
        if let planned, !isUnsent, case .finish(let blobs) = planned.step { return try await finish(planned, blobs) }
        var plan = planned
        var isSynced = planned != nil && !isUnsent
        if planned == nil { try checkOwner(try await client.logs.state(of: tresor)) }
        for _ in 0..<Self.attemptCount {
            let head = isSynced ? nil : try checked(try await records.sync())
            isSynced = false
            let state = try await session.files.writableState(of: tresor)
            if plan?.view.state.head != state.head { plan = try await self.plan(at: state, synced: head) }
            guard let decided = plan else { continue }
            switch decided.step {
            case .finish(let blobs): return try await finish(decided, blobs)
            case .seal(let volumes):
                var report = decided.report
                guard let after = try await append(volumes, to: state, &report) else { continue }
                let view = try await earliestView(at: after)
                let unneeded = UnneededBlobs(session: session, view: view, entries: try await entries(of: after))
                let blobs = try await unneeded.proved(restoring: true)
                try await unneeded.delete(blobs)
                report.deletedCount = blobs.count
                return report
            }
        }
        throw .busy
    }

    /// The head up to which a sync went, which met nothing that stands against a compaction.
    private func checked(_ synced: SyncReport) throws(TresorError) -> UInt64 {
        guard !synced.isGone else { throw .noAccess }
        if let held = synced.held { throw held }
        return synced.head
    }

    private func checkOwner(_ state: LogState) throws(TresorError) {
        if state.waiting[session.user] != nil { throw .waiting }
        guard state.members[session.user]?.role == .owner else { throw .noAccess }
    }

    /// Decides what to do at a state.
    ///
    /// - Parameter head: the head of the last sync; `nil` for that of the last plan.
    /// - Returns: `nil` where others have committed since the sync.
    private func plan(at state: LogState, synced head: UInt64?) async throws(TresorError) -> CompactionPlan? {
        try checkOwner(state)
        let entries = try await entries(of: state)
        let view = try await trustedView(at: state, entries)
        guard view.table.isComplete else {
            guard head.map({ state.head.sequence > $0 }) ?? true else { throw .store(.withheld) }
            return nil
        }
        var report = CompactReport(tresor: tresor)
        let limit = limit(in: state, &report)
        let unneeded = UnneededBlobs(session: session, view: view, entries: entries)
        if try await !hasGain(upto: limit, in: view) {
            report.upto = state.floor
            do throws(TresorError) {
                let blobs = try await unneeded.proved()
                if try await unneeded.isThere(blobs.last) { report.deletedCount = blobs.count }
                return CompactionPlan(report: report, unneeded: unneeded, step: .finish(blobs))
            } catch {
                // A new checkpoint takes the place of one that does not hold, if this home can tell.
                let isRepairable = error == .altered || error == .store(.withheld)
                guard isRepairable, !view.isByNewestVolumes, limit > state.floor else { throw error }
            }
        }
        report.upto = limit
        let (volumes, attachments) = try await volumes(upto: limit, of: view, &report)
        report.deletedCount = try await unneeded.blobs(upto: limit, keeping: attachments).count
        return CompactionPlan(report: report, unneeded: unneeded, step: .seal(volumes))
    }

    /// Deletes what was planned.
    private func finish(_ plan: CompactionPlan, _ blobs: [Hash256]) async throws(TresorError) -> CompactReport {
        guard let checkpoint = plan.view.checkpoint else { return plan.report }
        _ = try await VolumeFiles(client: client, tresor: tresor).restore(checkpoint)
        // If the store lacks the last one, its bytes may still lie in the store's files: the last deletion may have ended
        // with `busy`.
        try await plan.unneeded.delete(plan.report.deletedCount > 0 ? blobs : blobs.suffix(1))
        return plan.report
    }

    /// Reads the records by what tells most: by packs while the store has them, and else by the volumes of the earliest
    /// checkpoint that will do.
    ///
    /// - Throws: ``TresorError/store(_:)`` while the store has some of the packs for which another owner's volumes stand,
    ///   since nobody could compare them any more; ``TresorError/unverified`` for volumes by a newer key than was compared.
    private func trustedView(at state: LogState, _ entries: [Entry]) async throws(TresorError) -> RecordView {
        let known = try await records.view(at: state)
        guard known.volumes != nil else { return known }
        let unneeded = UnneededBlobs(session: session, view: known, entries: entries)
        if try await unneeded.hasPacks(upto: state.floor) {
            try await RecordPull(session: session, state: state).fetchReplaced(known.checkpoints)
        }
        let view = try await earliestView(at: state)
        guard let base = view.volumes?.checkpoint else { return view }
        try client.trust.authorTrust(of: base.entry.author, generation: base.entry.generation, in: state)
        if base.entry.author == session.user { return view }
        guard try await !unneeded.hasPacks(upto: base.body.upto) else { throw .store(.withheld) }
        return view
    }

    /// Reads the commits and checkpoints of a state.
    private func entries(of state: LogState) async throws(TresorError) -> [Entry] {
        try await CommitReader(client: client).entries(of: state, from: 0) { $0.isCommit || $0.isCheckpoint }
    }

    private func earliestView(at state: LogState) async throws(TresorError) -> RecordView {
        try await RecordView.read(at: state, from: nil, by: .earliest, of: session)
    }

    /// The last entry for which a checkpoint may stand (R42), and for whom it stands for no more.
    private func limit(in state: LogState, _ report: inout CompactReport) -> UInt64 {
        guard let newcomer = state.firstNewcomer(at: state.head.sequence) else { return state.head.sequence }
        let people = state.members.merging(state.waiting) { member, _ in member }
        report.waitingFor = people.filter { _, member in
            guard case .from(let epoch) = member.history else { return false }
            return state.epochs[Int(epoch) - 1].sequence == newcomer
        }.keys.sorted()
        return newcomer - 1
    }

    /// Whether a checkpoint would stand for more commits than the newest one, or seal them under a newer key.
    private func hasGain(upto limit: UInt64, in view: RecordView) async throws(TresorError) -> Bool {
        let state = view.state
        guard limit > state.floor else { return false }
        if let checkpoint = view.checkpoint, checkpoint.body.epoch < state.epoch { return true }
        return try await CommitReader(client: client).commits(of: state, from: state.floor + 1)
            .contains { $0.sequence <= limit && state.voidRule(of: $0) == nil }
    }

    /// Seals every version up to an entry that no later one replaces.
    ///
    /// - Returns: the volumes, and the versions that are attachments.
    private func volumes(
        upto limit: UInt64, of view: RecordView, _ report: inout CompactReport
    ) async throws(TresorError) -> (volumes: [[UInt8]], attachments: [Kept]) {
        let state = view.state
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        let time = client.clock()
        let (count, volumes, attachments) = try await Cores.apart { () throws(TresorError) in
            func sealed(_ kept: [Kept]) throws(TresorError) -> [UInt8] {
                try Volume(of: kept).seal(with: keys, at: state, by: session.identity, time: time).bytes
            }
            var versions: [(revision: UInt64, record: Name)] = []
            for name in view.table.names {
                for head in view.table.heads(of: name) where head.revision <= limit {
                    versions.append((head.revision, name))
                }
            }
            versions.sort { $0 < $1 }
            let packs = PackReader(client: client, tresor: tresor)
            var (volumes, attachments): ([[UInt8]], [Kept]) = ([], [])
            var (next, byteCount) = ([Kept](), Volume.leastByteCount)
            for (revision, record) in versions {
                let kept = Kept(sequence: revision, item: try view.item(of: record, at: revision, from: packs))
                if byteCount + kept.byteCount > Volume.maximumByteCount {
                    volumes.append(try sealed(next))
                    (next, byteCount) = ([], Volume.leastByteCount)
                }
                if case .attachment = kept.item.content { attachments.append(kept) }
                next.append(kept)
                byteCount += kept.byteCount
            }
            volumes.append(try sealed(next))
            return (versions.count, volumes, attachments)
        }
        (report.keptCount, report.volumeCount) = (count, volumes.count)
        return (volumes, attachments)
    }

    /// Appends the checkpoint of a report with its volumes, and finds out whether it is in the log.
    ///
    /// - Returns: the state with it; `nil` where another entry came first.
    private func append(
        _ volumes: [[UInt8]], to state: LogState, _ report: inout CompactReport
    ) async throws(TresorError) -> LogState? {
        var blobs: [StoredBlob] = []
        for volume in volumes {
            let blob = try Blob(of: volume)
            blobs.append(StoredBlob(hash: blob.hash, size: blob.size, bytes: volume))
        }
        let named = blobs.map { Blob(hash: $0.hash, size: $0.size) }
        let body = CheckpointBody(upto: report.upto, epoch: state.epoch, volumes: named)
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: session.identity,
            time: client.clock(), body: .checkpoint(body))
        var fold = Fold(state: state)
        try fold.apply(entry.bytes)
        guard fold.voidRule == nil else { throw .noAccess }
        let writer = LogWriter(session: session)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: try await writer.head(of: state), entry: entry.bytes,
            blobs: blobs)
        try Cancellation.check()
        let after = try await client.uninterrupted { () async throws(TresorError) in
            try client.archive.proveWritable()
            return try await writer.send(entry, change, wraps: [])
        }
        if after != nil { report.checkpoint = entry.sequence }
        return after
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
public import TresorCore
import TresorCrypto

/// What a compaction did in one tresor, or would do.
public struct CompactReport: Hashable, Sendable {
    /// The tresor.
    package let tresor: TresorID
    /// The entry that says what is kept; `nil` where there was nothing to gain, and for a compaction that is only planned.
    package internal(set) var checkpoint: UInt64?
    /// The last entry whose pack is not needed any more; 0 for none.
    package internal(set) var upto: UInt64 = 0
    /// The number of versions that volumes keep; 0 where there was nothing to gain.
    package internal(set) var keptCount = 0
    /// The number of volumes that keep them.
    package internal(set) var volumeCount = 0
    /// The number of packs, attachments and earlier volumes that the store was asked to delete, or would be.
    package internal(set) var deletedCount = 0
    /// The members and waiting people who read from a later key on, and for whom packs stay: those who came first, by
    /// rising user id. They can open no volume.
    public internal(set) var waitingFor: [UserID] = []

    init(tresor: TresorID) { self.tresor = tresor }
}

/// A compaction that was decided on. Nothing was changed yet.
package struct CompactionPlan: Sendable {
    /// The next change.
    enum Step: Sendable {
        /// Append a checkpoint with these volumes, sealed.
        case seal([[UInt8]])
        /// Delete these blobs, which the newest checkpoint replaced. Its volumes are proved.
        case delete([Hash256])
    }

    /// The report of a compaction that goes by this plan, as far as it is known before.
    package let report: CompactReport
    let view: RecordView
    let step: Step

    /// Whether nothing is to be sealed, and nothing is left to be deleted.
    package var isEmpty: Bool { report.volumeCount == 0 && report.deletedCount == 0 }
}

/// Makes a checkpoint, and deletes the packs for which it stands (SPEC §19.5, §19.7).
struct Compaction: Sendable {
    /// The number of attempts while others are faster.
    private static let attemptCount = 16
    /// The most blobs that are deleted at once.
    private static let deletedAtOnce = 256

    let records: Records

    private var session: Session { records.session }
    private var client: Client { session.client }
    private var tresor: TresorID { records.tresor }

    /// Decides what a compaction does. Neither the log nor the store's blobs change.
    func plan() async throws(TresorError) -> CompactionPlan {
        try checkOwner(try await client.logs.state(of: tresor))
        for _ in 0..<Self.attemptCount {
            let head = try checked(try await records.pull())
            let state = try await client.logs.state(of: tresor)
            if let plan = try await plan(at: state, synced: head) { return plan }
        }
        throw .busy
    }

    /// Makes a checkpoint and deletes what it replaces.
    ///
    /// - Parameter planned: a plan, which is carried out as it is. Another one is made where something is unsent, or
    ///   where the log has grown; but in place of an empty one nothing is done.
    func run(_ planned: CompactionPlan? = nil) async throws(TresorError) -> CompactReport {
        try checkOwner(try await client.logs.state(of: tresor))
        var plan = try await records.unsent().isEmpty ? planned : nil
        var sealed: CompactReport?
        for _ in 0..<Self.attemptCount {
            let head = plan == nil ? try checked(try await records.sync()) : 0
            let state = try await session.files.writableState(of: tresor)
            if let stale = plan, stale.view.state.head != state.head {
                if stale.isEmpty { return stale.report }
                plan = nil
                continue
            }
            if plan == nil { plan = try await self.plan(at: state, synced: head, isSealed: sealed != nil) }
            guard let decided = plan else { continue }
            plan = nil
            var report = sealed ?? decided.report
            switch decided.step {
            case .seal(let volumes):
                if try await append(volumes, to: state, &report) { sealed = report }
            case .delete(let blobs):
                // The proof takes a while. Somebody may have made the next checkpoint since.
                guard try await client.logs.state(of: tresor).checkpoint == state.checkpoint else { continue }
                report.deletedCount = decided.report.deletedCount
                try await delete(blobs, by: decided)
                return report
            }
        }
        throw .busy
    }

    /// The head up to which a sync went that met nothing which stands against a compaction.
    private func checked(_ synced: SyncReport) throws(TresorError) -> UInt64 {
        guard !synced.isGone else { throw .noAccess }
        if let held = synced.held { throw held }
        return synced.head
    }

    private func checkOwner(_ state: LogState) throws(TresorError) {
        if state.waiting[session.user] != nil { throw .waiting }
        guard state.members[session.user]?.role == .owner else { throw .noAccess }
    }

    /// Decides what comes next at a state.
    ///
    /// - Parameters:
    ///   - head: the head of the last sync.
    ///   - isSealed: whether this compaction has appended its checkpoint.
    /// - Returns: `nil` where others have committed since the sync.
    private func plan(
        at state: LogState, synced head: UInt64, isSealed: Bool = false
    ) async throws(TresorError) -> CompactionPlan? {
        try checkOwner(state)
        let entries = try await CommitReader(client: client).entries(of: state, from: 0) {
            $0.isCommit || $0.isCheckpoint
        }
        let view = try await trustedView(at: state, entries)
        guard view.table.isComplete else {
            guard state.head.sequence > head else { throw .store(.withheld) }
            return nil
        }
        var report = CompactReport(tresor: tresor)
        let limit = limit(in: state, &report)
        let unneeded = UnneededBlobs(session: session, view: view, entries: entries)
        if try await isSealed ? true : !hasGain(upto: limit, in: view) {
            report.upto = state.floor
            do throws(TresorError) {
                let blobs = try await unneeded.proved()
                let areThere = try await isSealed ? true : unneeded.areThere(upto: state.floor)
                if areThere { report.deletedCount = blobs.count }
                return CompactionPlan(report: report, view: view, step: .delete(blobs))
            } catch {
                // Who has all packs puts a checkpoint in the place of one that does not hold.
                let isRepairable = error == .altered || error == .store(.withheld)
                guard isRepairable, !isSealed, view.volumes == nil, limit > state.floor else { throw error }
            }
        }
        report.upto = limit
        let (volumes, attachments) = try await volumes(upto: limit, of: view, &report)
        report.deletedCount = try await unneeded.blobs(upto: limit, keeping: attachments).count
        return CompactionPlan(report: report, view: view, step: .seal(volumes))
    }

    /// Deletes what a plan says.
    private func delete(_ blobs: [Hash256], by plan: CompactionPlan) async throws(TresorError) {
        guard let checkpoint = plan.view.checkpoint, !blobs.isEmpty else { return }
        let files = VolumeFiles(client: client, tresor: tresor)
        // What the home has, the store may have lost.
        _ = try await files.restore(checkpoint)
        try await files.forget(plan.view.checkpoints.dropLast())
        // If the store lacks the last one, its bytes may still lie in the store's files: the last deletion may have ended
        // with `busy`.
        let going = plan.report.deletedCount > 0 ? blobs[...] : blobs.suffix(1)
        for start in stride(from: going.startIndex, to: going.endIndex, by: Self.deletedAtOnce) {
            try Cancellation.check()
            let next = going[start..<min(start + Self.deletedAtOnce, going.endIndex)]
            try await client.store.deleteBlobs(Array(next), in: tresor)
        }
    }

    /// Reads the records from what may be sealed anew: from packs while the store has them, from volumes of one's own, and
    /// from another owner's volumes if nothing else could tell.
    ///
    /// - Throws: ``TresorError/store(_:)`` while the store has some of the packs for which another owner's volumes stand,
    ///   and for volumes that are not what earlier ones say; ``TresorError/unverified`` for volumes by a newer key than
    ///   was compared.
    private func trustedView(at state: LogState, _ entries: [Entry]) async throws(TresorError) -> RecordView {
        let known = try await records.view(at: state)
        let needsVolumes = known.volumes != nil || known.table.missingVolume != nil
        guard let newest = known.checkpoint, needsVolumes else { return known }
        if known.isByNewestVolumes, newest.isOwn(of: session) { return known }
        let packs = UnneededBlobs(session: session, view: known, entries: entries)
        if try await packs.areThere(upto: state.floor) {
            try await RecordPull(session: session, state: state).fetchReplaced(known.checkpoints)
            records.cache.view = nil
        }
        let view = try await RecordView.read(at: state, from: nil, by: .earliest, of: session)
        guard let base = view.volumes?.checkpoint else { return view }
        try client.trust.authorTrust(of: base.entry.author, generation: base.entry.generation, in: state)
        if base.isOwn(of: session) { return view }
        guard try await !packs.areThere(upto: base.body.upto) else { throw .store(.withheld) }
        // Of two that others made, none is believed against the other.
        if !view.isByNewestVolumes, view.table.isComplete {
            do throws(TresorError) {
                _ = try await UnneededBlobs(session: session, view: view, entries: entries).proved()
            } catch {
                throw error == .altered ? .store(.withheld) : error
            }
        }
        return view
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

    /// Whether a checkpoint would stand for more commits than the newest one, seal them under a newer key, or take the place
    /// of somebody else's while earlier volumes tell what it should say: once these are deleted, only one's own is left.
    private func hasGain(upto limit: UInt64, in view: RecordView) async throws(TresorError) -> Bool {
        let state = view.state
        guard limit > state.floor else { return false }
        if view.isBehind { return true }
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
    /// - Returns: `false` where another entry came first.
    private func append(
        _ volumes: [[UInt8]], to state: LogState, _ report: inout CompactReport
    ) async throws(TresorError) -> Bool {
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
        guard let after else { return false }
        report.checkpoint = entry.sequence
        // They stay, whatever another owner does next.
        let checkpoint = Checkpoint(entry: entry, body: body, state: after)
        let sealed = Dictionary(uniqueKeysWithValues: volumes.enumerated().map { ($0.offset, $0.element) })
        try await VolumeFiles(client: client, tresor: tresor).keep(sealed, of: checkpoint, for: session.user)
        return true
    }
}

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

/// Makes a checkpoint, and deletes the packs for which it stands (SPEC §19.5, §19.7).
struct Compaction: Sendable {
    /// The number of attempts while others are faster.
    private static let attemptCount = 16

    let records: Records

    private var session: Session { records.session }
    private var client: Client { session.client }
    private var tresor: TresorID { records.tresor }

    func run(isDryRun: Bool) async throws(TresorError) -> CompactReport {
        try checkOwner(try await client.logs.state(of: tresor))
        for _ in 0..<Self.attemptCount {
            let synced = isDryRun ? try await records.pull() : try await records.sync()
            guard !synced.isGone else { throw .noAccess }
            if let held = synced.held { throw held }
            let state =
                isDryRun ? try await client.logs.state(of: tresor) : try await session.files.writableState(of: tresor)
            try checkOwner(state)
            let view = try await trustedView(at: state)
            guard view.table.isComplete else {
                // Others may have committed since the sync.
                guard state.head.sequence > synced.head else { throw .store(.withheld) }
                continue
            }
            var report = CompactReport(tresor: tresor)
            let limit = limit(in: state, &report)
            let unneeded = UnneededBlobs(session: session, view: view)
            if try await !hasGain(upto: limit, in: view) {
                report.upto = state.floor
                do throws(TresorError) {
                    report.deletedCount = try await unneeded.delete(isDryRun: isDryRun)
                    return report
                } catch {
                    // Who has all packs puts a checkpoint in the place of one that does not hold.
                    let isRepairable = error == .altered || error == .store(.withheld)
                    guard isRepairable, view.volumes == nil, limit > state.floor else { throw error }
                }
            }
            report.upto = limit
            let (volumes, attachments) = try await volumes(upto: limit, of: view, isDryRun: isDryRun, &report)
            if isDryRun {
                report.deletedCount = try await unneeded.count(upto: limit, keeping: attachments)
                return report
            }
            guard let after = try await append(volumes, upto: limit, to: state, &report) else { continue }
            let present = try await records.view(at: after)
            report.deletedCount = try await UnneededBlobs(session: session, view: present).delete(isFirst: true)
            return report
        }
        throw .busy
    }

    private func checkOwner(_ state: LogState) throws(TresorError) {
        if state.waiting[session.user] != nil { throw .waiting }
        guard state.members[session.user]?.role == .owner else { throw .noAccess }
    }

    /// Reads the records from what may be sealed anew: from packs while the store has them, and not from another owner's
    /// word for them.
    private func trustedView(at state: LogState) async throws(TresorError) -> RecordView {
        var view = try await records.view(at: state)
        guard view.volumes != nil, try await UnneededBlobs(session: session, view: view).areThere() else {
            try checkVoucher(of: view)
            return view
        }
        try await RecordPull(session: session, state: state).fetchPacks(upto: state.floor)
        records.cache.view = nil
        view = try await records.view(at: state)
        let isForeign = [view.volumes?.checkpoint, view.checkpoint].contains { $0?.entry.author != session.user }
        guard view.volumes == nil || !isForeign else { throw .store(.withheld) }
        try checkVoucher(of: view)
        return view
    }

    /// Checks the author of the volumes that stand for packs, as for reading them.
    private func checkVoucher(of view: RecordView) throws(TresorError) {
        guard let entry = view.volumes?.checkpoint.entry else { return }
        try client.trust.authorTrust(of: entry.author, generation: entry.generation, in: view.state)
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

    /// Seals every version up to an entry that no later one replaces; for a dry run, only counts what it would seal.
    ///
    /// - Returns: the volumes, and the versions that are attachments.
    private func volumes(
        upto limit: UInt64, of view: RecordView, isDryRun: Bool, _ report: inout CompactReport
    ) async throws(TresorError) -> (volumes: [[UInt8]], attachments: [Kept]) {
        let state = view.state
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        let time = client.clock()
        let (count, volumes, attachments) = try await Cores.apart { () throws(TresorError) in
            func sealed(_ kept: [Kept]) throws(TresorError) -> [UInt8] {
                if isDryRun { return [] }
                return try Volume(of: kept).seal(with: keys, at: state, by: session.identity, time: time).bytes
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

    /// Appends the checkpoint with its volumes, and finds out whether it is in the log.
    ///
    /// - Returns: the state with it; `nil` where another entry came first.
    private func append(
        _ volumes: [[UInt8]], upto limit: UInt64, to state: LogState, _ report: inout CompactReport
    ) async throws(TresorError) -> LogState? {
        var blobs: [StoredBlob] = []
        for volume in volumes {
            let blob = try Blob(of: volume)
            blobs.append(StoredBlob(hash: blob.hash, size: blob.size, bytes: volume))
        }
        let named = blobs.map { Blob(hash: $0.hash, size: $0.size) }
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: session.identity,
            time: client.clock(), body: .checkpoint(CheckpointBody(upto: limit, epoch: state.epoch, volumes: named)))
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

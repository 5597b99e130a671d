// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Makes a checkpoint, and deletes the packs for which it stands (SPEC §19.5, §19.7).
struct Compaction: Sendable {
    /// The number of attempts while others are faster.
    private static let attemptCount = 16

    let records: Records
    /// The packs that were opened to be sealed anew.
    private let opened = OpenedPacks()

    init(records: Records) { self.records = records }

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
        var put: PutVolumes?
        do throws(TresorError) {
            let report = try await run(planned, &put)
            await giveUp(put)
            return report
        } catch {
            await giveUp(put)
            throw error
        }
    }

    /// - Parameter put: becomes the volumes that the store has and that no entry is known to name.
    private func run(_ planned: CompactionPlan?, _ put: inout PutVolumes?) async throws(TresorError) -> CompactReport {
        try checkOwner(try await client.logs.state(of: tresor))
        var plan = try await records.unsent().isEmpty ? planned : nil
        var sealed: CompactReport?
        for _ in 0..<Self.attemptCount {
            let head = plan == nil ? try checked(try await records.sync(again: false)) : 0
            // Where nothing is sealed, no key changes.
            let state =
                plan?.isDone == true
                ? try await client.logs.state(of: tresor) : try await session.files.writableState(of: tresor)
            if let stale = plan, stale.view.state.head != state.head {
                if stale.isEmpty { return stale.report }
                plan = nil
                continue
            }
            if plan == nil { plan = try await self.plan(at: state, synced: head, isSealed: sealed != nil) }
            guard let decided = plan else { continue }
            plan = nil
            switch decided.step {
            case .seal(let volumes):
                // Without the pack of an earlier version, nobody could prove what was sealed.
                guard try await hasPacks(decided.view, CommitReader(client: client).records(of: state)) else {
                    await records.forgetView()
                    continue
                }
                try await seal(volumes, by: decided, &put)
                if let report = try await append(&put, to: state) { sealed = report }
            case .delete(let blobs):
                // The proof takes a while. Somebody may have made the next checkpoint since.
                guard try await client.logs.state(of: tresor).checkpoint == state.checkpoint else { continue }
                var report = sealed ?? decided.report
                report.note(deleting: decided.report.deletedCount > 0 ? blobs : [])
                try await delete(blobs, by: decided, isFetched: sealed?.checkpoint == state.checkpoint)
                do throws(TresorError) {
                    try await UnnamedBlobs(session: session, tresor: tresor).delete()
                } catch {
                    // The rest is done. The next compaction deletes them.
                    if error == .cancelled || error == .usage(.locked) { throw error }
                }
                return report
            }
        }
        throw .busy
    }

    /// The head up to which a sync went that met nothing which stands against a compaction. A lack of room does not: a
    /// compaction ends it.
    private func checked(_ synced: SyncReport) throws(TresorError) -> UInt64 {
        guard !synced.isGone else { throw .noAccess }
        if let held = synced.held, held != .store(.full) { throw held }
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
    /// - Returns: `nil` where others have committed since the sync, and where the home has lost what nobody has any more.
    private func plan(
        at state: LogState, synced head: UInt64, isSealed: Bool = false
    ) async throws(TresorError) -> CompactionPlan? {
        try checkOwner(state)
        let log = try await CommitReader(client: client).records(of: state)
        let known = try await known(at: state, log)
        let view = try await CheckpointTrust(records: records, state: state, entries: log).sealable(known)
        guard view.table.isComplete else {
            guard state.head.sequence > head else { throw .store(.withheld) }
            return nil
        }
        var report = CompactReport(tresor: tresor)
        let limit = limit(in: state, &report)
        let unneeded = UnneededBlobs(session: session, view: view, entries: log.all, opened: opened)
        if isSealed || !hasGain(upto: limit, in: view, log) {
            report.upto = state.floor
            do throws(TresorError) {
                guard let blobs = try await proved(unneeded, by: view, log) else { return nil }
                let areThere = try await isSealed ? true : unneeded.areThere(upto: state.floor)
                if areThere { report.note(deleting: blobs) }
                return CompactionPlan(report: report, view: view, step: .delete(blobs))
            } catch {
                // A home that has all packs puts a checkpoint in the place of one that does not hold.
                let isRepairable = error == .altered || error == .store(.withheld)
                guard isRepairable, !isSealed, view.isByPacks, limit > state.floor else { throw error }
            }
        }
        report.upto = limit
        let (volumes, attachments) = try await Cores.apart { () throws(TresorError) in
            VolumePlan.plan(upto: limit, of: view.table)
        }
        report.note(keeping: volumes)
        report.note(deleting: try await unneeded.blobs(upto: limit, keeping: attachments))
        return CompactionPlan(report: report, view: view, step: .seal(volumes))
    }

    /// The view of the home. What an index says for packs that are lost by now counts for nothing.
    private func known(at state: LogState, _ log: RecordEntries) async throws(TresorError) -> RecordView {
        let known = try await records.view(at: state, log)
        guard known.isIndexed, known.isWholeByPacks else { return known }
        if try await hasPacks(known, log) {
            records.cache.view = known.proved(by: log.commits)
        } else {
            await records.forgetView()
        }
        return try await records.view(at: state, log)
    }

    /// The blobs that the newest checkpoint makes needless. A program that runs for long may have lost packs that it has read.
    ///
    /// - Returns: `nil` where the store has not all of them any more: by volumes, the records are to be read anew.
    private func proved(
        _ unneeded: UnneededBlobs, by view: RecordView, _ log: RecordEntries
    ) async throws(TresorError) -> [Blob]? {
        do throws(TresorError) {
            return try await unneeded.proved()
        } catch {
            guard error == .store(.withheld) || error == .altered, view.isWholeByPacks else { throw error }
        }
        guard try await hasPacks(view, log) else {
            await records.forgetView()
            return nil
        }
        return try await unneeded.proved()
    }

    /// Whether the home has all packs, where these say everything. What it has lost is fetched.
    ///
    /// - Parameter log: all commits.
    private func hasPacks(_ view: RecordView, _ log: RecordEntries) async throws(TresorError) -> Bool {
        guard view.isWholeByPacks else { return true }
        return try await RecordPull(session: session, state: view.state).fetchLost(log)
    }

    /// Deletes what a plan says.
    ///
    /// - Parameter isFetched: whether the store has just given all volumes of the checkpoint.
    private func delete(_ blobs: [Blob], by plan: CompactionPlan, isFetched: Bool) async throws(TresorError) {
        guard let checkpoint = plan.view.checkpoint, !blobs.isEmpty else { return }
        let files = VolumeFiles(client: client, tresor: tresor)
        // The store may have lost volumes that the home has.
        if !isFetched { _ = try await files.restore(checkpoint) }
        try await files.forget(plan.view.checkpoints.dropLast())
        // If the store lacks the last one, its bytes may still lie in the store's files: the last deletion may have ended
        // with `busy`.
        let going = plan.report.deletedCount > 0 ? blobs[...] : blobs.suffix(1)
        try await client.store.deleteFew(going, in: tresor)
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
    private func hasGain(upto limit: UInt64, in view: RecordView, _ log: RecordEntries) -> Bool {
        let state = view.state
        guard limit > state.floor else { return false }
        if view.isBehind { return true }
        if let checkpoint = view.checkpoint, checkpoint.body.epoch < state.epoch { return true }
        return log.commits.contains {
            $0.sequence > state.floor && $0.sequence <= limit && state.voidRule(of: $0) == nil
        }
    }

    /// Makes sure that the store has volumes for a plan: those that were put for an entry that came too late, or new ones.
    private func seal(
        _ volumes: [VolumePlan], by plan: CompactionPlan, _ put: inout PutVolumes?
    ) async throws(TresorError) {
        if put?.serve(plan) == true { return }
        let isAgain = put != nil
        await giveUp(put.take())
        // A home that cannot note what was appended is found out before anything is put.
        try await Cores.apart { () throws(TresorError) in try client.archive.proveWritable() }
        put = PutVolumes(plan, volumes, blobs: try await self.put(volumes, of: plan.view), isAgain: isAgain)
    }

    /// Appends the checkpoint that names the volumes which were put, and finds out whether it is in the log. What the store
    /// was given is then fetched, and kept: it stays, whatever another owner does next.
    ///
    /// - Parameter put: the volumes. They stay where another entry came first, and where nothing was sent.
    /// - Returns: what was done; `nil` where another entry came first.
    private func append(_ put: inout PutVolumes?, to state: LogState) async throws(TresorError) -> CompactReport? {
        guard let volumes = put else { return nil }
        var report = volumes.report
        let body = CheckpointBody(upto: report.upto, epoch: state.epoch, volumes: volumes.blobs)
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: session.identity,
            time: client.clock(), body: .checkpoint(body))
        var fold = Fold(state: state)
        try fold.apply(entry.bytes)
        guard fold.voidRule == nil else { throw .noAccess }
        let writer = LogWriter(session: session)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
            blobs: volumes.blobs.map { StoredBlob(hash: $0.hash, size: $0.size, bytes: nil) })
        try Cancellation.check()
        // From here on an entry may name them, also where this fails.
        put = nil
        let after: LogState?
        do throws(TresorError) {
            after = try await client.uninterrupted { () async throws(TresorError) in
                try await writer.send(entry, change, wraps: [])
            }
        } catch {
            // The volumes take no room, unless the log has it: what refused may be the reading behind it.
            if error == .store(.full) { put = volumes }
            throw error
        }
        guard let after else {
            put = volumes
            return nil
        }
        report.checkpoint = entry.sequence
        let checkpoint = Checkpoint(entry: entry, body: body, state: after)
        _ = try await RecordPull(session: session, state: after).fetchVolumes(of: checkpoint)
        return report
    }

    /// Seals volumes, and puts each into the store before the next one is made. If that fails, those that were put go again.
    private func put(_ volumes: [VolumePlan], of view: RecordView) async throws(TresorError) -> [Blob] {
        let keys = try await session.keyRing.keys(of: view.state.epoch, in: view.state)
        let (session, opened, time) = (session, opened, client.clock())
        let store = BlobReader(client.store, tresor)
        var named: [Blob] = []
        do throws(TresorError) {
            for volume in volumes {
                try Cancellation.check()
                let (blob, bytes) = try await Cores.apart { () throws(TresorError) in
                    let bytes = try volume.seal(of: view, with: keys, by: session, at: time, noting: opened)
                    return (try Blob(of: bytes), bytes)
                }
                named.append(blob)
                let parts = StoredBlob.parts(of: bytes)
                try await store.put(blob, again: true) { (part) in Array(parts[Int(part)]) }
            }
        } catch {
            await giveUp(named)
            throw error
        }
        return named
    }

    private func giveUp(_ put: PutVolumes?) async {
        if let put { await giveUp(put.blobs) }
    }

    /// Takes volumes out of the store that no entry of the newest log names, also in a task that was cancelled: a store in a
    /// file keeps them for ever.
    private func giveUp(_ volumes: [Blob]) async {
        let outbox = records.outbox
        try? await Cancellation.ignored { () async throws(TresorError) in
            _ = try await outbox.giveBackRoom(of: volumes, namedFrom: 0)
        }
    }
}

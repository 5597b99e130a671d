// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Brings the records of one tresor up to date, in both directions (SPEC §19.7).
struct RecordSync: Sendable {
    /// The number of attempts to commit while others are faster.
    private static let attemptCount = 16

    let records: Records
    /// Whether to send again what there was no room for.
    var isAgain = true

    private var session: Session { records.session }
    private var tresor: TresorID { records.tresor }
    private var client: Client { session.client }
    private var outbox: OutboxFile { OutboxFile(session: session, tresor: tresor) }

    /// Fetches (steps 1 to 3), and sends unless that is not wanted. What nobody needs any more is deleted from the home.
    func run(sending: Bool) async throws(TresorError) -> SyncReport {
        do throws(TresorError) {
            let report = try await runAll(sending: sending)
            await outbox.clean()
            return report
        } catch {
            await outbox.clean()
            throw error
        }
    }

    private func runAll(sending: Bool) async throws(TresorError) -> SyncReport {
        var report = SyncReport(tresor: tresor)
        // How often what was sent is not seen in the log, and the commit that was sent last.
        var (failures, last) = (0, Outbox.Sent?.none)
        // The pending changes before it was made.
        var sets: [[Item]] = []
        // Once the store had no room for a commit: the most sets of the next one, which are the smallest.
        var most: Int?
        while true {
            try Cancellation.check()
            let state = try await client.logs.state(of: tresor)
            guard state.members[session.user] != nil else {
                guard try await purge(state) else { continue }
                guard state.waiting[session.user] == nil else { throw .waiting }
                try await forgetAttachments(state)
                report.isGone = true
                report.head = state.head.sequence
                report.outbox = try await outbox.present()
                return report
            }
            try await records.checkFounder(of: state)
            if records.cache.hasNotBegun { records.cache.begin(with: try await records.view(at: state).table) }
            do throws(TresorError) {
                if try await settle(in: state, as: sets, &report) { failures = max(0, failures - 1) }
                try await pull(state, &report)
            } catch {
                // Another program of this home has seen the removal. One that deleted the tresor ends the sync.
                guard error == .noAccess, try await isOut() else { throw error }
                continue
            }
            let box = try await outbox.present()
            report.outbox = box
            guard sending, !box.isEmpty else { return report }
            guard isAgain || box.hasRoom else {
                report.held = .store(.full)
                return report
            }
            var failing: Name?
            do throws(TresorError) {
                guard failures < Self.attemptCount else { throw .busy }
                failures += 1
                var sent = box.sent
                if sent == nil {
                    sets = box.pending
                    sent = try await freeze(box, smallest: most, &failing)
                }
                // Where it was sent just now and its place is free, the store lacks an attachment.
                if let sent { try await send(sent, in: state, isAgain: sent == last, &failing) }
                last = sent
            } catch {
                var error = error
                if error == .store(.full) {
                    do throws(TresorError) {
                        if let count = try await takeBack(as: sets, &report) {
                            if count > 0 { (most, failures) = (count, failures - 1) }
                            continue
                        }
                    } catch let other { error = other }
                }
                switch error {
                case .cancelled, .forked, .usage(.locked): throw error
                default: break
                }
                if error == .noAccess, (try? await isOut()) == true { continue }
                report.held = error
                // The store has something: a change of the key, or the commit that was made since.
                if error == .failed(.notNoted), let box = try? await outbox.present() { report.outbox = box }
                guard let failing else { return report }
                report.damaged = failing.text
                report.isFrozen = try await outbox.present().hasSent(failing)
                return report
            }
        }
    }

    /// Takes back the sent commit, for which the store has no room: its changes are pending again. Then the store gives back
    /// what the attachments have taken. If that fails, the commit is the sent one again, for the next sync.
    ///
    /// - Parameters:
    ///   - sets: the pending changes before the commit was made.
    ///   - report: gets the changes among which the store has no room for the smallest.
    /// - Returns: the most sets of the next commit, which are the smallest ones; 0 where the place of this one is taken, or
    ///   another program has taken it back; `nil` where there is no room for the smallest set, or for something else.
    private func takeBack(as sets: [[Item]], _ report: inout SyncReport) async throws(TresorError) -> Int? {
        let box = try await outbox.present()
        guard let sent = box.sent else { return nil }
        // Another program of this home may have brought it into the log.
        guard try await isFree(sent) else { return 0 }
        // From here on no program that brings it there lets go of the contents, which the store may lose, and none names
        // these attachments in another commit.
        let (count, tried, rows) = try await outbox.change { (outbox) throws(TresorError) -> (Int?, Outbox?, [Held]) in
            guard outbox.sent == sent else { return (0, nil, []) }
            let rows = outbox.withdrawSent(at: client.clock())
            let count = outbox.refuse(as: sets, again: isAgain)
            return (count, outbox, rows)
        }
        guard let tried else { return 0 }
        report.outbox = tried
        do throws(TresorError) {
            let isNamed = try await outbox.giveBackRoom(
                of: box.sentAttachments.map(\.blob), namedFrom: 0, certainly: true)
            // The commit may have come into the log since it was looked for there.
            if isNamed, try await !isFree(sent) {
                try await outbox.change { (outbox) throws(TresorError) in outbox.resume(sent, with: rows) }
                return 0
            }
        } catch {
            // A service keeps what an entry names by now, and for some days what somebody else has put too.
            var (isFree, failure) = (Bool?.none, error)
            do throws(TresorError) { isFree = try await self.isFree(sent) } catch let other { failure = other }
            if isFree != true || error != .noAccess {
                try await outbox.change { (outbox) throws(TresorError) in outbox.resume(sent, with: rows) }
                guard isFree == false else { throw failure }
                return 0
            }
        }
        await outbox.release(rows.map(\.number))
        return count
    }

    /// Whether the log has no entry in the place of a commit.
    private func isFree(_ sent: Outbox.Sent) async throws(TresorError) -> Bool {
        try await client.logs.state(of: tresor).entryCount <= sent.entry.sequence
    }

    /// Whether this person is no member by now.
    private func isOut() async throws(TresorError) -> Bool {
        try await client.logs.state(of: tresor).members[session.user] == nil
    }

    /// Finds out what became of the sent commit: whether its place is free, its own, or cannot be its own (step 2).
    ///
    /// - Parameter sets: the sets of which it was made, as for ``Outbox/giveBack(as:)``.
    /// - Returns: whether the commit turned out to be in the log.
    private func settle(
        in state: LogState, as sets: [[Item]], _ report: inout SyncReport
    ) async throws(TresorError) -> Bool {
        guard let sent = try await outbox.present().sent, sent.entry.sequence <= state.entryCount else { return false }
        // Where its place is the next one, it is free if the log is the one for which the commit was made.
        guard sent.entry.sequence < state.entryCount || state.head.hash != sent.entry.previous else { return false }
        let place = Head(sequence: sent.entry.sequence, hash: try sent.entry.hash())
        let isMine = state.contains(place)
        // The pack is kept before the outbox lets go of it.
        if isMine { try await PackFiles(client, tresor).keep([place.sequence: sent.pack], for: session.user) }
        // Nothing else names these any more once the sent commit is forgotten.
        if !isMine {
            let lost = try await outbox.present().lostAttachments
            guard await outbox.forgetParts(of: lost, namedFrom: 0) else {
                try Cancellation.check()
                throw .usage(.locked)
            }
        }
        try await outbox.change { (outbox) throws(TresorError) in
            guard outbox.sent == sent else { return }
            if isMine { outbox.settle() } else { outbox.giveBack(as: sets) }
        }
        guard isMine else { return false }
        report.sentCount += sent.items.count
        report.commits.append(place.sequence)
        for item in sent.items { report.revisions[item.record] = place.sequence }
        return true
    }

    /// Fetches what is new (step 3).
    private func pull(_ state: LogState, _ report: inout SyncReport) async throws(TresorError) {
        let known = records.cache.view.flatMap { $0.goesOn(for: session.user, in: state) ? $0 : nil }
        let pull = RecordPull(session: session, state: state)
        var log = try await CommitReader(client: client).records(of: state, from: known?.state.entryCount ?? 0)
        let came = try await pull.fetch((known?.missing ?? []) + log.commits)
        report.note(came.commits, volumeCount: came.volumeCount)
        var view = try await records.view(at: state, log)
        // Volumes also stand for packs that are there and do not open here.
        if known?.isByPacks == true, !view.isByPacks { log = try await CommitReader(client: client).records(of: state) }
        if view.isBehind, let checkpoint = view.checkpoint, view.member?.history == .all {
            let count = try await pull.fetchVolumes(of: checkpoint)
            report.note([], volumeCount: count)
            if count > 0 { view = try await records.view(at: state, log) }
            if view.table.missingVolume != nil {
                report.note(try await pull.fetchPacks(of: log), volumeCount: 0)
                view = try await records.view(at: state, log)
            }
        }
        // A program that looked at no earlier pack does not know whether the home still has it.
        if known?.state.checkpoint != state.checkpoint, known == nil || !view.isByPacks {
            view = try await judgeNewest(view, log)
        }
        report.note(view)
        records.cache.tell(view)
    }

    /// Deletes the volumes of earlier checkpoints from the home, if nobody needs them any more. A newest checkpoint that is
    /// false is remembered, so that the next sync does not judge it again.
    ///
    /// - Returns: the view, by what is left.
    private func judgeNewest(_ view: RecordView, _ log: RecordEntries) async throws(TresorError) -> RecordView {
        let trust = CheckpointTrust(records: records, state: view.state, entries: log)
        var isFalse = false
        if try await trust.outdatesEarlier(view, &isFalse) {
            try await VolumeFiles(client: client, tresor: tresor).forget(view.checkpoints.dropLast())
            guard view.isBehind else { return view }
            records.cache.view = nil
            return try await records.view(at: view.state, log)
        }
        guard isFalse else { return view }
        let refuting = view.refuting()
        records.cache.view = refuting
        return refuting
    }

    /// Seals pending changes for the end of the log, and keeps the commit durably before it is sent (step 5).
    ///
    /// - Parameters:
    ///   - box: the outbox, as it was read last.
    ///   - most: the most sets of the commit, as for ``Outbox/next(smallest:again:)``.
    ///   - failing: becomes the record whose content the home has lost or altered.
    /// - Returns: the commit; `nil` where another program was faster: it sent the changes, or saw more of the log.
    private func freeze(
        _ box: Outbox, smallest most: Int?, _ failing: inout Name?
    ) async throws(TresorError) -> Outbox.Sent? {
        let state = try await session.files.writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        try await AttachmentSealing(outbox: outbox).seal(
            box, smallest: most, again: isAgain, in: state, with: keys, failing: &failing)
        let (identity, time) = (session.identity, client.clock())
        return try await outbox.change { (outbox) throws(TresorError) in
            if let sent = outbox.sent { return sent }
            let items = outbox.next(smallest: most, again: isAgain)
            // A change may replace a commit that this state does not have yet.
            guard !items.isEmpty, try client.archive.pinnedHead(of: tresor) == state.head else { return nil }
            var attachments: [Blob] = []
            for content in items.compactMap(\.heldContent) {
                // A content that was changed since has none yet.
                guard let made = outbox.attachment(of: content, in: state, by: identity) else { return nil }
                attachments.append(made.blob)
            }
            // The right to name a record was judged when it was changed.
            let pack = try Pack.sealPack(
                items.packed, with: keys, at: state, by: identity, time: time, takesReserved: true
            ).bytes
            let body = EntryBody.commit(CommitBody(epoch: state.epoch, blobs: [try Blob(of: pack)] + attachments))
            let entry = try Entry(
                tresor: state.tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: identity,
                time: time, body: body)
            var fold = Fold(state: state)
            try fold.apply(entry.bytes)
            guard fold.voidRule == nil else { throw .noAccess }
            let sent = Outbox.Sent(entry: entry, pack: pack, items: items)
            outbox.freeze(sent)
            return sent
        }
    }

    /// Sends the commit as it was kept, its attachments first, and finds out whether it is in the log (step 6).
    ///
    /// - Parameters:
    ///   - isAgain: whether to put the attachments again, whatever the store seems to have.
    ///   - failing: becomes the record whose attachment the home has lost or altered.
    private func send(
        _ sent: Outbox.Sent, in state: LogState, isAgain: Bool, _ failing: inout Name?
    ) async throws(TresorError) {
        let writer = LogWriter(session: session)
        var state = state
        // The log may have grown by an act of this person before the commit was made.
        if state.head.hash != sent.entry.previous { state = try await client.logs.state(of: tresor) }
        guard state.head.hash == sent.entry.previous else {
            guard sent.entry.sequence <= state.entryCount else { throw .forked }
            return
        }
        guard case .commit(let commit) = try sent.entry.body else { throw .altered }
        try await AttachmentSealing(outbox: outbox).put(of: sent, again: isAgain, failing: &failing)
        let blobs = commit.blobs.enumerated().map { place, blob in
            StoredBlob(hash: blob.hash, size: blob.size, bytes: place == 0 ? sent.pack : nil)
        }
        let change = LogChange(
            tresor: tresor, sequence: sent.entry.sequence, previous: sent.entry.previous,
            entry: sent.entry.bytes, blobs: blobs)
        // The home sees the commit in the log before settle does, and nothing may come in between.
        try await PackFiles(client, tresor).keep([sent.entry.sequence: sent.pack], for: session.user)
        try Cancellation.check()
        _ = try await client.uninterrupted { () async throws(TresorError) in
            try await writer.send(sent.entry, change, wraps: [])
        }
    }

    /// Deletes what a person who is out of the tresor has of its records, before anything else (step 1). The snapshot and
    /// the wraps of somebody who waits stay.
    ///
    /// - Returns: whether it was done; not where another program has seen more of the log by now. This person may be a
    ///   member again there.
    private func purge(_ state: LogState) async throws(TresorError) -> Bool {
        records.cache.view = nil
        return try await Cores.apart { () throws(TresorError) in
            let archive = client.archive
            func isNewest() throws(TresorError) -> Bool { try self.isNewest(state) }
            guard try archive.forgetPacks(of: tresor, upTo: state.head.sequence, while: isNewest) else { return false }
            guard state.waiting[session.user] == nil else { return true }
            return try client.home.exclusively { () throws(TresorError) in
                guard try isNewest() else { return false }
                try archive.forgetAccess(to: tresor)
                return true
            }
        }
    }

    /// Deletes the attachments that a person who is out of the tresor did not send: the log has grown, so none of them can
    /// be named by it any more. Their contents stay until the person drops them.
    private func forgetAttachments(_ state: LogState) async throws(TresorError) {
        guard try await !outbox.present().attachments.isEmpty else { return }
        let attachments = try await outbox.change { (outbox) throws(TresorError) in
            try isNewest(state) ? outbox.attachments : []
        }
        // After an interruption, their rows still name them.
        guard await outbox.forgetParts(of: attachments.map(\.attachment)) else { return }
        try await outbox.change { (outbox) throws(TresorError) in
            if try isNewest(state) { outbox.release(attachments.map(\.number)) }
        }
    }

    /// Whether no program of this home has seen more of the log.
    private func isNewest(_ state: LogState) throws(TresorError) -> Bool {
        try client.archive.pinnedHead(of: tresor)?.sequence ?? 0 <= state.head.sequence
    }
}

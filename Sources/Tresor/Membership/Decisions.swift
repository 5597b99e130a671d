// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A decision about the people who wait by a grant, as it was shown (SPEC §9.11).
package enum Decision: Hashable, Sendable {
    /// Admits them.
    case approve(PendingGrant)
    /// Refuses them.
    case refuse(PendingGrant)

    fileprivate var shown: PendingGrant {
        switch self {
        case .approve(let shown), .refuse(let shown): shown
        }
    }
}

/// Decides about grants of a tresor, one entry for each (SPEC §9.11, `decide`).
///
/// The log is read before the first entry and after the last one, not in between: a thousand decisions cost little more
/// than their keys and entries.
package struct Decisions: Sendable {
    let session: Session

    /// The most entries between two readings.
    static let runCount = LogReader.pageCount
    /// The most entries that are sent before a cancellation is asked for.
    private static let burstCount = 32
    private static let attemptCount = 16

    private var client: Client { session.client }

    package init(session: Session) { self.session = session }

    /// The entries of a run that were sent.
    private struct Run: Sendable {
        var sent: [Head] = []
        /// How many of them the store has confirmed: all, or all but the last one.
        var confirmedCount = 0
        /// The error that ended the run: of the entry behind those that were sent, or of the last one's sending.
        var refusal: TresorError?

        /// Whether another writer was faster than the last of them, or its sending failed, by the word of the store.
        var isOpen: Bool { confirmedCount < sent.count }
    }

    /// The approval keys that were opened last. Grants with the same history release the same ones.
    private struct OpenedKeys {
        private var last: (epochs: ClosedRange<UInt64>, keys: ApprovalKeys)?

        mutating func keys(
            of epochs: ClosedRange<UInt64>, in state: LogState, by session: Session
        ) async throws(TresorError) -> ApprovalKeys {
            if let last, last.epochs == epochs { return last.keys }
            let keys = try await session.keyRing.approvalKeys(of: epochs, in: state)
            last = (epochs, keys)
            return keys
        }
    }

    /// Approves or refuses grants.
    ///
    /// - Parameters:
    ///   - decisions: the decisions, in the order of their entries.
    ///   - tresor: the tresor of all of them.
    ///   - report: takes the number of decisions that have happened, each time that a verified reading proves more of them;
    ///     and the number of those behind these that may have happened, where that reading fails.
    /// - Throws: the error of the first decision that is refused, or of a reading. `report` was told of the decisions before
    ///   it that have happened. ``TresorError/noAccess`` for somebody who is no approver with their newest keys;
    ///   ``TresorError/busy`` when the grant is not what was shown any more, or others always write first;
    ///   ``TresorError/usage(_:)`` for people who have waited for too long; ``TresorError/store(_:)`` and
    ///   ``TresorError/altered`` for the approver's wraps, and when the store did not keep what it accepted;
    ///   ``TresorError/cancelled``; the errors of the store and of the home.
    @concurrent package func decide(
        _ decisions: [Decision], on tresor: TresorID,
        report: @Sendable (_ count: Int, _ unproved: Int) -> Void = { _, _ in }
    ) async throws(TresorError) {
        var (count, attempts) = (0, 0)
        var keys = OpenedKeys()
        while count < decisions.count {
            guard attempts < Self.attemptCount else { throw .busy }
            try Cancellation.check()
            let state = try await client.logs.heldState(of: tresor)
            let run = await send(decisions[count...].prefix(Self.runCount), onto: state, &keys)
            let written: Int
            do throws(TresorError) {
                written = try await prove(run, of: tresor)
            } catch {
                report(count, run.sent.count)
                throw error
            }
            attempts = written == 0 ? attempts + 1 : 0
            count += written
            if written > 0 { report(count, 0) }
            guard written >= run.confirmedCount else { throw .store(.notStored) }
            let isWritten = run.isOpen && written == run.sent.count
            if let refusal = run.refusal, !isWritten { throw refusal }
        }
    }

    /// Sends an entry for each decision, until one is refused or another writer is faster.
    private func send(
        _ decisions: ArraySlice<Decision>, onto state: LogState, _ keys: inout OpenedKeys
    ) async -> Run {
        var run = Run()
        var fold = Fold(state: state)
        do throws(TresorError) {
            try await client.uninterrupted { [client] () async throws(TresorError) in
                try client.archive.proveWritable()
            }
            var rest = decisions
            while !rest.isEmpty, run.refusal == nil, !run.isOpen {
                let changes = await changes(for: rest.prefix(Self.burstCount), onto: &fold, &keys, &run)
                rest = rest.dropFirst(Self.burstCount)
                try Cancellation.check()
                try await send(changes, &run)
            }
        } catch {
            run.refusal = error
        }
        return run
    }

    /// Signs the entries of decisions, until one is refused.
    private func changes(
        for decisions: ArraySlice<Decision>, onto fold: inout Fold, _ keys: inout OpenedKeys, _ run: inout Run
    ) async -> [LogChange] {
        var changes: [LogChange] = []
        do throws(TresorError) {
            for decision in decisions {
                guard let state = fold.state else { throw .altered }
                let (draft, effect) = try await draft(decision, in: state, &keys)
                changes.append(try LogWriter(session: session).change(draft, effect, onto: &fold))
            }
        } catch {
            run.refusal = error
        }
        return changes
    }

    /// Appends entries, until another writer is faster or one fails, which may be written nevertheless.
    private func send(_ changes: [LogChange], _ run: inout Run) async throws(TresorError) {
        guard let tresor = changes.first?.tresor else { return }
        client.operation.logs?.forget(tresor)
        let present = run
        run = try await client.uninterrupted { [client] () async throws(TresorError) in
            var run = present
            do throws(TresorError) {
                for change in changes {
                    run.sent.append(
                        Head(sequence: change.sequence, hash: try BLAKE2b.hash(.entryHash, change.entry)))
                    guard try await client.store.append(change) == .done else {
                        // The entries behind it are signed anew, and so is one that was refused behind them.
                        run.refusal = nil
                        return run
                    }
                    run.confirmedCount += 1
                }
            } catch {
                run.refusal = error
            }
            return run
        }
    }

    /// Makes the entry of a decision before its signature, with its effect. The people must wait by the grant as it was shown.
    private func draft(
        _ decision: Decision, in state: LogState, _ keys: inout OpenedKeys
    ) async throws(TresorError) -> (EntryDraft, Effect) {
        let identity = session.identity
        guard state.approvers.contains(identity.user), state.chain(of: identity.user) == identity.chain else {
            throw .noAccess
        }
        let shown = decision.shown
        guard PendingGrant(shown.grant, in: state) == shown else { throw .busy }
        var effect = Effect()
        switch decision {
        case .approve:
            let epochs = shown.history.epochsToRelease(at: state.epoch)
            let opened = try await keys.keys(of: epochs, in: state, by: session)
            return (EntryDraft(body: .approve(try Self.approve(shown, with: opened, in: state))), effect)
        case .refuse:
            effect.dismissed = shown.people.map(\.user)
            return (EntryDraft(body: .refuse(RefuseBody(grant: shown.grant))), effect)
        }
    }

    /// Makes an approval (SPEC §9.11, *approve*): the approval keys of each person, from those that this approver's wraps hold.
    private static func approve(
        _ shown: PendingGrant, with keys: ApprovalKeys, in state: LogState
    ) throws(TresorError) -> ApproveBody {
        let releases = try Cores.map(shown.people.count, grain: 16) { (range) throws(TresorError) in
            var releases: [Release] = []
            for chain in shown.people[range] {
                releases.append(
                    try Release(
                        keys.released(to: chain.user), grant: shown.grant, epoch: state.epoch, of: state.tresor,
                        for: chain.newest, user: chain.user))
            }
            return releases
        }
        return ApproveBody(grant: shown.grant, epoch: state.epoch, releases: releases)
    }

    /// Returns how many of the entries the log has, by a verified reading.
    ///
    /// - Throws: the errors of ``LogWriter/confirm(_:_:wraps:)``.
    private func prove(_ run: Run, of tresor: TresorID) async throws(TresorError) -> Int {
        guard !run.sent.isEmpty else { return 0 }
        do throws(TresorError) {
            let state = try await client.uninterrupted { [client] () async throws(TresorError) in
                try await client.logs.state(of: tresor)
            }
            let count = run.sent.prefix(while: state.contains).count
            if count > 0 { LogWriter(session: session).tellWhomItLeavesBehind(state) }
            return count
        } catch {
            throw LogWriter.error(error, afterConfirmed: run.confirmedCount > 0)
        }
    }
}

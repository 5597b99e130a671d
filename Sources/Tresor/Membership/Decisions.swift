// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Decides about several grants of a tresor, one entry for each (SPEC §9.11, `decide`).
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
        /// Whether another writer was faster than the last of them, by the word of the store.
        var isOvertaken = false
        /// The error that ended the run.
        var refusal: TresorError?
    }

    /// Approves or refuses grants.
    ///
    /// - Parameters:
    ///   - acts: approvals and refusals of grants, as they were shown.
    ///   - tresor: the tresor of all of them.
    ///   - report: takes the number of acts that have happened, each time that a verified reading proves more of them; and
    ///     the number of those that were sent behind these, where that reading fails.
    /// - Throws: the error of the first act that is refused, as ``Tresors/perform(_:on:expecting:acceptingUnverified:)``
    ///   has them, or of a reading. `report` was told of the acts before it that have happened.
    @concurrent package func decide(
        _ acts: [Act], on tresor: TresorID, report: @Sendable (_ count: Int, _ unproved: Int) -> Void = { _, _ in }
    ) async throws(TresorError) {
        var (count, attempts) = (0, 0)
        var keys: (epochs: ClosedRange<UInt64>, keys: ApprovalKeys)?
        while count < acts.count {
            guard attempts < Self.attemptCount else { throw .busy }
            try Cancellation.check()
            let state = try await client.logs.steadyState(of: tresor)
            let run = await send(acts[count..<min(count + Self.runCount, acts.count)], onto: state, &keys)
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
            let missing = run.sent.count - written
            guard missing == 0 || missing == 1 && run.isOvertaken else { throw .store(.notStored) }
            if let refusal = run.refusal { throw refusal }
        }
    }

    /// Sends an entry for each act, until one is refused or another writer is faster.
    private func send(
        _ acts: ArraySlice<Act>, onto state: LogState, _ keys: inout (epochs: ClosedRange<UInt64>, keys: ApprovalKeys)?
    ) async -> Run {
        var run = Run()
        var fold = Fold(state: state)
        do throws(TresorError) {
            var previous = try await LogWriter(session: session).head(of: state)
            try await client.uninterrupted { [client] () async throws(TresorError) in
                try client.archive.proveWritable()
            }
            var rest = acts
            while !rest.isEmpty, run.refusal == nil, !run.isOvertaken {
                let changes = await changes(for: rest.prefix(Self.burstCount), onto: &fold, previous, &keys, &run)
                rest = rest.dropFirst(Self.burstCount)
                previous = changes.last?.entry
                try Cancellation.check()
                try await send(changes, &run)
            }
        } catch {
            run.refusal = error
        }
        return run
    }

    /// Signs the entries of acts, until one is refused.
    private func changes(
        for acts: ArraySlice<Act>, onto fold: inout Fold, _ previous: [UInt8]?,
        _ keys: inout (epochs: ClosedRange<UInt64>, keys: ApprovalKeys)?, _ run: inout Run
    ) async -> [LogChange] {
        var changes: [LogChange] = []
        do throws(TresorError) {
            for act in acts {
                let (draft, effect) = try await draft(act, onto: fold, &keys)
                changes.append(
                    try LogWriter(session: session).change(
                        draft, effect, onto: &fold, after: changes.last?.entry ?? previous))
            }
        } catch {
            run.refusal = error
        }
        return changes
    }

    /// Appends entries, until another writer is faster.
    private func send(_ changes: [LogChange], _ run: inout Run) async throws(TresorError) {
        guard let tresor = changes.first?.tresor else { return }
        client.steadyLogs?.forget(tresor)
        let present = run
        run = try await client.uninterrupted { [client] () async throws(TresorError) in
            var run = present
            do throws(TresorError) {
                for change in changes where !run.isOvertaken {
                    run.isOvertaken = try await client.store.append(change) == .conflict
                    run.sent.append(
                        Head(sequence: change.sequence, hash: try BLAKE2b.hash(.entryHash, change.entry)))
                }
            } catch {
                run.refusal = error
            }
            return run
        }
    }

    /// Computes the effect of an act, and its entry before the signature.
    private func draft(
        _ act: Act, onto fold: Fold, _ keys: inout (epochs: ClosedRange<UInt64>, keys: ApprovalKeys)?
    ) async throws(TresorError) -> (EntryDraft, Effect) {
        guard let state = fold.state else { throw .altered }
        let effect = try await session.tresors.effect(of: act, in: state)
        let drafting = EntryDrafting(session: session)
        guard case .approve(let pending) = act.kind else {
            return (try await drafting.draft(act, effect, in: state), effect)
        }
        let epochs = pending.history.epochsToRelease(at: state.epoch)
        let opened =
            if let keys, keys.epochs == epochs { keys.keys } else {
                try await session.keyRing.approvalKeys(of: epochs, in: state)
            }
        keys = (epochs, opened)
        return (EntryDraft(body: .approve(try drafting.approval(of: pending, with: opened, in: state))), effect)
    }

    /// Returns how many of the entries the log has, by a verified reading.
    ///
    /// - Throws: the errors of ``LogWriter/confirm(_:_:wraps:)``.
    private func prove(_ run: Run, of tresor: TresorID) async throws(TresorError) -> Int {
        guard !run.sent.isEmpty else { return 0 }
        let isConfirmed = !run.isOvertaken || run.sent.count > 1
        do throws(TresorError) {
            let state = try await client.uninterrupted { [client] () async throws(TresorError) in
                try await client.logs.state(of: tresor)
            }
            return run.sent.prefix(while: state.contains).count
        } catch {
            throw LogWriter.error(error, afterConfirmed: isConfirmed)
        }
    }
}

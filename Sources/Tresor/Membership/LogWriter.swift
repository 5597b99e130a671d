// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Sends an entry with its wraps, and proves by the next verified read that the store kept them.
package struct LogWriter: Sendable {
    let session: Session

    package init(session: Session) { self.session = session }

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// Appends an entry; returns `nil` when another writer was faster.
    ///
    /// - Throws: ``TresorError/cancelled`` for a task that was cancelled before this. Once the entry is sent, its
    ///   outcome is found out whatever is cancelled.
    func append(_ draft: EntryDraft, _ effect: Effect, to state: LogState) async throws(TresorError) -> LogState? {
        var fold = Fold(state: state)
        let change = try change(draft, effect, onto: &fold)
        try Cancellation.check()
        return try await client.uninterrupted { () async throws(TresorError) in
            try keepBeforeSending(draft.wraps, of: state.tresor)
            return try await send(try Entry(change.entry), change, wraps: draft.wraps)
        }
    }

    /// Signs an entry, and takes it into a fold that has a state.
    func change(_ draft: EntryDraft, _ effect: Effect, onto fold: inout Fold) throws(TresorError) -> LogChange {
        guard let head = fold.state?.head else { throw .altered }
        let entry = try Entry(
            tresor: fold.tresor, sequence: head.sequence + 1, previous: head.hash, author: identity,
            generation: draft.generation, time: client.clock(), body: draft.body)
        var people = Set(effect.dismissed).union(fold.state?.approvers ?? [])
        // Earlier members too, in case the store kept their wraps.
        if effect.epoch != nil { people.formUnion(fold.state?.everybody ?? []) }
        try fold.apply(entry.bytes)
        guard let after = fold.state else { throw .altered }
        return LogChange(
            tresor: fold.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
            putting: draft.wraps, removingWrapsOf: departed(people, in: after))
    }

    /// Returns those of some people whose wraps are deleted: approvers too once nobody waits.
    private func departed(_ people: Set<UserID>, in after: LogState) -> [UserID] {
        people.filter { !after.needsWraps($0) }.sorted()
    }

    /// Sends an entry, and finds out whether it was written.
    package func send(_ entry: Entry, _ change: LogChange, wraps: [StoredWrap]) async throws(TresorError) -> LogState? {
        client.operation.logs?.forget(change.tresor)
        let outcome = try await client.store.append(change)
        let state = try await confirm(entry, outcome, wraps: wraps)
        if let state { tellWhomItLeavesBehind(state) }
        return state
    }

    /// Tells it after an entry of this person where exports carry the tresor, and it has other members.
    func tellWhomItLeavesBehind(_ state: LogState) {
        guard client.archive.isCopied(state.tresor), state.members.keys.contains(where: { $0 != identity.user }) else {
            return
        }
        client.hooks.leavesBehind(state.tresor, session.tresors.knownNameBlocking(of: state.tresor))
    }

    /// Decides by the next verified read whether a write happened, whatever the store answered. Returns `nil` when
    /// another entry came first.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `notNoted` when the store confirmed the write, and the home then
    ///   failed or either was busy. Nobody may then take the act for undone and repeat it.
    func confirm(
        _ entry: Entry, _ outcome: StoreOutcome, wraps: [StoredWrap]
    ) async throws(TresorError) -> LogState? {
        do throws(TresorError) {
            return try await readBack(entry, outcome, wraps: wraps)
        } catch {
            throw Self.error(error, afterConfirmed: outcome == .done)
        }
    }

    /// The error of a reading that follows a write.
    static func error(_ error: TresorError, afterConfirmed isConfirmed: Bool) -> TresorError {
        switch error {
        case .failed where isConfirmed, .busy where isConfirmed: .failed(.notNoted)
        case .notFound: .store(.notStored)
        default: error
        }
    }

    private func readBack(
        _ entry: Entry, _ outcome: StoreOutcome, wraps: [StoredWrap]
    ) async throws(TresorError) -> LogState? {
        var state = try await client.logs.state(of: entry.tresor)
        let written = Head(sequence: entry.sequence, hash: try entry.hash())
        guard state.contains(written) else {
            guard outcome == .conflict else { throw .store(.notStored) }
            return nil
        }
        if state.head.sequence == entry.sequence,
            try await !areKept(wraps, in: state, orOthers: outcome == .conflict)
        {
            // A later act of another member may have deleted a wrap.
            let later = try await client.logs.state(of: entry.tresor)
            guard later.head.sequence > entry.sequence else { throw .store(.notStored) }
            return later
        }
        while try entry.body.nextEpoch != nil, state.members[identity.user] != nil {
            do throws(TresorError) {
                _ = try await session.keyRing.keys(of: state.epoch, in: state)
            } catch {
                // The entry is in the log. A locked session cannot try its wrap, which the store has byte for byte.
                if error == .usage(.locked) { return state }
                // A later act of another member may have removed this person or changed the key again.
                let later = try await client.logs.state(of: entry.tresor)
                guard later.head.sequence > state.head.sequence else {
                    throw error == .noAccess ? .store(.notStored) : error
                }
                state = later
                continue
            }
            await session.keyRing.rememberOpenedWraps(in: state)
            break
        }
        return state
    }

    /// Whether the store returns the wraps that were put, byte for byte. An approver may have another one from before.
    ///
    /// - Parameter orOthers: whether others may lie in their places: another device of this person may have written the
    ///   same entry with its own wraps, and a service replaces none.
    func areKept(
        _ wraps: [StoredWrap], in state: LogState, orOthers: Bool
    ) async throws(TresorError) -> Bool {
        for (epoch, wraps) in Dictionary(grouping: wraps, by: \.epoch) {
            let kept = try await client.store.wraps(of: wraps.map(\.user), in: state.tresor, epoch: epoch)
            guard kept.count == wraps.count else { return false }
            for (kept, wrap) in zip(kept, wraps) {
                let first = kept.first
                guard first == wrap.bytes || first != nil && (orOthers || !state.isIn(wrap.user)) else { return false }
            }
        }
        return true
    }

    /// Keeps this person's own wrap of a new epoch in the home, beside the wrap that opened. A store that takes the
    /// entry but not the wrap then withholds nothing.
    ///
    /// Without such a wrap, it proves that the home is writable: an act that the home could not remember is not begun.
    ///
    /// - Throws: ``TresorError/failed(_:)`` or ``TresorError/busy`` when the home cannot be written; nothing is sent
    ///   then.
    func keepBeforeSending(_ wraps: [StoredWrap], of tresor: TresorID) throws(TresorError) {
        guard let mine = wraps.first(where: { $0.user == identity.user }) else {
            return try client.archive.proveWritable()
        }
        try client.home.exclusively { () throws(TresorError) in
            var kept = client.keptWraps()
            kept[tresor, mine.epoch] = mine.bytes
            try client.home.replace(.wraps, with: kept.bytes)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Runs the proofs and repairs that need an unlocked identity.
package struct DeepAudit: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// Proves what needs the identity: each snapshot is what its log gives from the genesis on, and keys and names are
    /// what the log committed to.
    ///
    /// Pinned heads that do not decode are reported by ``Audit/check(_:progress:)`` alone.
    ///
    /// - Parameter progress: takes the number of tresors that are checked, of all.
    /// - Throws: ``TresorError/cancelled`` for a task that was cancelled.
    @concurrent package func check(
        _ tresors: [TresorID]? = nil, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> [Finding] {
        var findings: [Finding] = []
        let wanted = tresors ?? (try? client.logs.knownBlocking()) ?? []
        for (index, tresor) in wanted.enumerated() {
            try Cancellation.check()
            defer { progress?(WorkDone(UInt64(index + 1), of: UInt64(wanted.count))) }
            if tresors == nil, await client.audit.isElsewhere(tresor) { continue }
            let subject = Finding.Subject.member(identity.user, of: tresor)
            do throws(TresorError) {
                let state = try await client.logs.state(of: tresor)
                try await client.archive.proveSnapshot(of: tresor)
                guard state.members[identity.user] != nil else { continue }
                _ = try await session.tresors.name(in: state)
                if case .all = state.members[identity.user]?.history {
                    _ = try await session.keyRing.keys(of: 1, in: state)
                }
                findings.append(Finding(subject: subject, remark: .fine))
            } catch {
                findings.append(Finding(subject: subject, remark: .failed(error)))
            }
        }
        try Cancellation.check()
        return findings
    }

    /// Restores the entries that a store has lost, as ``Audit/restoreEntries(of:wraps:)`` does. A service takes an entry
    /// of this person with its wraps alone (SPEC §18.7).
    @concurrent package func restoreEntries(of tresor: TresorID) async throws(TresorError) -> Int {
        try await client.audit.restoreEntries(of: tresor) { [self] in await wraps(of: $0, after: $1, in: $2) }
    }

    /// Makes the wraps that go with an entry of this person; none for any other, and where a key is not to be had.
    func wraps(of entry: Entry, after state: LogState, in known: LogState) async -> [StoredWrap] {
        guard entry.author == identity.user, let body = try? entry.body else { return [] }
        guard var people = try? EntryDrafting(session: session).recipients(in: state) else { return [] }
        if body.nextEpoch == nil {
            guard case .grant(let grant) = body else { return [] }
            let granted = Set(grant.people.map(\.user)).union(state.waiting.isEmpty ? [] : state.approvers)
            people = people.filter { granted.contains($0.chain.user) }
        }
        guard let keys = try? await session.keyRing.keys(of: state.epoch, in: known) else { return [] }
        return (try? EntryDrafting(session: session).wraps(keys, for: people, of: state.tresor)) ?? []
    }

    /// Restores all wraps that the log calls for, without an entry (SPEC §9.9).
    ///
    /// These are the wraps of the current epoch for all members. A member who reads *from now* gets those of every
    /// epoch since they were added. If the store has lost this person's own wrap, the copy in the home replaces it.
    ///
    /// - Throws: ``TresorError/noAccess`` unless this person can read everything; ``TresorError/store(_:)`` when the
    ///   store did not keep what it accepted.
    @concurrent package func restoreWraps(of tresor: TresorID) async throws(TresorError) {
        let state = try await client.logs.state(of: tresor)
        guard try await session.keyRing.keys(of: state.epoch, in: state).opensHistory else { throw .noAccess }
        let everybody = try EntryDrafting(session: session).recipients(in: state)
        let first = everybody.map { $0.firstEpoch(in: state) }.min() ?? state.epoch
        for epoch in first...state.epoch {
            let people = everybody.filter { $0.firstEpoch(in: state) <= epoch }
            try Cancellation.check()
            let keys = try await session.keyRing.keys(of: epoch, in: state)
            guard keys.opensHistory else { throw .noAccess }
            let wraps = try EntryDrafting(session: session).wraps(keys, for: people, of: state.tresor)
            try Cancellation.check()
            try await client.uninterrupted { () async throws(TresorError) in try await restore(wraps, in: state) }
        }
    }

    /// Returns those of the wraps in whose place the store has none for which the log calls.
    private func lost(_ wraps: [StoredWrap], in state: LogState) async throws(TresorError) -> [StoredWrap] {
        guard let epoch = wraps.first?.epoch else { return [] }
        let present = try await client.store.wraps(of: wraps.map(\.user), in: state.tresor, epoch: epoch)
        guard present.count == wraps.count else { throw .store(.other) }
        return zip(wraps, present).filter { wrap, present in
            guard let present = present.first, let stored = try? UnverifiedWrap(present) else { return true }
            return stored.user != wrap.user || stored.epoch != epoch || stored.firstEntry(in: state) == nil
        }.map(\.0)
    }

    /// Puts the wraps, and repeats it if they are not there afterwards. Another device may put its own at the same
    /// time, and a later act may delete some.
    private func restore(_ wraps: [StoredWrap], in state: LogState) async throws(TresorError) {
        var wraps = wraps
        for _ in 0..<3 {
            do throws(TresorError) {
                try await client.store.putWraps(wraps, in: state.tresor)
            } catch {
                // A service lets an owner alone add a wrap of somebody else where one lies for which the log calls.
                let missing = error == .noAccess ? try await lost(wraps, in: state) : wraps
                guard missing.count < wraps.count else { throw error }
                wraps = missing
                if !wraps.isEmpty { try await client.store.putWraps(wraps, in: state.tresor) }
            }
            let areKept = try await LogWriter(session: session).areKept(wraps, in: state, orOthers: client.isRemote)
            if areKept { return }
        }
        guard try await client.logs.state(of: state.tresor).head.sequence > state.head.sequence else {
            throw .store(.notStored)
        }
    }
}

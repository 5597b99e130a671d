// SPDX-License-Identifier: Apache-2.0

package import TresorCore
import TresorCrypto

/// The updates of this home that a log needs before the next act of an owner (SPEC §9.7, *due*).
package struct Due: Sendable {
    /// The state of the log.
    package let state: LogState
    /// The people whose newer cards are added, by rising user id.
    package internal(set) var renewed: [UserID] = []
    /// The members who are removed because their grant has expired, by rising user id.
    package internal(set) var ended: [UserID] = []

    /// Makes updates of which there are none.
    package init(_ state: LogState) { self.state = state }

    /// Whether the log needs none.
    package var isNothing: Bool { renewed.isEmpty && ended.isEmpty }
}

/// Ends expired grants before an act (SPEC §9.7, `settle`).
struct Expiry: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    private static let attemptCount = 16

    /// Reads a tresor's log and, for an owner, brings it up to date with this home (SPEC §9.7).
    ///
    /// Newer cards that were compared are added to the log, and members with expired grants are removed. Call it before
    /// computing an effect that a person is shown.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `clock` when a grant has expired by a clock that is too far from the
    ///   log's, unless ``Tresors/acceptClock(in:)`` was called.
    func settle(_ tresor: TresorID) async throws(TresorError) -> LogState {
        for attempt in 0..<Self.attemptCount {
            try client.operation.step()
            var state =
                attempt == 0
                ? try await client.logs.heldState(of: tresor) : try await client.logs.state(of: tresor)
            guard isOwner(in: state), try mayRenewOthers(in: state) else { return state }
            // Checked before anything is written: an entry with this clock's time would make the clock believed.
            let mayEndDates = try await checkClock(in: state)
            state = try await renewOthers(state)
            guard mayEndDates, isOwner(in: state), try client.trust.founderTrust(in: state).isVerified else {
                return state
            }
            let ended = ended(in: state)
            guard !ended.isEmpty else { return state }
            let removal = Act.revoke(ended)
            let effect = try session.tresors.effectBlocking(of: removal, in: state)
            let draft = try await EntryDrafting(session: session).draft(removal, effect, in: state)
            let after = try await LogWriter(session: session).append(draft, effect, to: state)
            if after != nil {
                let epoch = after?.epoch ?? state.epoch
                await session.keyRing.add(Notice(tresor: tresor, deed: .ended(effect.dismissed), epoch: epoch))
            }
            if let after { return after }
        }
        throw .busy
    }

    /// Says what ``settle(_:)`` would append, and appends nothing.
    func due(in tresor: TresorID) async throws(TresorError) -> Due {
        var due = Due(try await client.logs.heldState(of: tresor))
        guard isOwner(in: due.state), try mayRenewOthers(in: due.state) else { return due }
        let mayEndDates = try await checkClock(in: due.state)
        due.renewed = try session.tresors.superseded(in: due.state)
        let isTrusted = try client.trust.founderTrust(in: due.state).isVerified
        guard mayEndDates, isTrusted || due.renewed.contains(due.state.founder) else { return due }
        due.ended = ended(in: due.state)
        return due
    }

    /// Returns the members whose grant has expired, by rising user id.
    private func ended(in state: LogState) -> [UserID] {
        let now = client.clock()
        return state.members.merging(state.waiting) { member, _ in member }.filter { user, member in
            user != state.founder && user != identity.user && member.notAfter.map { now > $0 } ?? false
        }.keys.sorted()
    }

    /// Checks this clock against the log's.
    ///
    /// - Returns: whether grants may end by this clock; `false` where a person chose to continue despite it.
    /// - Throws: ``TresorError/failed(_:)`` with `clock`.
    private func checkClock(in state: LogState) async throws(TresorError) -> Bool {
        if await session.keyRing.acceptsClock(in: state.tresor) { return false }
        let isBelieved = ended(in: state).isEmpty || isClockBelieved(in: state)
        guard isBelieved else { throw .failed(.clock) }
        return true
    }

    private func isOwner(in state: LogState) -> Bool {
        state.members[identity.user]?.role == .owner
            && state.chain(of: identity.user)?.newest == identity.chain.newest
    }

    /// Adds newer cards of others to the log, one entry each. Later keys are then wrapped to no card that this home
    /// knows to be superseded.
    private func renewOthers(_ state: LogState) async throws(TresorError) -> LogState {
        var state = state
        while let user = try session.tresors.superseded(in: state).first {
            guard let chain = state.chain(of: user), let pinned = try client.pins()[user]?.chain,
                let card = pinned.card(generation: chain.newest.generation + 1)
            else { throw .altered }
            if let after = try await LogWriter(session: session).append(
                EntryDraft(body: .renew(RenewBody(card))), Effect(), to: state)
            {
                await session.keyRing.add(Notice(tresor: state.tresor, deed: .renewed(user), epoch: after.epoch))
                state = after
            } else {
                state = try await client.logs.state(of: state.tresor)
                guard isOwner(in: state) else { return state }
            }
        }
        return state
    }

    /// Whether newer cards of others may be added.
    ///
    /// A founder whose card in the log is older than the compared one is not verified. Their newer card may still be
    /// added if this home knew the tresor before.
    private func mayRenewOthers(in state: LogState) throws(TresorError) -> Bool {
        if try client.trust.founderTrust(in: state).isVerified { return true }
        return try client.trust.isKnownFromBefore(state)
    }

    /// Whether grants may end by this clock. It is at most a day before and at most 400 days after the newest entry of
    /// an owner who has no end date.
    private func isClockBelieved(in state: LogState) -> Bool {
        let day: UInt64 = 86_400
        let first = state.ownerTime > day ? state.ownerTime - day : 0
        return (first...(state.ownerTime + 400 * day)).contains(client.clock())
    }
}

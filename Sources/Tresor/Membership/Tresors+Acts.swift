// SPDX-License-Identifier: Apache-2.0

extension Tresors {
    private static let attemptCount = 16

    /// What an act would do now. Writes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` without the right to it; ``TresorError/notFound`` for revoking somebody who was never in;
    ///   ``TresorError/usage`` for an act that makes no sense; ``TresorError/unverified`` when the owner is not.
    public func effect(of act: Act, in state: LogState) throws(TresorError) -> Effect {
        guard let me = state.members[identity.user], let chain = state.chain(of: identity.user),
            identity.chain.extends(chain), act == .renew || act == .leave || chain == identity.chain
        else { throw .noAccess }
        // Leaving needs no trust in anybody.
        if act != .leave {
            // New keys of one's own may go where the founder's, which this home compared, are not yet known.
            let isKnown = act == .renew ? try client.trust.isKnownFromBefore(state) : false
            guard try client.trust.founderTrust(in: state).isVerified || isKnown else { throw .unverified }
        }
        if let end = me.notAfter, act != .leave, client.clock() > end { throw .noAccess }
        var effect = Effect()
        effect.remaining = state.members.count
        switch act {
        case .share(let people, let role, let fromNow, let notAfter):
            guard me.role == .owner else { throw .noAccess }
            try share(people, role, fromNow, notAfter, in: state, &effect)
        case .revoke(let users):
            guard me.role == .owner else { throw .noAccess }
            try revoke(users, in: state, &effect)
        case .leave:
            guard me.role != .owner || state.lastingOwners(without: [identity.user]) > 0 else { throw .usage }
            effect.dismissed = [identity.user]
            effect.remaining -= 1
        case .rotate:
            let mayRotate = me.role == .owner || (me.role == .writer && me.history == .all && state.isRekeyPending)
            guard mayRotate else { throw .noAccess }
            // An owner says it in the log first. A writer cannot, and would wrap to keys that may be a thief's.
            if me.role != .owner { guard try superseded(in: state).isEmpty else { throw .unverified } }
            effect.epoch = state.epoch + 1
        case .rename(let name, _):
            guard me.role == .owner else { throw .noAccess }
            guard !name.isEmpty else { throw .usage }
            effect.renames = true
        case .renew where chain != identity.chain: effect.generation = chain.newest.generation + 1
        case .renew: break
        }
        return effect
    }

    private func share(
        _ people: [CardChain], _ role: Role, _ fromNow: Bool, _ notAfter: UInt64?, in state: LogState,
        _ effect: inout Effect
    ) throws(TresorError) {
        guard !people.isEmpty, Set(people.map(\.user)).count == people.count else { throw .usage }
        if let notAfter { guard (1...Format.latestTime).contains(notAfter) else { throw .usage } }
        for chain in people.sorted(by: { $0.user < $1.user }) {
            let user = chain.user
            guard let member = state.members[user] else {
                effect.admitted.append(user)
                continue
            }
            guard fromNow == (member.history != .all) else { throw .usage }
            if Terms(member) == Terms(role: role, notAfter: notAfter) {
                effect.already.append(user)
            } else {
                guard user != state.founder, role != .owner || member.history == .all else { throw .usage }
                effect.changed.append(user)
                effect.replaced[user] = Terms(member)
            }
        }
        guard effect.changed.isEmpty || (effect.admitted.isEmpty && effect.changed.count == 1) else { throw .usage }
        guard !(role == .owner && fromNow),
            (role == .owner && notAfter == nil) || !effect.admitted.contains(state.founder)
        else { throw .usage }
        if let user = effect.changed.first, role != .owner || notAfter != nil, state.lastingOwners(without: [user]) == 0
        {
            throw .usage
        }
        effect.remaining += effect.admitted.count
        guard effect.remaining <= LogState.maximumMemberCount else { throw .usage }
        if fromNow, !effect.admitted.isEmpty { effect.epoch = state.epoch + 1 }
    }

    private func revoke(_ users: [UserID], in state: LogState, _ effect: inout Effect) throws(TresorError) {
        guard !users.isEmpty, Set(users).count == users.count else { throw .usage }
        for user in users.sorted() {
            if state.members[user] != nil {
                guard user != state.founder, user != identity.user else { throw .usage }
                effect.dismissed.append(user)
            } else {
                guard state.chain(of: user) != nil else { throw .notFound }
                effect.already.append(user)
            }
        }
        guard effect.dismissed.isEmpty || state.lastingOwners(without: effect.dismissed) > 0 else { throw .usage }
        effect.remaining -= effect.dismissed.count
        if !effect.dismissed.isEmpty { effect.epoch = state.epoch + 1 }
    }

    /// Does an act. Everything it changes, entry and wraps, changes at once or not at all.
    ///
    /// If somebody else writes meanwhile, the log is read and judged again; the act goes on only if it still means the same.
    ///
    /// - Parameters:
    ///   - act: the act.
    ///   - tresor: the tresor to change.
    ///   - expecting: the effect that a person was shown; `nil` for whatever it is at the first reading.
    ///   - acceptingUnverified: whether to let people in whose number nobody compared.
    /// - Throws: what ``effect(of:in:)`` throws; ``TresorError/unverified`` for people who are not verified; ``TresorError/busy`` when the meaning
    ///   changed meanwhile; ``TresorError/store(_:)`` when the store did not keep what it accepted.
    @concurrent @discardableResult public func perform(
        _ act: Act, on tresor: TresorID, expecting: Effect? = nil, acceptingUnverified: Bool = false
    ) async throws(TresorError) -> (effect: Effect, state: LogState) {
        if case .share(let people, _, _, _) = act { try checkPeople(people, acceptingUnverified: acceptingUnverified) }
        var expected = expecting
        for _ in 0..<Self.attemptCount {
            let state =
                expected == nil && act != .leave && act != .renew
                ? try await settle(tresor) : try await client.logs.state(of: tresor)
            if try await needsNextEpoch(act, in: state) {
                try await beginNextEpoch(of: tresor)
                continue
            }
            let effect = try effect(of: act, in: state)
            guard expected?.means(effect) ?? true else { throw .busy }
            expected = effect
            guard !effect.isNothing else { return (effect, state) }
            let draft = try await EntryDrafting(session: session).draft(act, effect, in: state)
            if let after = try await LogWriter(session: session).append(draft, effect, to: state) {
                return (effect, after)
            }
        }
        throw .busy
    }

    /// What was compared is what is wrapped to: each chain must be the very one that is pinned.
    private func checkPeople(_ people: [CardChain], acceptingUnverified: Bool) throws(TresorError) {
        for chain in people {
            switch try client.people.trust(in: chain) {
            case .me, .verified: break
            case .unverified where acceptingUnverified: break
            case .unverified, .renewed, .changed: throw .unverified
            }
        }
    }

    /// Whether the key has to be changed before an act. What an owner cannot reach cannot be wrapped for others.
    private func needsNextEpoch(_ act: Act, in state: LogState) async throws(TresorError) -> Bool {
        switch act {
        case .rename: return try await needsNextEpoch(in: state)
        case .share(_, _, let fromNow, _):
            if fromNow { return false }
            return try await session.keyRing.isCutOff(in: state)
        case .revoke, .leave, .rotate, .renew: return false
        }
    }

    /// Whether the key has to be changed before anything is sealed: a member who left still has it, or this person, an owner, does not.
    func needsNextEpoch(in state: LogState) async throws(TresorError) -> Bool {
        if state.isRekeyPending { return true }
        return try await session.keyRing.isCutOff(in: state)
    }

    /// Changes the key because an act needs another one.
    func beginNextEpoch(of tresor: TresorID) async throws(TresorError) {
        let state = try await perform(.rotate, on: tresor).state
        await session.keyRing.add(Notice(tresor: tresor, deed: .rekeyed, epoch: state.epoch))
    }

    /// Reads a tresor's log and, where this person is an owner, brings it up to what this home knows (SPEC §9.7): newer cards that were compared are put
    /// into it, and dates that have passed become removals. To be called before an effect is computed that somebody is shown.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `clock` when a date has passed by a clock that is too far from the log's, unless ``acceptClock(in:)``.
    @concurrent public func settle(_ tresor: TresorID) async throws(TresorError) -> LogState {
        try await Expiry(session: session).settle(tresor)
    }

    /// Goes on in a tresor although this machine's clock is too far from its log's to end dates by it. The dates stay.
    public func acceptClock(in tresor: TresorID) async { await session.keyRing.acceptClock(in: tresor) }

    /// Whose newer card this home has compared than the log knows: members, and the founder, on whom everything rests.
    ///
    /// - Returns: by rising user id.
    public func superseded(in state: LogState) throws(TresorError) -> [UserID] {
        let pins = try client.pins()
        return Set(state.members.keys).union([state.founder]).filter { user in
            guard user != identity.user, let pin = pins[user], !pin.isReplaced, let chain = state.chain(of: user) else {
                return false
            }
            return pin.chain.extends(chain) && pin.chain.newest != chain.newest
        }.sorted()
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

extension Tresors {
    private static let attemptCount = 16

    /// Computes the effect of an act at this state (SPEC §9.7). Writes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` without the right to it. ``TresorError/notFound`` for removing a person who
    ///   was never a member. ``TresorError/usage(_:)`` for an act that makes no sense, with the reason, for example
    ///   `lastOwner` or `historyCannotChange`. ``TresorError/unverified`` when the founder is not verified.
    @concurrent package func effect(of act: Act, in state: LogState) async throws(TresorError) -> Effect {
        try await OwnTresors(session: session).check(act, in: state)
        return try effectBlocking(of: act, in: state)
    }

    /// Does what ``effect(of:in:)`` does, on the calling thread.
    package func effectBlocking(of act: Act, in state: LogState) throws(TresorError) -> Effect {
        guard let chain = state.chain(of: identity.user), identity.chain.extends(chain),
            act == .renew || act == .leave || chain == identity.chain
        else { throw .noAccess }
        switch act.kind {
        case .leave, .renew: break
        default: if state.waiting[identity.user] != nil { throw .waiting }
        }
        if act == .renew, state.approvers.contains(identity.user) { return renewal(from: chain, in: state) }
        guard let me = state.members[identity.user] ?? state.waiting[identity.user] else { throw .noAccess }
        // Leaving needs no trust in the founder.
        if act != .leave {
            // This person's new card may be added where this home compared the founder's newer keys and the log lacks
            // them.
            let isKnown = act == .renew ? try client.trust.isKnownFromBefore(state) : false
            guard try client.trust.founderTrust(in: state).isVerified || isKnown else {
                throw client.trust.founderRefusal(in: state)
            }
        }
        if let end = me.notAfter, act != .leave, client.clock() > end { throw .noAccess }
        var effect = Effect()
        effect.remaining = state.members.count
        let isMember = state.members[identity.user] != nil
        switch act.kind {
        case .share(let people, let role, let fromNow, let notAfter):
            guard me.role == .owner else { throw .noAccess }
            try share(people, role, fromNow, notAfter, in: state, &effect)
        case .revoke(let users):
            guard me.role == .owner else { throw .noAccess }
            try revoke(users, in: state, &effect)
        case .leave:
            guard !isMember || me.role != .owner || state.lastingOwners(without: [identity.user]) > 0 else {
                throw .usage(.lastOwner)
            }
            effect.dismissed = [identity.user]
            if isMember { effect.remaining -= 1 }
        case .rotate:
            // Two writers who change the key in stores of their own make two histories: an owner does it for all.
            let mayRotate =
                me.role == .owner
                || (me.role == .writer && me.history == .all && state.isRekeyPending
                    && !client.archive.isCopied(state.tresor))
            guard mayRotate else { throw .noAccess }
            // An owner first adds the newer card to the log. A writer cannot, and would wrap to keys that a thief may
            // have.
            if me.role != .owner { guard try superseded(in: state).isEmpty else { throw .unverified } }
            effect.epoch = state.epoch + 1
        case .rename(let name, _):
            guard me.role == .owner else { throw .noAccess }
            guard !name.isEmpty else { throw .usage(.nameEmpty) }
            effect.renames = true
        case .renew: return renewal(from: chain, in: state)
        case .setApprovers(let chains):
            guard me.role == .owner else { throw .noAccess }
            try checkApprovers(chains, in: state)
            let users = chains.map(\.user).sorted()
            if users != state.approvers || chains.contains(where: { state.chain(of: $0.user) != $0 }) {
                effect.approvers = users
            }
        }
        return effect
    }

    private func renewal(from chain: CardChain, in state: LogState) -> Effect {
        var effect = Effect()
        effect.remaining = state.members.count
        if chain != identity.chain { effect.generation = chain.newest.generation + 1 }
        return effect
    }

    private func checkApprovers(_ chains: [CardChain], in state: LogState) throws(TresorError) {
        guard chains.count <= Approver.maximumCount else { throw .usage(.tooManyApprovers) }
        guard Set(chains.map(\.user)).count == chains.count else { throw .usage(.namedTwice) }
        guard state.hasRoom(for: chains.map(\.user)) else { throw .usage(.tooManyPeople) }
        for chain in chains {
            guard !state.isIn(chain.user) else { throw .usage(.approver) }
            guard state.chain(of: chain.user).map({ chain.extends($0) }) ?? true else { throw .forked }
        }
    }

    private func share(
        _ people: [CardChain], _ role: Role, _ fromNow: Bool, _ notAfter: UInt64?, in state: LogState,
        _ effect: inout Effect
    ) throws(TresorError) {
        try checkNamed(people.map(\.user))
        if let notAfter { guard (1...Format.latestTime).contains(notAfter) else { throw .usage(.time) } }
        for chain in people.sorted(by: { $0.user < $1.user }) {
            let user = chain.user
            guard !state.approvers.contains(user) else { throw .usage(.approver) }
            if let waiting = state.waiting[user] {
                guard fromNow == (waiting.history != .all) else { throw .usage(.historyCannotChange) }
                guard Terms(waiting) == Terms(role: role, notAfter: notAfter) else { throw .usage(.stillWaiting) }
                effect.already.append(user)
                continue
            }
            guard let member = state.members[user] else {
                effect.admitted.append(user)
                continue
            }
            guard fromNow == (member.history != .all) else { throw .usage(.historyCannotChange) }
            if Terms(member) == Terms(role: role, notAfter: notAfter) {
                effect.already.append(user)
            } else {
                guard user != state.founder else { throw .usage(.founder) }
                guard role != .owner || member.history == .all else { throw .usage(.ownerWithoutHistory) }
                effect.changed.append(user)
                effect.replaced[user] = Terms(member)
            }
        }
        guard effect.changed.isEmpty || (effect.admitted.isEmpty && effect.changed.count == 1) else {
            throw .usage(.oneChangeAtATime)
        }
        guard !(role == .owner && fromNow) else { throw .usage(.ownerWithoutHistory) }
        guard (role == .owner && notAfter == nil) || !effect.admitted.contains(state.founder) else {
            throw .usage(.founder)
        }
        if let user = effect.changed.first, role != .owner || notAfter != nil, state.lastingOwners(without: [user]) == 0
        {
            throw .usage(.lastOwner)
        }
        effect.waits = !effect.admitted.isEmpty && !state.approvers.isEmpty
        let count = effect.remaining + effect.admitted.count
        if !effect.waits { effect.remaining = count }
        guard count + state.waiting.count <= LogState.maximumMemberCount, state.hasRoom(for: effect.admitted) else {
            throw .usage(.tooManyPeople)
        }
        if fromNow, !effect.admitted.isEmpty { effect.epoch = state.epoch + 1 }
    }

    /// Refuses an act that names nobody, or a person twice.
    private func checkNamed(_ users: [UserID]) throws(TresorError) {
        guard !users.isEmpty else { throw .usage(.nobodyNamed) }
        guard Set(users).count == users.count else { throw .usage(.namedTwice) }
    }

    private func revoke(_ users: [UserID], in state: LogState, _ effect: inout Effect) throws(TresorError) {
        try checkNamed(users)
        for user in users.sorted() {
            if state.isIn(user) {
                guard user != identity.user else { throw .usage(.yourself) }
                guard user != state.founder else { throw .usage(.founder) }
                effect.dismissed.append(user)
            } else {
                guard state.wasEverIn(user) else { throw .notFound }
                effect.already.append(user)
            }
        }
        guard effect.dismissed.isEmpty || state.lastingOwners(without: effect.dismissed) > 0 else {
            throw .usage(.lastOwner)
        }
        effect.remaining -= effect.dismissed.count { state.members[$0] != nil }
        if !effect.dismissed.isEmpty { effect.epoch = state.epoch + 1 }
    }

    /// Performs an act (SPEC §9.7). Its entry and its wraps take effect together or not at all.
    ///
    /// If another entry comes first, the log is read and judged again. The act continues only if its effect is the
    /// same.
    ///
    /// - Parameters:
    ///   - act: the act.
    ///   - tresor: the tresor.
    ///   - expecting: the effect that a person was shown; `nil` for the effect at the first reading.
    ///   - acceptingUnverified: whether to add people whose safety number was never compared.
    /// - Throws: the errors of ``effect(of:in:)``. ``TresorError/unverified`` for people who are not verified.
    ///   ``TresorError/busy`` when the effect changed while the log was read. ``TresorError/store(_:)`` when the store
    ///   did not keep what it accepted. ``TresorError/cancelled`` for a task that was cancelled before the act was
    ///   sent: the act has not happened.
    @concurrent @discardableResult package func perform(
        _ act: Act, on tresor: TresorID, expecting: Effect? = nil, acceptingUnverified: Bool = false
    ) async throws(TresorError) -> (effect: Effect, state: LogState) {
        if case .share(let people, _, _, _) = act.kind {
            try checkPeople(people, acceptingUnverified: acceptingUnverified)
        }
        if case .setApprovers(let chains) = act.kind {
            try checkPeople(chains, acceptingUnverified: acceptingUnverified)
        }
        var expected = expecting
        for _ in 0..<Self.attemptCount {
            try client.operation.step()
            let state =
                expected == nil && act != .leave && act != .renew
                ? try await settle(tresor, before: act) : try await client.logs.heldState(of: tresor)
            if try await needsNextEpoch(act, in: state) {
                try await beginNextEpoch(of: tresor)
                continue
            }
            let effect = try await effect(of: act, in: state)
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

    /// Checks that each chain is the very one that is pinned: keys are wrapped only to what was compared.
    func checkPeople(_ people: [CardChain], acceptingUnverified: Bool) throws(TresorError) {
        for chain in people {
            switch try client.people.trustBlocking(in: chain) {
            case .me, .verified: break
            case .unverified where acceptingUnverified: break
            case .unverified, .renewed, .changed: throw client.trust.refusal(of: chain)
            }
        }
    }

    /// Whether the key has to change before an act (SPEC §9.7 perform step 2).
    private func needsNextEpoch(_ act: Act, in state: LogState) async throws(TresorError) -> Bool {
        switch act.kind {
        case .rename: return try await needsNextEpoch(in: state)
        case .share(_, _, let fromNow, _):
            if fromNow { return false }
            // Keys that an approval released in this epoch, or that a former approver has, would open the new wrap.
            if state.isRekeyPending, !state.approvers.isEmpty { return true }
            return try await session.keyRing.isCutOff(in: state)
        case .setApprovers: return try await session.keyRing.isCutOff(in: state)
        case .revoke, .leave, .rotate, .renew: return false
        }
    }

    /// Whether the key has to change before anything is sealed: a member who left still has it, or this owner does not.
    func needsNextEpoch(in state: LogState) async throws(TresorError) -> Bool {
        if state.isRekeyPending { return true }
        return try await session.keyRing.isCutOff(in: state)
    }

    /// Changes the key because an act needs another one.
    func beginNextEpoch(of tresor: TresorID) async throws(TresorError) {
        let state = try await perform(.rotate, on: tresor).state
        await session.keyRing.add(Notice(tresor: tresor, deed: .rekeyed, epoch: state.epoch))
    }

    /// Reads a tresor's log and, for an owner, brings it up to date with this home (SPEC §9.7).
    ///
    /// Newer cards that were compared are added to the log, and members with expired grants are removed. Call it before
    /// computing an effect, and where a person is asked, after the yes: ``due(in:)`` says before what it will do.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `clock` when a grant has expired by a clock that is too far from the
    ///   log's, unless ``acceptClock(in:)`` was called.
    @concurrent package func settle(_ tresor: TresorID) async throws(TresorError) -> LogState {
        try await Expiry(session: session).settle(tresor)
    }

    /// Makes what is due before an act that nobody was shown. A revocation goes alone into a log that is behind, unless the
    /// founder's newer card is due: without that, no act is judged.
    private func settle(_ tresor: TresorID, before act: Act) async throws(TresorError) -> LogState {
        do throws(TresorError) {
            return try await settle(tresor)
        } catch {
            guard error == .store(.behind), case .revoke = act.kind else { throw error }
            let state = try await client.logs.heldState(of: tresor)
            guard try client.trust.founderTrust(in: state).isVerified else { throw error }
            return state
        }
    }

    /// Says what ``settle(_:)`` would append to a log, for a person who is asked first.
    ///
    /// - Throws: the errors of ``settle(_:)``.
    @concurrent package func due(in tresor: TresorID) async throws(TresorError) -> Due {
        try await Expiry(session: session).due(in: tresor)
    }

    /// Makes what is due, and computes an effect again that was shown beside it. A store that was restored, and whose log
    /// lacks a removal, takes that alone: a revocation then goes first.
    ///
    /// - Parameter shown: the effect of the act in the state of `due`.
    /// - Throws: ``TresorError/busy`` where the effect means something else than was shown, and the errors of
    ///   ``settle(_:)``.
    @concurrent package func settle(
        _ due: Due, before act: Act, shown: Effect
    ) async throws(TresorError) -> Effect {
        guard !due.isNothing else { return shown }
        let state: LogState
        do throws(TresorError) {
            state = try await settle(due.state.tresor)
        } catch {
            guard error == .store(.behind), case .revoke = act.kind else { throw error }
            return shown
        }
        let effect = try effectBlocking(of: act, in: state)
        // Of people whose last day has passed, nothing is left to be taken.
        let isSame =
            due.ended.isEmpty
            ? shown.means(effect) : Set(effect.dismissed) == Set(shown.dismissed).subtracting(due.ended)
        guard isSame else { throw .busy }
        return effect
    }

    /// Allows acts in a tresor although this machine's clock is too far from its log's to end grants by it. No grant
    /// ends.
    @concurrent package func acceptClock(in tresor: TresorID) async { await session.keyRing.acceptClock(in: tresor) }

    /// Returns the people of whom this home has compared a newer card than the log has: members, and the founder.
    ///
    /// - Returns: the user ids, rising.
    package func superseded(in state: LogState) throws(TresorError) -> [UserID] {
        let pins = try client.pins()
        return Set(state.members.keys).union(state.waiting.keys).union(state.approvers).union([state.founder]).filter {
            user in
            guard user != identity.user, let pin = pins[user], !pin.isReplaced, let chain = state.chain(of: user) else {
                return false
            }
            return pin.chain.extends(chain) && pin.chain.newest != chain.newest
        }.sorted()
    }
}

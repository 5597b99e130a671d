// SPDX-License-Identifier: Apache-2.0

/// What a person does to a tresor (SPEC §9.7).
public enum Act: Hashable, Sendable {
    /// Lets people in, or changes the role and date of those who are in.
    case share(with: [CardChain], role: Role, fromNow: Bool, notAfter: UInt64?)
    /// Puts people out and changes the key.
    case revoke([UserID])
    /// Goes.
    case leave
    /// Changes the key.
    case rotate
    /// Gives another name, and another kind if one is given.
    case rename(Name, kind: Name? = nil)
    /// Puts this person's next card in the place of the one the log holds.
    case renew
}

/// What a member may do, and until when.
public struct Terms: Hashable, Sendable {
    /// What they may do.
    public let role: Role
    /// When the owner means to take access back, in seconds since 1970.
    public let notAfter: UInt64?

    /// A role and a date.
    public init(role: Role, notAfter: UInt64?) {
        self.role = role
        self.notAfter = notAfter
    }

    /// What a member has.
    public init(_ member: Member) { self.init(role: member.role, notAfter: member.notAfter) }
}

/// What an act means at one state of the log. When the log has moved on and the meaning is no longer the same, the act is not done.
public struct Effect: Hashable, Sendable {
    /// Who gains access, by rising user id.
    public var admitted: [UserID] = []
    /// Whose role or date changes.
    public var changed: [UserID] = []
    /// The role and date they have until then.
    public var replaced: [UserID: Terms] = [:]
    /// Who loses access.
    public var dismissed: [UserID] = []
    /// For whom nothing changes, because it is so already.
    public var already: [UserID] = []
    /// How many people are in afterwards.
    public var remaining = 0
    /// The epoch that begins, if one does.
    public var epoch: UInt64?
    /// Whether the name changes.
    public var renames = false
    /// The generation that this person's entries have from then on.
    public var generation: UInt32?

    /// An effect in which nothing is done.
    public init() {}

    /// Whether both do the same to the same people. How many others are in, and the epoch's number, may differ.
    func means(_ other: Effect) -> Bool {
        var other = other
        other.remaining = remaining
        if epoch != nil, other.epoch != nil { other.epoch = epoch }
        return self == other
    }

    /// Whether nothing is to be done.
    public var isNothing: Bool {
        admitted.isEmpty && changed.isEmpty && dismissed.isEmpty && epoch == nil && !renames && generation == nil
    }
}

extension Session {
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
            let isKnown = act == .renew ? try client.isKnownFromBefore(state) : false
            guard try client.founderTrust(in: state).isVerified || isKnown else { throw .unverified }
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
            let mayRotate = me.role == .owner || (me.role == .writer && me.history == .all && state.rotateFirst)
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
    ///   - expecting: the effect that a person was shown; `nil` for whatever it is at the first reading.
    ///   - acceptingUnverified: whether to let people in whose number nobody compared.
    /// - Throws: what ``effect(of:in:)`` throws; ``TresorError/unverified`` for people who are not verified; ``TresorError/busy`` when the meaning
    ///   changed meanwhile; ``TresorError/store(_:)`` when the store did not keep what it accepted.
    @discardableResult public func perform(
        _ act: Act, on tresor: TresorID, expecting: Effect? = nil, acceptingUnverified: Bool = false
    ) async throws(TresorError) -> (effect: Effect, state: LogState) {
        if case .share(let people, _, _, _) = act { try checkPeople(people, acceptingUnverified: acceptingUnverified) }
        var expected = expecting
        for _ in 0..<Self.attemptCount {
            let state =
                expected == nil && act != .leave && act != .renew
                ? try await settle(tresor) : try await client.state(of: tresor)
            if try await needsNextEpoch(act, in: state) {
                try await beginNextEpoch(of: tresor)
                continue
            }
            let effect = try effect(of: act, in: state)
            guard expected?.means(effect) ?? true else { throw .busy }
            expected = effect
            guard !effect.isNothing else { return (effect, state) }
            let draft = try await draft(act, effect, in: state)
            if let after = try await append(draft, effect, to: state) { return (effect, after) }
        }
        throw .busy
    }

    /// What was compared is what is wrapped to: each chain must be the very one that is pinned.
    private func checkPeople(_ people: [CardChain], acceptingUnverified: Bool) throws(TresorError) {
        for chain in people {
            switch try client.trust(in: chain) {
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
            return try await isCutOff(in: state)
        case .revoke, .leave, .rotate, .renew: return false
        }
    }

    /// Whether the key has to be changed before anything is sealed: a member who left still has it, or this person, an owner, does not.
    func needsNextEpoch(in state: LogState) async throws(TresorError) -> Bool {
        if state.rotateFirst { return true }
        return try await isCutOff(in: state)
    }

    /// Changes the key because an act needs another one.
    func beginNextEpoch(of tresor: TresorID) async throws(TresorError) {
        let state = try await perform(.rotate, on: tresor).state
        notices.append(Notice(tresor: tresor, deed: .rekeyed, epoch: state.epoch))
    }

    /// Reads a tresor's log and, where this person is an owner, brings it up to what this home knows (SPEC §9.7): newer cards that were compared are put
    /// into it, and dates that have passed become removals. To be called before an effect is computed that somebody is shown.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `clock` when a date has passed by a clock that is too far from the log's, unless ``acceptClock(in:)``.
    public func settle(_ tresor: TresorID) async throws(TresorError) -> LogState {
        for _ in 0..<Self.attemptCount {
            var state = try await client.state(of: tresor)
            guard isOwner(in: state), try mayRenewOthers(in: state) else { return state }
            // Before anything is written: an entry of this very clock would make it believed.
            let mayEndDates = try checkClock(in: state)
            state = try await renewOthers(state)
            guard mayEndDates, isOwner(in: state), try client.founderTrust(in: state).isVerified else { return state }
            let ended = ended(in: state)
            guard !ended.isEmpty else { return state }
            let removal = Act.revoke(ended)
            let effect = try effect(of: removal, in: state)
            let draft = try await draft(removal, effect, in: state)
            let after = try await append(draft, effect, to: state)
            if after != nil {
                let epoch = after?.epoch ?? state.epoch
                notices.append(Notice(tresor: tresor, deed: .ended(effect.dismissed), epoch: epoch))
            }
            if let after { return after }
        }
        throw .busy
    }

    /// The members whose date has passed, by rising user id.
    private func ended(in state: LogState) -> [UserID] {
        let now = client.clock()
        return state.members.filter { user, member in
            user != state.founder && user != identity.user && member.notAfter.map { now > $0 } ?? false
        }.keys.sorted()
    }

    /// - Returns: whether dates may be ended by this clock; not where a person was asked and said to go on.
    /// - Throws: ``TresorError/failed(_:)`` with `clock`.
    private func checkClock(in state: LogState) throws(TresorError) -> Bool {
        if acceptedClocks.contains(state.tresor) { return false }
        let isBelieved = ended(in: state).isEmpty || state.believes(client.clock())
        guard isBelieved else { throw .failed(.clock) }
        return true
    }

    /// Goes on in a tresor although this machine's clock is too far from its log's to end dates by it. The dates stay.
    public func acceptClock(in tresor: TresorID) { acceptedClocks.insert(tresor) }

    private func isOwner(in state: LogState) -> Bool {
        state.members[identity.user]?.role == .owner
            && state.chain(of: identity.user)?.newest == identity.chain.newest
    }

    /// Whose newer card this home has compared than the log knows: members, and the founder, on whom everything rests.
    ///
    /// - Returns: by rising user id.
    public nonisolated func superseded(in state: LogState) throws(TresorError) -> [UserID] {
        let pins = try client.pins()
        return Set(state.members.keys).union([state.founder]).filter { user in
            guard user != identity.user, let pin = pins[user], !pin.isReplaced, let chain = state.chain(of: user) else {
                return false
            }
            return pin.chain.extends(chain) && pin.chain.newest != chain.newest
        }.sorted()
    }

    /// Puts newer cards of others into the log, one entry each. The keys that follow are then wrapped to no card that this home knows to be superseded.
    private func renewOthers(_ state: LogState) async throws(TresorError) -> LogState {
        var state = state
        while let user = try superseded(in: state).first {
            guard let chain = state.chain(of: user), let pinned = try client.pins()[user]?.chain,
                let card = pinned.card(generation: chain.newest.generation + 1)
            else { throw .altered }
            if let after = try await append(Draft(body: .renew(card)), Effect(), to: state) {
                notices.append(Notice(tresor: state.tresor, deed: .renewed(user), epoch: after.epoch))
                state = after
            } else {
                state = try await client.state(of: state.tresor)
                guard isOwner(in: state) else { return state }
            }
        }
        return state
    }

    /// A founder whose card in the log is older than the one compared is not verified. Their newer card may be put in where this home knew the tresor before.
    private func mayRenewOthers(in state: LogState) throws(TresorError) -> Bool {
        if try client.founderTrust(in: state).isVerified { return true }
        return try client.isKnownFromBefore(state)
    }

    /// `nil` when somebody else was faster.
    private func append(_ draft: Draft, _ effect: Effect, to state: LogState) async throws(TresorError) -> LogState? {
        let sequence = state.head.sequence + 1
        let previous = try await client.entries(state.head.sequence..<sequence, of: state).first
        let entry = try Entry(
            tresor: state.tresor, sequence: sequence, previous: state.head.hash, author: identity,
            generation: draft.generation, time: client.clock(), body: draft.body)
        var fold = Fold(state: state)
        try fold.apply(entry.bytes)
        try keepBeforeSending(draft.wraps, of: state.tresor)
        let outcome = try await client.store.append(
            LogChange(
                tresor: state.tresor, sequence: sequence, previous: previous, entry: entry.bytes,
                putting: draft.wraps, removingWrapsOf: departed(effect, in: state)))
        return try await confirm(entry, outcome, wraps: draft.wraps)
    }

    /// Whose wraps are deleted: who goes with this act, and when the key changes whoever else went before, should the store have kept theirs.
    private func departed(_ effect: Effect, in state: LogState) -> [UserID] {
        guard effect.epoch != nil else { return effect.dismissed }
        return effect.dismissed + state.everybody.filter { state.members[$0] == nil && !effect.admitted.contains($0) }
    }
}

extension LogState {
    /// Whether a clock may end dates: it is at most a day before, and at most 400 days after, the newest entry of an owner without a date of their own.
    func believes(_ clock: UInt64) -> Bool {
        let day: UInt64 = 86_400
        let first = ownerTime > day ? ownerTime - day : 0
        return (first...(ownerTime + 400 * day)).contains(clock)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// An entry about to be signed, and the wraps that go with it.
struct Draft {
    let body: EntryBody
    var wraps: [StoredWrap] = []
    /// The generation that signs, if it is not the newest.
    var generation: UInt32?
}

extension Session {
    func draft(_ act: Act, _ effect: Effect, in state: State) async throws(TresorError) -> Draft {
        switch act {
        case .share(let people, let role, let fromNow, let notAfter):
            if let user = effect.changed.first {
                return Draft(body: .role(user: user, role: role, notAfter: notAfter))
            }
            let admitted = people.filter { effect.admitted.contains($0.user) }.sorted { $0.user < $1.user }
            return try await grant(admitted, role, fromNow, notAfter, in: state)
        case .revoke:
            let next = try await nextEpoch(in: state)
            let staying = state.members.filter { member in
                Defence.stayingMembers.holds(!effect.dismissed.contains(member.key))
            }
            return Draft(
                body: .remove(users: effect.dismissed, epoch: next.statement),
                wraps: try wraps(next.keys, for: staying, in: state))
        case .leave: return Draft(body: .leave)
        case .rotate:
            let next = try await nextEpoch(in: state)
            return Draft(
                body: .epoch(next.statement), wraps: try wraps(next.keys, for: state.members, in: state))
        case .rename(let name, let given):
            let keys = try await keys(of: state.epoch, in: state)
            let kind = if let given { given } else { try await keptKind(in: state) }
            return Draft(body: .rename(try seal(name, kind, under: keys, in: state)))
        case .renew:
            guard let generation = effect.generation, let card = identity.chain.card(generation: generation) else {
                throw .usage
            }
            return Draft(body: .renew(card), generation: generation - 1)
        }
    }

    private func grant(
        _ people: [CardChain], _ role: Role, _ fromNow: Bool, _ notAfter: UInt64?, in state: State
    ) async throws(TresorError) -> Draft {
        guard fromNow else {
            let keys = try await keys(of: state.epoch, in: state)
            let grant = Grant(people: people, role: role, notAfter: notAfter, fromNow: nil)
            return Draft(body: .grant(grant), wraps: try wraps(keys, for: people.map { ($0, .all) }, in: state))
        }
        let next = try await nextEpoch(in: state)
        let (name, kind) = try await nameAndKind(in: state)
        let sealedName = try seal(name, kind, under: next.keys, in: state)
        let grant = Grant(
            people: people, role: role, notAfter: notAfter,
            fromNow: Grant.FromNow(epoch: next.statement, sealedName: sealedName))
        let history = History.from(epoch: next.keys.epoch)
        let wraps =
            try self.wraps(next.keys, for: state.members, in: state)
            + self.wraps(next.keys, for: people.map { ($0, history) }, in: state)
        return Draft(body: .grant(grant), wraps: wraps)
    }

    /// The kind that stays when the name changes; none where the name that was there does not open.
    private func keptKind(in state: State) async throws(TresorError) -> Name {
        do throws(TresorError) {
            return try await nameAndKind(in: state).kind
        } catch {
            guard error == .altered else { throw error }
            return .empty
        }
    }

    /// Fresh keys for the next epoch, linked back to the present ones, and past them to what a spoiled back-link hides from others.
    private func nextEpoch(in state: State) async throws(TresorError) -> (keys: EpochKeys, statement: Epoch) {
        let present = try await keys(of: state.epoch, in: state)
        let next = try EpochKeys(epoch: state.epoch + 1)
        let links = [present] + (await hidden(behind: present, in: state))
        return (next, try next.statement(of: state.tresor, linking: links))
    }

    /// Keys to which no back-link leads but which an owner's own older wrap still opens, by falling epoch. Looks back over a bounded number of
    /// epochs: every owner's epoch repairs what lies within.
    private func hidden(behind present: EpochKeys, in state: State) async -> [EpochKeys] {
        guard state.members[identity.user]?.role == .owner else { return [] }
        var reached = [present.epoch: present]
        var hidden: [EpochKeys] = []
        var epoch = present.epoch
        let last = epoch > Self.repairDepth ? epoch - Self.repairDepth : 1
        while epoch > last {
            if let keys = reached[epoch] {
                for link in (try? openBackLink(of: keys, in: state)) ?? [] { reached[link.epoch] = link }
            }
            epoch -= 1
            if reached[epoch] == nil, let own = try? await unwrap(epoch, in: state, history: .all) {
                reached[epoch] = own
                hidden.append(own)
            }
        }
        return hidden
    }

    private static let repairDepth: UInt64 = 256

    private func seal(
        _ name: Name, _ kind: Name, under keys: EpochKeys, in state: State
    ) throws(TresorError) -> SealedName {
        try SealedName(
            name, kind: kind, under: keys.content, tresor: state.tresor, epoch: keys.epoch,
            sequence: state.head.sequence + 1)
    }

    func wraps(
        _ keys: EpochKeys, for members: [UserID: Member], in state: State
    ) throws(TresorError) -> [StoredWrap] {
        var people: [(chain: CardChain, history: History)] = []
        for (user, member) in members.sorted(by: { $0.key < $1.key }) {
            guard let chain = state.chain(of: user) else { throw .altered }
            people.append((chain, member.history))
        }
        return try wraps(keys, for: people, in: state)
    }

    private func wraps(
        _ keys: EpochKeys, for people: [(chain: CardChain, history: History)], in state: State
    ) throws(TresorError) -> [StoredWrap] {
        try Cores.map(people.count, grain: 16) { (range) throws(TresorError) in
            let secret = try keys.secret()
            var wraps: [StoredWrap] = []
            for (chain, history) in people[range] {
                let wrap = try Wrap(
                    secret.span, epoch: keys.epoch, of: state.tresor, for: chain.newest, user: chain.user,
                    history: history)
                wraps.append(StoredWrap(user: chain.user, epoch: keys.epoch, bytes: wrap.bytes))
            }
            return wraps
        }
    }
}

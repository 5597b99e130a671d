// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// An entry before its signature, with the wraps that belong to it.
struct EntryDraft {
    let body: EntryBody
    var wraps: [StoredWrap] = []
    /// The generation that signs; `nil` for the newest.
    var generation: UInt32?
}

/// Makes the entries of acts, with their wraps.
struct EntryDrafting: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    func draft(_ act: Act, _ effect: Effect, in state: LogState) async throws(TresorError) -> EntryDraft {
        switch act.kind {
        case .share(let people, let role, let fromNow, let notAfter):
            if let user = effect.changed.first {
                return EntryDraft(body: .role(RoleBody(principal: .user(user), role: role, notAfter: notAfter)))
            }
            let admitted = people.map(\.chain).filter { effect.admitted.contains($0.user) }.sorted { $0.user < $1.user }
            return try await grant(admitted, role, fromNow, notAfter, in: state)
        case .revoke:
            let next = try await newEpoch(in: state)
            let staying = state.members.filter { member in
                !effect.dismissed.contains(member.key)
            }
            return EntryDraft(
                body: .remove(RemoveBody(principals: effect.dismissed.map { .user($0) }, epoch: next.statement)),
                wraps: try wraps(next.keys, for: staying, in: state))
        case .leave: return EntryDraft(body: .leave, generation: state.chain(of: identity.user)?.newest.generation)
        case .rotate:
            let next = try await newEpoch(in: state)
            return EntryDraft(
                body: .epoch(EpochBody(next.statement)), wraps: try wraps(next.keys, for: state.members, in: state))
        case .rename(let name, let given):
            let keys = try await session.keyRing.keys(of: state.epoch, in: state)
            let kind = if let given { given } else { try await keptKind(in: state) }
            return EntryDraft(body: .rename(RenameBody(try seal(name, kind, under: keys, in: state))))
        case .renew:
            guard let generation = effect.generation, let card = identity.chain.card(generation: generation) else {
                throw .failed(.other)
            }
            return EntryDraft(body: .renew(RenewBody(card)), generation: generation - 1)
        }
    }

    private func grant(
        _ people: [CardChain], _ role: Role, _ fromNow: Bool, _ notAfter: UInt64?, in state: LogState
    ) async throws(TresorError) -> EntryDraft {
        guard fromNow else {
            let keys = try await session.keyRing.keys(of: state.epoch, in: state)
            let grant = GrantBody(people: people.map { .user($0) }, role: role, notAfter: notAfter, fromNow: nil)
            return EntryDraft(body: .grant(grant), wraps: try wraps(keys, for: people.map { ($0, .all) }, in: state))
        }
        let next = try await newEpoch(in: state)
        let (name, kind) = try await presentName(in: state)
        let sealedName = try seal(name, kind, under: next.keys, in: state)
        let grant = GrantBody(
            people: people.map { .user($0) }, role: role, notAfter: notAfter,
            fromNow: GrantBody.FromNow(epoch: next.statement, sealedName: sealedName))
        let history = History.from(epoch: next.keys.epoch)
        let wraps =
            try self.wraps(next.keys, for: state.members, in: state)
            + self.wraps(next.keys, for: people.map { ($0, history) }, in: state)
        return EntryDraft(body: .grant(grant), wraps: wraps)
    }

    /// Opens the name that is sealed again. If its author withheld the key, the name counts as altered too.
    private func presentName(in state: LogState) async throws(TresorError) -> (name: Name, kind: Name) {
        do throws(TresorError) {
            return try await session.tresors.nameAndKind(in: state)
        } catch {
            throw error == .noAccess ? .altered : error
        }
    }

    /// Returns the kind that stays when the name changes; empty where the present name does not open.
    private func keptKind(in state: LogState) async throws(TresorError) -> Name {
        do throws(TresorError) {
            return try await session.tresors.nameAndKind(in: state).kind
        } catch {
            guard error == .altered || error == .noAccess else { throw error }
            return .empty
        }
    }

    /// Makes fresh keys for the next epoch, linked back to the present ones.
    ///
    /// An owner's links also reach the keys that a spoiled back-link hides from others. They begin lower where the
    /// author of the present epoch withheld its keys. No member can therefore stop an owner.
    private func newEpoch(in state: LogState) async throws(TresorError) -> (keys: EpochKeys, statement: Epoch) {
        let next = try EpochKeys(epoch: state.epoch + 1)
        let needsPresentKey = state.members[identity.user]?.role != .owner
        let links =
            needsPresentKey
            ? [try await session.keyRing.keys(of: state.epoch, in: state)]
            : try await session.keyRing.reachableKeys(in: state)
        return (next, try next.statement(of: state.tresor, linking: links))
    }

    private func seal(
        _ name: Name, _ kind: Name, under keys: EpochKeys, in state: LogState
    ) throws(TresorError) -> SealedName {
        try SealedName(
            name, kind: kind, under: keys.content, tresor: state.tresor, epoch: keys.epoch,
            sequence: state.head.sequence + 1)
    }

    func wraps(
        _ keys: EpochKeys, for members: [UserID: Member], in state: LogState
    ) throws(TresorError) -> [StoredWrap] {
        var people: [(chain: CardChain, history: History)] = []
        for (user, member) in members.sorted(by: { $0.key < $1.key }) {
            guard let chain = state.chain(of: user) else { throw .altered }
            people.append((chain, member.history))
        }
        return try wraps(keys, for: people, in: state)
    }

    private func wraps(
        _ keys: EpochKeys, for people: [(chain: CardChain, history: History)], in state: LogState
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

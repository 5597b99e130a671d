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
                return EntryDraft(body: .role(RoleBody(user: user, role: role, notAfter: notAfter)))
            }
            let admitted = people.filter { effect.admitted.contains($0.user) }.sorted { $0.user < $1.user }
            return try await grant(admitted, role, fromNow, notAfter, in: state)
        case .revoke:
            let next = try await newEpoch(in: state)
            let staying = try recipients(in: state, without: effect.dismissed)
            return EntryDraft(
                body: .remove(RemoveBody(users: effect.dismissed, epoch: next.statement)),
                wraps: try wraps(next.keys, for: staying, of: state.tresor))
        case .leave: return EntryDraft(body: .leave, generation: state.chain(of: identity.user)?.newest.generation)
        case .rotate:
            let next = try await newEpoch(in: state)
            return EntryDraft(
                body: .epoch(EpochBody(next.statement)),
                wraps: try wraps(next.keys, for: recipients(in: state), of: state.tresor))
        case .rename(let name, let given):
            let keys = try await session.keyRing.keys(of: state.epoch, in: state)
            let kind = if let given { given } else { try await keptKind(in: state) }
            return EntryDraft(body: .rename(RenameBody(try seal(name, kind, under: keys, in: state))))
        case .renew:
            guard let generation = effect.generation, let card = identity.chain.card(generation: generation) else {
                throw .failed(.other)
            }
            return EntryDraft(body: .renew(RenewBody(card)), generation: generation - 1)
        case .setApprovers(let chains):
            let sorted = chains.sorted { $0.user < $1.user }
            return EntryDraft(
                body: .approvers(ApproversBody(sorted.map(Approver.init))),
                wraps: try await wraps(forApprovers: sorted, in: state))
        }
    }

    /// Makes the wraps of approvers for all epochs that people who wait need.
    private func wraps(forApprovers chains: [CardChain], in state: LogState) async throws(TresorError) -> [StoredWrap] {
        guard !chains.isEmpty, let epochs = state.approvalEpochs() else { return [] }
        var made: [StoredWrap] = []
        for epoch in epochs {
            let keys = try await session.keyRing.keys(of: epoch, in: state)
            made += try wraps(keys, for: chains.map { Recipient(chain: $0, place: .approver) }, of: state.tresor)
        }
        return made
    }

    private func grant(
        _ people: [CardChain], _ role: Role, _ fromNow: Bool, _ notAfter: UInt64?, in state: LogState
    ) async throws(TresorError) -> EntryDraft {
        guard fromNow else {
            let keys = try await session.keyRing.keys(of: state.epoch, in: state)
            let grant = GrantBody(people: people, role: role, notAfter: notAfter, fromNow: nil)
            let recipients = granted(people, .all, in: state) + (asks(in: state) ? approvers(in: state) : [])
            return EntryDraft(body: .grant(grant), wraps: try wraps(keys, for: recipients, of: state.tresor))
        }
        let next = try await newEpoch(in: state)
        let (name, kind) = try await presentName(in: state)
        let sealedName = try seal(name, kind, under: next.keys, in: state)
        let grant = GrantBody(
            people: people, role: role, notAfter: notAfter,
            fromNow: GrantBody.FromNow(epoch: next.statement, sealedName: sealedName))
        let history = History.from(epoch: next.keys.epoch)
        let present = try recipients(in: state, evenIfNobodyWaits: asks(in: state))
        let wraps = try wraps(next.keys, for: present + granted(people, history, in: state), of: state.tresor)
        return EntryDraft(body: .grant(grant), wraps: wraps)
    }

    /// Whether new people wait for an approver.
    private func asks(in state: LogState) -> Bool { !state.approvers.isEmpty }

    private func granted(_ people: [CardChain], _ history: History, in state: LogState) -> [Recipient] {
        people.map { Recipient(chain: $0, place: asks(in: state) ? .waiting(history) : .member(history)) }
    }

    private func approvers(in state: LogState) -> [Recipient] {
        state.approvers.compactMap { state.chain(of: $0) }.map { Recipient(chain: $0, place: .approver) }
    }

    /// Returns everybody for whom a new epoch is wrapped: members, people who wait, and the approvers of these.
    ///
    /// - Parameter dismissed: the people who lose access by the same entry.
    func recipients(
        in state: LogState, without dismissed: [UserID] = [], evenIfNobodyWaits: Bool = false
    ) throws(TresorError) -> [Recipient] {
        var recipients: [Recipient] = []
        for (user, member) in state.members.sorted(by: { $0.key < $1.key }) where !dismissed.contains(user) {
            guard let chain = state.chain(of: user) else { throw .altered }
            recipients.append(Recipient(chain: chain, place: .member(member.history)))
        }
        let waiting = state.waiting.filter { !dismissed.contains($0.key) }
        for (user, person) in waiting.sorted(by: { $0.key < $1.key }) {
            guard let chain = state.chain(of: user) else { throw .altered }
            recipients.append(Recipient(chain: chain, place: .waiting(person.history)))
        }
        return recipients + (waiting.isEmpty && !evenIfNobodyWaits ? [] : approvers(in: state))
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

    /// Wraps an epoch's keys for many people.
    func wraps(
        _ keys: EpochKeys, for people: [Recipient], of tresor: TresorID
    ) throws(TresorError) -> [StoredWrap] {
        try Cores.map(people.count, grain: 16) { (range) throws(TresorError) in
            let secret = try keys.secret()
            var wraps: [StoredWrap] = []
            for person in people[range] {
                let (card, user) = (person.chain.newest, person.chain.user)
                let wrap =
                    switch person.place {
                    case .member(let history):
                        try Wrap(secret.span, epoch: keys.epoch, of: tresor, for: card, user: user, history: history)
                    case .waiting(let history):
                        try Wrap(waiting: keys, of: tresor, for: card, user: user, history: history)
                    case .approver:
                        try Wrap(approval: keys.approvalKey(of: tresor), of: tresor, for: card, user: user)
                    }
                wraps.append(StoredWrap(user: user, epoch: keys.epoch, bytes: wrap.bytes))
            }
            return wraps
        }
    }
}

/// A person for whom the keys of an epoch are wrapped, and the form of the wrap (SPEC §9.6, §9.11).
struct Recipient: Sendable {
    enum Place: Sendable {
        case member(History)
        case waiting(History)
        case approver
    }

    let chain: CardChain
    let place: Place

    /// The first of the epochs that the person needs wraps of.
    func firstEpoch(in state: LogState) -> UInt64 {
        switch place {
        case .member(let history), .waiting(let history): history.epochsToRelease(at: state.epoch).lowerBound
        case .approver: state.approvalEpochs()?.lowerBound ?? state.epoch
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// An unlocked identity at work on one home and one store. Release it and the keys it holds are wiped.
public actor Session {
    /// Home, store and clock.
    public nonisolated let client: Client
    /// Who is at work.
    public nonisolated let identity: Identity

    /// Keys that have come out of wraps and back-links, each checked against the log.
    private var keys: [TresorID: [UInt64: EpochKeys]] = [:]
    /// The wraps of newest epochs, with the whole history, that were opened.
    private var ownWraps: [TresorID: [UInt8]] = [:]

    init(client: Client, identity: Identity) {
        self.client = client.keepingStates(for: identity)
        self.identity = identity
    }

    /// The keys of an epoch, as far as this person may have them (SPEC §9.6).
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is not in, for epochs before a *from now* grant, or when the store has no wrap;
    ///   ``TresorError/altered`` when wrap or back-link do not hold what the log committed to.
    func keys(of epoch: UInt64, in state: State) async throws(TresorError) -> EpochKeys {
        guard let member = state.members[identity.user], epoch >= 1, epoch <= state.epoch else { throw .noAccess }
        if case .from(let first) = member.history, epoch < first { throw .noAccess }
        if let known = keys[state.tresor]?[epoch], known.opensHistory || member.history != .all,
            let statement = state.statement(of: epoch)
        {
            try known.check(against: statement, of: state.tresor)
            return known
        }
        switch member.history {
        case .from:
            return try await unwrap(epoch, in: state, history: member.history)
        case .all:
            var reached = try await unwrap(state.epoch, in: state, history: .all)
            while reached.epoch > epoch {
                let earlier = try await self.earlier(than: reached, in: state)
                guard let next = earlier.last(where: { $0.epoch >= epoch }) else { throw .altered }
                reached = next
            }
            return reached
        }
    }

    /// The keys that lie behind an epoch: by its back-link, or where a dishonest writer spoiled that, by this person's own older wrap.
    ///
    /// - Returns: by falling epoch, the one before first.
    /// - Throws: ``TresorError/altered`` when neither yields what the log committed to.
    func earlier(than keys: EpochKeys, in state: State) async throws(TresorError) -> [EpochKeys] {
        do throws(TresorError) {
            return try openBackLink(of: keys, in: state)
        } catch {
            guard error == .altered, let wrapped = try? await unwrap(keys.epoch - 1, in: state, history: .all) else {
                throw error
            }
            return [wrapped]
        }
    }

    /// What the back-link yields, each key checked against the log; what lies behind one that does not hold is not believed.
    func openBackLink(of keys: EpochKeys, in state: State) throws(TresorError) -> [EpochKeys] {
        guard let statement = state.statement(of: keys.epoch) else { throw .altered }
        var links: [EpochKeys] = []
        for link in try keys.openBackLink(statement, of: state.tresor) {
            do throws(TresorError) {
                guard let statement = state.statement(of: link.epoch) else { throw .altered }
                try link.check(against: statement, of: state.tresor)
                try checkFresh(link, of: state.tresor)
            } catch {
                guard !links.isEmpty else { throw error }
                break
            }
            keep(link, of: state.tresor)
            links.append(link)
        }
        return links
    }

    func unwrap(
        _ epoch: UInt64, in state: State, history: History
    ) async throws(TresorError) -> EpochKeys {
        if let known = keys[state.tresor]?[epoch], known.opensHistory || history != .all { return known }
        guard
            let bytes = try await client.store.wraps(of: identity.user, in: state.tresor, epoch: epoch).first
        else { throw .noAccess }
        return try open(bytes, of: epoch, in: state, history: history)
    }

    /// Opens a wrap of this person's, wherever it was kept.
    private func open(
        _ bytes: [UInt8], of epoch: UInt64, in state: State, history: History
    ) throws(TresorError) -> EpochKeys {
        guard let statement = state.statement(of: epoch), let chain = state.chain(of: identity.user) else {
            throw .noAccess
        }
        let wrap = try Wrap(bytes)
        guard let card = chain.card(generation: wrap.generation) else { throw .altered }
        let unwrapped = try wrap.open(
            as: identity, of: state.tresor, statement: statement, card: card, history: history)
        try checkFresh(unwrapped, of: state.tresor)
        keep(unwrapped, of: state.tresor)
        if history == .all, epoch == state.epoch { ownWraps[state.tresor] = bytes }
        return unwrapped
    }

    /// The newest keys, by the home's own wrap where the store has lost or spoiled it (SPEC §9.9).
    ///
    /// - Throws: what ``keys(of:in:)`` throws when the home has none either.
    func newestKeys(in state: State) async throws(TresorError) -> EpochKeys {
        do throws(TresorError) {
            return try await keys(of: state.epoch, in: state)
        } catch {
            guard error == .noAccess || error == .altered, state.members[identity.user]?.history == .all,
                let kept = client.keptWraps()[state.tresor],
                let opened = try? open(kept, of: state.epoch, in: state, history: .all)
            else { throw error }
            return opened
        }
    }

    private func keep(_ unwrapped: EpochKeys, of tresor: TresorID) {
        keys[tresor, default: [:]][unwrapped.epoch] = unwrapped
    }

    /// Refuses a key that another epoch of the tresor has had: an epoch that changes nothing.
    private func checkFresh(_ unwrapped: EpochKeys, of tresor: TresorID) throws(TresorError) {
        for known in (keys[tresor] ?? [:]).values where known.epoch != unwrapped.epoch {
            guard Defence.freshKeys.holds(!known.shares(keysWith: unwrapped)) else { throw .altered }
        }
    }

    /// The name of a tresor.
    ///
    /// - Throws: what ``keys(of:in:)`` throws; ``TresorError/altered`` when the name is not what an owner sealed.
    public func name(in state: State) async throws(TresorError) -> Name {
        let name = try await nameAndKind(in: state).name
        if try client.heads()[state.tresor] != nil {
            remember(name, of: state.tresor)
            if let wrap = ownWraps[state.tresor] { remember(ownWrap: wrap, of: state.tresor) }
        }
        return name
    }

    /// What a tresor is said to be for; empty where nobody said it. Every member can read it, and the store cannot.
    ///
    /// - Throws: what ``name(in:)`` throws.
    public func kind(in state: State) async throws(TresorError) -> Name {
        try await nameAndKind(in: state).kind
    }

    func nameAndKind(in state: State) async throws(TresorError) -> (name: Name, kind: Name) {
        let record = state.name
        let keys = try await keys(of: record.epoch, in: state)
        return try record.sealed.open(
            with: keys.content, tresor: state.tresor, epoch: record.epoch, sequence: record.sequence)
    }
}

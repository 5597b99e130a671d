// SPDX-License-Identifier: Apache-2.0

/// What a list shows of one tresor.
public struct TresorSummary: Sendable {
    /// Which tresor.
    public let tresor: TresorID
    /// The verified state, unless the log could not be verified.
    public let state: LogState?
    /// The name, as this person could last open it.
    public let name: Name?
    /// What the home knows of the owner.
    public let founderTrust: Person.Trust?
    /// Whether it lies apart: its owner is not verified, and this home has no pinned head of it. It answers to no bare
    /// name.
    public let isApart: Bool
    /// Whether it is to be kept out of sight; only of what lies apart.
    public let isHidden: Bool
    /// What went wrong while reading it.
    public let error: TresorError?
}

extension Session {
    /// Makes a tresor and its first epoch.
    ///
    /// - Throws: ``TresorError/usage`` for an empty name, or one that a tresor of this person's own has already; what
    ///   ``proveMarks()`` throws, before anything is sent.
    public func create(_ name: Name, kind: Name = .empty) async throws(TresorError) -> LogState {
        guard !name.isEmpty else { throw .usage }
        for summary in try await tresors() where summary.name == name {
            // Of a log that the store does not show the home knows whose it is.
            let state = if let state = summary.state { state } else { try client.verifiedState(of: summary.tresor) }
            guard state?.founder != identity.user else { throw .usage }
        }
        let root = try Root.make(founder: identity.chain)
        let tresor = try root.tresorID()
        let keys = try EpochKeys(epoch: 1)
        let sealedName = try SealedName(name, kind: kind, under: keys.content, tresor: tresor, epoch: 1, sequence: 0)
        let body = EntryBody.genesis(
            root: root, founder: identity.chain, approvers: [], sealedName: sealedName,
            epoch: try keys.statement(of: tresor, linking: []))
        let entry = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: identity, time: client.clock(), body: body)
        _ = try Fold.state(of: [entry.bytes], tresor: tresor)
        let wrap = try Wrap(
            keys, of: tresor, for: identity.chain.newest, user: identity.user, history: .all)
        let wraps = [StoredWrap(user: identity.user, epoch: 1, bytes: wrap.bytes)]
        try keepBeforeSending(wraps, of: tresor)
        try mark(tresor, .confirmed, true)
        let outcome = try await client.store.append(
            LogChange(tresor: tresor, sequence: 0, previous: nil, entry: entry.bytes, putting: wraps))
        guard let state = try await confirm(entry, outcome, wraps: wraps) else { throw .busy }
        return state
    }

    /// After a write: the next verified read decides whether it happened, whatever the store said. `nil` when another entry came first.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with `notNoted` when the store said that it is done, and then the home failed or either was busy: nobody is to
    ///   take it for not done, and do it again.
    func confirm(
        _ entry: Entry, _ outcome: StoreOutcome, wraps: [StoredWrap]
    ) async throws(TresorError) -> LogState? {
        do throws(TresorError) {
            return try await readBack(entry, outcome, wraps: wraps)
        } catch {
            switch error {
            case .failed where outcome == .done, .busy where outcome == .done: throw .failed(.notNoted)
            default: throw error
            }
        }
    }

    private func readBack(
        _ entry: Entry, _ outcome: StoreOutcome, wraps: [StoredWrap]
    ) async throws(TresorError) -> LogState? {
        var state: LogState
        do throws(TresorError) {
            state = try await client.state(of: entry.tresor)
        } catch {
            throw error == .notFound ? .store(.notStored) : error
        }
        let written = Head(sequence: entry.sequence, hash: try entry.hash())
        guard state.contains(written) else {
            guard outcome == .conflict else { throw .store(.notStored) }
            return nil
        }
        if state.head.sequence == entry.sequence,
            try await !areKept(wraps, in: entry.tresor, orOthers: outcome == .conflict)
        {
            // Somebody else's later act may have taken a wrap away again.
            let later = try await client.state(of: entry.tresor)
            guard later.head.sequence > entry.sequence else { throw .store(.notStored) }
            return later
        }
        while try entry.body.nextEpoch != nil, state.members[identity.user] != nil {
            do throws(TresorError) {
                _ = try await keys(of: state.epoch, in: state)
            } catch {
                // Somebody else's later act may have put this person out, or changed the key again.
                let later = try await client.state(of: entry.tresor)
                guard later.head.sequence > state.head.sequence else {
                    throw error == .noAccess ? .store(.notStored) : error
                }
                state = later
                continue
            }
            rememberOpenedWraps(in: state)
            break
        }
        return state
    }

    /// Whether the store hands out what was put, byte for byte.
    ///
    /// - Parameter orOthers: whether another device of the same person may have written the very entry, with wraps of its own.
    func areKept(
        _ wraps: [StoredWrap], in tresor: TresorID, orOthers: Bool
    ) async throws(TresorError) -> Bool {
        for (epoch, wraps) in Dictionary(grouping: wraps, by: \.epoch) {
            let kept = try await client.store.wraps(of: wraps.map(\.user), in: tresor, epoch: epoch)
            guard kept.count == wraps.count else { return false }
            for (kept, wrap) in zip(kept, wraps) {
                guard kept == wrap.bytes || orOthers && kept != nil else { return false }
            }
        }
        return true
    }

    /// Every tresor this person is in by the store's word or was in by the home's, each with what can be said of it; by rising id.
    public func tresors() async throws(TresorError) -> [TresorSummary] {
        let offered = try await client.store.tresors(of: identity.user)
        return await summaries(of: Set(offered).union(try client.knownTresors()))
    }

    /// What can be said of each of these; by rising id.
    func summaries(of tresors: Set<TresorID>) async -> [TresorSummary] {
        var summaries: [TresorSummary] = []
        for tresor in tresors.sorted() { summaries.append(await summary(of: tresor)) }
        return summaries
    }

    private func summary(of tresor: TresorID) async -> TresorSummary {
        var state: LogState?
        var trust: Person.Trust?
        var isApart = false
        var isHidden: Bool { isApart && self.isHidden(tresor) }
        do throws(TresorError) {
            let read = try await client.state(of: tresor)
            state = read
            let founder = try client.founderTrust(in: read)
            trust = founder
            if isOfferedByAStranger(founder) {
                isApart = try client.heads()[tresor] == nil
            }
            let name = read.members[identity.user] == nil ? knownName(of: tresor) : try await name(in: read)
            return TresorSummary(
                tresor: tresor, state: read, name: name, founderTrust: trust, isApart: isApart, isHidden: isHidden,
                error: nil)
        } catch {
            return TresorSummary(
                tresor: tresor, state: state, name: knownName(of: tresor), founderTrust: trust, isApart: isApart,
                isHidden: isHidden, error: error)
        }
    }

    private func isOfferedByAStranger(_ trust: Person.Trust) -> Bool {
        switch trust {
        case .unverified, .changed: true
        case .me, .verified, .renewed: false
        }
    }
}

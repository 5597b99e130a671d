// SPDX-License-Identifier: Apache-2.0

extension Client {
    private static let pageCount = 256

    /// Whether to keep what a log says.
    public enum Remembering: Sendable {
        /// The head is pinned and the log cached; a log that is new here only when its owner's number was compared, be it before a renewal.
        case yes
        /// Nothing in the home changes.
        case no
    }

    /// Reads a tresor's log from the store, verifies it, compares it with what this home has verified before, and remembers it.
    ///
    /// - Throws: ``TresorError/notFound`` for a tresor that neither store nor home knows; ``TresorError/forked`` for an older or different
    ///   history, with the evidence kept in the home; the error of the rule for a log that is not valid.
    public func state(
        of tresor: TresorID, remembering: Remembering = .yes
    ) async throws(TresorError) -> State {
        try await log(of: tresor, remembering: remembering).state
    }

    /// The entries with the state.
    func log(
        of tresor: TresorID, remembering: Remembering = .yes
    ) async throws(TresorError) -> (state: State, entries: [[UInt8]]) {
        #if TRESOR_TESTING
            if Defence.pinnedHead.isLeftOut { try home.delete(.heads) }
        #endif
        let known = try verifiedLog(of: tresor)
        let pinned = try heads()[tresor]
        var fold = known.map { Fold(state: $0.state) } ?? Fold(tresor: tresor)
        var entries = known?.entries ?? []
        let first = known == nil ? 0 : UInt64(entries.count - 1)
        var next = first
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            guard Defence.pageCount.holds(page.count <= Self.pageCount) else { throw .store(.other) }
            var fresh = page
            if next == first, let last = entries.last, !page.isEmpty {
                guard fresh.removeFirst() == last else { throw try await fork(of: tresor, verified: entries) }
            }
            try fold.apply(fresh)
            entries += fresh
            next += UInt64(page.count)
            if page.count < Self.pageCount { break }
        }
        guard next > first || pinned == nil else {
            throw try await fork(of: tresor, verified: entries)
        }
        guard let state = fold.state else { throw .notFound }
        if let pinned, !state.contains(pinned) {
            throw try await fork(of: tresor, verified: [])
        }
        if remembering == .yes, pinned != nil || isFromSomebodyKnown(state),
            pinned != state.head || known?.entries.count != entries.count
        {
            try remember(state, entries: entries)
        }
        return (state, entries)
    }

    private func isFromSomebodyKnown(_ state: State) -> Bool {
        let isKnown =
            switch try? founderTrust(in: state) {
            case .me, .verified, .renewed: true
            case .changed, .unverified, nil: false
            }
        return Defence.knownFounder.holds(isKnown)
    }

    /// The log that this home has verified; `nil` when there is none, or the cache does not lead to the pinned head.
    func verifiedLog(of tresor: TresorID) throws(TresorError) -> (state: State, entries: [[UInt8]])? {
        guard let pinned = try heads()[tresor], let bytes = try home.read(.log(tresor)) else { return nil }
        guard let cached = try? CachedLog(bytes), let last = Int(exactly: pinned.sequence), last < cached.entries.count
        else { return nil }
        let entries = Array(cached.entries[...last])
        if let state = folded.state(of: tresor, at: pinned, bytes: bytes) { return (state, entries) }
        guard let state = try? Fold.state(of: entries, tresor: tresor), Defence.cachedHead.holds(state.head == pinned)
        else { return nil }
        folded.keep(state, bytes: bytes)
        return (state, entries)
    }

    /// The tresors of which this home has verified a log.
    public func knownTresors() throws(TresorError) -> [TresorID] {
        try heads().heads.keys.sorted()
    }

    private func remember(_ state: State, entries: [[UInt8]]) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var heads = try heads()
            if let present = heads[state.tresor], present.sequence > state.head.sequence {
                guard try verifiedLog(of: state.tresor)?.state.contains(state.head) ?? true else { throw .forked }
                return
            }
            try heads.raise(to: state)
            let bytes = CachedLog(entries: entries).bytes
            try home.replace(.log(state.tresor), with: bytes)
            try home.replace(.heads, with: heads.bytes)
            folded.keep(state, bytes: bytes)
        }
    }

    /// Writes what is there already. What the home could not remember is not sent to the store: the act would be done, and look as if it had failed.
    ///
    /// - Throws: ``TresorError/failed(_:)`` or ``TresorError/busy``.
    func proveWritable() throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            let present = try home.read(.heads)
            try home.replace(.heads, with: present ?? Heads().bytes)
            if present == nil { try home.delete(.heads) }
        }
    }

    /// Another or a shorter history. If what the store shows is no valid log at all it is `altered`, else `forked`, and both sides are kept.
    private func fork(of tresor: TresorID, verified: [[UInt8]]) async throws(TresorError) -> TresorError {
        guard let divergence = try await divergence(of: tresor, verified: verified) else { return .forked }
        try home.replace(.evidence(try divergence.name()), with: divergence.evidence.bytes)
        return .forked
    }

    /// What this home has seen of a tresor beside what the store shows; `nil` when it has seen nothing.
    ///
    /// - Throws: ``TresorError/altered`` when what the store shows is no valid log.
    func divergence(of tresor: TresorID, verified: [[UInt8]]) async throws(TresorError) -> Divergence? {
        guard let pinned = try heads()[tresor] else { return nil }
        var fold = Fold(tresor: tresor)
        var shown: [UInt8] = []
        var next: UInt64 = 0
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            let entries = Array(page.prefix(Self.pageCount))
            try fold.apply(entries)
            if let last = Int(exactly: pinned.sequence), UInt64(last) >= next, !entries.isEmpty {
                shown = entries[min(last - Int(next), entries.count - 1)]
            }
            next += UInt64(entries.count)
            if page.count != Self.pageCount { break }
        }
        let known = Int(exactly: pinned.sequence).flatMap { verified.indices.contains($0) ? verified[$0] : nil }
        return Divergence(
            shown: fold.state?.head,
            evidence: Evidence(tresor: tresor, head: pinned, verified: known ?? [], shown: shown))
    }

    /// What the home knows of the person from whom a tresor is proved.
    ///
    /// - Throws: ``TresorError/forked`` when the log holds another card of a generation that this home knows.
    public func founderTrust(in state: State) throws(TresorError) -> Person.Trust {
        guard let chain = state.chain(of: state.founder) else { throw .altered }
        if let mine = try? identityFile().chain, mine.user == state.founder {
            guard !mine.extends(chain) else { return .me }
            guard chain.extends(mine) else { throw .forked }
            return .renewed(since: mine)
        }
        let pins = try pins()
        return isBehind(chain, pins) ? .unverified : try trust(in: chain, pins: pins)
    }

    /// Whether a log still shows an older generation of its founder than the one that was compared, and was kept here before that.
    func isKnownFromBefore(_ state: State) throws(TresorError) -> Bool {
        guard let chain = state.chain(of: state.founder), try heads()[state.tresor] != nil else { return false }
        return isBehind(chain, try pins())
    }

    private func isBehind(_ chain: CardChain, _ pins: Pins) -> Bool {
        guard let pin = pins[chain.user], !pin.isReplaced else { return false }
        return pin.chain.extends(chain) && pin.chain.newest != chain.newest
    }

    /// What a home knows of the author of something signed: who was compared counts up to the generation that was, who never was is vouched for
    /// by the log.
    ///
    /// - Throws: ``TresorError/unverified`` for a newer generation, and for a stranger under a pinned handle; ``TresorError/forked`` when the log holds
    ///   another card of a generation that this home knows.
    func check(_ author: FileAuthor, in state: State, acceptingUnverified: Bool) throws(TresorError) {
        guard let chain = state.chain(of: author.user) else { throw .altered }
        let compared: CardChain
        if let mine = try? identityFile().chain, mine.user == author.user {
            compared = mine
        } else if let pin = try pins()[author.user] {
            compared = pin.chain
        } else {
            guard try pins()[handle: chain.handle] == nil else { throw .unverified }
            return
        }
        guard chain.extends(compared) || compared.extends(chain) else { throw .forked }
        guard acceptingUnverified || author.generation <= compared.newest.generation else { throw .unverified }
    }
}

extension Client {
    /// The bytes of the entry at a head that was just verified and remembered.
    func entry(at head: Head, of tresor: TresorID) throws(TresorError) -> [UInt8] {
        guard let bytes = try home.read(.log(tresor)), let entries = try? CachedLog(bytes).entries,
            let index = Int(exactly: head.sequence), entries.indices.contains(index),
            try BLAKE2b.hash(.entryHash, entries[index]) == head.hash
        else { throw .busy }
        return entries[index]
    }
}

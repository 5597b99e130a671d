// SPDX-License-Identifier: Apache-2.0

extension Client {
    private static let pageCount = 256

    /// Whether to keep what a log says.
    public enum Remembering: Sendable {
        /// The head is pinned and the log cached.
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
        #if TRESOR_TESTING
            if Weakness.allows(.head) { try home.delete(.heads) }
        #endif
        let known = try verifiedLog(of: tresor)
        let pinned = try heads()[tresor]
        var fold = known.map { Fold(state: $0.state) } ?? Fold(tresor: tresor)
        var entries = known?.entries ?? []
        let first = known == nil ? 0 : UInt64(entries.count - 1)
        var next = first
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            guard page.count <= Self.pageCount else { throw .store(.other) }
            for (offset, entry) in page.enumerated() {
                if next == first, offset == 0, let last = entries.last {
                    guard entry == last else { throw try await fork(of: tresor, verified: entries) }
                    continue
                }
                try fold.apply(entry)
                entries.append(entry)
            }
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
        if remembering == .yes, pinned != state.head || known?.entries.count != entries.count {
            try remember(state, entries: entries)
        }
        return state
    }

    /// The log that this home has verified, folded anew; `nil` when there is none, or the cache does not lead to the pinned head.
    func verifiedLog(of tresor: TresorID) throws(TresorError) -> (state: State, entries: [[UInt8]])? {
        guard let pinned = try heads()[tresor], let bytes = try home.read(.log(tresor)) else { return nil }
        guard let cached = try? CachedLog(bytes), let last = Int(exactly: pinned.sequence), last < cached.entries.count
        else { return nil }
        let entries = Array(cached.entries[...last])
        guard let state = try? Fold.state(of: entries, tresor: tresor), state.head == pinned else { return nil }
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
            try home.replace(.log(state.tresor), with: CachedLog(entries: entries).bytes)
            try home.replace(.heads, with: heads.bytes)
        }
    }

    /// Another or a shorter history. If what the store shows is no valid log at all it is `altered`, else `forked`, and both sides are kept.
    private func fork(of tresor: TresorID, verified: [[UInt8]]) async throws(TresorError) -> TresorError {
        guard let pinned = try heads()[tresor] else { return .forked }
        var fold = Fold(tresor: tresor)
        var shown: [UInt8] = []
        var next: UInt64 = 0
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            for entry in page.prefix(Self.pageCount) {
                try fold.apply(entry)
                if next <= pinned.sequence { shown = entry }
                next += 1
            }
            if page.count != Self.pageCount { break }
        }
        let known = Int(exactly: pinned.sequence).flatMap { verified.indices.contains($0) ? verified[$0] : nil }
        let evidence = Evidence(tresor: tresor, head: pinned, verified: known ?? [], shown: shown).bytes
        try home.replace(.evidence(try BLAKE2b.hash(.evidenceHash, evidence)), with: evidence)
        return .forked
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
        if let pin = pins[state.founder], !pin.isReplaced, pin.chain.extends(chain), pin.chain.newest != chain.newest {
            return .unverified
        }
        return try trust(in: chain, pins: pins)
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

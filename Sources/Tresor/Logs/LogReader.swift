// SPDX-License-Identifier: Apache-2.0

/// Reads the logs of tresors from the store and verifies them (SPEC §9.8). Nothing of a log is believed that this home has not verified.
public struct LogReader: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }

    /// How many entries are read from a store at once.
    static let pageCount = 256

    /// How often a log is read while others pin heads that nothing kept leads to.
    private static let readingCount = 4

    /// Whether to keep what a log says.
    public enum Remembering: Sendable {
        /// The head is pinned and the log cached; a log that is new here only when its owner's number was compared, be it before a renewal.
        case yes
        /// Nothing in the home changes.
        case no
    }

    /// Reads a tresor's log from the store, verifies it, compares it with what this home has verified before, and remembers it. However long the log is, no
    /// more of it is held than the state and a page.
    ///
    /// - Throws: ``TresorError/notFound`` for a tresor that neither store nor home knows; ``TresorError/forked`` for an older or different
    ///   history, with the evidence kept in the home; the error of the rule for a log that is not valid.
    public func state(
        of tresor: TresorID, remembering: Remembering = .yes
    ) async throws(TresorError) -> LogState {
        for _ in 0..<Self.readingCount {
            let pinned = try client.heads()[tresor]
            let known = try client.archive.verifiedState(of: tresor, at: pinned)
            let (state, fresh, shown) = try await readLog(tresor, onto: known, pinned: pinned)
            if let pinned, !state.contains(pinned) { throw try await fork(of: tresor, shown: shown) }
            guard remembering == .yes, isToBeKept(state, pinned) else { return state }
            if try await client.archive.remember(state, fresh, known: known) { return state }
        }
        throw .busy
    }

    /// What the store shows, folded onto what is known; `shown` is the entry in the place of the pinned head, or the last.
    private func readLog(
        _ tresor: TresorID, onto known: LogState?, pinned: Head?
    ) async throws(TresorError) -> (state: LogState, fresh: FreshEntries, shown: [UInt8]) {
        var fold = known.map { Fold(state: $0) } ?? Fold(tresor: tresor)
        var fresh = FreshEntries(first: known?.entryCount ?? 0)
        let first = known?.head.sequence ?? 0
        var next = first
        var shown: [UInt8] = []
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            guard page.count <= Self.pageCount else { throw .store(.other) }
            if let entry = pinned?.entry(of: page, from: next) { shown = entry }
            var new = page
            if next == first, let known, !page.isEmpty {
                guard try BLAKE2b.hash(.entryHash, new.removeFirst()) == known.head.hash else {
                    throw try await fork(of: tresor, shown: shown)
                }
            }
            try fold.apply(new)
            fresh.add(new)
            next += UInt64(page.count)
            if page.count < Self.pageCount { break }
        }
        guard next > first || pinned == nil else { throw try await fork(of: tresor, shown: shown) }
        guard let state = fold.state else { throw .notFound }
        return (state, fresh, shown)
    }

    /// Of a tresor that bears this person's own name a pinned head is not enough: the thief of an old seed may have
    /// made it.
    private func isToBeKept(_ state: LogState, _ pinned: Head?) -> Bool {
        if pinned != nil, (client.identity?.user ?? (try? client.identityFile().chain.user)) != state.founder {
            return true
        }
        let isKnown =
            switch try? client.trust.founderTrust(in: state) {
            case .me, .verified, .renewed: true
            case .changed, .unverified, nil: false
            }
        return isKnown
    }

    /// The tresors of which this home has verified a log.
    public func known() throws(TresorError) -> [TresorID] {
        try client.heads().heads.keys.sorted()
    }

    /// Another or a shorter history. If what the store shows is no valid log at all it is `altered`, else `forked`, and both sides are kept.
    ///
    /// - Parameter shown: what it showed first, which counts if it now shows what was verified.
    private func fork(of tresor: TresorID, shown: [UInt8]) async throws(TresorError) -> TresorError {
        guard let divergence = try await divergence(of: tresor) else { return .forked }
        let evidence = divergence.isOver ? divergence.evidence.showing(shown) : divergence.evidence
        do throws(TresorError) {
            _ = try keep(evidence)
        } catch {
            // Whoever comes next keeps it. That there is a fork is said at once.
            guard error == .busy else { throw error }
        }
        return .forked
    }

    /// Keeps both sides of a fork, under the name that is given back.
    func keep(_ evidence: ForkEvidence) throws(TresorError) -> Hash256 {
        let name = try evidence.name()
        try home.exclusively { () throws(TresorError) in try home.replace(.evidence(name), with: evidence.bytes) }
        return name
    }

    /// What this home has seen of a tresor beside what the store shows; `nil` when it has seen nothing.
    ///
    /// - Throws: ``TresorError/altered`` when what the store shows is no valid log.
    func divergence(of tresor: TresorID) async throws(TresorError) -> Divergence? {
        guard let pinned = try client.heads()[tresor] else { return nil }
        var fold = Fold(tresor: tresor)
        var shown: [UInt8] = []
        var next: UInt64 = 0
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            let entries = Array(page.prefix(Self.pageCount))
            try fold.apply(entries)
            if let entry = pinned.entry(of: entries, from: next) { shown = entry }
            next += UInt64(entries.count)
            if page.count != Self.pageCount { break }
        }
        return Divergence(
            shown: fold.state?.head, isOver: fold.state?.contains(pinned) ?? false,
            evidence: ForkEvidence(
                tresor: tresor, head: pinned, verified: try client.archive.entry(at: pinned, of: tresor) ?? [],
                shown: shown))
    }

    /// The entries of a log, verified and remembered before the first is given, oldest first.
    ///
    /// - Throws: what ``state(of:remembering:)`` throws.
    public func records(of tresor: TresorID) async throws(TresorError) -> (state: LogState, records: [LogRecord]) {
        let state = try await state(of: tresor)
        var records: [LogRecord] = []
        for first in stride(from: 0, to: state.entryCount, by: Self.pageCount) {
            let range = first..<min(first + UInt64(Self.pageCount), state.entryCount)
            for entry in try await entries(range, of: state) { records.append(try LogRecord(Entry(entry))) }
        }
        return (state, records)
    }

    /// Entries of a state that was verified, from the store again.
    ///
    /// - Throws: ``TresorError/store(_:)`` when it shows others now.
    func entries(_ range: Range<UInt64>, of state: LogState) async throws(TresorError) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        while entries.count < range.count {
            let first = range.lowerBound + UInt64(entries.count)
            let limit = min(range.count - entries.count, Self.pageCount)
            let page = try await store.entries(of: state.tresor, from: first, limit: limit)
            guard !page.isEmpty, page.count <= limit, try state.hasEntries(page, from: first) else {
                throw .store(.other)
            }
            entries += page
        }
        return entries
    }
}

extension Head {
    /// Of a page of entries that begins at `first`, the one in this head's place, or the last if that comes before it.
    fileprivate func entry(of page: [[UInt8]], from first: UInt64) -> [UInt8]? {
        guard sequence >= first, let index = Int(exactly: sequence - first) else { return nil }
        return index < page.count ? page[index] : page.last
    }
}

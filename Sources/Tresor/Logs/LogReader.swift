// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Reads the logs of tresors from the store and verifies them (SPEC §9.8). Nothing unverified is believed.
package struct LogReader: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }

    /// The number of entries in one read of the store.
    static let pageCount = 256

    /// The number of attempts while other processes pin heads to which no local copy leads.
    private static let readingCount = 4

    /// Whether a log that was read is remembered.
    package enum Remembering: Sendable {
        /// Pins the head and keeps a local log copy. A new log is remembered only if its founder was compared, now or
        /// before a renewal.
        case yes
        /// Changes nothing in the home.
        case no
    }

    /// Reads a tresor's log from the store, verifies it, compares it with the pinned head, and remembers it.
    ///
    /// Memory holds only the state and a page of entries, however long the log is.
    ///
    /// - Parameters:
    ///   - remembering: whether to remember the log.
    ///   - progress: takes the number of entries that are verified; nobody knows how many there are.
    /// - Throws: ``TresorError/notFound`` for a tresor that neither store nor home knows, and for one that this store does
    ///   not have and the home first saw in another. ``TresorError/forked`` for an older or different history, with the
    ///   evidence kept in the home. The error of the rule for a log that is not valid.
    ///   ``TresorError/cancelled`` for a task that was cancelled; nothing is remembered then.
    @concurrent package func state(
        of tresor: TresorID, remembering: Remembering = .yes, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> LogState {
        let held = client.operation.logs
        held?.forget(tresor)
        let turn = held?.turn
        let state = try await readLog(tresor, remembering, progress)
        if let mine = client.identity?.chain, state.chain(of: mine.user)?.isNewer(than: mine) == true {
            client.hooks.showsNewerKeys()
        }
        if remembering == .yes, let turn { held?.hold(state, since: turn) }
        return state
    }

    /// Returns the state that this operation has read in this turn, or reads the log.
    func heldState(of tresor: TresorID) async throws(TresorError) -> LogState {
        if let state = client.operation.logs?.state(of: tresor) { return state }
        return try await state(of: tresor)
    }

    private func readLog(
        _ tresor: TresorID, _ remembering: Remembering, _ progress: WorkDone.Report?
    ) async throws(TresorError) -> LogState {
        for _ in 0..<Self.readingCount {
            let heads = try client.heads()
            let (pinned, demanded) = (heads[tresor], heads.demanded(of: tresor))
            let known = try client.archive.verifiedState(of: tresor, at: pinned)
            let (state, fresh, shown) = try await readLog(
                tresor, onto: known, pinned: pinned, place: demanded.first, progress)
            guard demanded.allSatisfy(state.contains) else { throw try await fork(of: tresor, shown: shown) }
            guard remembering == .yes, try isToBeKept(state, pinned) else { return state }
            if try await client.archive.remember(state, fresh, known: known) { return state }
        }
        throw .busy
    }

    /// Folds what the store shows onto the known state; `shown` is the entry at the place of a head, or the last one.
    private func readLog(
        _ tresor: TresorID, onto known: LogState?, pinned: Head?, place: Head?, _ progress: WorkDone.Report?
    ) async throws(TresorError) -> (state: LogState, fresh: FreshEntries, shown: [UInt8]) {
        var fold = known.map { Fold(state: $0) } ?? Fold(tresor: tresor)
        var fresh = FreshEntries(first: known?.entryCount ?? 0)
        let first = known?.head.sequence ?? 0
        var next = first
        var shown: [UInt8] = []
        while true {
            try client.operation.step()
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            guard page.count <= Self.pageCount else { throw .store(.other) }
            if let entry = place?.entry(of: page, from: next) { shown = entry }
            var new = page
            if next == first, let known, !page.isEmpty {
                guard try BLAKE2b.hash(.entryHash, new.removeFirst()) == known.head.hash else {
                    throw try await fork(of: tresor, shown: shown)
                }
            }
            try fold.apply(new)
            fresh.add(new)
            next += UInt64(page.count)
            progress?(WorkDone(next))
            if page.count < Self.pageCount { break }
        }
        if next == first, pinned != nil { throw try await silence(on: tresor, shown: shown) }
        guard let state = fold.state else { throw .notFound }
        return (state, fresh, shown)
    }

    /// Whether to remember a log. For a tresor that names this person as founder a pinned head is not enough: the thief
    /// of an old seed may have made it.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when the home cannot be read.
    private func isToBeKept(_ state: LogState, _ pinned: Head?) throws(TresorError) -> Bool {
        let me = try client.people.ownUser()
        if pinned != nil, me != state.founder { return true }
        let isKnown: Bool
        do throws(TresorError) {
            isKnown =
                switch try client.trust.founderTrust(in: state) {
                case .me, .verified, .renewed: true
                case .changed, .unverified: false
                }
        } catch {
            if case .failed = error { throw error }
            isKnown = false
        }
        return isKnown
    }

    /// Returns the founder of a tresor that this home has not read, if they are a stranger: neither this person nor
    /// anybody compared. Whatever the log says, such a tresor lies apart. No entry but the genesis is read.
    ///
    /// - Throws: the error of the rule for a genesis that is not valid; the errors of the store and of the home.
    func stranger(offering tresor: TresorID) async throws(TresorError) -> CardChain? {
        guard try client.heads()[tresor] == nil else { return nil }
        let page = try await store.entries(of: tresor, from: 0, limit: 1)
        guard page.count <= 1 else { throw .store(.other) }
        guard !page.isEmpty else { return nil }
        let state = try Fold.state(of: page, tresor: tresor)
        guard try client.people.ownUser() != state.founder else { return nil }
        let isCompared = try client.pins()[state.founder]?.isReplaced == false
        return isCompared ? nil : state.chain(of: state.founder)
    }

    /// Returns the tresors of which this home has verified a log.
    package func knownBlocking() throws(TresorError) -> [TresorID] {
        try client.heads().heads.keys.sorted()
    }

    /// Returns the error for a store that shows no entry from the pinned head on. A store need not have a tresor that this
    /// home first saw in another one.
    private func silence(on tresor: TresorID, shown: [UInt8]) async throws(TresorError) -> TresorError {
        try await client.archive.isElsewhere(tresor) ? .notFound : try await fork(of: tresor, shown: shown)
    }

    /// Returns the error for another or a shorter history: ``TresorError/forked``, with both sides kept.
    ///
    /// - Parameter shown: the store's first answer, which becomes the evidence if the store now shows the verified
    ///   history.
    /// - Throws: ``TresorError/altered`` when the store shows no valid log.
    private func fork(of tresor: TresorID, shown: [UInt8]) async throws(TresorError) -> TresorError {
        guard let divergence = try await divergence(of: tresor) else { return .forked }
        let evidence = divergence.isOver ? divergence.evidence.showing(shown) : divergence.evidence
        do throws(TresorError) {
            _ = try await Cores.apart { () throws(TresorError) in try keep(evidence) }
        } catch {
            // The next reader keeps it. The fork is reported at once.
            guard error == .busy else { throw error }
        }
        return .forked
    }

    /// Keeps an approval that does not open as evidence (SPEC §9.11); returns the name under which it is kept.
    func keep(_ evidence: ApprovalEvidence) throws(TresorError) -> Hash256 {
        let name = try evidence.name()
        try home.exclusively { () throws(TresorError) in try home.replace(.evidence(name), with: evidence.bytes) }
        return name
    }

    /// Keeps both sides of a fork as evidence (SPEC §9.8); returns the name under which they are kept.
    func keep(_ evidence: ForkEvidence) throws(TresorError) -> Hash256 {
        let name = try evidence.name()
        try home.exclusively { () throws(TresorError) in try home.replace(.evidence(name), with: evidence.bytes) }
        return name
    }

    /// Compares the history that the store shows with the one that this home, or another device of this person, has
    /// verified; `nil` when none has.
    ///
    /// - Throws: ``TresorError/altered`` when the store shows no valid log.
    func divergence(of tresor: TresorID) async throws(TresorError) -> Divergence? {
        let demanded = try client.heads().demanded(of: tresor)
        guard let first = demanded.first else { return nil }
        var fold = Fold(tresor: tresor)
        var shown: [UInt8] = []
        var next: UInt64 = 0
        while true {
            let page = try await store.entries(of: tresor, from: next, limit: Self.pageCount)
            let entries = Array(page.prefix(Self.pageCount))
            try fold.apply(entries)
            if let entry = first.entry(of: entries, from: next) { shown = entry }
            next += UInt64(entries.count)
            if page.count != Self.pageCount { break }
        }
        return Divergence(
            shown: fold.state?.head, isOver: fold.state.map { demanded.allSatisfy($0.contains) } ?? false,
            evidence: ForkEvidence(
                tresor: tresor, head: first, verified: try client.archive.entry(at: first, of: tresor) ?? [],
                shown: shown))
    }

    /// Reads the entries of a log, oldest first, all verified and remembered before the first is returned.
    ///
    /// - Throws: the errors of ``state(of:remembering:progress:)``.
    @concurrent package func records(
        of tresor: TresorID
    ) async throws(TresorError) -> (state: LogState, records: [LogRecord]) {
        let state = try await state(of: tresor)
        var records: [LogRecord] = []
        for first in stride(from: 0, to: state.entryCount, by: Self.pageCount) {
            let range = first..<min(first + UInt64(Self.pageCount), state.entryCount)
            try client.operation.step()
            for entry in try await entries(range, of: state) { records.append(try LogRecord(Entry(entry))) }
        }
        return (state, records)
    }

    /// Reads entries of a verified state from the store again.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store shows others now.
    package func entries(_ range: Range<UInt64>, of state: LogState) async throws(TresorError) -> [[UInt8]] {
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
    /// Returns the entry in this head's place from a page that begins at `first`, or the page's last if that comes
    /// before it.
    fileprivate func entry(of page: [[UInt8]], from first: UInt64) -> [UInt8]? {
        guard sequence >= first, let index = Int(exactly: sequence - first) else { return nil }
        return index < page.count ? page[index] : page.last
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The entries of a verified log that a store still shows.
struct ShownEntries {
    /// The sequence numbers of these entries, rising.
    var sequences: [UInt64] = []
    /// Whether other entries follow the head.
    var goesOn = false

    /// The number of entries that are missing in a log of `count` entries.
    func missing(of count: UInt64) -> UInt64 { count - UInt64(sequences.count) }
}

extension Audit {
    /// Reads a store's log from its first entry on. The answer has no sequence numbers: each entry is recognized by its
    /// hash.
    ///
    /// - Parameter look: takes each entry of the state that the store shows, in order.
    /// - Returns: `nil` when the store shows another entry before the head, or one out of its place.
    func shownEntries(
        of state: LogState, _ look: ([UInt8]) throws(TresorError) -> Void = { (_) throws(TresorError) in }
    ) async throws(TresorError) -> ShownEntries? {
        let places = Dictionary(zip(state.hashes, UInt64(0)...)) { first, _ in first }
        var shown = ShownEntries()
        var next: UInt64 = 0
        while true {
            try Cancellation.check()
            let page = try await store.entries(of: state.tresor, from: next, limit: LogReader.pageCount)
            guard page.count <= LogReader.pageCount else { throw .store(.other) }
            for entry in page {
                guard let place = places[try BLAKE2b.hash(.entryHash, entry)] else {
                    shown.goesOn = shown.sequences.last == state.head.sequence
                    return shown.goesOn ? shown : nil
                }
                guard place >= next else { return nil }
                try look(entry)
                shown.sequences.append(place)
                next = place + 1
            }
            if page.count < LogReader.pageCount { return shown }
        }
    }

    /// Counts the entries of a verified log that the store no longer shows, from the first one on.
    ///
    /// - Throws: ``TresorError/forked`` when it shows others in their place.
    @concurrent package func lostEntries(of state: LogState) async throws(TresorError) -> UInt64 {
        guard let shown = try await shownEntries(of: state) else { throw .forked }
        return shown.missing(of: state.entryCount)
    }

    /// Restores the entries that a store has lost anywhere in a log, if all that it shows is of the verified log (SPEC
    /// §9.9; cli: `check --repair`).
    ///
    /// The wraps of people removed by the last entries are deleted again. ``DeepAudit/restoreWraps(of:)`` restores
    /// missing wraps.
    ///
    /// - Parameter wraps: makes the wraps that go with an entry; `nil` for none.
    /// - Returns: the number of restored entries.
    /// - Throws: ``TresorError/forked`` when the store's log has anything else. ``TresorError/notFound`` for a tresor
    ///   that this home does not know, or whose entries it no longer has, and for one that was deleted from the store.
    ///   ``TresorError/busy`` when the store's log changed while it was read; the error of the rule when the entries
    ///   after the head are not valid;
    ///   ``TresorError/cancelled`` between two entries, and then a repeated call restores the others.
    @concurrent package func restoreEntries(
        of tresor: TresorID, wraps: WrapsOfEntry? = nil
    ) async throws(TresorError) -> Int {
        guard let known = try client.archive.verifiedState(of: tresor) else { throw .notFound }
        guard let shown = try await shownEntries(of: known) else {
            _ = try await client.logs.state(of: tresor)
            throw .forked
        }
        let present = Set(shown.sequences)
        let end = shown.sequences.last.map { $0 + 1 } ?? 0
        var page: [[UInt8]] = []
        var first: UInt64 = 0
        for sequence in 0..<end where !present.contains(sequence) {
            if sequence - first >= UInt64(page.count) {
                page = try client.archive.entries(of: known, from: sequence)
                first = sequence
            }
            let entry = page[Int(sequence - first)]
            try Cancellation.check()
            let outcome = try await client.uninterrupted { () async throws(TresorError) in
                try await store.restore(entry, at: sequence, of: tresor)
            }
            guard outcome == .done else { throw .busy }
        }
        if !shown.goesOn { try await append(from: end, of: known, wraps) }
        // The entries after the head are validated as usual.
        if shown.goesOn { _ = try await client.logs.state(of: tresor) }
        return Int(shown.missing(of: known.entryCount))
    }

    /// Makes the wraps that go with an entry, in the state after it.
    package typealias WrapsOfEntry =
        @Sendable (_ entry: Entry, _ after: LogState, _ known: LogState) async -> [StoredWrap]

    /// Returns the state before an entry, of which this home keeps all entries.
    private func fold(before end: UInt64, of known: LogState) throws(TresorError) -> Fold {
        var fold = Fold(tresor: known.tresor)
        var next: UInt64 = 0
        while next < end {
            let page = try client.archive.entries(of: known, from: next).prefix(Int(clamping: end - next))
            try fold.apply(Array(page))
            next += UInt64(page.count)
        }
        return fold
    }

    private func append(
        from first: UInt64, of known: LogState, _ wraps: WrapsOfEntry?
    ) async throws(TresorError) {
        guard first < known.entryCount else { return }
        var fold = wraps == nil ? nil : try fold(before: first, of: known)
        var next = first
        while next < known.entryCount {
            for bytes in try client.archive.entries(of: known, from: next) {
                let entry = try Entry(bytes)
                try fold?.apply(entry)
                var putting: [StoredWrap] = []
                if let wraps, let after = fold?.state { putting = await wraps(entry, after, known) }
                let change = LogChange(
                    tresor: known.tresor, sequence: next, previous: entry.previous, entry: bytes, putting: putting,
                    removingWrapsOf: known.dismissed(at: next))
                try Cancellation.check()
                client.operation.logs?.forget(known.tresor)
                let outcome = try await client.uninterrupted { () async throws(TresorError) in
                    try await store.append(change)
                }
                guard outcome == .done else {
                    // A store keeps the id of a tresor that was deleted, and takes nothing for it.
                    guard next == 0 else { throw .busy }
                    throw try await store.entries(of: known.tresor, from: 0, limit: 1).isEmpty ? .notFound : .busy
                }
                next += 1
            }
        }
    }
}

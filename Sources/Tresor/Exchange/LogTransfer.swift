// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Writes a tresor as one object, and takes such objects into a store (SPEC §11.1). Needs no secret.
package struct LogTransfer: Sendable {
    let client: Client

    private var store: any Store { client.store }

    /// Returns the log, the wraps, the members' cards and the records of a tresor, as the store holds them.
    ///
    /// Only what the verified log calls for is taken. The founder's card is there too, and a card that the store has lost
    /// comes from the log.
    ///
    /// - Parameter attachments: whether to take the attachments of records too.
    /// - Throws: the errors of ``LogReader/state(of:remembering:progress:)``; ``TresorError/store(_:)`` when the store
    ///   has lost entries; ``TresorError/usage(_:)`` with `contentTooLong` for more than 256 MiB.
    @concurrent package func export(
        _ tresor: TresorID, attachments: Bool = true
    ) async throws(TresorError) -> TresorExport {
        let state = try await client.logs.state(of: tresor)
        var entries: [[UInt8]] = []
        // An entry can name a blob of any size, and one twice: what is there counts, and is read once.
        var (byteCount, blobs): (Int, Set<Blob>) = (0, [])
        for first in stride(from: 0, to: state.entryCount, by: LogReader.pageCount) {
            try Cancellation.check()
            let range = first..<min(first + UInt64(LogReader.pageCount), state.entryCount)
            let page = try await client.logs.entries(range, of: state)
            // A log that is too large for an export is not held whole first.
            byteCount += page.reduce(0) { $0 + $1.count }
            for (bytes, sequence) in zip(page, first...) {
                blobs.formUnion(try RecordBlobs.named(by: bytes, at: sequence, in: state, attachments: attachments))
            }
            guard byteCount <= TresorExport.maximumByteCount else { throw .usage(.contentTooLong) }
            entries += page
        }
        let export = try TresorExport(
            tresor: tresor, entries: entries, cards: try await cards(in: state),
            wraps: try await wraps(in: state).map(\.unverified),
            blobs: try await BlobReader(store, tresor).read(
                blobs.sorted { $0.hash < $1.hash }, limit: TresorExport.maximumByteCount - byteCount))
        // A home that cannot note it gives the export all the same: an owner is refused nothing because of the note.
        if !client.isRemote, let me = try? client.people.ownUser(), state.members[me]?.role == .owner {
            try? client.archive.noteCopied(tresor)
        }
        return export
    }

    private func cards(in state: LogState) async throws(TresorError) -> [CardChain] {
        var cards: [CardChain] = []
        for user in Set(state.members.keys).union(state.waiting.keys).union(state.approvers + [state.founder]).sorted()
        {
            guard let known = state.chain(of: user) else { throw .altered }
            cards.append(try await store.shownChain(of: user)?.chain(extending: known) ?? known)
        }
        return cards
    }

    private func wraps(in state: LogState) async throws(TresorError) -> [Wrap] {
        let users = state.everybody.filter(state.needsWraps)
        var wraps: [Wrap] = []
        for epoch in 1...state.epoch {
            try Cancellation.check()
            let stored = try await store.wraps(of: users, in: state.tresor, epoch: epoch)
            guard stored.count == users.count else { throw .store(.other) }
            for (user, wrapped) in zip(users, stored) {
                guard let bytes = wrapped.first, let wrap = try? UnverifiedWrap(bytes), wrap.user == user,
                    wrap.epoch == epoch, let called = wrap.called(in: state)
                else { continue }
                wraps.append(called.wrap)
            }
        }
        return wraps
    }

    /// Brings to the store what an export continues: entries, cards, wraps and records that are missing there.
    ///
    /// All of it is judged before anything is sent, as an answer of a store that may lie. An export that is older than the
    /// store's log changes nothing in it. An interrupted call has sent a part of what is true; repeat it. A service gets
    /// what it takes from this person: their own card, no wraps with the entries of others, and of all wraps those that
    /// members need.
    ///
    /// - Throws: the error of the rule for a log that is not valid. ``TresorError/altered`` for a card of a person
    ///   whom the log does not name, and for a blob that no entry names. ``TresorError/forked`` for a log that
    ///   neither continues nor begins the store's, for one that lacks entries which this home has verified and the
    ///   store lacks too, and for cards that this home or the log contradicts. ``TresorError/noAccess`` for a service
    ///   that does not take a missing entry from this person. ``TresorError/notFound`` for a tresor that was deleted
    ///   from the store. ``TresorError/busy`` when the store's log changed during the call. The errors of
    ///   ``LogReader/state(of:remembering:progress:)``.
    @concurrent package func take(_ export: TresorExport) async throws(TresorError) -> Arrival {
        let shown = try Fold.state(of: export.entries, tresor: export.tresor)
        try checkCards(of: export, in: shown)
        try checkBlobs(of: export, in: shown)
        let held = try await client.audit.shownEntries(of: shown)
        let missing = held?.missing(of: shown.entryCount) ?? shown.entryCount
        if let held, held.goesOn || held.end == shown.entryCount {
            _ = try await client.logs.state(of: export.tresor)
        } else {
            // The home judges the export alone: with it, the store's log would end where the export does.
            let file = client.reading(ExportedStore(export: export))
            _ = try await file.logs.state(of: export.tresor, remembering: .no)
            guard held != nil else {
                _ = try await client.logs.state(of: export.tresor)
                throw .forked
            }
        }
        let delivery = try delivery(of: export, in: shown)
        if let held, !held.goesOn { try delivery?.checkEntries(from: held.end) }
        if missing > 0 {
            try client.archive.proveWritable()
            if delivery == nil { try client.archive.noteCopied(export.tresor) }
        }
        let cards = try await putCards(of: export, in: shown, delivery)
        // A store takes an entry whose blobs it has. A service takes an entry without them, and blobs from members.
        var blobs = delivery == nil ? try await putBlobs(of: export) : 0
        var wraps = 0
        if let held, missing > 0 { wraps = try await putEntries(of: export, in: shown, missingFrom: held, delivery) }
        if let delivery, delivery.takesBlobs { blobs = try await putBlobs(of: export) }
        let state = try await client.logs.state(of: export.tresor)
        guard state.contains(shown.head) else { throw .store(.notStored) }
        wraps += try await putWraps(of: export, in: state, delivery)
        return Arrival(state: state, entryCount: Int(missing), cardCount: cards, wrapCount: wraps, blobCount: blobs)
    }

    /// The part that a service takes; `nil` for a store that takes all.
    ///
    /// - Throws: ``TresorError/noAccess`` for a service without an identity that could ask it.
    private func delivery(of export: TresorExport, in shown: LogState) throws(TresorError) -> Delivery? {
        guard client.isRemote else { return nil }
        guard let identity = client.identity else { throw .noAccess }
        return Delivery(of: export, in: shown, by: identity, client)
    }

    /// Checks that each card is of a person in the log, and contradicts neither the log nor this home.
    private func checkCards(of export: TresorExport, in shown: LogState) throws(TresorError) {
        let (mine, pins) = (try client.people.ownChain(), try client.pins())
        for chain in export.cards {
            guard let known = shown.chain(of: chain.user) else { throw .altered }
            guard chain.extends(known) || known.extends(chain) else { throw .forked }
            if let mine, mine.user == chain.user {
                guard mine.extends(chain) else { throw .forked }
            } else if let pinned = pins[chain.user]?.chain {
                guard chain.extends(pinned) || pinned.extends(chain) else { throw .forked }
            }
        }
    }

    /// Checks that the log names each blob.
    private func checkBlobs(of export: TresorExport, in shown: LogState) throws(TresorError) {
        var named: Set<Blob> = []
        for (entry, sequence) in zip(export.entries, UInt64(0)...) {
            named.formUnion(try RecordBlobs.named(by: entry, at: sequence, in: shown))
        }
        guard try export.namedBlobs().keys.allSatisfy({ named.contains($0) }) else { throw .altered }
    }

    /// Puts each blob that the store lacks.
    private func putBlobs(of export: TresorExport) async throws(TresorError) -> Int {
        try await BlobReader(store, export.tresor).restore(try export.namedBlobs())
    }

    /// Puts each card that the store lacks, or of which it has the beginning.
    private func putCards(
        of export: TresorExport, in shown: LogState, _ delivery: Delivery?
    ) async throws(TresorError) -> Int {
        var count = 0
        for chain in export.cards where delivery?.takes(chain) ?? true {
            try Cancellation.check()
            let present = try await store.shownChain(of: chain.user)
            if let present {
                guard let old = try? present.chain(of: chain.user), old != chain, chain.extends(old) else { continue }
            }
            let outcome = try await store.putCard(
                chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: present?.bytes)
            if outcome == .done { count += 1 }
        }
        return count
    }

    /// Restores the entries that the store lost, and appends the others, each with the wraps that belong to it.
    ///
    /// - Returns: the number of wraps.
    private func putEntries(
        of export: TresorExport, in shown: LogState, missingFrom held: ShownEntries, _ delivery: Delivery?
    ) async throws(TresorError) -> Int {
        let present = Set(held.sequences)
        client.operation.logs?.forget(shown.tresor)
        for sequence in 0..<held.end where !present.contains(sequence) {
            try Cancellation.check()
            let entry = export.entries[Int(sequence)]
            guard try await store.restore(entry, at: sequence, of: shown.tresor) == .done else { throw .busy }
        }
        guard !held.goesOn else { return 0 }
        var wraps: [UInt64: [StoredWrap]] = [:]
        for wrap in export.wraps {
            guard let called = wrap.called(in: shown) else { continue }
            wraps[called.firstEntry, default: []].append(StoredWrap(called.wrap))
        }
        var count = 0
        let carried = try export.namedBlobs()
        var fold = try delivery?.fold(before: held.end) ?? Fold(tresor: shown.tresor)
        for sequence in held.end..<shown.entryCount {
            try Cancellation.check()
            let entry = export.entries[Int(sequence)]
            let putting = try await delivery?.wraps(with: entry, in: &fold) ?? wraps[sequence] ?? []
            let change = LogChange(
                tresor: shown.tresor, sequence: sequence,
                previous: sequence > 0 ? shown.hashes[Int(sequence - 1)] : .zero, entry: entry, putting: putting,
                removingWrapsOf: try departed(with: entry, at: sequence, in: shown),
                blobs: delivery != nil
                    ? []
                    : try RecordBlobs.named(by: entry, at: sequence, in: shown).filter { carried[$0] != nil }
                        .map { StoredBlob(hash: $0.hash, size: $0.size, bytes: nil) })
            guard try await store.append(change) == .done else {
                // A store keeps the id of a tresor that was deleted, and takes nothing for it.
                guard sequence == 0 else { throw .busy }
                throw try await store.entries(of: shown.tresor, from: 0, limit: 1).isEmpty ? .notFound : .busy
            }
            count += putting.count
        }
        return count
    }

    /// Returns the people whose wraps go with an entry, as in the act of its author (SPEC §9.7 step 11).
    private func departed(
        with entry: [UInt8], at sequence: UInt64, in shown: LogState
    ) throws(TresorError) -> [UserID] {
        guard sequence > 0, shown.epoch(at: sequence) > shown.epoch(at: sequence - 1) else {
            return shown.dismissed(at: sequence)
        }
        return shown.everybody.filter { user in
            shown.generation(of: user, at: sequence) != nil && shown.grant(of: user, at: sequence) == nil
                && !shown.approvers.contains(user)
        }
    }

    /// Puts each wrap that the log calls for where the store has none.
    private func putWraps(
        of export: TresorExport, in state: LogState, _ delivery: Delivery?
    ) async throws(TresorError) -> Int {
        var count = 0
        let fitting = export.wraps.compactMap { $0.called(in: state)?.wrap }
            .filter { delivery?.takes($0, in: state) ?? true }
        for (epoch, wraps) in Dictionary(grouping: fitting, by: \.epoch).sorted(by: { $0.key < $1.key }) {
            let present = try await store.wraps(of: wraps.map(\.user), in: state.tresor, epoch: epoch)
            guard present.count == wraps.count else { throw .store(.other) }
            let missing = zip(wraps, present).filter { $0.1.isEmpty }.map { StoredWrap($0.0) }
            guard !missing.isEmpty else { continue }
            try Cancellation.check()
            try await store.putWraps(missing, in: state.tresor)
            count += missing.count
        }
        return count
    }
}

/// The additions that an export brought to a store.
package struct Arrival: Sendable {
    /// The state of the store's log afterwards.
    package let state: LogState
    /// The number of entries.
    package let entryCount: Int
    /// The number of cards.
    package let cardCount: Int
    /// The number of wraps.
    package let wrapCount: Int
    /// The number of packs, attachments and volumes.
    package let blobCount: Int

    /// Whether the store had everything.
    package var isNothing: Bool { entryCount == 0 && cardCount == 0 && wrapCount == 0 && blobCount == 0 }
}

extension ShownEntries {
    /// The sequence number after the last entry.
    fileprivate var end: UInt64 { sequences.last.map { $0 + 1 } ?? 0 }
}

extension StoredWrap {
    fileprivate init(_ wrap: Wrap) {
        self.init(user: wrap.user, epoch: wrap.epoch, bytes: wrap.bytes)
    }
}

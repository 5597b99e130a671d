// SPDX-License-Identifier: Apache-2.0

public import Tresor
public import TresorCore
public import TresorCrypto

/// The records of one tresor: named contents that several devices and people change, with or without a network.
///
/// You read what the home has. A change lies durably in the home when the call returns; ``sync()`` sends it, and
/// brings what others changed. Keep the value, because it remembers what it has read; another one reads it again, and is
/// not heard by ``changes()`` of this one.
public struct Records: Sendable {
    /// The tresor.
    package let tresor: TresorID
    let session: Session
    let cache = RecordCache()
    /// The number of packs opened without an index from which on one is kept (SPEC §8.5).
    var leastIndexedCount = 64

    /// The contents of these records as streams.
    public var attachments: Attachments { Attachments(records: self) }

    var outbox: OutboxFile { OutboxFile(session: session, tresor: tresor) }
}

extension Session {
    /// Returns the records of a tresor. Reads nothing.
    public func records(in tresor: TresorID) -> Records { Records(tresor: tresor, session: self) }
}

/// Changing records.
extension Records {
    /// The number of attempts to change what others change at the same time.
    private static let attemptCount = 16

    /// Makes changes of different records, all in one commit. They lie in the home when this returns; ``sync()`` sends
    /// them.
    ///
    /// A change replaces every version of its record that the home shows now, or what the unsent change replaces on top
    /// of which it is made. What others changed by then stays beside it as another version.
    ///
    /// - Parameters:
    ///   - changes: the changes.
    ///   - shown: the revision that must be shown now, for each record that is named, changed here or not; `nil` for none.
    /// - Throws: ``TresorError/noAccess`` for a reader and for somebody who is no member; ``TresorError/notFound`` for the
    ///   deletion of a record that is not there; ``TresorError/busy`` where another revision than `shown` is shown;
    ///   ``TresorError/usage(_:)`` for a record twice, a name that begins with `tresor/` or breaks
    ///   SPEC §4.4, and changes of more than 1 MiB together, in which a content of more than 64 KiB does not count; for
    ///   more than 1023 of these, and for more than 2^39 bytes of them.
    @concurrent public func change(
        _ changes: [RecordChange], ifShown shown: [String: UInt64?] = [:]
    ) async throws(TresorError) { try await change(changes, ifShown: shown, seen: nil) }

    /// Does what ``change(_:ifShown:)`` does for an author who saw less than the home shows now: what came since stays
    /// beside the change. A revision in `shown` counts as seen.
    ///
    /// - Parameters:
    ///   - seen: what the home showed to the author; `nil` for what it shows now.
    ///   - takesReserved: whether names may begin with `tresor/`, as those of own tresors do.
    @concurrent package func change(
        _ changes: [RecordChange], ifShown shown: [String: UInt64?] = [:], seen: SeenRecords?,
        takesReserved: Bool = false
    ) async throws(TresorError) {
        let time = session.client.clock()
        var held = changes.compactMap(\.held)
        do throws(TresorError) {
            let expected = try Self.expectation(shown)
            try changes.check(at: time, takesReserved: takesReserved)
            var wanted: [(name: Name, content: Item.Content)] = []
            for change in changes {
                wanted.append((try Name(text: change.name), try await attachments.content(of: change, &held)))
            }
            for _ in 0..<Self.attemptCount {
                let view = try await viewToChange()
                let holdsPieces = try await outbox.change {
                    [wanted, held, expected] (outbox) throws(TresorError) -> Bool? in
                    // While the view was read, the sent commit may have come into the log, or others' changes into the
                    // home.
                    guard try isCurrent(view) else { return nil }
                    for content in held { try outbox.finish(content) }
                    try outbox.add(
                        try outbox.items(of: wanted, over: view.table, seen: seen?.table, ifShown: expected, at: time))
                    return !outbox.held.isEmpty
                }
                guard let holdsPieces else { continue }
                if holdsPieces { await outbox.clean(askingStore: false) }
                return
            }
            throw .busy
        } catch {
            await attachments.release(held)
            throw error
        }
    }

    /// Reads the revisions that must be shown, by the names of their records.
    static func expectation(_ shown: [String: UInt64?]) throws(TresorError) -> [Name: UInt64?] {
        var expected: [Name: UInt64?] = [:]
        for (name, revision) in shown { expected[try Name(text: name)] = revision }
        return expected
    }

    /// The view on which a change is made.
    ///
    /// - Throws: ``TresorError/noAccess`` for a reader; the errors of ``view()``.
    func viewToChange() async throws(TresorError) -> RecordView {
        let view = try await view()
        guard let me = view.state.members[session.user], me.role != .reader else { throw .noAccess }
        return view
    }

    /// Whether a view is what the home has. To be asked while nobody else changes the home.
    private func isCurrent(_ view: RecordView) throws(TresorError) -> Bool {
        guard try session.client.archive.pinnedHead(of: tresor) == view.state.head else { return false }
        return try view.isCurrent(in: session.client)
    }

    /// Gives one record a content.
    ///
    /// - Throws: the errors of ``change(_:ifShown:)``.
    @concurrent public func put(
        _ name: String, _ content: some Collection<UInt8> & Sendable, type: String = ""
    ) async throws(TresorError) { try await change([.put(name, content, type: type)]) }

    /// Deletes records.
    ///
    /// - Throws: the errors of ``change(_:ifShown:)``.
    @concurrent public func delete(_ names: [String]) async throws(TresorError) {
        try await change(names.map { .delete($0) })
    }

    /// Sends what is unsent, and fetches what others changed (SPEC §19.7).
    ///
    /// - Returns: what was done, and what is missing or void. A pack that is missing stops nothing else. What stands
    ///   against sending stops no reading: it is in ``SyncReport/held``, ``TresorError/busy`` where others were faster
    ///   16 times.
    /// - Throws: ``TresorError/forked`` and the other errors of reading the log; ``TresorError/store(_:)`` for a store
    ///   that cannot be read. What came by then stays, and what is unsent too.
    @concurrent public func sync() async throws(TresorError) -> SyncReport {
        try await sync(again: true)
    }

    /// Does what ``sync()`` does.
    ///
    /// - Parameter isAgain: whether to send again what there was no room for.
    @concurrent package func sync(again isAgain: Bool) async throws(TresorError) -> SyncReport {
        try await RecordSync(records: self, isAgain: isAgain).run(sending: true)
    }

    /// Fetches what others changed, and sends nothing. A commit that was sent before may turn out to be in the log.
    ///
    /// - Returns: what ``sync()`` returns.
    /// - Throws: the errors of ``sync()``.
    @concurrent public func pull() async throws(TresorError) -> SyncReport {
        try await RecordSync(records: self).run(sending: false)
    }

    /// Throws away the changes that are not sent.
    ///
    /// - Returns: the names of their records.
    /// - Throws: ``TresorError/busy`` while a commit is on its way that may be in the log, unless this person is out of
    ///   the tresor.
    @concurrent public func dropUnsent() async throws(TresorError) -> [String] {
        try await dropUnsent(as: nil)
    }

    /// Does what ``dropUnsent()`` does, if the changes are still those of an outbox that a person was shown.
    @concurrent package func dropUnsent(as shown: Outbox?) async throws(TresorError) -> [String] {
        let (names, lost) = try await outbox.change { (outbox) throws(TresorError) in
            // Without a verified log, the commit that was sent may be in it.
            let state = try session.client.archive.verifiedState(of: tresor)
            let isGone = state.map { $0.members[session.user] == nil } ?? false
            guard isGone || outbox.sent == nil, shown.map({ $0.hasChanges(of: outbox) }) ?? true else { throw .busy }
            let (names, lost) = (outbox.records.map(\.text), outbox.lostAttachments)
            outbox.dropAll()
            return (names, lost)
        }
        _ = await outbox.forgetParts(of: lost, namedFrom: 0)
        await outbox.clean()
        return names
    }

    /// Tells of records that came or were sent, after the home has them. It ends with its task.
    ///
    /// A program that has not taken a notice before the next one gets both as one: every name, with the last revision.
    ///
    /// It hears ``sync()`` and ``pull()`` of this value and its copies, and tells what anybody else brought into the home
    /// with their next one.
    public func changes() -> AsyncStream<RecordChanges> { cache.listen() }
}

/// Reading records.
extension Records {
    /// Returns what is shown of a record: the newest version, as the home knows it.
    ///
    /// A content of more than 64 KiB is fetched from the store, if it has at most 64 MiB, and is not kept in the home.
    ///
    /// - Parameters:
    ///   - name: the name of the record.
    ///   - acceptingIncomplete: whether to continue although packs are missing, so that nothing is proved to be the newest.
    /// - Throws: ``TresorError/notFound`` for a record that is deleted or was never there; ``TresorError/store(_:)``
    ///   where packs are missing, or the content is fetched and the store does not have it; ``TresorError/altered`` for
    ///   such a content that is not what the log names; ``TresorError/noAccess`` for somebody who is no member;
    ///   ``TresorError/unverified`` while the founder or the author was not compared.
    @concurrent public func get(_ name: String, acceptingIncomplete: Bool = false) async throws(TresorError) -> Record {
        var record = try await find(name, acceptingIncomplete: acceptingIncomplete)
        guard record.place != nil, record.mostByteCount <= Attachments.maximumFetchedByteCount else {
            return record
        }
        var sink = MemorySink()
        try await attachments.read(record, to: &sink)
        record.content = sink.bytes
        return record
    }

    /// Does what ``get(_:acceptingIncomplete:)`` does, and fetches no content: ``Attachments/read(_:to:progress:)`` does.
    @concurrent package func find(
        _ name: String, acceptingIncomplete: Bool = false
    ) async throws(TresorError) -> Record {
        // The home has a commit before the outbox lets go of it. So the outbox is read first.
        let outbox = try await outbox.present()
        let (view, name) = (try await view(), try Name(ofRecord: name))
        return try await read(view, acceptingIncomplete: acceptingIncomplete) { (view, packs) throws(TresorError) in
            if let item = outbox.item(of: name) {
                let count = 1 + view.table.different(from: item).count
                return try record(item, at: nil, in: view, outbox, versionCount: count, packs)
            }
            guard let shown = view.table.shown(of: name) else { throw .notFound }
            let count = view.table.different(of: name).count
            let item = try view.item(of: name, at: shown.revision, from: packs)
            return try record(item, at: shown.revision, in: view, outbox, versionCount: count, packs)
        }
    }

    /// Returns the versions of a record that no later one replaces, the shown one first. Deletions are left out.
    ///
    /// A change that is not sent yet is the first of them, and what it replaces is none of them. No content is fetched.
    ///
    /// - Throws: the errors of ``get(_:acceptingIncomplete:)`` but ``TresorError/store(_:)`` for other records.
    @concurrent public func versions(of name: String) async throws(TresorError) -> [Record] {
        var versions: [Record] = []
        for reading in try await readings(of: name) { versions.append(try await reading.record()) }
        return versions
    }

    /// Returns what ``versions(of:)`` does, each version to be read by itself: one that cannot be read keeps no other back.
    @concurrent package func readings(of name: String) async throws(TresorError) -> [VersionReading] {
        // The outbox first, as in get.
        let outbox = try await outbox.present()
        let (view, name) = (try await view(), try Name(ofRecord: name))
        let unsent = outbox.item(of: name)
        let heads = unsent.map { view.table.different(from: $0) } ?? view.table.different(of: name)
        let count = heads.count + (unsent == nil ? 0 : 1)
        var readings: [VersionReading] = []
        if let unsent, !unsent.isDeletion {
            readings.append(
                VersionReading(revision: nil) { () async throws(TresorError) in
                    try await read(view) { (view, packs) throws(TresorError) in
                        try record(unsent, at: nil, in: view, outbox, versionCount: count, packs)
                    }
                })
        }
        for head in heads where !head.isDeletion {
            readings.append(
                VersionReading(revision: head.revision) { () async throws(TresorError) in
                    try await read(view) { (view, packs) throws(TresorError) in
                        let item = try view.item(of: name, at: head.revision, from: packs)
                        return try record(item, at: head.revision, in: view, outbox, versionCount: count, packs)
                    }
                })
        }
        return readings
    }

    /// Lists records by rising bytes of their names. Names that begin with `tresor/` are left out.
    ///
    /// - Parameters:
    ///   - prefix: how the names begin; every name for an empty one.
    ///   - includingDeleted: whether to list deleted records too.
    /// - Returns: the records, and whether no pack is missing.
    /// - Throws: the errors of ``get(_:acceptingIncomplete:)`` but ``TresorError/notFound``. An author who was not
    ///   compared is no error here: ``RecordSummary/isVerified`` tells.
    @concurrent public func list(
        prefix: String = "", includingDeleted: Bool = false
    ) async throws(TresorError) -> (records: [RecordSummary], isComplete: Bool) {
        // The outbox first, as in get.
        let outbox = try await outbox.present()
        let view = try await view()
        let start = try Name(text: prefix).bytes
        return try await read(view) { (view, packs) throws(TresorError) in
            var authors = AuthorChecks(session.client, acceptingUnverified: false)
            var summaries: [RecordSummary] = []
            let newest = outbox.newest
            let known = view.table.names
            for name in newest.isEmpty ? known : Set(known).union(newest.keys).sorted()
            where name.bytes.starts(with: start) && !name.isReserved {
                let isDeleted: Bool
                let summary: RecordSummary?
                if let item = newest[name] {
                    isDeleted = item.isDeletion
                    summary = RecordSummary(unsent: item, in: outbox, by: session.user)
                } else {
                    isDeleted = view.table.shown(of: name) == nil
                    summary = try self.summary(of: name, in: view, packs, &authors)
                }
                if let summary, includingDeleted || !isDeleted { summaries.append(summary) }
            }
            return (summaries, view.table.isComplete)
        }
    }

    /// The names of records with changes that are not sent, by rising bytes.
    @concurrent public func unsent() async throws(TresorError) -> [String] { try outbox.read().records.map(\.text) }

    private func summary(
        of name: Name, in view: RecordView, _ packs: PackReader, _ authors: inout AuthorChecks
    ) throws(TresorError) -> RecordSummary? {
        let heads = view.table.different(of: name)
        guard let first = heads.first else { return nil }
        let entry = try view.commit(first.revision, from: packs)
        var isVerified = true
        let voucher = view.voucher(of: first.revision)
        do throws(TresorError) {
            for entry in [entry, voucher].compactMap(\.self) {
                try authors.check(entry.author, generation: entry.generation, in: view.state)
            }
        } catch {
            guard error == .unverified else { throw error }
            isVerified = false
        }
        return RecordSummary(
            name: name.text, revision: first.revision, author: entry.author,
            status: view.status(of: entry, compared: try authors.comparedChain(of: entry.author)),
            isVerified: isVerified, time: first.time,
            state: first.isDeletion ? .deleted : heads.count > 1 ? .versions : .ok, vouchedBy: voucher?.author,
            type: first.type.text, size: Attachments.size(of: first, named: name, in: entry))
    }

    private func record(
        _ item: Item, at revision: UInt64?, in view: RecordView, _ outbox: Outbox, versionCount: Int,
        _ packs: PackReader
    ) throws(TresorError) -> Record {
        let trust = session.client.trust
        var (author, status) = (session.user, AuthorStatus.current)
        var commit: Entry?
        if let revision { commit = try view.commit(revision, from: packs) }
        let voucher = revision.flatMap { view.voucher(of: $0) }
        if let voucher { try trust.authorTrust(of: voucher.author, generation: voucher.generation, in: view.state) }
        if let entry = commit {
            try trust.authorTrust(of: entry.author, generation: entry.generation, in: view.state)
            author = entry.author
            status = view.status(of: entry, compared: try trust.comparedChain(of: entry.author))
        }
        let content: [UInt8]?
        let place: Record.Place?
        let type: Name
        switch item.content {
        case .deleted: throw .notFound
        case .bytes(let bytes, let said): (content, place, type) = (bytes, nil, said)
        case .attachment(let number, let said):
            (content, type) = (nil, said)
            if let entry = commit, let attachment = Attachment(of: item, in: entry) {
                place = .attachment(attachment)
            } else if revision == nil, let content = outbox.content(number) {
                place = .held(item, content)
            } else {
                throw .altered
            }
        }
        return Record(
            name: item.record.text, type: type.text, content: content, revision: revision, author: author,
            status: status, time: item.time, versionCount: versionCount, vouchedBy: voucher?.author, place: place)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
package import TresorCore
package import TresorCrypto

/// The records that a home showed before a program fetched anything (SPEC §19.7).
package struct SeenRecords: Sendable {
    /// `nil` for a home that had shown nothing.
    fileprivate let view: RecordView?

    init(view: RecordView?) { self.view = view }

    var table: RecordTable { view?.table ?? RecordTable() }
}

/// One of the versions of a record that no later one replaces.
package struct RecordVersion: Hashable, Sendable {
    /// The sequence number of its commit; `nil` for a change that is not sent yet.
    package let revision: UInt64?
    /// The author.
    package let author: UserID
    /// Whether ``Records/get(_:acceptingIncomplete:)`` takes the author's word.
    package let isVerified: Bool
    /// The time of the change by the author's account, in seconds since 1970.
    package let time: UInt64
    /// Whether it deletes the record.
    package let isDeletion: Bool
}

/// The records of a tresor as its home has them, while the store is not asked or cannot be (SPEC §19.7).
package struct HomeRecords: Sendable {
    private let records: Records

    private var session: Session { records.session }

    /// Reads nothing yet.
    package init(of records: Records) { self.records = records }

    /// Reads what the home shows, as far as it has the packs.
    ///
    /// - Parameter state: a state that the home had verified; `nil` for the present one. A home that has none, and a person
    ///   who was no member then, have seen nothing.
    /// - Throws: the errors of the home.
    package func seen(at state: LogState?) async throws(TresorError) -> SeenRecords {
        var known = state
        if known == nil { known = try await verifiedState() }
        guard let known, known.members[session.user] != nil else { return SeenRecords(view: nil) }
        return SeenRecords(view: try await records.view(at: known))
    }

    /// Leaves out the changes that would change nothing: their records have this content, and no other version, both in
    /// what the author was shown and in what the home knows now. An attachment counts as another content, and so does a
    /// record while a pack is missing. After an error, nothing is held for them.
    ///
    /// - Parameters:
    ///   - seen: what the home showed to the author.
    ///   - shown: as for ``Records/change(_:ifShown:)``; it counts for what is left out, too.
    /// - Throws: the errors of ``Records/change(_:ifShown:)`` for a name, a type and `shown`.
    package func effective(
        _ changes: [RecordChange], seen: SeenRecords, ifShown shown: [String: UInt64?]
    ) async throws(TresorError) -> [RecordChange] {
        do throws(TresorError) {
            let expected = try Records.expectation(shown)
            let view = try await records.view()
            let outbox = try await records.outbox.present()
            return try await Cores.apart { () throws(TresorError) in
                try outbox.check(expected, over: view.table)
                let newest = outbox.newest
                var effective: [RecordChange] = []
                for change in changes {
                    let item = Item(
                        record: try Name(text: change.name), replaces: [], time: 0, content: try change.itemContent(0))
                    let unsent = newest[item.record]
                    let isThere =
                        unsent.map { $0.content == item.content }
                        ?? (view.table.isComplete && view.table.hasOnly(item) && seen.table.hasOnly(item))
                    if item.isDeletion || !isThere { effective.append(change) }
                }
                return effective
            }
        } catch {
            await records.attachments.release(changes.compactMap(\.held))
            throw error
        }
    }

    /// Reports what the home has, as ``Records/pull()`` does. No store is asked about a tresor that the home has verified.
    ///
    /// - Throws: the errors of ``Records/list(prefix:includingDeleted:)``.
    package func report() async throws(TresorError) -> SyncReport {
        var report = SyncReport(tresor: records.tresor)
        report.note(try await records.view())
        report.outbox = try await records.outbox.present()
        return report
    }

    /// Keeps the wraps by which this session has read the records, so that the home reads them without the store (SPEC
    /// §8.5). Failing to write them is no error.
    package func keepWraps() async {
        guard let state = try? await verifiedState() else { return }
        await session.keyRing.rememberOpenedWraps(in: state)
    }

    private func verifiedState() async throws(TresorError) -> LogState? {
        try await Cores.apart { () throws(TresorError) in try session.client.archive.verifiedState(of: records.tresor) }
    }

    /// Lists the versions of records that no later one replaces, by rank, and deletions too. A change that is not sent yet
    /// is the first, and what it replaces is none of them.
    ///
    /// - Returns: those of each record, in the order of `names`.
    /// - Throws: the errors of ``Records/list(prefix:includingDeleted:)``.
    package func versions(of names: [String]) async throws(TresorError) -> [[RecordVersion]] {
        // The outbox first, as in get.
        let newest = try await records.outbox.present().newest
        return try await records.read(try await records.view()) { (view, packs) throws(TresorError) in
            var authors = AuthorChecks(session.client, acceptingUnverified: false)
            var all: [[RecordVersion]] = []
            for text in names {
                let name = try Name(text: text)
                let unsent = newest[name]
                var versions = [unsent].compactMap(\.self).map {
                    RecordVersion(
                        revision: nil, author: session.user, isVerified: true, time: $0.time, isDeletion: $0.isDeletion)
                }
                let heads = unsent.map { view.table.different(from: $0) } ?? view.table.different(of: name)
                for head in heads { versions.append(try Self.version(head, in: view, packs, &authors)) }
                all.append(versions)
            }
            return all
        }
    }

    /// Finds the records of which a version came, and that have several now: those that a list shows so.
    ///
    /// - Parameter report: of the sync that fetched it.
    /// - Returns: their names, by rising bytes.
    /// - Throws: the errors of reading what the home has.
    package func withVersions(in report: SyncReport) async throws(TresorError) -> [String] {
        // The outbox first, as in get.
        let newest = try await records.outbox.present().newest
        let table = try await records.view().table
        return try await Cores.apart { () throws(TresorError) in
            var names: Set<Name> = []
            table.forEachHead { name, head in
                if head.isVouched ? report.hasVolumes : report.received.contains(head.revision) { names.insert(name) }
            }
            return names.filter { name in
                newest[name] == nil && !name.isReserved && table.shown(of: name) != nil
                    && table.different(of: name).count > 1
            }.sorted().map(\.text)
        }
    }

    /// Finds records with content in any version that no later one replaces. A change that is not sent yet stands for what
    /// it replaces.
    ///
    /// - Returns: those of `names`, in their order.
    /// - Throws: the errors of a name, and of reading what the home has.
    package func withContent(among names: [String]) async throws(TresorError) -> [String] {
        // The outbox first, as in get.
        let newest = try await records.outbox.present().newest
        let table = try await records.view().table
        var found: [String] = []
        for text in names {
            let name = try Name(text: text)
            let hasContent =
                switch newest[name]?.content {
                case .deleted?: false
                case .bytes(let bytes, _)?: !bytes.isEmpty
                case .attachment?: true
                case nil: table.heads(of: name).contains { $0.attachment != nil || $0.byteCount ?? 0 > 0 }
                }
            if hasContent { found.append(text) }
        }
        return found
    }

    /// Lists the versions of records by others that a home had shown, by rank. A change replaces them.
    ///
    /// - Returns: those of each record, in the order of `names`.
    /// - Throws: the errors of a name; ``TresorError/store(_:)`` where the home has lost an entry.
    package func ofOthers(_ names: [String], in seen: SeenRecords) async throws(TresorError) -> [[RecordVersion]] {
        guard let shown = seen.view else { return names.map { _ in [] } }
        return try await records.read(shown) { (view, packs) throws(TresorError) in
            var authors = AuthorChecks(session.client, acceptingUnverified: false)
            var all: [[RecordVersion]] = []
            for text in names {
                var versions: [RecordVersion] = []
                for head in shown.table.different(of: try Name(text: text)) {
                    versions.append(try Self.version(head, in: view, packs, &authors))
                }
                all.append(versions.filter { $0.author != session.user })
            }
            return all
        }
    }

    private static func version(
        _ head: RecordTable.Head, in view: RecordView, _ packs: PackReader, _ authors: inout AuthorChecks
    ) throws(TresorError) -> RecordVersion {
        let entry = try view.commit(head.revision, from: packs)
        let isVerified = (try? authors.check(entry.author, generation: entry.generation, in: view.state)) != nil
        return RecordVersion(
            revision: head.revision, author: entry.author, isVerified: isVerified, time: head.time,
            isDeletion: head.isDeletion)
    }
}

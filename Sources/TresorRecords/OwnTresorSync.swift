// SPDX-License-Identifier: Apache-2.0

package import Tresor
package import TresorCore
package import TresorCrypto

/// One exchange with the own tresors of a person (SPEC §19.8): first what their other devices know, then, once the other
/// tresors were read, what this home knows beyond that.
package struct OwnTresorSync: Sendable {
    /// The most bytes that one commit takes, so that its pack is within its limits.
    private static let mostByteCount = Pack.maximumByteCount - 4096
    /// The most bytes of an item beside its content.
    private static let itemByteCount = 256
    private static let knownPrefix = "tresor/known/"
    private static let headPrefix = "tresor/head/"

    private let session: Session
    private let own: OwnTresors
    /// The tresors to which the store or this home leads, without own ones.
    private let tresors: Set<TresorID>
    /// The own tresors that count, and whose logs are not those that this home has verified, or whose keys are gone. Nothing
    /// is exchanged while there is one, and no other one is made.
    package let lost: [TresorID]
    /// The own tresors of former keys.
    private let former: [TresorID]
    /// The own tresors that count, by rising id. What this home knows goes into the first.
    private var records: [Records]
    /// The records of each that were shown to this home. What comes later stays beside the changes.
    private var seen: [TresorID: SeenRecords] = [:]
    private var people = KnownPeople()
    private var heads: [TresorID: [Head]] = [:]
    /// The records with a content that does not read.
    private var unread: [Name: TresorError] = [:]

    private var client: Client { session.client }

    /// Takes the tresors of this person, as the store and this home list them.
    ///
    /// - Throws: the errors of the home; the error of an own tresor that may pass, or that a later release mends: it is no
    ///   loss.
    package init(of summaries: [TresorSummary], _ session: Session) async throws(TresorError) {
        self.session = session
        own = OwnTresors(session: session)
        var (lost, counted, others): ([TresorID], [TresorID], Set<TresorID>) = ([], [], [])
        var former: [TresorID] = []
        for summary in summaries {
            if summary.isOwn {
                guard let state = summary.state else { continue }
                if try own.counts(state) { counted.append(summary.tresor) }
                if own.isFormer(state) { former.append(summary.tresor) }
                continue
            }
            guard !summary.isElsewhere else { continue }
            others.insert(summary.tresor)
            guard let error = summary.error,
                let known = try session.client.archive.verifiedState(of: summary.tresor), try own.counts(known)
            else { continue }
            // The names may have been lost. What the log itself says needs its keys.
            let isOwn = await own.isOwn(known)
            guard isOwn || summary.name == .own else { continue }
            guard Self.isLoss(error) else { throw error }
            lost.append(summary.tresor)
        }
        (tresors, self.lost, self.former) = (others, lost, former)
        records = counted.sorted().map { session.records(in: $0) }
    }

    /// Whether an error proves that the store does not have the tresor as this home has verified it, or no key of it.
    private static func isLoss(_ error: TresorError) -> Bool {
        switch error {
        case .forked, .notFound, .altered, .noAccess: true
        default: false
        }
    }

    /// Fetches what other devices know, and takes it into this home.
    ///
    /// Without an own tresor that counts, what former keys said ends. A record that does not read holds up no other one.
    ///
    /// - Throws: ``TresorError/store(_:)`` where a pack is missing: nothing is taken then; the errors of
    ///   ``Records/pull()``.
    package mutating func receive() async throws(TresorError) -> KnownOutcome {
        (people, heads, unread, seen) = (KnownPeople(), [:], [:], [:])
        try await Cores.apart { [self] () throws(TresorError) in
            try client.people.resumeCarryingOver(as: session.identity.chain)
        }
        try await dropFormer()
        guard lost.isEmpty else { return KnownOutcome() }
        for records in records {
            _ = try await records.pull()
            await HomeRecords(of: records).keepWraps()
            let (view, contents) = try await Self.contents(of: records)
            seen[records.tresor] = SeenRecords(view: view)
            for (name, content) in contents {
                do throws(TresorError) {
                    try take(name.text, content.get())
                } catch {
                    // A later release may say more: that is not written over.
                    if unread[name] != .unsupported { unread[name] = error }
                }
            }
        }
        return try await Cores.apart { [self] () throws(TresorError) in
            try own.takeBlocking(heads, among: tresors, keeping: !unread.isEmpty)
            return try client.people.takeBlocking(people, as: session.identity.chain)
        }
    }

    /// Throws away what was never sent to own tresors of former keys: nobody reads it, and what this home knows is told
    /// anew.
    private func dropFormer() async throws(TresorError) {
        for tresor in former {
            let outbox = OutboxFile(session: session, tresor: tresor)
            guard try await !outbox.present().isEmpty else { continue }
            try await outbox.change { (outbox) throws(TresorError) in outbox.dropAll() }
            await outbox.clean()
        }
    }

    private mutating func take(_ name: String, _ content: [UInt8]) throws(TresorError) {
        if name.hasPrefix(Self.knownPrefix), let user = UserID(String(name.dropFirst(Self.knownPrefix.count))) {
            try people.add(content, of: user)
        }
        if name.hasPrefix(Self.headPrefix), let tresor = TresorID(String(name.dropFirst(Self.headPrefix.count))) {
            heads[tresor, default: []].append(try Head(recordContent: content))
        }
    }

    /// The names of the records with a content that does not read, and why.
    package var unreadRecords: [(name: Name, error: TresorError)] {
        unread.sorted { $0.key < $1.key }.map { (name: $0.key, error: $0.value) }
    }

    /// A head that another device verified, and that the log here does not contain.
    package struct Denial: Hashable, Sendable {
        /// The tresor.
        package let tresor: TresorID
        /// The head that the other device verified.
        package let said: Head
        /// The head of the log here.
        package let present: Head

        /// Whether the log here may only lack the newest entries.
        package var isBehind: Bool { said.sequence > present.sequence }
    }

    /// The result of sending.
    package struct Report: Sendable {
        /// Whether an own tresor was made: there was none before.
        package fileprivate(set) var isMade = false
        /// The heads of other devices that the logs here do not contain, one of each tresor.
        package fileprivate(set) var denied: [Denial] = []
        /// Why nothing was sent; `nil` where nothing stood against it.
        package fileprivate(set) var held: TresorError?
    }

    private struct Changes {
        var changes: [RecordChange] = []
        /// Those that end a dispute: they replace what each own tresor says.
        var settling: [RecordChange] = []
        var denied: [Denial] = []
        var byteCount = 0

        mutating func add(_ name: String, _ content: [UInt8], settles: Bool = false) {
            byteCount += content.count + OwnTresorSync.itemByteCount
            guard byteCount <= OwnTresorSync.mostByteCount else { return }
            changes.append(.put(name, content))
            if settles { settling.append(.put(name, content)) }
        }
    }

    /// Has the next sync take away what an own tresor says of the head of a tresor that this person deleted.
    ///
    /// - Throws: the errors of the home.
    package static func forget(_ tresor: TresorID, _ session: Session) async throws(TresorError) {
        let own = OwnTresors(session: session)
        for place in try await Cores.apart({ () throws(TresorError) in try session.client.logs.knownBlocking() }) {
            guard let state = try session.client.archive.verifiedState(of: place), try own.counts(state),
                await own.isOwn(state)
            else { continue }
            do throws(TresorError) {
                let deletion = RecordChange.delete(headPrefix + tresor.description)
                try await session.records(in: place).change([deletion], seen: nil, takesReserved: true)
            } catch {
                guard error == .notFound else { throw error }
            }
        }
    }

    /// Sends what this home knows beyond what was received, in one commit. Makes an own tresor if there is none.
    ///
    /// The rest of more than one commit goes with the next exchange. Without anything new, nothing is sent. A change
    /// replaces what this home was shown, and nothing that came since.
    ///
    /// - Parameter read: the tresors whose logs were read since, without an error.
    /// - Throws: the errors of the home and of ``OwnTresors/make()``.
    package mutating func send(_ read: [TresorID]) async throws(TresorError) -> Report {
        var report = Report()
        let made = try await changes(read)
        report.denied = made.denied
        guard lost.isEmpty else { return report }
        if records.isEmpty {
            guard !made.changes.isEmpty, let state = try await own.make() else { return report }
            records = [session.records(in: state.tresor)]
            report.isMade = true
        }
        for (place, records) in records.enumerated() {
            let changes = place == 0 ? made.changes : made.settling
            if !changes.isEmpty {
                try await records.change(changes, seen: seen[records.tresor], takesReserved: true)
            }
            guard try await !records.unsent().isEmpty else { continue }
            let held = try await records.sync().held
            report.held = report.held ?? held
            await HomeRecords(of: records).keepWraps()
        }
        return report
    }

    private func changes(_ read: [TresorID]) async throws(TresorError) -> Changes {
        try await Cores.apart { [self] () throws(TresorError) in
            var made = Changes()
            let newer = Set(unread.filter { $0.value == .unsupported }.keys.map(\.text))
            for pin in try client.people.newsBlocking(beyond: people) {
                let (name, content) = (Self.knownPrefix + pin.chain.user.description, pin.recordContent)
                guard content.count <= Item.maximumContentByteCount, !newer.contains(name) else { continue }
                made.add(name, content, settles: people.isDisputed(pin.chain.user))
            }
            for tresor in read.sorted() {
                guard let state = try client.archive.verifiedState(of: tresor) else { continue }
                let (name, said) = (Self.headPrefix + tresor.description, heads[tresor] ?? [])
                if let head = said.first(where: { !state.contains($0) }) {
                    try own.denyBlocking(head, of: tresor)
                    made.denied.append(Denial(tresor: tresor, said: head, present: state.head))
                } else if !said.contains(state.head), !newer.contains(name) {
                    made.add(name, state.head.recordContent)
                }
            }
            return made
        }
    }

    /// The contents of all versions that no later one replaces, and of those that are not sent yet, by rising name, or why
    /// one does not read.
    ///
    /// - Throws: ``TresorError/store(_:)`` where packs are missing; the errors of the home.
    private static func contents(
        of records: Records
    ) async throws(TresorError) -> (view: RecordView, contents: [(name: Name, content: Result<[UInt8], TresorError>)]) {
        // The home has a commit before the outbox lets go of it. So the outbox is read first.
        let outbox = try await records.outbox.present()
        return try await records.read(try await records.view(), acceptingIncomplete: false) {
            (view, packs) throws(TresorError) in
            var contents: [(name: Name, content: Result<[UInt8], TresorError>)] = []
            for name in Set(view.table.names).union(outbox.records).sorted() {
                var items = [outbox.item(of: name)].compactMap(\.self)
                for head in view.table.heads(of: name) where !head.isDeletion {
                    do throws(TresorError) {
                        items.append(try view.item(of: name, at: head.revision, from: packs))
                    } catch {
                        // Without the index it is read again.
                        let isLost = error == .altered && view.isIndexed
                        guard error == .altered || error == .unsupported, !isLost else { throw error }
                        contents.append((name, .failure(error)))
                    }
                }
                for item in items {
                    switch item.content {
                    case .bytes(let bytes, let type) where type.isEmpty: contents.append((name, .success(bytes)))
                    case .bytes, .attachment: contents.append((name, .failure(.altered)))
                    case .deleted: break
                    }
                }
            }
            return (view, contents)
        }
    }
}

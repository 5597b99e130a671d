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
    /// Whether the log of an own tresor that counts could not be verified now. Nothing is exchanged then, and no other one is made.
    private let isDoubtful: Bool
    /// The own tresors that count, by rising id. What this home knows goes into the first.
    private var records: [Records]
    private var people = KnownPeople()
    private var heads: [TresorID: [Head]] = [:]

    private var client: Client { session.client }

    /// Takes the tresors of this person, as the store and this home list them.
    ///
    /// - Throws: the errors of the home.
    package init(of summaries: [TresorSummary], _ session: Session) throws(TresorError) {
        self.session = session
        own = OwnTresors(session: session)
        tresors = Set(summaries.filter { !$0.isOwn && !$0.isElsewhere }.map(\.tresor))
        var isDoubtful = false
        for summary in summaries where summary.name == .own && summary.error != nil && !summary.isElsewhere {
            guard let known = try session.client.archive.verifiedState(of: summary.tresor) else { continue }
            if try own.counts(known) { isDoubtful = true }
        }
        self.isDoubtful = isDoubtful
        var counted: [TresorID] = []
        for state in summaries.filter(\.isOwn).compactMap(\.state) {
            if try own.counts(state) { counted.append(state.tresor) }
        }
        records = counted.sorted().map { session.records(in: $0) }
    }

    /// Fetches what other devices know, and takes it into this home.
    ///
    /// Without an own tresor that counts, what former keys said ends.
    ///
    /// - Throws: ``TresorError/store(_:)`` where a pack is missing: nothing is taken then; ``TresorError/altered`` for a
    ///   record that this release does not read; the errors of ``Records/pull()``.
    package mutating func receive() async throws(TresorError) -> KnownOutcome {
        (people, heads) = (KnownPeople(), [:])
        guard !isDoubtful else { return KnownOutcome() }
        for records in records {
            _ = try await records.pull()
            await HomeRecords(of: records).keepWraps()
            for (name, content) in try await Self.contents(of: records) { try take(name.text, content) }
        }
        return try await Cores.apart { [self] () throws(TresorError) in
            try own.takeBlocking(heads.filter { tresors.contains($0.key) })
            return try client.people.takeBlocking(people, as: session.identity.chain)
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

    /// The result of sending.
    package struct Report: Sendable {
        /// Whether an own tresor was made: there was none before.
        package fileprivate(set) var isMade = false
        /// The tresors of which another device verified a head that the log here does not contain.
        package fileprivate(set) var denied: [TresorID] = []
        /// Why nothing was sent; `nil` where nothing stood against it.
        package fileprivate(set) var held: TresorError?
    }

    /// Sends what this home knows beyond what was received, in one commit. Makes an own tresor if there is none.
    ///
    /// What does not fit into one commit goes with the next exchange. Without anything new, nothing is sent.
    ///
    /// - Parameter read: the tresors whose logs were read since, without an error.
    /// - Throws: the errors of the home and of ``OwnTresors/make()``.
    package mutating func send(_ read: [TresorID]) async throws(TresorError) -> Report {
        var report = Report()
        let changes = try await changes(read, &report)
        guard !isDoubtful else { return report }
        if records.isEmpty {
            guard !changes.isEmpty, let state = try await own.make() else { return report }
            records = [session.records(in: state.tresor)]
            report.isMade = true
        }
        let first = records[0]
        if !changes.isEmpty { try await first.change(changes, seen: nil, takesReserved: true) }
        guard try await !first.unsent().isEmpty else { return report }
        report.held = try await first.sync().held
        await HomeRecords(of: first).keepWraps()
        return report
    }

    private func changes(_ read: [TresorID], _ report: inout Report) async throws(TresorError) -> [RecordChange] {
        let (changes, denied) = try await Cores.apart { [self] () throws(TresorError) in
            var (changes, denied): ([RecordChange], [TresorID]) = ([], [])
            var byteCount = 0
            func add(_ name: String, _ content: [UInt8]) {
                byteCount += content.count + Self.itemByteCount
                if byteCount <= Self.mostByteCount { changes.append(.put(name, content)) }
            }
            for pin in try client.people.newsBlocking(beyond: people) {
                let content = pin.recordContent
                guard content.count <= Item.maximumContentByteCount else { continue }
                add(Self.knownPrefix + pin.chain.user.description, content)
            }
            for tresor in read.sorted() {
                guard let state = try client.archive.verifiedState(of: tresor) else { continue }
                let said = heads[tresor] ?? []
                if let head = said.first(where: { !state.contains($0) }) {
                    try own.denyBlocking(head, of: tresor)
                    denied.append(tresor)
                } else if !said.contains(state.head) {
                    add(Self.headPrefix + tresor.description, state.head.recordContent)
                }
            }
            return (changes, denied)
        }
        report.denied = denied
        return changes
    }

    /// The contents of all versions that no later one replaces, and of those that are not sent yet, by rising name.
    ///
    /// - Throws: ``TresorError/store(_:)`` where packs are missing; the errors of the home.
    private static func contents(
        of records: Records
    ) async throws(TresorError) -> [(name: Name, content: [UInt8])] {
        // The home has a commit before the outbox lets go of it. So the outbox is read first.
        let outbox = try await records.outbox.present()
        let view = try await records.view()
        guard view.table.isComplete else { throw .store(.withheld) }
        return try await Cores.apart { () throws(TresorError) in
            let packs = PackReader(client: records.session.client, tresor: records.tresor)
            var contents: [(name: Name, content: [UInt8])] = []
            for name in Set(view.table.names).union(outbox.records).sorted() {
                var items = [outbox.item(of: name)].compactMap(\.self)
                for head in view.table.heads(of: name) where !head.isDeletion {
                    items.append(try view.item(of: name, at: head.revision, from: packs))
                }
                for item in items {
                    if case .bytes(let bytes, _) = item.content { contents.append((name, bytes)) }
                }
            }
            return contents
        }
    }
}

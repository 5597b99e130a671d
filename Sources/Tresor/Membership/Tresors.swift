// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Makes, names and changes the tresors of one person.
package struct Tresors: Sendable {
    let session: Session

    var client: Client { session.client }
    var identity: Identity { session.identity }

    /// Makes a tresor with its first epoch (SPEC §9.7, `create`).
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `nameEmpty` for an empty name, and with `tresorExists` for one that
    ///   this person already gave to a tresor of their own; the errors of ``proveMarksBlocking()``, before anything is sent;
    ///   ``TresorError/cancelled`` for a task that was cancelled before, and then nothing was made.
    ///
    /// - Parameters:
    ///   - approvers: the people who approve each share of the tresor; this person cannot be one.
    ///   - isOwn: whether it is an own tresor (SPEC §19.8), of which there may be several.
    @concurrent package func create(
        _ name: Name, kind: Name = .empty, approvers: [CardChain] = [], acceptingUnverified: Bool = false,
        isOwn: Bool = false
    ) async throws(TresorError) -> LogState {
        guard !name.isEmpty else { throw .usage(.nameEmpty) }
        if !isOwn { try OwnTresors.check(name, kind) }
        let approvers = approvers.sorted { $0.user < $1.user }
        guard approvers.count <= Approver.maximumCount else { throw .usage(.tooManyApprovers) }
        guard Set(approvers.map(\.user)).count == approvers.count else { throw .usage(.namedTwice) }
        guard approvers.allSatisfy({ $0.user != identity.user }) else { throw .usage(.approver) }
        try checkPeople(approvers, acceptingUnverified: acceptingUnverified)
        for summary in isOwn ? [] : try await all() where summary.name == name {
            // Where the store withholds a log, the home still knows its founder.
            let state =
                if let state = summary.state { state } else { try client.archive.verifiedState(of: summary.tresor) }
            guard state?.founder != identity.user else { throw .usage(.tresorExists) }
        }
        let root = try Root.make(founder: identity.chain)
        let tresor = try root.tresorID()
        let keys = try EpochKeys(epoch: 1)
        let sealedName = try SealedName(name, kind: kind, under: keys.content, tresor: tresor, epoch: 1, sequence: 0)
        let body = EntryBody.genesis(
            GenesisBody(
                root: root, founder: identity.chain, approvers: approvers.map(Approver.init), sealedName: sealedName,
                epoch: try keys.statement(of: tresor, linking: [])))
        let entry = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: identity, time: client.clock(), body: body)
        _ = try Fold.state(of: [entry.bytes], tresor: tresor)
        let wrap = try Wrap(
            keys, of: tresor, for: identity.chain.newest, user: identity.user, history: .all)
        let wraps = [StoredWrap(user: identity.user, epoch: 1, bytes: wrap.bytes)]
        let change = LogChange(tresor: tresor, sequence: 0, previous: .zero, entry: entry.bytes, putting: wraps)
        try client.operation.step()
        let state = try await client.uninterrupted { () async throws(TresorError) in
            let writer = LogWriter(session: session)
            try writer.keepBeforeSending(wraps, of: tresor)
            try mark(tresor, .confirmed, true)
            do throws(TresorError) {
                return try await writer.send(entry, change, wraps: wraps)
            } catch {
                if error == .store(.full) { await forgetUnmade(tresor) }
                throw error
            }
        }
        guard let state else { throw .busy }
        return state
    }

    /// Forgets the own wrap and the mark of a tresor for which the store has no room. Each further attempt would leave
    /// others. Failing to do so is no error.
    private func forgetUnmade(_ tresor: TresorID) async {
        try? await Cores.apart { () throws(TresorError) in
            guard try client.heads()[tresor] == nil else { return }
            try client.home.exclusively { () throws(TresorError) in try client.archive.forgetAccess(to: tresor) }
            try mark(tresor, .confirmed, false)
        }
    }

    /// Returns all tresors of this person, by rising id: those that the store names, and those that this home knows.
    ///
    /// - Parameters:
    ///   - few: the tresors to which to keep; `nil` for all.
    ///   - readingStrangers: whether to read the logs of tresors that strangers offer. Nothing of them is kept, so each
    ///     call reads them again, however long they are.
    ///   - progress: takes the number of tresors whose logs are verified, of all.
    @concurrent package func all(
        among few: Set<TresorID>? = nil, readingStrangers: Bool = true, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> [TresorSummary] {
        guard few?.isEmpty != true else { return [] }
        let all = Set(try await client.store.tresors(of: identity.user)).union(try client.logs.knownBlocking())
        let summaries = await summaries(
            of: few.map(all.intersection) ?? all, readingStrangers: readingStrangers, progress)
        try Cancellation.check()
        return summaries
    }

    /// Summarizes each of these tresors, by rising id.
    @concurrent package func summaries(
        of tresors: Set<TresorID>, readingStrangers: Bool = true, _ progress: WorkDone.Report? = nil
    ) async -> [TresorSummary] {
        var summaries: [TresorSummary] = []
        for tresor in tresors.sorted() {
            summaries.append(await summary(of: tresor, readingStrangers: readingStrangers))
            progress?(WorkDone(UInt64(summaries.count), of: UInt64(tresors.count)))
        }
        return summaries
    }

    private func summary(of tresor: TresorID, readingStrangers: Bool) async -> TresorSummary {
        var state: LogState?
        var trust: Person.Trust?
        var isApart = false
        var isHidden: Bool { isApart && isHiddenBlocking(tresor) }
        do throws(TresorError) {
            if !readingStrangers, let stranger = try await client.logs.stranger(offering: tresor) {
                isApart = true
                return TresorSummary(
                    tresor: tresor, name: nil, founderTrust: try client.people.trustBlocking(in: stranger),
                    isApart: true,
                    isHidden: isHidden, stranger: stranger)
            }
            let read = try await client.logs.state(of: tresor)
            state = read
            let founder = try client.trust.founderTrust(in: read)
            trust = founder
            if isOfferedByAStranger(founder) {
                isApart = try client.heads()[tresor] == nil
            }
            let name = read.members[identity.user] == nil ? knownNameBlocking(of: tresor) : try await name(in: read)
            let isOwn = name == .own ? await OwnTresors(session: session).isOwn(read) : false
            return TresorSummary(
                tresor: tresor, state: read, name: name, founderTrust: trust, isApart: isApart, isHidden: isHidden,
                isOwn: isOwn, error: nil)
        } catch {
            let name = knownNameBlocking(of: tresor)
            let isElsewhere = error == .notFound && client.archive.otherStore(of: tresor) != nil
            return TresorSummary(
                tresor: tresor, state: state, name: name, founderTrust: trust,
                isApart: isApart, isHidden: isHidden, isElsewhere: isElsewhere, isOwn: isElsewhere && name == .own,
                error: error)
        }
    }

    private func isOfferedByAStranger(_ trust: Person.Trust) -> Bool {
        switch trust {
        case .unverified, .changed: true
        case .me, .verified, .renewed: false
        }
    }

    /// Opens the name of a tresor.
    ///
    /// - Throws: ``TresorError/noAccess`` when no key of this person opens it; ``TresorError/altered`` when it is not
    ///   what an owner sealed; ``TresorError/store(_:)`` when the store fails.
    @concurrent package func name(in state: LogState) async throws(TresorError) -> Name {
        let isKept = try client.heads()[state.tresor] != nil
        let name: Result<Name, TresorError>
        do throws(TresorError) {
            name = .success(try await nameAndKind(in: state).name)
        } catch {
            name = .failure(error)
        }
        if isKept {
            if case .success(let name) = name { await remember(name, of: state.tresor) }
            await session.keyRing.rememberOpenedWraps(in: state)
        }
        return try name.get()
    }

    /// Opens the kind of a tresor, which every member can read and the store cannot; empty when none was given.
    ///
    /// - Throws: the errors of ``name(in:)``.
    @concurrent package func kind(in state: LogState) async throws(TresorError) -> Name {
        try await nameAndKind(in: state).kind
    }

    func nameAndKind(in state: LogState) async throws(TresorError) -> (name: Name, kind: Name) {
        let record = state.name
        let keys = try await session.keyRing.keys(of: record.epoch, in: state)
        return try record.sealed.open(
            with: keys.content, tresor: state.tresor, epoch: record.epoch, sequence: record.sequence)
    }

    /// Returns the name of a tresor as this person last opened it; `nil` when the home does not know it.
    package func knownNameBlocking(of tresor: TresorID) -> Name? {
        knownNames()[tresor]
    }

    /// Remembers a name. The file is a convenience, rebuilt as tresors are opened: failing to read or write it is no
    /// error.
    func remember(_ name: Name, of tresor: TresorID) async {
        guard knownNames()[tresor] != name else { return }
        try? await Cores.apart { () throws(TresorError) in
            try client.home.exclusively { () throws(TresorError) in
                // Names that others can read are neither believed nor overwritten: their owner can still restrict the
                // file.
                _ = try client.home.read(.names)
                var names = knownNames()
                names[tresor] = name
                try client.home.replace(.names, with: try names.sealed(for: identity))
            }
        }
    }

    func knownNames() -> KnownNames {
        client.readable(.names) { (bytes) throws(TresorError) in try KnownNames(bytes, of: identity) } ?? KnownNames()
    }

    /// Whether this person hid a tresor.
    package func isHiddenBlocking(_ tresor: TresorID) -> Bool { client.marks()[tresor].isHidden }

    /// Opens the marks of the home, which proves that they can be changed (SPEC §8.5, `openMarks`).
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` when they do not open;
    ///   ``TresorError/failed(_:)`` when they cannot be read. Marks that do not open are not replaced: the person moves
    ///   the file away.
    package func proveMarksBlocking() throws(TresorError) { _ = try client.openMarks() }

    /// Hides a tresor, or shows it again.
    ///
    /// - Throws: the errors of ``proveMarksBlocking()``; ``TresorError/busy``.
    package func hideBlocking(_ tresor: TresorID, _ isHidden: Bool = true) throws(TresorError) {
        try mark(tresor, .hidden, isHidden)
    }

    /// Marks a tresor as made by this person although its log still has their old keys (SPEC §7.5, `confirmMine`). The
    /// person confirmed it.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `notFounder` for a tresor that names another founder;
    ///   ``TresorError/forked`` for one that has newer or other keys of this person; the errors of ``proveMarksBlocking()``;
    ///   ``TresorError/busy``.
    @concurrent package func confirmMine(_ state: LogState) async throws(TresorError) {
        try await Cores.apart { () throws(TresorError) in try confirmMineBlocking(state) }
    }

    /// Does what ``confirmMine(_:)`` does, on the calling thread.
    package func confirmMineBlocking(_ state: LogState) throws(TresorError) {
        guard state.founder == identity.user else { throw .usage(.notFounder) }
        if case .renewed = try client.trust.founderTrust(in: state) { throw .forked }
        try mark(state.tresor, .confirmed, true)
    }

    /// Whether this home has noted that the person made a tresor: it stays theirs under newer keys.
    package func isConfirmedBlocking(_ tresor: TresorID) -> Bool { client.marks()[tresor].contains(.confirmed) }

    package func mark(_ tresor: TresorID, _ flag: Marks.Flags, _ isSet: Bool) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            // Marks that do not open, or that others can read or change, are not overwritten.
            let present = try client.openMarks()
            var marks = present
            if isSet { marks[tresor].insert(flag) } else { marks[tresor].remove(flag) }
            guard marks != present else { return }
            try client.home.replace(.marks, with: try marks.sealed(for: identity))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The tresors of one person: making them, naming them, and acting in them.
public struct Tresors: Sendable {
    let session: Session

    var client: Client { session.client }
    var identity: Identity { session.identity }

    /// Makes a tresor and its first epoch.
    ///
    /// - Throws: ``TresorError/usage`` for an empty name, or one that a tresor of this person's own has already; what
    ///   ``proveMarks()`` throws, before anything is sent.
    @concurrent public func create(_ name: Name, kind: Name = .empty) async throws(TresorError) -> LogState {
        guard !name.isEmpty else { throw .usage }
        for summary in try await all() where summary.name == name {
            // Of a log that the store does not show the home knows whose it is.
            let state =
                if let state = summary.state { state } else { try client.archive.verifiedState(of: summary.tresor) }
            guard state?.founder != identity.user else { throw .usage }
        }
        let root = try Root.make(founder: identity.chain)
        let tresor = try root.tresorID()
        let keys = try EpochKeys(epoch: 1)
        let sealedName = try SealedName(name, kind: kind, under: keys.content, tresor: tresor, epoch: 1, sequence: 0)
        let body = EntryBody.genesis(
            root: root, founder: identity.chain, approvers: [], sealedName: sealedName,
            epoch: try keys.statement(of: tresor, linking: []))
        let entry = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: identity, time: client.clock(), body: body)
        _ = try Fold.state(of: [entry.bytes], tresor: tresor)
        let wrap = try Wrap(
            keys, of: tresor, for: identity.chain.newest, user: identity.user, history: .all)
        let wraps = [StoredWrap(user: identity.user, epoch: 1, bytes: wrap.bytes)]
        try LogWriter(session: session).keepBeforeSending(wraps, of: tresor)
        try mark(tresor, .confirmed, true)
        let outcome = try await client.store.append(
            LogChange(tresor: tresor, sequence: 0, previous: nil, entry: entry.bytes, putting: wraps))
        guard let state = try await LogWriter(session: session).confirm(entry, outcome, wraps: wraps) else {
            throw .busy
        }
        return state
    }

    /// Every tresor this person is in by the store's word or was in by the home's, each with what can be said of it; by rising id.
    @concurrent public func all() async throws(TresorError) -> [TresorSummary] {
        let offered = try await client.store.tresors(of: identity.user)
        return await summaries(of: Set(offered).union(try client.logs.known()))
    }

    /// What can be said of each of these; by rising id.
    func summaries(of tresors: Set<TresorID>) async -> [TresorSummary] {
        var summaries: [TresorSummary] = []
        for tresor in tresors.sorted() { summaries.append(await summary(of: tresor)) }
        return summaries
    }

    private func summary(of tresor: TresorID) async -> TresorSummary {
        var state: LogState?
        var trust: Person.Trust?
        var isApart = false
        var isHidden: Bool { isApart && self.isHidden(tresor) }
        do throws(TresorError) {
            let read = try await client.logs.state(of: tresor)
            state = read
            let founder = try client.trust.founderTrust(in: read)
            trust = founder
            if isOfferedByAStranger(founder) {
                isApart = try client.heads()[tresor] == nil
            }
            let name = read.members[identity.user] == nil ? knownName(of: tresor) : try await name(in: read)
            return TresorSummary(
                tresor: tresor, state: read, name: name, founderTrust: trust, isApart: isApart, isHidden: isHidden,
                error: nil)
        } catch {
            return TresorSummary(
                tresor: tresor, state: state, name: knownName(of: tresor), founderTrust: trust, isApart: isApart,
                isHidden: isHidden, error: error)
        }
    }

    private func isOfferedByAStranger(_ trust: Person.Trust) -> Bool {
        switch trust {
        case .unverified, .changed: true
        case .me, .verified, .renewed: false
        }
    }

    /// The name of a tresor.
    ///
    /// - Throws: the errors of opening the keys of its epoch; ``TresorError/altered`` when the name is not what an owner sealed.
    @concurrent public func name(in state: LogState) async throws(TresorError) -> Name {
        let isKept = try client.heads()[state.tresor] != nil
        let name: Result<Name, TresorError>
        do throws(TresorError) {
            name = .success(try await nameAndKind(in: state).name)
        } catch {
            name = .failure(error)
        }
        if isKept {
            if case .success(let name) = name { remember(name, of: state.tresor) }
            await session.keyRing.rememberOpenedWraps(in: state)
        }
        return try name.get()
    }

    /// What a tresor is said to be for; empty where nobody said it. Every member can read it, and the store cannot.
    ///
    /// - Throws: what ``name(in:)`` throws.
    @concurrent public func kind(in state: LogState) async throws(TresorError) -> Name {
        try await nameAndKind(in: state).kind
    }

    func nameAndKind(in state: LogState) async throws(TresorError) -> (name: Name, kind: Name) {
        let record = state.name
        let keys = try await session.keyRing.keys(of: record.epoch, in: state)
        return try record.sealed.open(
            with: keys.content, tresor: state.tresor, epoch: record.epoch, sequence: record.sequence)
    }

    /// What a tresor was called when this person could last open it; `nil` when the home does not know.
    public func knownName(of tresor: TresorID) -> Name? {
        knownNames()[tresor]
    }

    /// A convenience, rebuilt as tresors are opened: what cannot be read or written is no error.
    func remember(_ name: Name, of tresor: TresorID) {
        guard knownNames()[tresor] != name else { return }
        _ = try? client.home.exclusively { () throws(TresorError) in
            // Names that others can read are neither believed nor written over: their owner can still close the file.
            _ = try client.home.read(.names)
            var names = knownNames()
            names[tresor] = name
            try client.home.replace(.names, with: try names.sealed(for: identity))
        }
    }

    func knownNames() -> KnownNames {
        guard let sealed = try? client.home.read(.names) else { return KnownNames() }
        let names = try? session.namesRead.value(of: sealed) { (bytes) throws(TresorError) in
            try KnownNames(bytes, of: identity)
        }
        return names ?? KnownNames()
    }

    /// Whether a tresor is kept out of sight.
    public func isHidden(_ tresor: TresorID) -> Bool { client.marks()[tresor].isHidden }

    /// Proves that marks can be set: those that the home has open.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` when they do not open. They are then not replaced
    ///   either; the person moves the file away. ``TresorError/failed(_:)`` when they cannot be read.
    public func proveMarks() throws(TresorError) { _ = try client.openMarks() }

    /// Keeps a tresor out of sight, or shows it again.
    ///
    /// - Throws: what ``proveMarks()`` throws; ``TresorError/busy``.
    public func hide(_ tresor: TresorID, _ isHidden: Bool = true) throws(TresorError) {
        try mark(tresor, .hidden, isHidden)
    }

    /// Notes that this person made a tresor whose log still shows their old keys. They looked at it and said so.
    ///
    /// - Throws: ``TresorError/usage`` for a tresor that bears somebody else's name; ``TresorError/forked`` for one
    ///   that knows newer or other keys of this person; what ``proveMarks()`` throws; ``TresorError/busy``.
    public func confirmMine(_ state: LogState) throws(TresorError) {
        guard state.founder == identity.user else { throw .usage }
        if case .renewed = try client.trust.founderTrust(in: state) { throw .forked }
        try mark(state.tresor, .confirmed, true)
    }

    package func mark(_ tresor: TresorID, _ flag: Marks.Flags, _ isSet: Bool) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            // Marks that do not open, or that others can read or change, are not written over.
            let present = try client.openMarks()
            var marks = present
            if isSet { marks[tresor].insert(flag) } else { marks[tresor].remove(flag) }
            guard marks != present else { return }
            try client.home.replace(.marks, with: try marks.sealed(for: identity))
        }
    }
}

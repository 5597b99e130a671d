// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Finds the keys of an epoch for a member (SPEC §9.6, `keysOf`), and holds the only state of a session that changes.
///
/// The keys come from the member's own wraps and from back-links, each checked against the log. An author who withholds
/// the keys of one epoch takes away nothing older.
package actor KeyRing {
    private let client: Client
    private let identity: Identity
    /// The keys that wraps and back-links gave, each checked against the log.
    private let keys = Lockable<[TresorID: [UInt64: EpochKeys]]>([:])
    /// The wraps of this person that opened, by epoch.
    private var openedWraps: [TresorID: [UInt64: [UInt8]]] = [:]
    /// The approval keys that were released to this person.
    private var released: [TresorID: ReleasedKeys] = [:]
    /// The tresors in which this person continued although the clock is far from the log's.
    private var acceptedClocks: Set<TresorID> = []
    /// The reports of what was done besides the requested acts, not yet taken.
    private var notices: [Notice] = []

    init(client: Client, identity: Identity) {
        self.client = client
        self.identity = identity
    }

    /// Wipes the keys, as soon as the step that uses them has ended.
    nonisolated func lock() { keys.lock() }

    func add(_ notice: Notice) { notices.append(notice) }

    func takeNotices() -> [Notice] {
        defer { notices = [] }
        return notices
    }

    func acceptClock(in tresor: TresorID) { acceptedClocks.insert(tresor) }

    func acceptsClock(in tresor: TresorID) -> Bool { acceptedClocks.contains(tresor) }

    /// Returns the keys of an epoch, as far as this person may have them.
    ///
    /// - Parameter homeFirst: whether the store is asked only where the wraps of the home do not lead there.
    /// - Throws: ``TresorError/noAccess`` for a person who is no member, for epochs before a *from now* grant, or when
    ///   no wrap leads to the epoch. ``TresorError/altered`` when a wrap or back-link does not hold what the log
    ///   committed to, and nothing else leads there. ``TresorError/store(_:)`` when the store fails.
    package func keys(
        of epoch: UInt64, in state: LogState, homeFirst: Bool = false
    ) async throws(TresorError) -> EpochKeys {
        guard let member = state.members[identity.user] else { throw state.refusal(of: identity.user) }
        guard epoch >= 1, epoch <= state.epoch else { throw .noAccess }
        if case .from(let first) = member.history, epoch < first { throw .noAccess }
        if let known = try knownKeys(of: epoch, in: state, history: member.history) { return known }
        var search = KeySearch(state: state, target: epoch, history: member.history)
        // One wrap is nearly always enough, and a long tresor has many.
        let wanted: [UInt64?] = member.history == .all ? [state.epoch, nil] : [epoch]
        var kept = search
        if homeFirst { kept.add(await openableWraps(in: state, epoch: wanted.last ?? nil, askingStore: false)) }
        if let found = follow(&kept) { return found }
        search.spoiled = kept.spoiled
        for epoch in wanted {
            search.add(await openableWraps(in: state, epoch: epoch))
            if let found = follow(&search) { return found }
        }
        if let spoiled = search.spoiled { await keep(spoiled) }
        throw search.refusal ?? .noAccess
    }

    /// Opens wraps and follows their links until the epoch is reached; `nil` when none is left.
    private func follow(_ search: inout KeySearch) -> EpochKeys? {
        while true {
            while let lowest = search.takeLowest() {
                do throws(TresorError) {
                    for link in try links(of: lowest, in: search.state) {
                        keep(link, of: search.state.tresor)
                        search.reach(link)
                    }
                } catch {
                    search.refuse(error)
                }
            }
            if let found = search.found { return found }
            guard let wrap = search.takeWrap() else { return nil }
            do throws(TresorError) {
                search.reach(try open(wrap, &search))
            } catch {
                search.refuse(error)
            }
        }
    }

    /// Opens the wrap that a search took. Only one that fits counts.
    private func open(_ wrap: OwnWrap, _ search: inout KeySearch) throws(TresorError) -> EpochKeys {
        let fitting = try FittingWrap(wrap.bytes, of: wrap.epoch, in: search.state, for: identity)
        search.spend(wrap)
        let opened = try open(fitting, history: search.history, in: search.state, noting: &search.spoiled)
        // Another wrap of the epoch did not open, and that did no harm.
        if search.spoiled?.epoch == opened.epoch { search.spoiled = nil }
        return opened
    }

    /// Returns keys that this session has found before; `nil` for others.
    ///
    /// - Throws: ``TresorError/noAccess`` for epochs outside this person's history; ``TresorError/usage(_:)`` with
    ///   `locked` once the session is locked.
    nonisolated package func heldKeys(of epoch: UInt64, in state: LogState) throws(TresorError) -> EpochKeys? {
        guard let history = state.members[identity.user]?.history, history.firstEpoch <= epoch else { throw .noAccess }
        return try knownKeys(of: epoch, in: state, history: history)
    }

    nonisolated private func knownKeys(
        of epoch: UInt64, in state: LogState, history: History
    ) throws(TresorError) -> EpochKeys? {
        guard let known = try keys.unlocked()[state.tresor]?[epoch], known.opensHistory || history != .all,
            let statement = state.statement(of: epoch)
        else { return nil }
        try known.checkKeys(against: statement, of: state.tresor)
        return known
    }

    /// Reads this person's own wraps, the newest epoch first, the store's before the home's.
    ///
    /// - Parameter epoch: the epoch of the wraps; `nil` for all.
    /// - Returns: the wraps, with the first error if the store failed or gave bytes that are no wrap. The home may have
    ///   what the store withholds.
    private func ownWraps(in state: LogState, epoch: UInt64?, askingStore: Bool) async -> OwnWraps {
        var own = OwnWraps()
        do throws(TresorError) {
            let stored =
                askingStore ? try await client.store.wraps(of: identity.user, in: state.tresor, epoch: epoch) : []
            // Every answer to a request for one epoch counts as a wrap of that epoch.
            for bytes in stored { own.add(bytes, of: epoch) }
        } catch {
            (own.failure, own.refusal) = (error, error)
        }
        for kept in client.keptWraps().wraps(of: state.tresor)
        where epoch == nil || kept.epoch == epoch {
            own.wraps.append(OwnWrap(epoch: kept.epoch, bytes: kept.bytes, isKept: true))
        }
        own.wraps = own.wraps.enumerated()
            .sorted { ($1.element.epoch, $0.offset) < ($0.element.epoch, $1.offset) }.map(\.element)
        return own
    }

    /// Returns the keys in a back-link, each checked against the log. After one that does not match, none is believed.
    ///
    /// - Throws: ``TresorError/altered`` when the link does not open, or its first key is not what the log committed
    ///   to.
    func links(of keys: EpochKeys, in state: LogState) throws(TresorError) -> [EpochKeys] {
        guard let statement = state.statement(of: keys.epoch) else { throw .altered }
        guard !statement.backLink.isEmpty else { return [] }
        var links: [EpochKeys] = []
        for link in try keys.openBackLink(statement, of: state.tresor) {
            do throws(TresorError) {
                guard let statement = state.statement(of: link.epoch) else { throw .altered }
                try link.checkKeys(against: statement, of: state.tresor)
            } catch {
                guard !links.isEmpty else { throw error }
                break
            }
            links.append(link)
        }
        return links
    }

    /// Opens one of this person's wraps, from the store or the home.
    func open(
        _ bytes: [UInt8], of epoch: UInt64, in state: LogState, history: History
    ) throws(TresorError) -> EpochKeys {
        var spoiled: SpoiledWrap?
        let fitting = try FittingWrap(bytes, of: epoch, in: state, for: identity)
        return try open(fitting, history: history, in: state, noting: &spoiled)
    }

    private func open(
        _ fitting: FittingWrap, history: History, in state: LogState, noting spoiled: inout SpoiledWrap?
    ) throws(TresorError) -> EpochKeys {
        let tresor = state.tresor
        if let known = try keys(openedBy: fitting, history: history, of: tresor) { return known }
        let unwrapped =
            fitting.wrap.isWaiting
            ? try openWaiting(fitting, history: history, of: tresor, noting: &spoiled)
            : try fitting.wrap.openWrap(
                as: identity, of: tresor, statement: fitting.statement, card: fitting.card, history: history)
        keep(unwrapped, of: tresor)
        openedWraps[tresor, default: [:]][unwrapped.epoch] = fitting.bytes
        return unwrapped
    }

    /// Returns the keys of a wrap that this session has opened before; `nil` for another wrap.
    private func keys(
        openedBy fitting: FittingWrap, history: History, of tresor: TresorID
    ) throws(TresorError) -> EpochKeys? {
        let epoch = fitting.statement.number
        guard openedWraps[tresor]?[epoch] == fitting.bytes, let known = try keys.unlocked()[tresor]?[epoch],
            known.opensHistory == (history == .all)
        else { return nil }
        try known.checkKeys(against: fitting.statement, of: tresor)
        return known
    }

    private func keep(_ unwrapped: EpochKeys, of tresor: TresorID) {
        keys.update { $0[tresor, default: [:]][unwrapped.epoch] = unwrapped }
    }

    /// Whether an owner cannot reach the newest epoch: its author gave them no wrap that opens. The owner then changes
    /// the key before anything is sealed.
    ///
    /// - Throws: ``TresorError/store(_:)`` where this person began that epoch: the store withholds the wrap, and
    ///   another epoch would not help.
    func isCutOff(in state: LogState) async throws(TresorError) -> Bool {
        guard state.members[identity.user]?.role == .owner else { return false }
        do throws(TresorError) {
            _ = try await keys(of: state.epoch, in: state)
            return false
        } catch {
            guard error == .noAccess || error == .altered || error == .unsupported else { throw error }
        }
        guard let sequence = state.epochs.last?.sequence else { return false }
        let entry = try await client.logs.entries(sequence..<(sequence + 1), of: state).first
        guard let entry, try Entry(entry).author != identity.user else { throw .store(.withheld) }
        return true
    }

    /// Returns the keys to which an owner's next epoch links, by falling epoch (SPEC §9.5, `reachable`).
    ///
    /// These are the newest keys that the owner reaches, and those to which no back-link leads from there but another
    /// wrap does.
    ///
    /// - Throws: ``TresorError/store(_:)`` or ``TresorError/busy``: an epoch whose author did not see all wraps would
    ///   hide the keys behind them.
    func reachableKeys(in state: LogState) async throws(TresorError) -> [EpochKeys] {
        let own = await openableWraps(in: state, epoch: nil)
        if let failure = own.failure { throw failure }
        var heads: [EpochKeys] = []
        var search = KeySearch(state: state, target: 0, history: .all)
        search.add(own)
        while heads.count < Epoch.maximumLinkCount, let wrap = search.takeWrap() {
            guard let opened = try? open(wrap, &search) else { continue }
            heads.append(opened)
            search.reach(opened)
            while let lowest = search.takeLowest() {
                for link in (try? links(of: lowest, in: state)) ?? [] { search.reach(link) }
            }
        }
        return heads
    }
}

/// Approval (SPEC §9.11).
extension KeyRing {
    /// Reads this person's own wraps, and what opens those that were made while they waited.
    private func openableWraps(in state: LogState, epoch: UInt64?, askingStore: Bool = true) async -> OwnWraps {
        var own = await ownWraps(in: state, epoch: epoch, askingStore: askingStore)
        guard let member = state.members[identity.user], member.approvedBy != nil,
            released[state.tresor]?.sequence != member.since,
            own.wraps.contains(where: { (try? UnverifiedWrap($0.bytes))?.isWaiting == true })
        else { return own }
        do throws(TresorError) {
            released[state.tresor] = try await release(in: state, at: member.since)
        } catch {
            own.refusal = own.refusal ?? error
        }
        return own
    }

    /// Reads this person's approval.
    private func release(in state: LogState, at sequence: UInt64) async throws(TresorError) -> ReleasedKeys {
        let place = Head(sequence: sequence, hash: state.hashes[Int(sequence)])
        // The home keeps what a store may withhold later.
        let kept = try? client.archive.entry(at: place, of: state.tresor)
        let stored = kept == nil ? try await client.logs.entries(sequence..<(sequence + 1), of: state).first : nil
        guard let bytes = kept ?? stored else { throw .store(.withheld) }
        return try ReleasedKeys(approval: bytes, at: sequence, in: state, for: identity)
    }

    /// Opens a wrap that was made while this person waited. One that opens, but not with the approval of its epoch, is
    /// evidence, which the home keeps if nothing else leads to the keys.
    private func openWaiting(
        _ fitting: FittingWrap, history: History, of tresor: TresorID, noting spoiled: inout SpoiledWrap?
    ) throws(TresorError) -> EpochKeys {
        guard let released = released[tresor] else { throw .altered }
        let (wrap, statement) = (fitting.wrap, fitting.statement)
        let sealed = try wrap.sealedKeys(as: identity, of: tresor, statement: statement, card: fitting.card)
        do throws(TresorError) {
            let key = try released.key(of: statement.number)
            return try wrap.openWaiting(sealed, of: tresor, statement: statement, history: history, key: key)
        } catch {
            guard error == .altered, spoiled == nil, released.epochs.contains(statement.number) else { throw error }
            let evidence = ApprovalEvidence(
                tresor: tresor, approval: released.approval, wrap: fitting.bytes, opened: released.opened)
            spoiled = SpoiledWrap(evidence: evidence, approver: released.approver, epoch: statement.number)
            throw error
        }
    }

    /// Keeps the evidence of an approval that does not open. Failing to write it is no error.
    private func keep(_ spoiled: SpoiledWrap) async {
        let evidence = spoiled.evidence
        let name = try? await Cores.apart { [client] () throws(TresorError) in try client.logs.keep(evidence) }
        guard let name else { return }
        let deed = Notice.Deed.approvalSpoiled(by: spoiled.approver, evidence: name)
        add(Notice(tresor: evidence.tresor, deed: deed, epoch: spoiled.epoch))
    }

    /// Returns the approval keys of epochs, from the wraps of this approver.
    ///
    /// - Throws: ``TresorError/store(_:)`` with `withheld` where the store lacks a wrap; ``TresorError/altered`` for one
    ///   that does not open.
    func approvalKeys(of epochs: ClosedRange<UInt64>, in state: LogState) async throws(TresorError) -> ApprovalKeys {
        let only = epochs.count == 1 ? epochs.lowerBound : nil
        let stored = try await client.store.wraps(of: identity.user, in: state.tresor, epoch: only)
        var wraps: [UInt64: [[UInt8]]] = [:]
        for bytes in stored {
            let epoch = if let only { only } else { try UnverifiedWrap(bytes).epoch }
            wraps[epoch, default: []].append(bytes)
        }
        var keys: [ApprovalKeys.Box] = []
        for epoch in epochs { keys.append(try approvalKey(in: wraps[epoch] ?? [], of: epoch, state)) }
        return ApprovalKeys(keys)
    }

    /// Opens the first of an approver's wraps that opens.
    private func approvalKey(
        in wraps: [[UInt8]], of epoch: UInt64, _ state: LogState
    ) throws(TresorError) -> ApprovalKeys.Box {
        var refusal: TresorError?
        for bytes in wraps.prefix(Wrap.maximumCount) {
            do throws(TresorError) {
                let fitting = try FittingWrap(bytes, of: epoch, in: state, for: identity)
                let key = try fitting.wrap.openApproval(
                    as: identity, of: state.tresor, statement: fitting.statement, card: fitting.card)
                return ApprovalKeys.Box(key)
            } catch {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? .store(.withheld)
    }
}

extension KeyRing {
    /// Keeps the wraps that opened, unless another program has seen more of the log by now: this person may be out there.
    /// The file is a convenience: failing to read or write it is no error.
    package func rememberOpenedWraps(in state: LogState) async {
        guard let opened = openedWraps[state.tresor], let history = state.members[identity.user]?.history else {
            return
        }
        let present = client.keptWraps()
        let known = Set(present.wraps(of: state.tresor).map(\.epoch)).union(opened.keys)
        let linked = history == .all ? linkedEpochs(among: known, in: state) : []
        @Sendable func taking(_ wraps: KeptWraps) -> KeptWraps {
            var wraps = wraps
            wraps.take(opened, of: state.tresor, linked: linked)
            return wraps
        }
        guard taking(present) != present else { return }
        try? await Cores.apart { [client] () throws(TresorError) in
            try client.home.exclusively { () throws(TresorError) in
                let pinned = try client.heads()[state.tresor]
                guard pinned.map({ $0.sequence <= state.head.sequence }) ?? false else { return }
                try client.home.replace(.wraps, with: taking(client.keptWraps()).bytes)
            }
        }
    }

    /// Returns the epochs among some to which the links of newer ones lead whose wraps opened.
    ///
    /// An author may omit from the links an epoch that an older wrap still opens; that wrap stays.
    private func linkedEpochs(among epochs: Set<UInt64>, in state: LogState) -> Set<UInt64> {
        guard let least = epochs.min(), let keys = try? keys.unlocked()[state.tresor] else { return [] }
        var reached: Set<UInt64> = []
        for epoch in (openedWraps[state.tresor] ?? [:]).keys.sorted(by: >) where !reached.contains(epoch) {
            var waiting = [keys[epoch]].compactMap(\.self)
            while let next = waiting.popLast() {
                guard epochs.contains(where: { $0 < next.epoch && !reached.contains($0) }) else { continue }
                for link in (try? links(of: next, in: state)) ?? [] where link.epoch >= least {
                    if reached.insert(link.epoch).inserted { waiting.append(link) }
                }
            }
        }
        return reached.intersection(epochs)
    }
}

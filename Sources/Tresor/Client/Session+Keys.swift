// SPDX-License-Identifier: Apache-2.0

/// How a member comes to the keys of an epoch (SPEC §9.6, `keysOf`): by wraps of their own and by back-links, each judged by the log. An epoch whose
/// author kept its keys from somebody takes nothing older away from them.
extension Session {
    /// The keys of an epoch, as far as this person may have them.
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is no member, for epochs before a *from now* grant, or when no wrap leads to the epoch;
    ///   ``TresorError/altered`` when wrap or back-link do not hold what the log committed to, and nothing else leads there; ``TresorError/store(_:)``.
    package func keys(of epoch: UInt64, in state: LogState) async throws(TresorError) -> EpochKeys {
        guard let member = state.members[identity.user], epoch >= 1, epoch <= state.epoch else { throw .noAccess }
        if case .from(let first) = member.history, epoch < first { throw .noAccess }
        if let known = try knownKeys(of: epoch, in: state, history: member.history) { return known }
        var search = KeySearch(state: state, target: epoch, history: member.history)
        // Nearly always one wrap is enough, and a long tresor has many.
        let first = member.history == .all ? state.epoch : epoch
        search.add(await ownWraps(in: state, epoch: first))
        if let found = follow(&search) { return found }
        guard member.history == .all else { throw search.refusal ?? .noAccess }
        search.add(await ownWraps(in: state, epoch: nil))
        if let found = follow(&search) { return found }
        throw search.refusal ?? .noAccess
    }

    /// Opens wraps and follows their links until the epoch is reached; `nil` when neither is left.
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

    /// Opens what a search took, unless a wrap of that epoch was taken from the store already.
    private func open(_ wrap: OwnWrap, _ search: inout KeySearch) throws(TresorError) -> EpochKeys {
        let fitting = try fitting(wrap.bytes, of: wrap.epoch, in: search.state)
        search.spend(wrap)
        return try open(fitting, history: search.history, of: search.state.tresor)
    }

    private func knownKeys(
        of epoch: UInt64, in state: LogState, history: History
    ) throws(TresorError) -> EpochKeys? {
        guard let known = keys[state.tresor]?[epoch], known.opensHistory || history != .all,
            let statement = state.statement(of: epoch)
        else { return nil }
        try known.check(against: statement, of: state.tresor)
        return known
    }

    /// This person's own wraps, the newest epoch first, the store's before the home's.
    ///
    /// - Parameter epoch: those of one epoch; `nil` for all.
    /// - Returns: with the first error, if the store failed or gave what is no wrap: the home may have what the store does not hand out.
    private func ownWraps(in state: LogState, epoch: UInt64?) async -> OwnWraps {
        var own = OwnWraps()
        do throws(TresorError) {
            for bytes in try await client.store.wraps(of: identity.user, in: state.tresor, epoch: epoch) {
                // Where one epoch was asked for, whatever comes is an answer to that.
                own.add(bytes, of: epoch)
            }
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

    /// What the back-link yields, each key checked against the log; nothing behind one that does not hold is believed.
    ///
    /// - Throws: ``TresorError/altered`` when the link does not open, or the first key in it is not what the log committed to.
    func links(of keys: EpochKeys, in state: LogState) throws(TresorError) -> [EpochKeys] {
        guard let statement = state.statement(of: keys.epoch) else { throw .altered }
        guard !statement.backLink.isEmpty else { return [] }
        var links: [EpochKeys] = []
        for link in try keys.openBackLink(statement, of: state.tresor) {
            do throws(TresorError) {
                guard let statement = state.statement(of: link.epoch) else { throw .altered }
                try link.check(against: statement, of: state.tresor)
            } catch {
                guard !links.isEmpty else { throw error }
                break
            }
            links.append(link)
        }
        return links
    }

    /// Opens a wrap of this person's, wherever it was kept.
    func open(
        _ bytes: [UInt8], of epoch: UInt64, in state: LogState, history: History
    ) throws(TresorError) -> EpochKeys {
        try open(fitting(bytes, of: epoch, in: state), history: history, of: state.tresor)
    }

    /// What costs next to nothing to judge of a wrap (SPEC §9.6, `openWrap` steps 1 to 4).
    private func fitting(
        _ bytes: [UInt8], of epoch: UInt64, in state: LogState
    ) throws(TresorError) -> FittingWrap {
        guard let statement = state.statement(of: epoch), let chain = state.chain(of: identity.user) else {
            throw .noAccess
        }
        let wrap = try Wrap(bytes)
        guard let card = chain.card(generation: wrap.generation) else { throw .altered }
        try wrap.check(for: identity, of: state.tresor, statement: statement, card: card)
        return FittingWrap(wrap: wrap, bytes: bytes, statement: statement, card: card)
    }

    private func open(
        _ fitting: FittingWrap, history: History, of tresor: TresorID
    ) throws(TresorError) -> EpochKeys {
        let unwrapped = try fitting.wrap.open(
            as: identity, of: tresor, statement: fitting.statement, card: fitting.card, history: history)
        keep(unwrapped, of: tresor)
        openedWraps[tresor, default: [:]][unwrapped.epoch] = fitting.bytes
        return unwrapped
    }

    private func keep(_ unwrapped: EpochKeys, of tresor: TresorID) {
        keys[tresor, default: [:]][unwrapped.epoch] = unwrapped
    }

    /// Whether an owner cannot reach the newest epoch: its author gave them no wrap that opens. Before anything is sealed the owner changes the key.
    ///
    /// - Throws: ``TresorError/store(_:)`` where this person began that epoch: then it is the store that withholds the wrap, and another epoch would not help.
    func isCutOff(in state: LogState) async throws(TresorError) -> Bool {
        guard state.members[identity.user]?.role == .owner else { return false }
        do throws(TresorError) {
            _ = try await keys(of: state.epoch, in: state)
            return false
        } catch {
            guard error == .noAccess || error == .altered || error == .unsupported else { throw error }
        }
        guard let sequence = state.epochs.last?.sequence else { return false }
        let entry = try await client.entries(sequence..<(sequence + 1), of: state).first
        guard let entry, try Entry(entry).author != identity.user else { throw .store(.withheld) }
        return true
    }

    /// What an owner's next epoch links to, by falling epoch: the newest keys that the owner reaches, and those to which no back-link leads from there but
    /// another wrap does (SPEC §9.5, `reachable`).
    ///
    /// - Throws: ``TresorError/store(_:)`` or ``TresorError/busy``: an epoch whose author did not see all wraps would hide what they lead to.
    func reachableKeys(in state: LogState) async throws(TresorError) -> [EpochKeys] {
        let own = await ownWraps(in: state, epoch: nil)
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

/// A wrap of one's own, not yet judged.
private struct OwnWrap {
    let epoch: UInt64
    let bytes: [UInt8]
    /// Whether the home kept it; else it comes from the store.
    let isKept: Bool
}

/// A wrap that may be this person's of that epoch: only opening it tells.
private struct FittingWrap {
    let wrap: Wrap
    let bytes: [UInt8]
    let statement: Epoch
    let card: Card
}

/// Wraps of one person, and the first error on the way to them.
private struct OwnWraps {
    var wraps: [OwnWrap] = []
    var refusal: TresorError?
    /// Why the store gave none.
    var failure: TresorError?

    mutating func add(_ bytes: [UInt8], of epoch: UInt64?) {
        do throws(TresorError) {
            let claimed = try Wrap(bytes).epoch
            wraps.append(OwnWrap(epoch: epoch ?? claimed, bytes: bytes, isKept: false))
        } catch {
            refusal = refusal ?? error
        }
    }
}

/// What is reached, and what is still to be tried, on the way to one epoch.
private struct KeySearch {
    let state: LogState
    /// The epoch that is looked for; 0 for all there are.
    let target: UInt64
    let history: History
    /// The first error of a wrap or a link that was refused.
    var refusal: TresorError?
    private(set) var found: EpochKeys?
    private var reached: Set<UInt64> = []
    /// Reached, with a link that was not opened.
    private var unopened: [UInt64: EpochKeys] = [:]
    private var wraps: [OwnWrap] = []
    private var tried: Set<[UInt8]> = []
    /// The epochs of which the store's wrap was opened. A store that gives many of one costs one opening.
    private var spent: Set<UInt64> = []

    init(state: LogState, target: UInt64, history: History) {
        self.state = state
        self.target = target
        self.history = history
    }

    /// Takes more wraps to try.
    mutating func add(_ more: OwnWraps) {
        wraps += more.wraps.reversed()
        refusal = refusal ?? more.refusal
    }

    /// The next wrap to open: of the newest epoch that nothing has reached, the store's before the home's. Of one epoch
    /// the store's first that fits is the only one.
    mutating func takeWrap() -> OwnWrap? {
        while let wrap = wraps.popLast() {
            let isUseful = (max(target, 1)...state.epoch).contains(wrap.epoch) && !reached.contains(wrap.epoch)
            guard isUseful, wrap.isKept || !spent.contains(wrap.epoch) else { continue }
            if tried.insert(wrap.bytes).inserted { return wrap }
        }
        return nil
    }

    /// Takes no more of the store's wraps of this one's epoch.
    mutating func spend(_ wrap: OwnWrap) {
        if !wrap.isKept { spent.insert(wrap.epoch) }
    }

    mutating func reach(_ keys: EpochKeys) {
        guard reached.insert(keys.epoch).inserted else { return }
        if keys.epoch == target { found = keys }
        if keys.epoch > target, history == .all { unopened[keys.epoch] = keys }
    }

    /// The lowest epoch above the target whose link was not opened; `nil` once the target is reached.
    mutating func takeLowest() -> EpochKeys? {
        guard found == nil, let lowest = unopened.keys.min() else { return nil }
        return unopened.removeValue(forKey: lowest)
    }

    mutating func refuse(_ error: TresorError) { refusal = refusal ?? error }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// One of this person's wraps, not yet checked.
struct OwnWrap {
    let epoch: UInt64
    let bytes: [UInt8]
    /// Whether the wrap comes from the home; otherwise from the store.
    let isKept: Bool
}

/// A wrap that may be this person's for that epoch; only opening it decides.
struct FittingWrap {
    let wrap: UnverifiedWrap
    let bytes: [UInt8]
    let statement: Epoch
    let card: Card

    /// Makes the cheap checks of a wrap (SPEC §9.6, `openWrap` steps 1 to 4).
    init(_ bytes: [UInt8], of epoch: UInt64, in state: LogState, for identity: Identity) throws(TresorError) {
        guard let statement = state.statement(of: epoch), let chain = state.chain(of: identity.user) else {
            throw .noAccess
        }
        let wrap = try UnverifiedWrap(bytes)
        guard let card = chain.card(generation: wrap.generation) else { throw .altered }
        try wrap.check(for: identity, of: state.tresor, statement: statement, card: card)
        (self.wrap, self.bytes, self.statement, self.card) = (wrap, bytes, statement, card)
    }
}

/// The wraps of one person, and the first error on the way to them.
struct OwnWraps {
    var wraps: [OwnWrap] = []
    var refusal: TresorError?
    /// The reason why the store gave none.
    var failure: TresorError?

    mutating func add(_ bytes: [UInt8], of epoch: UInt64?) {
        do throws(TresorError) {
            let claimed = try UnverifiedWrap(bytes).epoch
            wraps.append(OwnWrap(epoch: epoch ?? claimed, bytes: bytes, isKept: false))
        } catch {
            refusal = refusal ?? error
        }
    }
}

/// A wrap that does not open with the approval of its epoch, and the approver.
struct SpoiledWrap {
    let evidence: ApprovalEvidence
    let approver: UserID
    let epoch: UInt64
}

/// The keys that are reached, and the wraps still to be tried, on the way to one epoch.
struct KeySearch {
    let state: LogState
    /// The wanted epoch; 0 for all.
    let target: UInt64
    let history: History
    /// The first error of a wrap or a link that was refused.
    var refusal: TresorError?
    /// The first wrap that did not open with the approval.
    var spoiled: SpoiledWrap?
    private(set) var found: EpochKeys?
    private var reached: Set<UInt64> = []
    /// The keys that were reached, and whose link was not opened.
    private var unopened: [UInt64: EpochKeys] = [:]
    private var wraps: [OwnWrap] = []
    private var tried: Set<[UInt8]> = []
    /// The number of wraps from the store that were opened, by epoch. A store that gives very many costs no more.
    private var spent: [UInt64: Int] = [:]

    init(state: LogState, target: UInt64, history: History) {
        self.state = state
        self.target = target
        self.history = history
    }

    /// Adds more wraps to try.
    mutating func add(_ more: OwnWraps) {
        wraps += more.wraps.reversed()
        refusal = refusal ?? more.refusal
    }

    /// Takes the next wrap to open: of the newest epoch that nothing has reached, the store's before the home's.
    ///
    /// Of the store's wraps for one epoch, the first that opens is used. Of those that fit, 16 are tried.
    mutating func takeWrap() -> OwnWrap? {
        while let wrap = wraps.popLast() {
            let isUseful = (max(target, 1)...state.epoch).contains(wrap.epoch) && !reached.contains(wrap.epoch)
            guard isUseful, wrap.isKept || spent[wrap.epoch, default: 0] < Wrap.maximumCount else { continue }
            if tried.insert(wrap.bytes).inserted { return wrap }
        }
        return nil
    }

    /// Counts a wrap that is opened.
    mutating func spend(_ wrap: OwnWrap) {
        if !wrap.isKept { spent[wrap.epoch, default: 0] += 1 }
    }

    mutating func reach(_ keys: EpochKeys) {
        guard reached.insert(keys.epoch).inserted else { return }
        if keys.epoch == target { found = keys }
        if keys.epoch > target, history == .all { unopened[keys.epoch] = keys }
    }

    /// Takes the lowest epoch above the target whose link was not opened; `nil` once the target is reached.
    mutating func takeLowest() -> EpochKeys? {
        guard found == nil, let lowest = unopened.keys.min() else { return nil }
        return unopened.removeValue(forKey: lowest)
    }

    mutating func refuse(_ error: TresorError) { refusal = refusal ?? error }
}

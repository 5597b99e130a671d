// SPDX-License-Identifier: Apache-2.0

/// A wrap of one's own, not yet judged.
struct OwnWrap {
    let epoch: UInt64
    let bytes: [UInt8]
    /// Whether the home kept it; else it comes from the store.
    let isKept: Bool
}

/// A wrap that may be this person's of that epoch: only opening it tells.
struct FittingWrap {
    let wrap: Wrap
    let bytes: [UInt8]
    let statement: Epoch
    let card: Card
}

/// Wraps of one person, and the first error on the way to them.
struct OwnWraps {
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
struct KeySearch {
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

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// A store that stands before an honest one and misbehaves by script. It never forgets. Several of them before one
/// honest store show each person something else.
final class EvilStore: FrontStore {
    /// The claimed result of a write, against the real one.
    enum Lie: Sendable, CaseIterable {
        case storesNothing, saysConflict, storesEntryAlone, storesTwice
    }

    typealias Log = [[UInt8]]

    private struct Script: Sendable {
        var log: @Sendable (Log) -> Log = { $0 }
        var isOnce = false
        var floods = false
        var wraps: @Sendable (Log, UserID, UInt64?) -> Log = { wraps, _, _ in wraps }
        var cardReads: [[UInt8]?] = []
        var card: @Sendable ([UInt8]) -> [UInt8]? = { $0 }
        var strangers: Log = []
        var serverShare: @Sendable ([UInt8]?) -> [UInt8]? = { $0 }
        var kitCopy: @Sendable ([UInt8]?) -> [UInt8]? = { $0 }
        var blob: @Sendable (Hash256, [UInt8]?) -> [UInt8]? = { $1 }
        var part: @Sendable (Hash256, UInt32, [UInt8]?) -> [UInt8]? = { $2 }
        var blobsOfAnswer = Int.max
        var lie: Lie?
        var keeps = false
        var interlude: (@Sendable () async -> Void)?
        var deletionInterlude: (@Sendable () async -> Void)?
        var deletesNothing = false
        var callsUntilFailure: Int?
        var failsBehind = false
        var isDown = false
        var refusedCount = 0
        var writeCount = 0
        var shownCount = 0
        var restored: Log?
        var kept: [StoredWrap] = []
        var asked: [LogChange] = []
        var halves: [LogChange] = []
        var keptServerShares: [DeviceID: [UInt8]] = [:]
    }

    private let honest: any Store
    /// The honest store behind it.
    var truth: any Store { honest }
    private let script = Mutex(Script())

    init(_ honest: any Store = StageStores.make()) { self.honest = honest }

    /// How many writes it was asked for.
    var writeCount: Int { script.withLock { $0.writeCount } }
    /// How many entries it showed.
    var shownCount: Int { script.withLock { $0.shownCount } }
    /// Takes entries that it has lost, and gives those it took.
    var restored: Log {
        get { script.withLock { $0.restored ?? [] } }
        set { script.withLock { $0.restored = newValue } }
    }
    /// Every wrap it was ever given.
    var everyWrap: [StoredWrap] { script.withLock { $0.kept } }

    /// Every change of a log it was ever asked for, made or not.
    var everyChange: [LogChange] { script.withLock { $0.asked } }

    /// Every change of which it kept the entry alone.
    var everyHalf: [LogChange] { script.withLock { $0.halves } }

    /// Honest again, though it remembers.
    func behave() {
        script.withLock {
            let before = $0
            $0 = Script()
            ($0.writeCount, $0.kept, $0.keptServerShares) = (before.writeCount, before.kept, before.keptServerShares)
            ($0.asked, $0.halves) = (before.asked, before.halves)
        }
    }

    /// Shows what `transform` makes of every log.
    func show(once: Bool = false, _ transform: @escaping @Sendable (Log) -> Log) {
        script.withLock { ($0.log, $0.isOnce) = (transform, once) }
    }

    func older(_ count: Int) { show(once: true) { Array($0.prefix(count)) } }
    func frozen(_ count: Int) { show { Array($0.prefix(count)) } }
    func fork(_ count: Int, _ entries: Log) { show { Array($0.prefix(count)) + entries } }
    func append(_ entry: [UInt8]) { show { $0 + [entry] } }
    func drop(_ index: Int) { show { log in log.indices.filter { $0 != index }.map { log[$0] } } }

    func `repeat`(_ index: Int) {
        show { log in log.indices.flatMap { $0 == index ? [log[$0], log[$0]] : [log[$0]] } }
    }

    func swap(_ left: Int, _ right: Int) {
        show { log in
            var log = log
            if log.indices.contains(left), log.indices.contains(right) { log.swapAt(left, right) }
            return log
        }
    }

    func flip(entry: Int, bit: Int) {
        show { log in
            var log = log
            if log.indices.contains(entry) { log[entry] = flipped(log[entry], bit) }
            return log
        }
    }

    func cut(entry: Int, to count: Int) {
        show { log in
            var log = log
            if log.indices.contains(entry) { log[entry] = Array(log[entry].prefix(count)) }
            return log
        }
    }

    /// Answers every question for wraps with what `transform` makes of the honest answer.
    func showWraps(_ transform: @escaping @Sendable (Log, UserID, UInt64?) -> Log) {
        script.withLock { $0.wraps = transform }
    }

    /// Invents cards that stand beside the honest ones under any handle.
    func invent(_ cards: [UInt8]...) { script.withLock { $0.strangers = cards } }

    /// Answers the next questions for a card one after another; then honestly.
    func late(_ answers: [UInt8]?...) { script.withLock { $0.cardReads = answers } }

    /// Shows what `transform` makes of every card, under any question.
    func showCards(_ transform: @escaping @Sendable ([UInt8]) -> [UInt8]?) { script.withLock { $0.card = transform } }

    func showServerShare(_ transform: @escaping @Sendable ([UInt8]?) -> [UInt8]?) {
        script.withLock { $0.serverShare = transform }
    }

    func showKitCopy(_ transform: @escaping @Sendable ([UInt8]?) -> [UInt8]?) {
        script.withLock { $0.kitCopy = transform }
    }

    /// Shows what `transform` makes of every blob.
    func showBlobs(_ transform: @escaping @Sendable (Hash256, [UInt8]?) -> [UInt8]?) {
        script.withLock { $0.blob = transform }
    }

    /// Shows what `transform` makes of every part of a blob, by its number.
    func showParts(_ transform: @escaping @Sendable (Hash256, UInt32, [UInt8]?) -> [UInt8]?) {
        script.withLock { $0.part = transform }
    }

    /// Gives at most so many blobs in one answer.
    func giveBlobs(_ count: Int) { script.withLock { $0.blobsOfAnswer = count } }

    /// Runs another client's change just before the next append.
    func beforeNextAppend(_ interlude: @escaping @Sendable () async -> Void) {
        script.withLock { $0.interlude = interlude }
    }

    /// Runs another client's change just before the next deletion of a server share or kit copy.
    func beforeNextDeletion(_ interlude: @escaping @Sendable () async -> Void) {
        script.withLock { $0.deletionInterlude = interlude }
    }

    /// Fails at each deletion of a server share or kit copy, before it does it.
    func failDeletions() { script.withLock { $0.deletesNothing = true } }

    private func deleting() async throws(TresorError) {
        let interlude = script.withLock { script in
            defer { script.deletionInterlude = nil }
            script.writeCount += 1
            return script.deletionInterlude
        }
        await interlude?()
        guard !script.withLock({ $0.deletesNothing }) else { throw .store(.inputOutput) }
    }

    func lie(_ lie: Lie?) { script.withLock { $0.lie = lie } }

    /// Answers more entries than it was asked for.
    func flood() {
        script.withLock {
            ($0.floods, $0.log) = (true, { log in log.isEmpty ? log : (0..<300).map { log[$0 % log.count] } })
        }
    }

    /// Fails at the call after so many: before it does what it is asked for, or behind that.
    func fail(after count: Int, behind: Bool) {
        script.withLock { ($0.callsUntilFailure, $0.failsBehind) = (count, behind) }
    }

    /// Fails at every call that reads or appends, until it behaves.
    func goDown() { script.withLock { $0.isDown = true } }

    /// How many calls it has failed since it went down.
    var refusedCount: Int { script.withLock { $0.refusedCount } }

    /// Passes a call on, unless it is one that fails.
    private func passing<Answer>(
        _ call: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let (fails, isBehind) = script.withLock { script in
            if script.isDown {
                script.refusedCount += 1
                return (true, false)
            }
            let fails = script.callsUntilFailure == 0
            script.callsUntilFailure = script.callsUntilFailure.flatMap { $0 > 0 ? $0 - 1 : nil }
            return (fails, script.failsBehind)
        }
        if fails, !isBehind { throw .store(.inputOutput) }
        let answer = try await call()
        if fails { throw .store(.inputOutput) }
        return answer
    }

    /// Keeps wraps and server shares that it should delete.
    func keep() { script.withLock { $0.keeps = true } }
}

extension EvilStore {
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> Log {
        let log = try await passing { () throws(TresorError) in
            try await honest.entries(of: tresor, from: 0, limit: .max)
        }
        let transform = script.withLock { script in
            defer { if script.isOnce { (script.log, script.isOnce) = ({ $0 }, false) } }
            return script.log
        }
        let shown = transform(log).dropFirst(Int(first))
        return script.withLock { script in
            let page = script.floods ? Array(shown) : Array(shown.prefix(limit))
            script.shownCount += page.count
            return page
        }
    }

    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) -> StoreOutcome {
        script.withLock { script in
            guard script.restored != nil else { return .conflict }
            script.restored?.append(entry)
            return .done
        }
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let interlude = script.withLock { script in
            defer { script.interlude = nil }
            return script.interlude
        }
        await interlude?()
        let (lie, keeps) = script.withLock { script in
            script.writeCount += 1
            script.kept += change.putting
            script.asked.append(change)
            return (script.lie, script.keeps)
        }
        let honest = honest
        let putting = lie == .storesEntryAlone ? [] : change.putting
        let removing = keeps || lie == .storesEntryAlone ? [] : change.removingWrapsOf
        // A service refuses half of a change. Its operator makes it.
        let isHalf = putting.count < change.putting.count || removing.count < change.removingWrapsOf.count
        let change = LogChange(
            tresor: change.tresor, sequence: change.sequence, previous: change.previous, entry: change.entry,
            putting: putting, removingWrapsOf: removing, blobs: lie == .storesEntryAlone ? [] : change.blobs)
        switch lie {
        case .storesNothing: return .done
        case .saysConflict:
            _ = try await honest.append(change)
            return .conflict
        case .storesTwice:
            let outcome = try await honest.append(change)
            let again = try LogChange(
                tresor: change.tresor, sequence: change.sequence + 1, after: change.entry, entry: change.entry)
            _ = try await StageStores.byHand { () async throws(TresorError) in try await honest.append(again) }
            return outcome
        case .storesEntryAlone, nil:
            let outcome = try await passing { () async throws(TresorError) -> StoreOutcome in
                guard isHalf else { return try await honest.append(change) }
                return try await StageStores.byHand { () async throws(TresorError) in try await honest.append(change) }
            }
            if lie != nil, outcome == .done { script.withLock { $0.halves.append(change) } }
            return outcome
        }
    }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        let lie = script.withLock { script in
            script.writeCount += 1
            return script.lie
        }
        if lie == .storesNothing { return .done }
        let outcome = try await honest.putCard(chain, user: user, handle: handle, replacing: replacing)
        return lie == .saysConflict ? .conflict : outcome
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        let scripted = script.withLock { $0.cardReads.isEmpty ? nil : Optional($0.cardReads.removeFirst()) }
        if let scripted { return scripted }
        let transform = script.withLock { $0.card }
        return try await passing { () throws(TresorError) in try await honest.card(of: user) }.flatMap(transform)
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> Log {
        let (scripted, transform, strangers) = script.withLock { script in
            (script.cardReads.isEmpty ? nil : Optional(script.cardReads.removeFirst()), script.card, script.strangers)
        }
        if let scripted { return scripted.map { [$0] } ?? [] }
        return try await passing { () throws(TresorError) in try await honest.cards(handle: handle) }
            .compactMap(transform) + strangers
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await passing { () throws(TresorError) in try await honest.users(prefix: prefix, limit: limit) }
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> Log {
        let transform = script.withLock { $0.wraps }
        return transform(
            try await passing { () throws(TresorError) in try await honest.wraps(of: user, in: tresor, epoch: epoch) },
            user, epoch)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        let lie = script.withLock { script in
            script.writeCount += 1
            script.kept += wraps
            return script.lie
        }
        if lie != .storesNothing { try await honest.putWraps(wraps, in: tresor) }
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await passing { () throws(TresorError) in try await honest.tresors(of: user) }
    }

    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {
        let lie = script.withLock { script in
            script.writeCount += 1
            script.keptServerShares[device] = share
            return script.lie
        }
        if lie != .storesNothing {
            try await honest.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        let (transform, kept) = script.withLock { ($0.serverShare, $0.keeps ? $0.keptServerShares[device] : nil) }
        if let kept { return transform(kept) }
        return transform(
            try await passing { () throws(TresorError) in try await honest.serverShare(user: user, device: device) })
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await deleting()
        try await honest.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        let lie = script.withLock { script in
            script.writeCount += 1
            return script.lie
        }
        if lie != .storesNothing { try await honest.putKitCopy(copy, locator: locator) }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        let transform = script.withLock { $0.kitCopy }
        return transform(try await passing { () throws(TresorError) in try await honest.kitCopy(locator: locator) })
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await deleting()
        try await honest.deleteKitCopy(locator: locator)
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        let transform = script.withLock { $0.part }
        let bytes = try await passing { () throws(TresorError) in
            try await honest.blob(hash, part: part, in: tresor)
        }
        return transform(hash, part, bytes)
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        let (transform, count) = script.withLock { ($0.blob, $0.blobsOfAnswer) }
        let blobs = try await passing { () throws(TresorError) in try await honest.blobs(hashes, in: tresor) }
        return zip(hashes, blobs).map { transform($0, $1) }.prefix(count).map { $0 }
    }
}

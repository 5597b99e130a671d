// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// A store that loses, delays and repeats appends, loses answers, shows an older log, and gives few blobs at once.
final class FickleStore: FrontStore {
    /// How it behaves.
    enum Mood: Sendable {
        /// Everything arrives at once, and is answered in full.
        case honest
        /// It gives one blob at once, and no other fault.
        case short
        /// Anything may happen to a call.
        case fickle
    }

    /// The fate of the calls of one sync.
    struct Faults: Sendable {
        /// Calls that were lost, or whose answers were.
        var lostCount = 0
        /// Older logs that were shown.
        var staleCount = 0
        /// Appends that arrive later, or twice.
        var lateCount = 0
        /// Answers without some of the blobs.
        var withheldCount = 0

        /// Whether a sync may fail or be incomplete by it.
        var areThere: Bool { lostCount + staleCount + lateCount + withheldCount > 0 }
    }

    private struct State {
        var dice: Dice
        var mood: Mood = .honest
        var faults = Faults()
        var late: [LogChange] = []

        mutating func happens(_ percent: Int, _ count: WritableKeyPath<Faults, Int>) -> Bool {
            guard mood == .fickle, Int.random(in: 0..<100, using: &dice) < percent else { return false }
            faults[keyPath: count] += 1
            return true
        }
    }

    private let honest = MemoryStore()
    var truth: any Store { honest }
    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(dice: Dice(seed: seed &* 7919))) }

    var mood: Mood {
        get { state.withLock(\.mood) }
        set { state.withLock { $0.mood = newValue } }
    }

    /// The faults since the last reading.
    func takeFaults() -> Faults {
        state.withLock { state in
            defer { state.faults = Faults() }
            return state.faults
        }
    }

    /// Delivers every append that is still under way.
    func deliverAll() async throws {
        for change in state.withLock({ $0.late }) { _ = try await honest.append(change) }
        state.withLock { $0.late = [] }
    }

    private func happens(_ percent: Int, _ count: any WritableKeyPath<Faults, Int> & Sendable) -> Bool {
        state.withLock { $0.happens(percent, count) }
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let late = state.withLock { state -> LogChange? in
            state.late.isEmpty || Bool.random(using: &state.dice) ? nil : state.late.removeFirst()
        }
        if let late { _ = try await honest.append(late) }
        if happens(25, \.lateCount) {
            state.withLock { $0.late.append(change) }
            throw .store(.unreachable)
        }
        if happens(10, \.lostCount) { throw .store(.unreachable) }
        let outcome = try await honest.append(change)
        if happens(15, \.lateCount) { state.withLock { $0.late.append(change) } }
        if happens(25, \.lostCount) { throw .store(.unreachable) }
        return outcome
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        if happens(10, \.lostCount) { throw .store(.unreachable) }
        let entries = await honest.entries(of: tresor, from: first, limit: limit)
        if happens(5, \.lostCount) { throw .store(.unreachable) }
        guard happens(15, \.staleCount) else { return entries }
        let count = state.withLock { Int.random(in: 0...min(4, entries.count), using: &$0.dice) }
        return Array(entries.dropLast(count))
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        if happens(10, \.lostCount) { throw .store(.unreachable) }
        var blobs = await honest.blobs(hashes, in: tresor)
        if happens(20, \.withheldCount) { blobs = blobs.map { _ in nil } }
        return mood == .short ? Array(blobs.prefix(1)) : happens(30, \.withheldCount) ? Array(blobs.prefix(1)) : blobs
    }
}

/// A home that stops at one of its writes, before or behind it, as a program does that is killed there. After that it
/// answers nothing.
final class StoppingHome: Home {
    /// Where it stopped.
    struct Stop: Hashable, Sendable {
        /// The kind of the object.
        let object: String
        /// Whether the object was deleted, not written.
        let isDeletion: Bool
        /// Whether the write was done.
        let isBehind: Bool
    }

    private struct State {
        /// The writes until it stops, each counted before and behind; `nil` for never.
        var left: Int?
        var stop: Stop?
        /// Packs and volumes that were written, and are not durable yet.
        var held: [HomeObject: [UInt8]] = [:]
    }

    let base: MemoryHome
    private let holdsPacks: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - point: the point at which it stops: two for each write; `nil` for never.
    ///   - holdsPacks: whether packs and volumes become durable in ``stopNoMore()`` alone, as if a program went on without
    ///     waiting for that.
    init(_ base: MemoryHome, stoppingAt point: Int? = nil, holdingPacks holdsPacks: Bool = false) {
        self.base = base
        self.holdsPacks = holdsPacks
        state = Mutex(State(left: point))
    }

    /// Writes everything from now on, if it did not stop yet.
    func stopNoMore() {
        let held = state.withLock { state in
            state.left = nil
            defer { state.held = [:] }
            return state.stop == nil ? state.held : [:]
        }
        for (object, bytes) in held { try? base.replace(object, with: bytes) }
    }

    /// Where it stopped; `nil` for not yet.
    var stop: Stop? { state.withLock(\.stop) }

    private func pass(_ object: HomeObject, isDeletion: Bool, isBehind: Bool) throws(TresorError) {
        let goesOn = state.withLock { state in
            guard state.stop == nil else { return false }
            guard let left = state.left else { return true }
            state.left = left - 1
            if left == 0 { state.stop = Stop(object: object.family, isDeletion: isDeletion, isBehind: isBehind) }
            return left > 0
        }
        guard goesOn else { throw .failed(.inputOutput) }
    }

    private func read() throws(TresorError) { if stop != nil { throw .failed(.inputOutput) } }

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        try read()
        return state.withLock { $0.held[object] } ?? base.read(object)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try pass(object, isDeletion: false, isBehind: false)
        if holdsPacks, ["records", "volume"].contains(object.family) {
            state.withLock { $0.held[object] = bytes }
        } else {
            try base.replace(object, with: bytes)
        }
        try pass(object, isDeletion: false, isBehind: true)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        try read()
        return try base.readSecret(object)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try pass(object, isDeletion: false, isBehind: false)
        try base.replace(object, withSecret: bytes)
        try pass(object, isDeletion: false, isBehind: true)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        try pass(object, isDeletion: true, isBehind: false)
        state.withLock { $0.held[object] = nil }
        base.delete(object)
        try pass(object, isDeletion: true, isBehind: true)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try read()
        return try base.exclusively(body)
    }

    func slotLock() throws(TresorError) -> SlotLock? {
        try read()
        return base.slotLock()
    }
}

extension HomeObject {
    /// A word for the objects that are written alike.
    fileprivate var family: String {
        switch kind {
        case .log: "log"
        case .state: "state"
        case .records: "records"
        case .volume: "volume"
        case .outbox: "outbox"
        case .unsent: "unsent"
        case .evidence: "evidence"
        default: name
        }
    }
}

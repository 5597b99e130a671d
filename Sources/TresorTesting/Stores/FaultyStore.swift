// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TresorCore
public import TresorCrypto
public import TresorStore

/// A store in front of another one. It notes every call, and fails or loses those that a test chooses.
///
/// ```swift
/// let store = FaultyStore()
/// let client = Client(home: MemoryHome(), store: store, clock: FixedClock().read)
/// store.fail(after: 3, by: .refusing(.store(.full)))        // three more calls succeed, the fourth does not
/// ```
///
/// A closure sees each call before it is sent. It can count, log and delay calls, and choose their fate:
///
/// ```swift
/// let slow = FaultyStore(store) { call in
///     try? await Task.sleep(for: .milliseconds(200))
///     return call.isWrite ? .refusing(.busy) : nil
/// }
/// ```
public final class FaultyStore: Store, ForwardingStore {
    /// The fate of a call.
    public enum Fault: Hashable, Sendable {
        /// The call throws this error and does nothing.
        case refusing(TresorError)
        /// The call is done, but its answer is lost: it throws this error.
        case losingAnswer(TresorError)
        /// A write is confirmed and not done. A read is answered.
        case losingWrite
    }

    private struct State {
        var calls: [StoreCall] = []
        var faults: [Int: Fault] = [:]
        var lasting: (first: Int, fault: Fault)?
    }

    /// The store that keeps the objects.
    package let base: any Store
    private let choose: @Sendable (StoreCall) async -> Fault?
    private let state = Mutex(State())

    /// Makes a store in front of `base`, without a fault of its own.
    ///
    /// - Parameters:
    ///   - base: the store that keeps the objects.
    ///   - choose: chooses the fate of each call before it is sent, unless ``fail(after:by:isLasting:)`` chose it;
    ///     `nil` sends it.
    public init(
        _ base: any Store = MemoryStore(),
        choosing choose: @escaping @Sendable (StoreCall) async -> Fault? = { _ in nil }
    ) {
        self.base = base
        self.choose = choose
    }

    /// The calls so far, in the order of their arrival, those that failed included.
    public var calls: [StoreCall] { state.withLock { $0.calls } }

    /// Chooses the fate of one call, or of all calls from one on.
    ///
    /// - Parameters:
    ///   - count: the number of calls from now on that come before it; 0 for the next call.
    ///   - fault: the fate.
    ///   - isLasting: whether all later calls have the same fate, until ``heal()``.
    public func fail(after count: Int = 0, by fault: Fault, isLasting: Bool = false) {
        state.withLock { state in
            let index = state.calls.count + max(0, count)
            if isLasting { state.lasting = (index, fault) } else { state.faults[index] = fault }
        }
    }

    /// Removes all faults that have not come yet.
    public func heal() {
        state.withLock { state in
            state.faults = [:]
            state.lasting = nil
        }
    }

    package func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(base) }

    /// Notes the call, and lets it meet its fate.
    package func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        switch await fate(of: StoreCall(function)) {
        case .refusing(let error)?: throw error
        case .losingAnswer(let error)?:
            _ = try await call(base)
            throw error
        case .losingWrite?:
            guard let done else { return try await call(base) }
            return done
        case nil: return try await call(base)
        }
    }

    private func fate(of call: StoreCall) async -> Fault? {
        let chosen = state.withLock { state in
            let index = state.calls.count
            state.calls.append(call)
            if let fault = state.faults.removeValue(forKey: index) { return fault as Fault? }
            guard let lasting = state.lasting, index >= lasting.first else { return nil }
            return lasting.fault
        }
        let own = await choose(call)
        return chosen ?? own
    }
}

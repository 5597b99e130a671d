// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto
import Synchronization
public import TresorCore
public import TresorStore

/// A store that notes every call, and fails or loses those that a test chooses.
///
/// ```swift
/// let store = FaultyStore()
/// let client = Client(home: MemoryHome(), store: store, clock: FixedClock().read)
/// store.fail(after: 3, by: .refusing(.store(.full)))        // three more calls succeed, the fourth does not
/// ```
public final class FaultyStore: ForwardingStore {
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
    public let base: any Store
    private let state = Mutex(State())

    /// Makes a store without a fault in front of `base`.
    public init(_ base: any Store = MemoryStore()) { self.base = base }

    /// The calls so far, in the order of their arrival, those that failed included.
    public var calls: [StoreCall] { state.withLock { $0.calls } }

    /// Chooses the fate of one call.
    ///
    /// - Parameter count: the number of calls from now on that come before it; 0 for the next call.
    public func fail(after count: Int = 0, by fault: Fault) {
        state.withLock { $0.faults[$0.calls.count + max(0, count)] = fault }
    }

    /// Chooses the fate of all calls after the next `count`, until ``heal()``.
    public func failLastingly(after count: Int = 0, by fault: Fault) {
        state.withLock { $0.lasting = ($0.calls.count + max(0, count), fault) }
    }

    /// Removes all faults that have not come yet.
    public func heal() {
        state.withLock { state in
            state.faults = [:]
            state.lasting = nil
        }
    }

    /// Notes the call, and lets it meet its fate.
    public func passing<Answer: Sendable>(
        _ call: StoreCall, acknowledging answer: Answer?, _ send: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        switch fate(of: call) {
        case .refusing(let error)?: throw error
        case .losingAnswer(let error)?:
            _ = try await send()
            throw error
        case .losingWrite?:
            guard let answer else { return try await send() }
            return answer
        case nil: return try await send()
        }
    }

    private func fate(of call: StoreCall) -> Fault? {
        state.withLock { state in
            let index = state.calls.count
            state.calls.append(call)
            if let fault = state.faults.removeValue(forKey: index) { return fault }
            guard let lasting = state.lasting, index >= lasting.first else { return nil }
            return lasting.fault
        }
    }
}

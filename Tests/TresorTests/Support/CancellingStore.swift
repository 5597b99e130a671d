// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// A store that cancels a task at one of the calls that it gets, and counts the writes. It loses its connection in a task
/// that was cancelled, as a network does.
final class CancellingStore: FrontStore {
    private struct Script: Sendable {
        var calls = 0
        var writes = 0
        var place: Int?
        var cancel: (@Sendable () -> Void)?
    }

    let truth: any Store
    private let script = Mutex(Script())

    init(_ store: any Store = StageStores.make()) { truth = store }

    /// How many writes it was asked for.
    var writes: Int { script.withLock { $0.writes } }

    /// Whether the call at which it cancels has come.
    var hasCancelled: Bool { script.withLock { $0.place != nil && $0.cancel == nil } }

    /// Calls `cancel` at a call from now on; the next one is 0.
    func cancel(at place: Int, _ cancel: @escaping @Sendable () -> Void) {
        script.withLock { ($0.calls, $0.place, $0.cancel) = (0, place, cancel) }
    }

    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let cancel = script.withLock { script -> (@Sendable () -> Void)? in
            if function.isWrite { script.writes += 1 }
            defer { script.calls += 1 }
            guard script.calls == script.place else { return nil }
            return script.cancel.take()
        }
        cancel?()
        guard !Task.isCancelled else { throw .store(.inputOutput) }
        return try await call(truth)
    }
}

/// A store that cancels the task of one of the calls that it gets; not inside of steps that no cancellation ends.
struct CallCancellation {
    let store: FaultyStore
    private let calls: CallCounts
    private let place: Int

    /// - Parameter place: the number of calls that come before it.
    init(of store: any Store, at place: Int) {
        let calls = CallCounts()
        self.store = FaultyStore(store) { _ in
            guard !Cancellation.isIgnored else { return nil }
            calls.count("call")
            if calls.counts["call"] == place + 1 { withUnsafeCurrentTask { $0?.cancel() } }
            return nil
        }
        (self.calls, self.place) = (calls, place)
    }

    /// Whether the call has come.
    var hasCome: Bool { calls.counts["call", default: 0] > place }
}

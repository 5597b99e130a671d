// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization

    /// Hands hints to everybody in this process who listens.
    package final class HintBoard: Sendable {
        private struct State {
            var next: UInt64 = 0
            var listeners: [UInt64: AsyncStream<[UInt8]>.Continuation] = [:]
            var isClosed = false
        }

        /// The maximum number of hints that wait for one listener. One that is slower loses the oldest.
        private static let waitingCount = 4096

        private let state = Mutex(State())

        package init() {}

        /// Returns the hints from now on.
        package func hints() -> AsyncStream<[UInt8]> {
            AsyncStream(bufferingPolicy: .bufferingNewest(Self.waitingCount)) { continuation in
                let number = state.withLock { state -> UInt64? in
                    guard !state.isClosed else { return nil }
                    state.next += 1
                    state.listeners[state.next] = continuation
                    return state.next
                }
                guard let number else { return continuation.finish() }
                continuation.onTermination = { [weak self] _ in
                    _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
                }
            }
        }

        /// Hands a hint to all who listen.
        package func post(_ hint: [UInt8]) {
            let listeners = state.withLock { Array($0.listeners.values) }
            for listener in listeners { listener.yield(hint) }
        }

        /// Ends all streams.
        package func close() {
            let listeners = state.withLock { state in
                state.isClosed = true
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.finish() }
        }
    }
#endif

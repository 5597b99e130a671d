// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization

    /// Whether a database can be reached, and the reason if it cannot: no value of a statement stands there, and no
    /// password, not even one in a badly written address.
    package final class Outage: Sendable {
        private struct State {
            var reason: String?
            var tell: @Sendable (String?) -> Void = { _ in }
        }

        private let state = Mutex(State())

        package init() {}

        /// The reason why the database was not reached last; `nil` if it was.
        package var reason: String? { state.withLock { $0.reason } }

        /// Has somebody told when the database is reached no more, with the reason, and when it is again, with `nil`.
        package func onChange(_ tell: @escaping @Sendable (String?) -> Void) { state.withLock { $0.tell = tell } }

        /// Notes whether the database was reached. Of several reasons in an outage, the first is told.
        ///
        /// - Parameter reason: why it was not, in words for the operator; `nil` if it was.
        package func note(_ reason: String?) {
            let tell = state.withLock { state in
                defer { state.reason = reason }
                return (state.reason == nil) == (reason == nil) ? nil : state.tell
            }
            tell?(reason)
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// Values that have held of people in this process: a few for each of them.
    ///
    /// The value that was not seen for longest is forgotten first. Nobody has more than a share, so that one account pushes nothing of
    /// others out, however much it brings.
    final class Held<Value: Equatable & Sendable>: Sendable {
        private struct State {
            var recent: [UserID: [Value]] = [:]
            var earlier: [UserID: [Value]] = [:]
            /// The number of recent values.
            var count = 0
        }

        /// The number of values of one person in each half.
        private let share: Int
        /// Half of the values that are kept.
        private let halfCount: Int
        private let state = Mutex(State())

        init(share: Int = 16, halfCount: Int = 25_000) {
            self.share = share
            self.halfCount = halfCount
        }

        /// Whether a value is kept that is wanted.
        func contains(of user: UserID, where isWanted: (Value) -> Bool) -> Bool {
            newest(of: user, where: isWanted) != nil
        }

        /// The newest value of a person that is wanted; `nil` for none.
        func newest(of user: UserID, where isWanted: (Value) -> Bool) -> Value? {
            state.withLock { state in
                state.recent[user]?.last(where: isWanted) ?? state.earlier[user]?.last(where: isWanted)
            }
        }

        /// Keeps a value that has held, as the newest of its person.
        func keep(_ value: Value, of user: UserID) {
            state.withLock { state in
                if state.count >= halfCount { state = State(earlier: state.recent) }
                var values = state.recent[user, default: []]
                state.count -= values.count
                values.removeAll { $0 == value }
                if values.count >= share { values.removeFirst() }
                values.append(value)
                state.count += values.count
                state.recent[user] = values
            }
        }

        /// Forgets the values that have failed.
        func forget(of user: UserID, where hasFailed: (Value) -> Bool) {
            state.withLock { state in
                state.count -= Self.remove(of: user, from: &state.recent, where: hasFailed)
                _ = Self.remove(of: user, from: &state.earlier, where: hasFailed)
            }
        }

        /// Removes values, and a person without any. Returns the number of values that went.
        private static func remove(
            of user: UserID, from values: inout [UserID: [Value]], where hasFailed: (Value) -> Bool
        ) -> Int {
            let before = values[user, default: []]
            let after = before.filter { !hasFailed($0) }
            values[user] = after.isEmpty ? nil : after
            return before.count - after.count
        }
    }
#endif

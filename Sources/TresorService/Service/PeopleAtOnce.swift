// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// The people of whom something runs, once for each.
    final class PeopleAtOnce: Sendable {
        private let people = Mutex<Set<UserID>>([])

        /// - Returns: `false` for a person of whom it runs already.
        func begin(_ user: UserID) -> Bool { people.withLock { $0.insert(user).inserted } }

        func end(_ user: UserID) { people.withLock { _ = $0.remove(user) } }
    }
#endif

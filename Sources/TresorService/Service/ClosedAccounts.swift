// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The accounts that the file of revocations closes. A database from a backup of before they were made has no row to
    /// close, so that without these anybody of them could register again (SPEC §18.7).
    final class ClosedAccounts: Sendable {
        private let users = Mutex<Set<UserID>>([])

        /// Notes the accounts that revocations close.
        func note(_ revocations: [Revocation]) {
            users.withLock { users in
                for case .account(let user) in revocations { users.insert(user) }
            }
        }

        /// True if the file closes the account of a user.
        func contains(_ user: UserID) -> Bool { users.withLock { $0.contains(user) } }
    }
#endif

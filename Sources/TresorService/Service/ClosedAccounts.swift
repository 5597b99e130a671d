// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The accounts that the file of revocations closes. A database from a backup of before they were made has no row to
    /// close, so that without these anybody of them could get an account again, and anybody else their handles (SPEC
    /// §18.7).
    final class ClosedAccounts: Sendable {
        private struct State {
            var users: Set<UserID> = []
            /// The hashes of the handles.
            var handles: Set<Hash256> = []
        }

        /// The id of the service.
        private let server: Hash256
        private let state = Mutex(State())

        init(at server: Hash256) { self.server = server }

        /// Notes the accounts that revocations close.
        func note(_ revocations: [Revocation]) {
            state.withLock { state in
                for case .account(let user, let handle) in revocations {
                    state.users.insert(user)
                    state.handles.insert(handle)
                }
            }
        }

        /// True if the file closes the account of a user.
        func contains(_ user: UserID) -> Bool { state.withLock { $0.users.contains(user) } }

        /// Refuses an account to people whose accounts the file closes, and to others under the handles of those.
        ///
        /// - Throws: ``TresorError/noAccess`` for a closed account; ``TresorError/unverified`` for the handle of one.
        func check(_ chain: CardChain) throws(TresorError) {
            guard !contains(chain.user) else { throw .noAccess }
            let handle = try Revocation.hash(of: chain.handle, at: server)
            guard !state.withLock({ $0.handles.contains(handle) }) else { throw .unverified }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

extension CardStore {
    /// Returns what the store shows as the chain of a user, or `nil`.
    package func shownChain(of user: UserID) async throws(TresorError) -> UnverifiedChain? {
        try await card(of: user).map { UnverifiedChain($0) }
    }

    /// Returns what the store shows as the chains under a handle.
    package func shownChains(under handle: Name) async throws(TresorError) -> [UnverifiedChain] {
        try await cards(handle: handle.bytes).map { UnverifiedChain($0) }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The bytes that a store shows as the chain of a person. Whose chain it is, and whether it is one, is a claim.
package struct UnverifiedChain: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the chain, if it is that of a user.
    ///
    /// - Throws: ``TresorError/altered``, also for the chain of somebody else; ``TresorError/unsupported``.
    package func chain(of user: UserID) throws(TresorError) -> CardChain {
        let chain = try CardChain(bytes)
        guard chain.user == user else { throw .altered }
        return chain
    }

    /// Returns the chain, if it has a handle.
    ///
    /// - Throws: ``TresorError/altered``, also for a chain with another handle; ``TresorError/unsupported``.
    package func chain(under handle: Name) throws(TresorError) -> CardChain {
        let chain = try CardChain(bytes)
        guard chain.handle == handle else { throw .altered }
        return chain
    }

    /// Returns the chain, if every card of a known one is in it at the same place; else `nil`.
    package func chain(extending known: CardChain) -> CardChain? {
        guard let chain = try? CardChain(bytes), chain.extends(known) else { return nil }
        return chain
    }
}

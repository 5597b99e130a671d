// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The words of the newest card in a chain, with no signature checked. They prove nothing.
///
/// A service first lets the key that is named here verify what its speaker signed. Only then it takes the work of a
/// ``CardChain``, which has two signatures for each of 256 cards.
package struct CardClaim: Hashable, Sendable {
    /// The user id by the first card.
    package let user: UserID
    package let generation: UInt32
    /// The Ed25519 public key.
    package let signingKey: Hash256

    /// Reads concatenated cards up to the last.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` for bytes that have not the form of a chain.
    package init(newestIn chain: [UInt8]) throws(TresorError) {
        guard chain.count <= CardChain.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(chain)
        var claim: (generation: UInt32, key: Hash256)
        var firstByteCount: Int?
        repeat {
            try decoder.preamble(.card)
            _ = try decoder.vector16(1...Name.maximumByteCount)
            claim.generation = try decoder.integer()
            _ = try decoder.digest()
            _ = try decoder.raw(Hash256.byteCount)
            claim.key = try decoder.digest()
            _ = try decoder.raw(XWing.publicKeyByteCount)
            _ = try decoder.time()
            _ = try decoder.raw((claim.generation == 0 ? 1 : 2) * Ed25519.signatureByteCount)
            firstByteCount = firstByteCount ?? decoder.offset
        } while decoder.remaining > 0
        user = UserID(try BLAKE2b.hash(.userID, Array(chain.prefix(firstByteCount ?? 0))))
        generation = claim.generation
        signingKey = claim.key
    }
}

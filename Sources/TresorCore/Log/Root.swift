// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The root of a tresor, whose hash is the tresor id (SPEC §9.1):
/// `u8 suite ‖ founder's user id ‖ hash of the founder's card ‖ 32 random bytes`.
package struct Root: Hashable, Sendable {
    /// The founder. Every proof in the tresor begins with their identity.
    package let founder: UserID
    /// The hash of the founder's newest card at the creation of the tresor.
    package let cardHash: Hash256
    package let random: Hash256

    package static func make(founder: CardChain) throws(TresorError) -> Root {
        guard let random = Hash256(try randomBytes(Hash256.byteCount)) else { throw .failed(.other) }
        return Root(founder: founder.user, cardHash: founder.newest.hash, random: random)
    }

    package init(founder: UserID, cardHash: Hash256, random: Hash256) {
        self.founder = founder
        self.cardHash = cardHash
        self.random = random
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.suite()
        founder = UserID(try decoder.digest())
        cardHash = try decoder.digest()
        random = try decoder.digest()
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.integer(Format.suite)
        encoder.digest(founder.digest)
        encoder.digest(cardHash)
        encoder.digest(random)
        return encoder.bytes
    }

    /// `H("tresor/v1/tresor-id", root)`.
    package func tresorID() throws(TresorError) -> TresorID {
        TresorID(try BLAKE2b.hash(.tresorID, bytes))
    }
}

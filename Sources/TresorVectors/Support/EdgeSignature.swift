// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// Signatures that hold by the equation, and that SPEC §5.2 refuses.
enum EdgeSignature {
    /// L, least significant byte first.
    private static let order: Bytes =
        [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
        ] + zeros(15) + [0x10]

    /// The same signature with S + L.
    static func addingOrder(_ signature: Bytes) -> Bytes {
        var carry = 0
        let sum = zip(signature[32...], order).map { left, right in
            let sum = Int(left) + Int(right) + carry
            carry = sum >> 8
            return UInt8(truncatingIfNeeded: sum)
        }
        return Bytes(signature[..<32]) + sum
    }

    private static let neutral: Bytes = [1] + zeros(31)

    private static func challenge(_ point: Bytes, _ key: Bytes, _ message: Bytes) -> Bytes {
        var wide = zeros(64)
        let input = point + key + message
        crypto_hash_sha512(&wide, input, UInt64(input.count))
        var reduced = zeros(32)
        crypto_core_ed25519_scalar_reduce(&reduced, wide)
        return reduced
    }

    /// R = the neutral point, S = h·a: S·B − h·A is neutral.
    static func neutralR(_ pair: SigningPair, _ message: Bytes) -> Bytes {
        var digest = zeros(64)
        crypto_hash_sha512(&digest, pair.seed, 32)
        digest[0] &= 248
        digest[31] = digest[31] & 127 | 64
        var scalar = zeros(32)
        crypto_core_ed25519_scalar_reduce(&scalar, digest.at(0, 32) + zeros(32))
        var product = zeros(32)
        crypto_core_ed25519_scalar_mul(&product, challenge(neutral, pair.publicKey, message), scalar)
        return neutral + product
    }

    /// A signature that holds under a key of the neutral point, whatever the message: R = S·B.
    static func forNeutralKey(_ scalar: Bytes) -> Bytes {
        var reduced = zeros(32)
        crypto_core_ed25519_scalar_reduce(&reduced, scalar + zeros(32))
        var point = zeros(32)
        precondition(crypto_scalarmult_ed25519_base_noclamp(&point, reduced) == 0)
        return point + reduced
    }
}

/// Cards that a thief could make.
enum ForgedCards {
    /// Generation g + 1 of somebody, with keys of its maker and without the succession of the present card.
    static func successor(of person: Person, signedBy forger: Person) -> Bytes {
        let body = Person.body(
            handle: person.handle, generation: person.generation + 1, user: person.user, previous: person.newest.hash,
            signingKey: forger.newest.signing.publicKey, kemKey: forger.newest.kemKey, time: 1_767_400_000)
        return body + forger.sign("tresor/v1/card-signature", body) + forger.sign("tresor/v1/card-succession", body)
    }
}

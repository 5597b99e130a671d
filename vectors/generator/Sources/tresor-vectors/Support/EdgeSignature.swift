// SPDX-License-Identifier: Apache-2.0

import Csodium

/// Signatures that satisfy the equation and that SPEC §5.2 refuses.
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

    /// A point of order eight.
    private static let torsion: Bytes = [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20,
        0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ]

    private static func reduced(_ bytes: Bytes) -> Bytes {
        var scalar = zeros(32)
        crypto_core_ed25519_scalar_reduce(&scalar, bytes + zeros(32))
        return scalar
    }

    private static func point(_ scalar: Bytes, displaced: Bool) -> Bytes {
        var point = zeros(32)
        precondition(crypto_scalarmult_ed25519_base_noclamp(&point, scalar) == 0)
        guard displaced else { return point }
        var sum = zeros(32)
        precondition(crypto_core_ed25519_add(&sum, point, torsion) == 0)
        return sum
    }

    /// A = a·B, displaced by a point of order eight or not; R = r·B likewise; S = r + h·a. S·B − h·A − R is −h·T, −T or
    /// both: neutral times eight, and by itself only where h·T is.
    static func displaced(
        key a: Bytes, _ keyIsDisplaced: Bool, nonce r: Bytes, _ nonceIsDisplaced: Bool, _ message: Bytes
    ) -> (key: Bytes, signature: Bytes, isNeutral: Bool) {
        let (a, r) = (reduced(a), reduced(r))
        let (key, first) = (point(a, displaced: keyIsDisplaced), point(r, displaced: nonceIsDisplaced))
        let h = challenge(first, key, message)
        var product = zeros(32)
        crypto_core_ed25519_scalar_mul(&product, h, a)
        var sum = zeros(32)
        crypto_core_ed25519_scalar_add(&sum, r, product)
        return (key, first + sum, !nonceIsDisplaced && (!keyIsDisplaced || h[0] & 7 == 0))
    }

    /// A signature that is valid under a key of the neutral point for every message: R = S·B.
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
    /// Makes generation g + 1 of a person, with keys of its maker and without the succession of the present card.
    static func successor(of person: Person, signedBy forger: Person) -> Bytes {
        let body = Person.body(
            handle: person.handle, generation: person.generation + 1, user: person.user, previous: person.newest.hash,
            signingKey: forger.newest.signing.publicKey, kemKey: forger.newest.kemKey, time: 1_767_400_000)
        return body + forger.sign("tresor/v1/card-signature", body) + forger.sign("tresor/v1/card-succession", body)
    }
}

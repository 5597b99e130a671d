// SPDX-License-Identifier: Apache-2.0

import Csodium
import Crypto

/// The group and the function of SPEC §20.2, by the library alone.
enum Ristretto {
    private static let suite = ascii("OPRFV1-") + [0] + ascii("-ristretto255-SHA512")

    static func multiply(_ element: Bytes, by scalar: Bytes) -> Bytes {
        var product = zeros(32)
        precondition(crypto_scalarmult_ristretto255(&product, scalar, element) == 0)
        return product
    }

    static func publicKey(_ scalar: Bytes) -> Bytes {
        var product = zeros(32)
        precondition(crypto_scalarmult_ristretto255_base(&product, scalar) == 0)
        return product
    }

    static func inverse(_ scalar: Bytes) -> Bytes {
        var inverse = zeros(32)
        precondition(crypto_core_ristretto255_scalar_invert(&inverse, scalar) == 0)
        return inverse
    }

    /// 64 drawn bytes as a scalar.
    static func scalar(_ bytes: Bytes) -> Bytes {
        var scalar = zeros(32)
        crypto_core_ristretto255_scalar_reduce(&scalar, bytes)
        return scalar
    }

    /// The element of the input of the function.
    static func element(of input: Bytes) -> Bytes {
        var element = zeros(32)
        precondition(
            crypto_core_ristretto255_from_hash(&element, expand(input, ascii("HashToGroup-") + suite)) == 0)
        return element
    }

    static func deriveKey(_ seed: Bytes, _ info: String) -> Bytes {
        let key = scalar(
            expand(join(seed, u16(info.utf8.count), ascii(info), [0]), ascii("DeriveKeyPair") + suite))
        precondition(key != zeros(32))
        return key
    }

    private static func expand(_ message: Bytes, _ domain: Bytes) -> Bytes {
        let end = domain + u8(UInt8(domain.count))
        let first = sha512(join(zeros(128), message, u16(64), [0], end))
        return sha512(join(first, [1], end))
    }
}

func sha512(_ bytes: Bytes) -> Bytes { Bytes(Crypto.SHA512.hash(data: bytes)) }

func hmacSHA512(_ key: Bytes, _ bytes: Bytes) -> Bytes {
    Bytes(HMAC<Crypto.SHA512>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
}

/// HKDF-Expand of RFC 5869 with SHA-512.
func expandSHA512(_ key: Bytes, _ info: Bytes, _ count: Int) -> Bytes {
    HKDF<Crypto.SHA512>.expand(pseudoRandomKey: key, info: info, outputByteCount: count).withUnsafeBytes { Bytes($0) }
}

// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// The group ristretto255 (RFC 9496), in which a service has its key pair (SPEC §18.1).
package enum Ristretto255 {
    /// The size of an element and of a scalar in bytes: 32.
    package static let byteCount = 32

    /// Draws a scalar that is not zero: 32 bytes, little-endian, below the order of the group.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func randomScalar() throws(TresorError) -> SecretBytes {
        let scalar = try SecretBytes(count: byteCount)
        try unsafe scalar.withMutablePointer { (pointer) throws(TresorError) in
            unsafe crypto_core_ristretto255_scalar_random(pointer)
        }
        return scalar
    }

    /// Multiplies the generator by a scalar: the canonical encoding of the product.
    ///
    /// - Parameter scalar: 32 bytes, little-endian, below the order of the group.
    /// - Throws: ``TresorError/altered`` for another size, and for the identity as the product.
    package static func multiplyGenerator(by scalar: borrowing SecretBytes) throws(TresorError) -> Hash256 {
        guard scalar.count == byteCount else { throw .altered }
        var product = [UInt8](repeating: 0, count: byteCount)
        try unsafe scalar.withMutablePointer { (pointer) throws(TresorError) in
            guard unsafe crypto_scalarmult_ristretto255_base(&product, pointer) == 0 else { throw .altered }
        }
        guard let product = Hash256(product) else { throw .failed(.library) }
        return product
    }
}

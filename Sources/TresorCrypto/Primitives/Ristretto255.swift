// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// The group ristretto255 (RFC 9496), in which a service has its key pair (SPEC §18.1) and OPAQUE computes (SPEC §20).
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

    /// Whether bytes are a scalar: 32 bytes, little-endian, below the order of the group.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func isScalar(_ bytes: borrowing SecretBytes) throws(TresorError) -> Bool {
        guard bytes.count == byteCount else { return false }
        let reduced = try SecretBytes(count: byteCount)
        let wide = try SecretBytes(count: 2 * byteCount) { (output) throws(TresorError) in
            bytes.copy(into: &output, at: 0)
        }
        try unsafe reduced.withMutablePointer { (reduced) throws(TresorError) in
            try unsafe wide.withMutablePointer { (wide) throws(TresorError) in
                unsafe crypto_core_ristretto255_scalar_reduce(reduced, wide)
            }
        }
        wipeDeadStack()
        return reduced.matches(bytes)
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

    /// Refuses bytes that are not the canonical encoding of an element, and the identity.
    ///
    /// - Throws: ``TresorError/altered``.
    package static func check(_ element: Span<UInt8>) throws(TresorError) {
        try Sodium.start()
        guard element.count == byteCount else { throw .altered }
        let isGood = unsafe element.withUnsafeBufferPointer { element in
            guard let start = element.baseAddress else { return false }
            // The library takes the identity, 32 zero bytes, for a valid element.
            return unsafe crypto_core_ristretto255_is_valid_point(start) == 1
                && sodium_is_zero(start, element.count) == 0
        }
        guard isGood else { throw .altered }
    }

    /// Multiplies an element by a scalar: the canonical encoding of the product.
    ///
    /// - Throws: ``TresorError/altered`` for bytes that ``check(_:)`` refuses, for a scalar of another size, and for the
    ///   identity as the product.
    package static func multiply(
        _ element: Span<UInt8>, by scalar: borrowing SecretBytes
    ) throws(TresorError) -> SecretBytes {
        try check(element)
        guard scalar.count == byteCount else { throw .altered }
        let product = try SecretBytes(count: byteCount)
        try unsafe product.withMutablePointer { (product) throws(TresorError) in
            try unsafe scalar.withMutablePointer { (scalar) throws(TresorError) in
                let status = unsafe element.withUnsafeBufferPointer { element in
                    guard let start = element.baseAddress else { return Int32(-1) }
                    return unsafe crypto_scalarmult_ristretto255(product, scalar, start)
                }
                guard status == 0 else { throw .altered }
            }
        }
        wipeDeadStack()
        return product
    }

    /// The inverse of a scalar that is not zero.
    ///
    /// - Throws: ``TresorError/altered`` for zero and for another size.
    package static func invert(_ scalar: borrowing SecretBytes) throws(TresorError) -> SecretBytes {
        guard scalar.count == byteCount else { throw .altered }
        let inverse = try SecretBytes(count: byteCount)
        try unsafe inverse.withMutablePointer { (inverse) throws(TresorError) in
            try unsafe scalar.withMutablePointer { (scalar) throws(TresorError) in
                guard unsafe crypto_core_ristretto255_scalar_invert(inverse, scalar) == 0 else { throw .altered }
            }
        }
        wipeDeadStack()
        return inverse
    }

    /// Maps bytes to an element (RFC 9496 §4.3.4, RFC 9380 §5.3.1 with SHA-512).
    ///
    /// - Parameters:
    ///   - message: any secret bytes.
    ///   - domain: at most 255 bytes.
    package static func hashToGroup(_ message: Span<UInt8>, domain: [UInt8]) throws(TresorError) -> SecretBytes {
        let uniform = try expandMessage(message, domain: domain)
        let element = try SecretBytes(count: byteCount)
        try unsafe element.withMutablePointer { (element) throws(TresorError) in
            try unsafe uniform.withMutablePointer { (uniform) throws(TresorError) in
                guard unsafe crypto_core_ristretto255_from_hash(element, uniform) == 0 else { throw .failed(.library) }
            }
        }
        wipeDeadStack()
        return element
    }

    /// Maps bytes to a scalar (RFC 9497 §4.1).
    ///
    /// - Parameters:
    ///   - message: any secret bytes.
    ///   - domain: at most 255 bytes.
    package static func hashToScalar(_ message: Span<UInt8>, domain: [UInt8]) throws(TresorError) -> SecretBytes {
        let uniform = try expandMessage(message, domain: domain)
        let scalar = try SecretBytes(count: byteCount)
        try unsafe scalar.withMutablePointer { (scalar) throws(TresorError) in
            try unsafe uniform.withMutablePointer { (uniform) throws(TresorError) in
                unsafe crypto_core_ristretto255_scalar_reduce(scalar, uniform)
            }
        }
        wipeDeadStack()
        return scalar
    }

    /// expand_message_xmd of RFC 9380 §5.3.1 with SHA-512, for 64 bytes.
    private static func expandMessage(_ message: Span<UInt8>, domain: [UInt8]) throws(TresorError) -> SecretBytes {
        guard let count = UInt8(exactly: domain.count) else { throw .usage(.outOfBounds) }
        let blockByteCount = 128
        let domain = domain + [count]
        var first = try SHA512()
        first.update([UInt8](repeating: 0, count: blockByteCount))
        first.update(message)
        first.update([0, UInt8(SHA512.byteCount), 0] + domain)
        let start = try first.finalize()
        var second = try SHA512()
        second.update(start.span)
        second.update([1] + domain)
        return try second.finalize()
    }
}

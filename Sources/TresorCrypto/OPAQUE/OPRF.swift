// SPDX-License-Identifier: Apache-2.0

/// The oblivious pseudorandom function OPRF(ristretto255, SHA-512) of RFC 9497, mode 0 (SPEC §20.2).
///
/// A client learns the function of its input under the server's key. The server learns nothing of the input, and the
/// client nothing of the key.
package enum OPRF {
    private static let suite = Array("OPRFV1-\u{0}-ristretto255-SHA512".utf8)

    /// An input whose blinded element the client sends.
    package struct Request: ~Copyable {
        private let input: SecretBytes
        private let blind: SecretBytes
        /// The blinded element, 32 bytes.
        package let element: [UInt8]

        /// Blinds an input of at most 65 535 bytes.
        ///
        /// - Throws: ``TresorError/usage(_:)`` with `outOfBounds` for a longer one.
        package init(_ input: consuming SecretBytes) throws(TresorError) {
            try self.init(input, blind: Ristretto255.randomScalar())
        }

        /// Blinds by a given scalar. For published vectors.
        init(_ input: consuming SecretBytes, blind: consuming SecretBytes) throws(TresorError) {
            guard input.count <= UInt16.max else { throw .usage(.outOfBounds) }
            let point = try Ristretto255.hashToGroup(input.span, domain: Array("HashToGroup-".utf8) + suite)
            let product = try Ristretto255.multiply(point.span, by: blind)
            element = product.span.publicBytes
            self.input = input
            self.blind = blind
        }

        /// Computes the function of the input from the evaluated element: 64 bytes.
        ///
        /// - Throws: ``TresorError/altered`` for bytes that are no element, or the identity.
        package borrowing func finalize(_ evaluated: Span<UInt8>) throws(TresorError) -> SecretBytes {
            let point = try Ristretto255.multiply(evaluated, by: Ristretto255.invert(blind))
            var hash = try SHA512()
            hash.update(bigEndianBytes(UInt16(input.count)))
            hash.update(input.span)
            hash.update(bigEndianBytes(UInt16(point.count)))
            hash.update(point.span)
            hash.update(Array("Finalize".utf8))
            return try hash.finalize()
        }
    }

    /// Evaluates a blinded element under a key: 32 bytes.
    ///
    /// - Throws: ``TresorError/altered`` for bytes that are no element, or the identity.
    package static func evaluate(
        _ element: Span<UInt8>, key: borrowing SecretBytes
    ) throws(TresorError) -> [UInt8] {
        let product = try Ristretto255.multiply(element, by: key)
        return product.span.publicBytes
    }

    /// Derives a key from a seed (RFC 9497 §3.2.1): a scalar of 32 bytes.
    ///
    /// - Parameters:
    ///   - seed: 32 bytes.
    ///   - info: what the key is for, at most 65 535 bytes.
    package static func deriveKey(seed: borrowing SecretBytes, info: [UInt8]) throws(TresorError) -> SecretBytes {
        guard let length = UInt16(exactly: info.count) else { throw .usage(.outOfBounds) }
        let domain = Array("DeriveKeyPair".utf8) + suite
        for counter in UInt8.min...UInt8.max {
            let rest = bigEndianBytes(length) + info + [counter]
            let input = try SecretBytes(count: seed.count + rest.count) { (output) throws(TresorError) in
                seed.copy(into: &output, at: 0)
                for index in rest.indices { output[seed.count + index] = rest[index] }
            }
            let scalar = try Ristretto255.hashToScalar(input.span, domain: domain)
            if try !scalar.matches(SecretBytes(count: Ristretto255.byteCount)) { return scalar }
        }
        throw .failed(.library)
    }
}

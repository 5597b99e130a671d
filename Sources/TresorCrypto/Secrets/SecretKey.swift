// SPDX-License-Identifier: Apache-2.0

/// The use of a key. A key for one use does not fit where another is required.
package protocol KeyUse: Sendable {}

/// A use in which the key seals with ``TC1``.
package protocol SealingUse: KeyUse {}

/// A 32-byte secret key in guarded memory, bound to one use at compile time.
package struct SecretKey<Use: KeyUse>: ~Copyable, Sendable {
    /// The size in bytes: 32.
    package static var byteCount: Int { 32 }

    package let bytes: SecretBytes

    /// Draws a random key.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package init() throws(TresorError) {
        bytes = try SecretBytes(randomCount: 32)
    }

    /// Takes over 32 secret bytes.
    ///
    /// - Throws: ``TresorError/altered`` unless there are exactly 32.
    package init(_ bytes: consuming SecretBytes) throws(TresorError) {
        guard bytes.count == 32 else { throw .altered }
        self.bytes = bytes
    }

    /// The 32 bytes, borrowed.
    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { bytes.span }
    }

    /// Derives a key for another use (SPEC §6):
    /// `BLAKE2b-256(key = K, LP("tresor/v1/derive") ‖ LP(label) ‖ LP(context))`.
    ///
    /// - Parameters:
    ///   - label: the use of the new key.
    ///   - context: the bytes that the new key is bound to.
    ///   - use: the use of the new key, as a type.
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package borrowing func derive<Other: KeyUse>(
        _ label: DomainLabel, context: Span<UInt8>, as use: Other.Type = Other.self
    ) throws(TresorError) -> SecretKey<Other> {
        let derived = try SecretBytes(count: 32)
        var hash = try BLAKE2b(outputCount: 32, key: bytes.span)
        try hash.updatePrefixed(.derive)
        try hash.updatePrefixed(label)
        try hash.updatePrefixed(context)
        try hash.finalize(into: derived)
        return try SecretKey<Other>(derived)
    }

    /// Whether the keys are equal, in constant time.
    package borrowing func matches(_ other: borrowing SecretKey<Use>) -> Bool {
        bytes.matches(other.bytes)
    }

    /// A public commitment to the key: `H(label, prefix ‖ K)`.
    package borrowing func commitment(_ label: DomainLabel, prefix: [UInt8]) throws(TresorError) -> Hash256 {
        try BLAKE2b.hash(label, prefix, secret: span)
    }

    /// Copies the bytes of the key into other secret memory, from `offset` on.
    package borrowing func copy(into output: inout MutableSpan<UInt8>, at offset: Int) {
        bytes.copy(into: &output, at: offset)
    }

    /// Derives as ``derive(_:context:as:)`` where the result is public: a tag or a locator.
    package borrowing func deriveDigest(_ label: DomainLabel, context: Span<UInt8>) throws(TresorError) -> Hash256 {
        let derived: SecretKey<PublicUse> = try derive(label, context: context)
        let span = derived.span
        guard let digest = Hash256(span.publicBytes) else { throw .failed(.library) }
        return digest
    }
}

private enum PublicUse: KeyUse {}

extension Span<UInt8> {
    /// Copies the bytes into an array, which is not wiped. For public bytes only.
    package var publicBytes: [UInt8] {
        unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Clibsodium
internal import Crypto
internal import Foundation

/// The use of a 32-byte X-Wing seed.
package enum KEMUse: KeyUse {}

/// Key wrapping: HPKE base mode, single shot (RFC 9180), with KEM 0x647a (X-Wing: X25519 and ML-KEM-768), KDF
/// HKDF-SHA256 and AEAD ChaCha20-Poly1305 (SPEC §5.4). The associated data is empty.
package enum XWing {
    /// The size of a public key in bytes: 1216, the ML-KEM-768 key (1184) followed by the X25519 key (32).
    package static let publicKeyByteCount = 1216
    /// The size of an encapsulated key in bytes: 1120, the ML-KEM-768 ciphertext (1088) followed by an X25519 key (32).
    package static let encapsulatedByteCount = 1120

    private static let mlkemKeyByteCount = 1184
    private static let mlkemCiphertextByteCount = 1088
    static let ciphersuite = HPKE.Ciphersuite(
        kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)

    /// A checked public key: the ML-KEM key passes the modulus check of FIPS 203, and the X25519 key is not of low
    /// order.
    package struct PublicKey: Hashable, Sendable {
        /// The 1216 bytes.
        package let bytes: [UInt8]

        /// - Throws: ``TresorError/altered`` for another size or a key that fails its check.
        package init(_ bytes: some Collection<UInt8>) throws(TresorError) {
            let bytes = Array(bytes)
            try Self.checkKEMKey(bytes)
            self.bytes = bytes
        }

        /// Takes the bytes of a key that was checked before.
        package init(checked bytes: [UInt8]) { self.bytes = bytes }

        private static func checkKEMKey(_ bytes: [UInt8]) throws(TresorError) {
            guard bytes.count == publicKeyByteCount,
                (try? MLKEM768.PublicKey(rawRepresentation: bytes[..<mlkemKeyByteCount])) != nil
            else { throw .altered }
            guard try !isLowOrder(bytes[mlkemKeyByteCount...]) else { throw .altered }
        }
    }

    /// A wrapped secret.
    package struct Wrapped: Hashable, Sendable {
        /// The encapsulated key: 1120 bytes.
        package let encapsulated: [UInt8]
        /// The sealed secret: 16 bytes more than the secret.
        package let ciphertext: [UInt8]

        /// Takes the stored parts of a wrap. ``XWing/hpkeUnwrap(_:seed:info:)`` checks them.
        package init(encapsulated: [UInt8], ciphertext: [UInt8]) {
            self.encapsulated = encapsulated
            self.ciphertext = ciphertext
        }
    }

    /// The public key of a seed.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when the library refuses the seed.
    package static func publicKey(seed: borrowing SecretKey<KEMUse>) throws(TresorError) -> PublicKey {
        let key = try privateKey(seed)
        return try PublicKey(key.publicKey.rawRepresentation)
    }

    /// Wraps a secret for the holder of `publicKey`.
    ///
    /// - Parameters:
    ///   - secret: the bytes to wrap.
    ///   - publicKey: the key of the recipient.
    ///   - info: the bytes that the wrap is bound to.
    /// - Throws: ``TresorError/altered`` for an unusable key.
    package static func hpkeWrap(
        _ secret: borrowing SecretBytes, for publicKey: PublicKey, info: [UInt8]
    ) throws(TresorError) -> Wrapped {
        try hpkeWrap(secret.span, for: publicKey, info: info)
    }

    /// Wraps a part of a secret.
    package static func hpkeWrap(
        _ secret: Span<UInt8>, for publicKey: PublicKey, info: [UInt8]
    ) throws(TresorError) -> Wrapped {
        var plaintext = unsafe secret.withUnsafeBufferPointer { unsafe Data($0) }
        defer { wipe(&plaintext) }
        do {
            let key = try XWingMLKEM768X25519.PublicKey(rawRepresentation: publicKey.bytes)
            var sender = try HPKE.Sender(recipientKey: key, ciphersuite: ciphersuite, info: Data(info))
            let ciphertext = try sender.seal(plaintext)
            return Wrapped(encapsulated: Array(sender.encapsulatedKey), ciphertext: Array(ciphertext))
        } catch {
            throw .altered
        }
    }

    /// Opens a wrap.
    ///
    /// - Throws: ``TresorError/altered`` for any cause.
    package static func hpkeUnwrap(
        _ wrapped: Wrapped, seed: borrowing SecretKey<KEMUse>, info: [UInt8]
    ) throws(TresorError) -> SecretBytes {
        guard wrapped.encapsulated.count == encapsulatedByteCount,
            try !isLowOrder(wrapped.encapsulated[mlkemCiphertextByteCount...])
        else { throw .altered }
        let key = try privateKey(seed)
        var plaintext: Data
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: ciphersuite, info: Data(info),
                encapsulatedKey: Data(wrapped.encapsulated))
            plaintext = try recipient.open(Data(wrapped.ciphertext))
        } catch {
            throw .altered
        }
        defer { wipe(&plaintext) }
        return try SecretBytes(copying: plaintext.span)
    }

    private static func privateKey(
        _ seed: borrowing SecretKey<KEMUse>
    ) throws(TresorError) -> XWingMLKEM768X25519.PrivateKey {
        let result = unsafe seed.span.withUnsafeBufferPointer { seed in
            Result { () throws -> XWingMLKEM768X25519.PrivateKey in
                try unsafe XWingMLKEM768X25519.PrivateKey(
                    seedRepresentation: UnsafeRawBufferPointer(seed), publicKey: nil)
            }
        }
        guard case .success(let key) = result else { throw .failed(.library) }
        return key
    }

    private static func wipe(_ data: inout Data) {
        unsafe data.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe sodium_memzero(base, bytes.count) }
        }
    }

    /// Whether every X25519 result with this key is zero.
    package static func isLowOrder(_ key: some Collection<UInt8>) throws(TresorError) -> Bool {
        try Sodium.start()
        let scalar = [UInt8](repeating: 0x40, count: 32)
        var result = [UInt8](repeating: 0, count: 32)
        return unsafe crypto_scalarmult(&result, scalar, Array(key)) != 0
    }
}

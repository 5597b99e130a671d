// SPDX-License-Identifier: Apache-2.0

import Clibsodium
internal import Crypto
internal import Foundation

/// The primitives below TC1 and X-Wing, for published answers (SPEC §5). Nothing here seals, signs or draws random bytes.
/// The rest of the library never takes a nonce or associated data.
package enum KnownAnswers {
    /// Opens ChaCha20-Poly1305 of RFC 8439.
    ///
    /// - Throws: ``TresorError/altered`` for other sizes or an invalid tag.
    package static func openChaChaPoly(
        _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]
    ) throws(TresorError) -> [UInt8] {
        try Sodium.start()
        guard key.count == 32, nonce.count == 12, tag.count == 16 else { throw .altered }
        // One byte more gives an empty message an address.
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count + 1)
        let status = unsafe crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            &plaintext, nil, ciphertext, UInt64(ciphertext.count), tag, associated, UInt64(associated.count), nonce,
            key)
        guard status == 0 else { throw .altered }
        return Array(plaintext.dropLast())
    }

    /// Opens the messages of an HPKE context in the order of sealing, each with its associated data.
    ///
    /// - Throws: ``TresorError/altered`` when one does not open.
    package static func openHPKE(
        seed: [UInt8], info: [UInt8], encapsulated: [UInt8], messages: [(associated: [UInt8], ciphertext: [UInt8])]
    ) throws(TresorError) -> [[UInt8]] {
        do {
            let key = try XWingMLKEM768X25519.PrivateKey(seedRepresentation: Data(seed), publicKey: nil)
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: XWing.ciphersuite, info: Data(info), encapsulatedKey: Data(encapsulated))
            return try messages.map {
                Array(try recipient.open(Data($0.ciphertext), authenticating: Data($0.associated)))
            }
        } catch {
            throw .altered
        }
    }
}

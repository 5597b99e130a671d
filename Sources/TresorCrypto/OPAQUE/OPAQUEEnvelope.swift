// SPDX-License-Identifier: Apache-2.0

extension OPAQUE {
    /// The keys that the password protects: the client's private key, which is derived anew each time, and the server's
    /// public key, which the tag binds (RFC 9807 §4.1, SPEC §20.3).
    struct Envelope: ~Copyable {
        /// The envelope, 96 bytes: the nonce and the tag.
        let bytes: [UInt8]
        let keyPair: KeyPair
        /// 64 bytes that only who knows the password learns, and the server never.
        let exportKey: SecretBytes

        /// Makes an envelope.
        ///
        /// - Parameters:
        ///   - randomizedPassword: 64 bytes.
        ///   - nonce: 32 bytes that no other envelope has.
        init(
            randomizedPassword: borrowing SecretBytes, serverKey: [UInt8], names: Names, nonce: [UInt8]
        ) throws(TresorError) {
            let seed = try HKDFSHA512.expand(
                randomizedPassword, info: nonce + Array("PrivateKey".utf8), count: keyByteCount)
            let keyPair = try KeyPair(seed: seed)
            let authenticationKey = try HKDFSHA512.expand(
                randomizedPassword, info: nonce + Array("AuthKey".utf8), count: hashByteCount)
            let exportKey = try HKDFSHA512.expand(
                randomizedPassword, info: nonce + Array("ExportKey".utf8), count: hashByteCount)
            let credentials =
                serverKey + prefixed(names.server ?? serverKey) + prefixed(names.client ?? keyPair.publicKey)
            let tag = try HMACSHA512.code(key: authenticationKey, nonce + credentials)
            bytes = nonce + tag.span.publicBytes
            self.keyPair = keyPair
            self.exportKey = exportKey
        }

        /// Opens an envelope by making it again.
        ///
        /// - Parameter envelope: 96 bytes.
        /// - Throws: ``TresorError/wrongPassword`` when the tag is another one.
        static func open(
            _ envelope: [UInt8], randomizedPassword: borrowing SecretBytes, serverKey: [UInt8], names: Names
        ) throws(TresorError) -> Envelope {
            guard envelope.count == envelopeByteCount else { throw .altered }
            let opened = try Envelope(
                randomizedPassword: randomizedPassword, serverKey: serverKey, names: names,
                nonce: Array(envelope.prefix(keyByteCount)))
            let (made, shown) = (opened.bytes, envelope)
            let expected = try SecretBytes(copying: made.span)
            guard expected.matches(try SecretBytes(copying: shown.span)) else { throw .wrongPassword }
            return opened
        }
    }

    /// The key under which the server hides its public key and the envelope in an answer: 64 bytes.
    static func maskingKey(_ randomizedPassword: borrowing SecretBytes) throws(TresorError) -> SecretBytes {
        try HKDFSHA512.expand(randomizedPassword, info: Array("MaskingKey".utf8), count: hashByteCount)
    }

    /// Hides or shows the server's public key and an envelope: 128 bytes.
    static func mask(
        _ bytes: [UInt8], key: borrowing SecretBytes, nonce: [UInt8]
    ) throws(TresorError) -> [UInt8] {
        let pad = try HKDFSHA512.expand(
            key, info: nonce + Array("CredentialResponsePad".utf8), count: keyByteCount + envelopeByteCount)
        guard bytes.count == pad.count else { throw .altered }
        return bytes.indices.map { bytes[$0] ^ pad.span[$0] }
    }
}

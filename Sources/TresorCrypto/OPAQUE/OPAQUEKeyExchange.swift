// SPDX-License-Identifier: Apache-2.0

extension OPAQUE {
    /// The transcript that both sides authenticate (RFC 9807 §6.4.2.1).
    struct Transcript {
        /// The transcript as bytes.
        let bytes: [UInt8]

        /// - Parameters:
        ///   - first: the client's first message.
        ///   - response: the credential response, 192 bytes.
        ///   - nonce: the server's nonce.
        ///   - share: the server's public key share.
        init(
            context: [UInt8], client: [UInt8], first: [UInt8], server: [UInt8], response: [UInt8], nonce: [UInt8],
            share: [UInt8]
        ) {
            bytes =
                Array("OPAQUEv1-".utf8) + prefixed(context) + prefixed(client) + first + prefixed(server) + response
                + nonce + share
        }
    }

    /// The results of the exchange for one transcript (RFC 9807 §6.4.2.2, SPEC §20.4).
    struct KeyExchange: ~Copyable {
        /// The server's code of the transcript, 64 bytes.
        let serverCode: SecretBytes
        /// The client's code of the transcript and of the server's code, 64 bytes.
        let clientCode: SecretBytes
        /// 64 bytes that both sides know. Nothing of tresor rests on them.
        let sessionKey: SecretBytes

        /// - Parameters: the products of the three Diffie-Hellman exchanges, 32 bytes each.
        init(
            _ first: borrowing SecretBytes, _ second: borrowing SecretBytes, _ third: borrowing SecretBytes,
            transcript: Transcript
        ) throws(TresorError) {
            let products = try SecretBytes(count: 2 * keyByteCount) { (output) throws(TresorError) in
                first.copy(into: &output, at: 0)
                second.copy(into: &output, at: keyByteCount)
            }
            let secret = try HKDFSHA512.extract(products, third)
            let hash = try SHA512.hash(transcript.bytes)
            let handshake = try Self.expand(secret, "HandshakeSecret", context: hash)
            let sessionKey = try Self.expand(secret, "SessionKey", context: hash)
            let serverKey = try Self.expand(handshake, "ServerMAC", context: [])
            let clientKey = try Self.expand(handshake, "ClientMAC", context: [])
            let serverCode = try HMACSHA512.code(key: serverKey, hash)
            clientCode = try Self.code(key: clientKey, transcript, then: serverCode)
            self.serverCode = serverCode
            self.sessionKey = sessionKey
        }

        /// The code of the transcript with the other side's code behind it.
        private static func code(
            key: borrowing SecretBytes, _ transcript: Transcript, then other: borrowing SecretBytes
        ) throws(TresorError) -> SecretBytes {
            try HMACSHA512.code(key: key, SHA512.hash(transcript.bytes + other.span.publicBytes))
        }

        /// Expand-Label of RFC 9807 §6.4.2: 64 bytes.
        private static func expand(
            _ secret: borrowing SecretBytes, _ label: StaticString, context: [UInt8]
        ) throws(TresorError) -> SecretBytes {
            let label = Array("OPAQUE-".utf8) + Array(label.description.utf8)
            let info =
                bigEndianBytes(UInt16(hashByteCount)) + [UInt8(label.count)] + label + [UInt8(context.count)] + context
            return try HKDFSHA512.expand(secret, info: info, count: hashByteCount)
        }
    }
}

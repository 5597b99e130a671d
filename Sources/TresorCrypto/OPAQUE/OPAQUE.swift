// SPDX-License-Identifier: Apache-2.0

/// OPAQUE-3DH of RFC 9807 over ristretto255, SHA-512, HKDF-SHA-512 and HMAC-SHA-512 (SPEC §20).
///
/// A server keeps a record with which nobody can test a password without the server's secrets. Who knows the password
/// proves it without sending it, and gets the export key.
package enum OPAQUE {
    /// The size of a nonce, a public key, a private key and a seed in bytes: 32.
    package static let keyByteCount = Ristretto255.byteCount
    /// The size of a hash, a code, the masking key, the export key and the session key in bytes: 64.
    package static let hashByteCount = SHA512.byteCount
    /// The size of an envelope in bytes: a nonce of 32 and a tag of 64.
    package static let envelopeByteCount = keyByteCount + hashByteCount
    /// The size of a record in bytes: 192.
    package static let recordByteCount = keyByteCount + hashByteCount + envelopeByteCount
    /// The size of the client's first message in bytes: 96.
    package static let firstMessageByteCount = 3 * keyByteCount
    /// The size of a credential response in bytes: 192.
    static let credentialResponseByteCount = 3 * keyByteCount + envelopeByteCount
    /// The size of the server's message in bytes: 320.
    package static let secondMessageByteCount = credentialResponseByteCount + 2 * keyByteCount + hashByteCount

    /// The names that both sides know. Both enter the envelope and the transcript.
    package struct Names: Sendable {
        /// The client's name, at most 65 535 bytes; `nil` stands for its public key.
        let client: [UInt8]?
        /// The server's name, at most 65 535 bytes; `nil` stands for its public key.
        let server: [UInt8]?

        /// - Throws: ``TresorError/usage(_:)`` with `outOfBounds` for a longer name.
        package init(client: [UInt8], server: [UInt8]) throws(TresorError) {
            guard client.count <= UInt16.max, server.count <= UInt16.max else { throw .usage(.outOfBounds) }
            self.client = client
            self.server = server
        }

        /// The public keys as names. For published vectors.
        init() { (client, server) = (nil, nil) }
    }

    /// The parameters on which both sides have agreed before.
    package struct Parameters: Sendable {
        /// The bytes that the transcript is bound to, at most 65 535.
        let context: [UInt8]
        /// Makes 64 bytes of the function of the password costly.
        let stretch: @Sendable (borrowing SecretBytes) throws(TresorError) -> SecretBytes

        /// The parameters of SPEC §20.1: Argon2id with a salt of 16 zero bytes and 64 bytes of output.
        ///
        /// - Throws: ``TresorError/usage(_:)`` with `outOfBounds` for a context of more than 65 535 bytes.
        package init(context: [UInt8], cost: Argon2id.Cost) throws(TresorError) {
            try self.init(context: context) { (output) throws(TresorError) in
                try Argon2id.hash(
                    password: output.span, salt: [UInt8](repeating: 0, count: Argon2id.saltByteCount),
                    outputCount: hashByteCount, passes: UInt64(cost.passes),
                    memoryByteCount: Int(cost.memoryKiB) * 1024)
            }
        }

        /// Parameters with another function. For vectors.
        package init(
            context: [UInt8], stretch: @escaping @Sendable (borrowing SecretBytes) throws(TresorError) -> SecretBytes
        ) throws(TresorError) {
            guard context.count <= UInt16.max else { throw .usage(.outOfBounds) }
            self.context = context
            self.stretch = stretch
        }
    }

    /// A key pair of the Diffie-Hellman exchange.
    struct KeyPair: ~Copyable {
        let privateKey: SecretBytes
        let publicKey: [UInt8]

        /// Derives the pair from a seed of 32 bytes (RFC 9807 §6.4.1).
        init(seed: borrowing SecretBytes) throws(TresorError) {
            try self.init(
                privateKey: OPRF.deriveKey(seed: seed, info: Array("OPAQUE-DeriveDiffieHellmanKeyPair".utf8)))
        }

        init(privateKey: consuming SecretBytes) throws(TresorError) {
            publicKey = try Ristretto255.multiplyGenerator(by: privateKey).bytes
            self.privateKey = privateKey
        }
    }

    /// Computes the randomized password: 64 bytes.
    static func randomizedPassword(
        _ output: borrowing SecretBytes, parameters: Parameters
    ) throws(TresorError) -> SecretBytes {
        try HKDFSHA512.extract(output, parameters.stretch(output))
    }

    /// The bytes with their length as a big-endian `u16` before them.
    package static func prefixed(_ bytes: [UInt8]) -> [UInt8] {
        bigEndianBytes(UInt16(truncatingIfNeeded: bytes.count)) + bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The server's side of registrations and log-ins (RFC 9807 §5 and §6).
package struct OPAQUEServer: ~Copyable, Sendable {
    private let seed: SecretBytes
    private let privateKey: SecretBytes
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]

    /// Takes over the server's secrets.
    ///
    /// - Parameters:
    ///   - seed: 64 bytes, from which the key of the function for each name is derived.
    ///   - privateKey: a scalar of 32 bytes that is not zero.
    /// - Throws: ``TresorError/altered`` for other sizes.
    package init(seed: consuming SecretBytes, privateKey: consuming SecretBytes) throws(TresorError) {
        guard seed.count == OPAQUE.hashByteCount else { throw .altered }
        publicKey = try Ristretto255.multiplyGenerator(by: privateKey).bytes
        self.seed = seed
        self.privateKey = privateKey
    }

    /// Answers a registration: 32 bytes.
    ///
    /// - Parameters:
    ///   - request: the client's request, 32 bytes.
    ///   - identifier: what the record is found by; it stays the same for all records of a name.
    /// - Throws: ``TresorError/altered`` for bytes that are no element.
    package borrowing func register(
        _ request: Span<UInt8>, identifier: [UInt8]
    ) throws(TresorError) -> [UInt8] {
        try OPRF.evaluate(request, key: functionKey(identifier))
    }

    /// A key of the server's own: the function of its public key for the empty identifier. No record has that identifier,
    /// so the server evaluates nothing under this key for anybody.
    package borrowing func codeKey() throws(TresorError) -> SecretBytes {
        let element = publicKey
        return try Ristretto255.multiply(element.span, by: functionKey([]))
    }

    /// The key of the function for one name.
    private borrowing func functionKey(_ identifier: [UInt8]) throws(TresorError) -> SecretBytes {
        let seed = try HKDFSHA512.expand(
            seed, info: identifier + Array("OprfKey".utf8), count: OPAQUE.keyByteCount)
        return try OPRF.deriveKey(seed: seed, info: Array("OPAQUE-DeriveKeyPair".utf8))
    }

    /// The server's answer to a log-in, and what it expects.
    package struct Answer: ~Copyable {
        /// The server's message, 320 bytes.
        package let message: [UInt8]
        /// The client's last message, 64 bytes, if it knows the password.
        package let expected: SecretBytes
        /// 64 bytes that the client knows too. Nothing of tresor rests on them.
        package let sessionKey: SecretBytes

        /// Checks the client's last message, in constant time.
        ///
        /// - Throws: ``TresorError/wrongPassword`` for another message.
        package borrowing func check(_ last: Span<UInt8>) throws(TresorError) {
            guard expected.matches(try SecretBytes(copying: last)) else { throw .wrongPassword }
        }
    }

    /// The values that a server draws for an answer.
    package struct Drawn: ~Copyable {
        let maskingNonce: [UInt8]
        let nonce: [UInt8]
        let share: OPAQUE.KeyPair

        /// Takes given values. For vectors.
        package init(maskingNonce: [UInt8], nonce: [UInt8], seed: borrowing SecretBytes) throws(TresorError) {
            (self.maskingNonce, self.nonce) = (maskingNonce, nonce)
            share = try OPAQUE.KeyPair(seed: seed)
        }
    }

    /// Answers a log-in.
    ///
    /// - Parameters:
    ///   - first: the client's first message, 96 bytes.
    ///   - record: the record of the name, 192 bytes. For a name that nobody has, a record with a drawn public key, a
    ///     drawn masking key and an envelope of zero bytes: the answer then tells nobody that the name is free.
    ///   - identifier: as in the registration.
    /// - Throws: ``TresorError/altered`` for other sizes, and for bytes that are no element;
    ///   ``TresorError/usage(_:)`` with `outOfBounds` for a context of more than 65 535 bytes.
    package borrowing func answer(
        _ first: [UInt8], record: [UInt8], identifier: [UInt8], names: OPAQUE.Names, context: [UInt8]
    ) throws(TresorError) -> Answer {
        try answer(
            first, record: record, identifier: identifier, names: names, context: context,
            drawn: Drawn(
                maskingNonce: randomBytes(OPAQUE.keyByteCount), nonce: randomBytes(OPAQUE.keyByteCount),
                seed: SecretBytes(randomCount: OPAQUE.keyByteCount)))
    }

    /// Answers with given random values. For vectors.
    package borrowing func answer(
        _ first: [UInt8], record: [UInt8], identifier: [UInt8], names: OPAQUE.Names, context: [UInt8],
        drawn: consuming Drawn
    ) throws(TresorError) -> Answer {
        guard first.count == OPAQUE.firstMessageByteCount, record.count == OPAQUE.recordByteCount else {
            throw .altered
        }
        guard context.count <= UInt16.max else { throw .usage(.outOfBounds) }
        let clientKey = Array(record.prefix(OPAQUE.keyByteCount))
        let maskingKey = try SecretBytes(
            copying: record.span.extracting(OPAQUE.keyByteCount..<(OPAQUE.keyByteCount + OPAQUE.hashByteCount)))
        let evaluated = try OPRF.evaluate(
            first.span.extracting(first: OPAQUE.keyByteCount), key: functionKey(identifier))
        let masked = try OPAQUE.mask(
            publicKey + record.suffix(OPAQUE.envelopeByteCount), key: maskingKey, nonce: drawn.maskingNonce)
        let response = evaluated + drawn.maskingNonce + masked
        let transcript = OPAQUE.Transcript(
            context: context, client: names.client ?? clientKey, first: first, server: names.server ?? publicKey,
            response: response, nonce: drawn.nonce, share: drawn.share.publicKey)
        let clientShare = first.span.extracting(last: OPAQUE.keyByteCount)
        let exchange = try OPAQUE.KeyExchange(
            Ristretto255.multiply(clientShare, by: drawn.share.privateKey),
            Ristretto255.multiply(clientShare, by: privateKey),
            Ristretto255.multiply(clientKey.span, by: drawn.share.privateKey), transcript: transcript)
        return Answer(
            message: response + drawn.nonce + drawn.share.publicKey + exchange.serverCode.span.publicBytes,
            expected: try SecretBytes(copying: exchange.clientCode.span),
            sessionKey: try SecretBytes(copying: exchange.sessionKey.span))
    }
}

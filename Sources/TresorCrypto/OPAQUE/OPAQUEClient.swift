// SPDX-License-Identifier: Apache-2.0

/// A registration on the client's side (RFC 9807 §5).
package struct OPAQUERegistration: ~Copyable {
    private let request: OPRF.Request

    /// The request, 32 bytes.
    package var message: [UInt8] { request.element }

    /// Begins a registration.
    ///
    /// - Parameter input: the input of the function, at most 65 535 bytes: the password, and what it is bound to.
    package init(input: consuming SecretBytes) throws(TresorError) {
        request = try OPRF.Request(input)
    }

    /// Begins with a given blind. For vectors.
    package init(input: consuming SecretBytes, blind: consuming SecretBytes) throws(TresorError) {
        request = try OPRF.Request(input, blind: blind)
    }

    /// The outcome of a registration.
    package struct Outcome: ~Copyable {
        /// The record for the server, 192 bytes.
        package let record: [UInt8]
        /// 64 bytes that each log-in with this password gives again.
        package let exportKey: SecretBytes
    }

    /// Makes the record. Takes about a second.
    ///
    /// - Parameters:
    ///   - evaluated: the server's answer, 32 bytes.
    ///   - serverKey: the public key of the server, 32 bytes.
    /// - Throws: ``TresorError/altered`` for an answer or a key that is no element.
    package consuming func finish(
        evaluated: [UInt8], serverKey: [UInt8], names: OPAQUE.Names, parameters: OPAQUE.Parameters
    ) throws(TresorError) -> Outcome {
        try finish(
            evaluated: evaluated, serverKey: serverKey, names: names, parameters: parameters,
            nonce: randomBytes(OPAQUE.keyByteCount))
    }

    /// Makes the record with a given nonce. For vectors.
    package consuming func finish(
        evaluated: [UInt8], serverKey: [UInt8], names: OPAQUE.Names, parameters: OPAQUE.Parameters, nonce: [UInt8]
    ) throws(TresorError) -> Outcome {
        try Ristretto255.check(serverKey.span)
        let password = try OPAQUE.randomizedPassword(request.finalize(evaluated.span), parameters: parameters)
        let envelope = try OPAQUE.Envelope(
            randomizedPassword: password, serverKey: serverKey, names: names, nonce: nonce)
        let maskingKey = try OPAQUE.maskingKey(password)
        let record = envelope.keyPair.publicKey + maskingKey.span.publicBytes + envelope.bytes
        return Outcome(record: record, exportKey: try SecretBytes(copying: envelope.exportKey.span))
    }
}

/// A log-in on the client's side (RFC 9807 §6).
package struct OPAQUELogin: ~Copyable {
    private let request: OPRF.Request
    private let share: OPAQUE.KeyPair
    /// The first message, 96 bytes.
    package let message: [UInt8]

    /// Begins a log-in.
    ///
    /// - Parameter input: as in the registration.
    package init(input: consuming SecretBytes) throws(TresorError) {
        try self.init(
            input: input, blind: Ristretto255.randomScalar(), nonce: randomBytes(OPAQUE.keyByteCount),
            seed: SecretBytes(randomCount: OPAQUE.keyByteCount))
    }

    /// Begins with given random values. For vectors.
    package init(
        input: consuming SecretBytes, blind: consuming SecretBytes, nonce: [UInt8], seed: borrowing SecretBytes
    ) throws(TresorError) {
        let request = try OPRF.Request(input, blind: blind)
        let share = try OPAQUE.KeyPair(seed: seed)
        message = request.element + nonce + share.publicKey
        self.request = request
        self.share = share
    }

    /// The outcome of a log-in.
    package struct Outcome: ~Copyable {
        /// The last message, 64 bytes.
        package let message: [UInt8]
        /// The record that the server must have: 192 bytes.
        package let record: [UInt8]
        /// The export key of the registration, 64 bytes.
        package let exportKey: SecretBytes
        /// 64 bytes that the server knows too.
        package let sessionKey: SecretBytes
    }

    /// Opens the envelope and checks the server. Takes about a second.
    ///
    /// - Parameter answer: the server's message, 320 bytes.
    /// - Throws: ``TresorError/wrongPassword`` for a wrong password and for an unknown name, which nobody can tell
    ///   apart; ``TresorError/altered`` for an answer of another size or with bytes that are no element, and when the
    ///   server does not know its own private key.
    package consuming func finish(
        answer: [UInt8], names: OPAQUE.Names, parameters: OPAQUE.Parameters
    ) throws(TresorError) -> Outcome {
        guard answer.count == OPAQUE.secondMessageByteCount else { throw .altered }
        let response = Array(answer.prefix(OPAQUE.credentialResponseByteCount))
        let rest = Array(answer.dropFirst(OPAQUE.credentialResponseByteCount))
        let (nonce, serverShare) = (
            Array(rest.prefix(OPAQUE.keyByteCount)), Array(rest[OPAQUE.keyByteCount..<2 * OPAQUE.keyByteCount])
        )
        let password = try OPAQUE.randomizedPassword(
            request.finalize(response.span.extracting(first: OPAQUE.keyByteCount)), parameters: parameters)
        let maskingKey = try OPAQUE.maskingKey(password)
        let shown = try OPAQUE.mask(
            Array(response.dropFirst(2 * OPAQUE.keyByteCount)), key: maskingKey,
            nonce: Array(response[OPAQUE.keyByteCount..<2 * OPAQUE.keyByteCount]))
        let serverKey = Array(shown.prefix(OPAQUE.keyByteCount))
        let envelope = try OPAQUE.Envelope.open(
            Array(shown.dropFirst(OPAQUE.keyByteCount)), randomizedPassword: password, serverKey: serverKey,
            names: names)
        let transcript = OPAQUE.Transcript(
            context: parameters.context, client: names.client ?? envelope.keyPair.publicKey, first: message,
            server: names.server ?? serverKey, response: response, nonce: nonce, share: serverShare)
        let exchange = try OPAQUE.KeyExchange(
            Ristretto255.multiply(serverShare.span, by: share.privateKey),
            Ristretto255.multiply(serverKey.span, by: share.privateKey),
            Ristretto255.multiply(serverShare.span, by: envelope.keyPair.privateKey), transcript: transcript)
        guard try exchange.serverCode.matches(SecretBytes(copying: rest.span.extracting(last: OPAQUE.hashByteCount)))
        else { throw .altered }
        return Outcome(
            message: exchange.clientCode.span.publicBytes,
            record: envelope.keyPair.publicKey + maskingKey.span.publicBytes + envelope.bytes,
            exportKey: try SecretBytes(copying: envelope.exportKey.span),
            sessionKey: try SecretBytes(copying: exchange.sessionKey.span))
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The statement by which a session signs one request (SPEC §18.3).
package struct RequestStatement: Hashable, Sendable {
    /// The size of a request id in bytes: 16.
    package static let idByteCount = 16
    /// The time by which the clocks of a client and a service may differ, in seconds.
    package static let clockWindow: UInt64 = 300
    /// The time by which a client signs ahead of its own clock, or behind it, at the word of a service, in seconds.
    package static let maximumLead: UInt64 = 900

    /// The hash of the statement of the session.
    package let session: Hash256
    /// 16 random bytes, the same where a request is sent again.
    package let id: [UInt8]
    /// The time of sending, in seconds since 1970.
    package let time: UInt64
    package let operation: ServiceOperation
    /// `H("tresor/v1/request-body", body)`.
    package let body: Hash256

    package init(
        session: Hash256, id: [UInt8], time: UInt64, operation: ServiceOperation, body: [UInt8]
    ) throws(TresorError) {
        self.session = session
        self.id = id
        self.time = time
        self.operation = operation
        self.body = try BLAKE2b.hash(.requestBody, body)
    }

    /// The signed bytes, with the label.
    package var message: [UInt8] {
        var encoder = ByteEncoder()
        encoder.digest(session)
        encoder.raw(id)
        encoder.integer(time)
        encoder.vector8(operation.rawValue.utf8)
        encoder.digest(body)
        return DomainLabel.requestSignature.message(encoder.bytes)
    }
}

/// The value of the header `Authorization`: the statement of the session, and the signature of the request.
package struct Authorization: Hashable, Sendable {
    private static let scheme = "Tresor "
    /// The characters of the two parts: 255 and 88 bytes in base64url without padding.
    private static let partCounts = (340, 118)

    package let statement: SessionStatement
    /// The id of the request: 16 bytes.
    package let id: [UInt8]
    /// The time of the request, in seconds since 1970.
    package let time: UInt64
    package let signature: [UInt8]

    package init(statement: SessionStatement, id: [UInt8], time: UInt64, signature: [UInt8]) {
        self.statement = statement
        self.id = id
        self.time = time
        self.signature = signature
    }

    /// The text of the header.
    package var text: String {
        var encoder = ByteEncoder()
        encoder.raw(id)
        encoder.integer(time)
        encoder.raw(signature)
        return Self.scheme + Base64URL.text(statement.bytes) + "." + Base64URL.text(encoder.bytes)
    }

    /// Reads the text of the header. There is one text for each value.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for a statement of another release.
    package init(_ text: String) throws(TresorError) {
        let characters = Array(text.utf8)
        let (first, second) = Self.partCounts
        let start = Self.scheme.utf8.count
        guard characters.count == start + first + 1 + second, characters.starts(with: Self.scheme.utf8),
            characters[start + first] == UInt8(ascii: "."),
            let statement = Base64URL.bytes(characters[start..<(start + first)]),
            let request = Base64URL.bytes(characters[(start + first + 1)...])
        else { throw .altered }
        self.statement = try SessionStatement(statement)
        var decoder = ByteDecoder(request)
        id = try decoder.raw(RequestStatement.idByteCount)
        time = try decoder.time()
        signature = try decoder.raw(Ed25519.signatureByteCount)
        try decoder.end()
    }

    /// Checks that the key of the session signed this request.
    ///
    /// - Throws: ``TresorError/altered``.
    package func verify(_ operation: ServiceOperation, body: [UInt8]) throws(TresorError) {
        let request = try RequestStatement(
            session: try statement.hash(), id: id, time: time, operation: operation, body: body)
        try Ed25519.verify(signature, of: request.message, by: statement.key)
    }
}

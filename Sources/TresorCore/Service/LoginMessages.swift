// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Begins a log-in by password (SPEC §20.5). Nobody has to be known.
package struct LoginRequest: ServiceRequest {
    package typealias Answer = LoginAnswer
    package static let operation = ServiceOperation.login

    package let handle: Name
    /// The first message of OPAQUE: 96 bytes.
    package let message: [UInt8]

    /// - Throws: ``TresorError/usage(_:)`` with `nameEmpty`, or `outOfBounds` for a message of another size.
    package init(handle: Name, message: [UInt8]) throws(TresorError) {
        guard !handle.isEmpty else { throw .usage(.nameEmpty) }
        guard message.count == OPAQUE.firstMessageByteCount else { throw .usage(.outOfBounds) }
        self.handle = handle
        self.message = message
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.vector16(handle.bytes)
        encoder.raw(message)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        handle = try Name(try decoder.vector16(1...Name.maximumByteCount))
        message = try decoder.raw(OPAQUE.firstMessageByteCount)
    }
}

/// The answer to ``LoginRequest``: 336 bytes, whether somebody has the handle or not.
package struct LoginAnswer: ServiceMessage {
    /// The size in bytes of the id of an attempt: 16.
    package static let attemptByteCount = 16

    /// The id of the attempt, good once and for a minute.
    package let attempt: [UInt8]
    /// The second message of OPAQUE: 320 bytes.
    package let message: [UInt8]

    package init(attempt: [UInt8], message: [UInt8]) {
        self.attempt = attempt
        self.message = message
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.raw(attempt)
        encoder.raw(message)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        attempt = try decoder.raw(Self.attemptByteCount)
        message = try decoder.raw(OPAQUE.secondMessageByteCount)
    }
}

/// Ends a log-in: proves the password.
package struct FinishLoginRequest: ServiceRequest {
    package typealias Answer = FinishLoginAnswer
    package static let operation = ServiceOperation.finishLogin

    package let attempt: [UInt8]
    /// The last message of OPAQUE: 64 bytes.
    package let message: [UInt8]

    package init(attempt: [UInt8], message: [UInt8]) {
        self.attempt = attempt
        self.message = message
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.raw(attempt)
        encoder.raw(message)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        attempt = try decoder.raw(LoginAnswer.attemptByteCount)
        message = try decoder.raw(OPAQUE.hashByteCount)
    }
}

/// The statement and the login copy of the person who proved their password.
package struct FinishLoginAnswer: ServiceMessage {
    package let statement: LoginStatement
    /// The bytes of an identity file.
    package let copy: [UInt8]

    package init(statement: LoginStatement, copy: [UInt8]) {
        self.statement = statement
        self.copy = copy
    }

    package func encode(to encoder: inout ByteEncoder) {
        statement.encode(to: &encoder)
        encoder.vector32(copy)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        statement = try LoginStatement(from: &decoder)
        copy = try decoder.vector32(1...IdentityFile.maximumByteCount)
    }
}

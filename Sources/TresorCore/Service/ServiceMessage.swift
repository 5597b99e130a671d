// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A request or an answer of the service, as a body of bytes in the canonical form (SPEC §18.4).
package protocol ServiceMessage: Hashable, Sendable {
    /// Appends the fields.
    func encode(to encoder: inout ByteEncoder)

    /// Reads the fields.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(from decoder: inout ByteDecoder) throws(TresorError)
}

extension ServiceMessage {
    /// The body.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encode(to: &encoder)
        return encoder.bytes
    }

    /// Reads a whole body.
    ///
    /// - Throws: ``TresorError/altered`` for another form or trailing bytes; ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try self.init(from: &decoder)
        try decoder.end()
    }
}

/// A request with the operation that it asks for.
package protocol ServiceRequest: ServiceMessage {
    /// The message that the service answers with.
    associatedtype Answer: ServiceMessage

    /// The operation.
    static var operation: ServiceOperation { get }
}

/// A body without bytes: a question without arguments, or an answer that only says that it is done.
package protocol EmptyMessage: ServiceMessage {
    init()
}

extension EmptyMessage {
    package func encode(to encoder: inout ByteEncoder) {}

    package init(from decoder: inout ByteDecoder) throws(TresorError) { self.init() }
}

/// The answer of an operation that has nothing to say: it is done.
package struct DoneAnswer: EmptyMessage {
    package init() {}
}

/// The answer of a conditional write.
package struct OutcomeAnswer: ServiceMessage {
    package let outcome: StoreOutcome

    package init(_ outcome: StoreOutcome) { self.outcome = outcome }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.integer(UInt8(outcome == .done ? 0 : 1))
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        switch try decoder.integer(UInt8.self) {
        case 0: outcome = .done
        case 1: outcome = .conflict
        default: throw .altered
        }
    }
}

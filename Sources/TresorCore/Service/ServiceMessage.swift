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

extension ByteEncoder {
    /// A byte: 1 for `true`, 0 for `false`.
    package mutating func flag(_ value: Bool) { integer(UInt8(value ? 1 : 0)) }
}

extension ByteDecoder {
    /// A byte: 1 for `true`, 0 for `false`.
    package mutating func flag() throws(TresorError) -> Bool {
        switch try integer(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .altered
        }
    }
    /// `opaque8` of exactly `count` bytes, or empty.
    mutating func emptyOr(_ count: Int) throws(TresorError) -> [UInt8] {
        let bytes = try vector8(0...count)
        guard bytes.isEmpty || bytes.count == count else { throw .altered }
        return bytes
    }

    /// Refuses digests that do not rise strictly in byte order.
    ///
    /// - Throws: ``TresorError/altered``.
    static func checkRising(_ digests: [Hash256]) throws(TresorError) {
        for (lower, upper) in zip(digests, digests.dropFirst()) {
            guard lower < upper else { throw .altered }
        }
    }
}

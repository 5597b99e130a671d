// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A service behind its wire: it judges requests and answers them.
package protocol ServiceHandler: Sendable {
    /// Answers one request. Takes any bytes.
    func answer(_ call: ServiceCall) async -> ServiceReply

    /// Judges the head of a request before its body comes.
    ///
    /// - Returns: the person whom it proves by itself; `nil` for none. The body of such a head is read even so.
    /// - Throws: the refusal of a request whose body is not read.
    func proves(_ head: ServiceHead) async throws(Refusal) -> UserID?

    /// Returns the person whom a head proves by what lies in memory, as ``proves(_:)`` does; `nil` where that has to be
    /// asked. It waits for nothing and takes microseconds.
    func knows(_ head: ServiceHead) -> UserID?

    /// Notes that a source sent something that proves nothing: a body that hardly came.
    func noteFailure(of source: [UInt8])

    /// Whether the service can do its work: its database can be written.
    func isHealthy() async -> Bool
}

extension ServiceHandler {
    /// A handler without accounts reads every body, as that of one person.
    package func proves(_ head: ServiceHead) async throws(Refusal) -> UserID? { UserID(.zero) }
    /// A handler without memory knows nobody.
    package func knows(_ head: ServiceHead) -> UserID? { nil }
    /// A handler without limits counts nothing.
    package func noteFailure(of source: [UInt8]) {}
}

/// The head of a request, before its body comes.
package struct ServiceHead: Sendable {
    /// The size of a small body, in bytes: 64 KiB.
    package static let smallByteCount = 64 << 10

    package let operation: ServiceOperation
    /// The size of the body that it announces, in bytes.
    package let bodyByteCount: Int
    /// The text of the header `Authorization`, not yet read; `nil` for none.
    package let authorization: String?
    /// The address that the request comes from, for limits.
    package let source: [UInt8]
    /// The addresses of the service with the host that the client dialled.
    package let audiences: [Audience]

    package init(
        operation: ServiceOperation, bodyByteCount: Int, authorization: String?, source: [UInt8],
        audiences: [Audience]
    ) {
        self.operation = operation
        self.bodyByteCount = bodyByteCount
        self.authorization = authorization
        self.source = source
        self.audiences = audiences
    }

    /// Whether the body is larger than a small one.
    package var isLarge: Bool { bodyByteCount > Self.smallByteCount }
}

/// One request, as the wire gives it.
package struct ServiceCall: Sendable {
    package let operation: ServiceOperation
    package let body: [UInt8]
    /// The text of the header `Authorization`, not yet read; `nil` for none.
    package let authorization: String?
    /// The address that the request came from, for limits.
    package let source: [UInt8]
    /// The addresses of the service with the host that the client dialled.
    package let audiences: [Audience]

    package init(
        operation: ServiceOperation, body: [UInt8], authorization: String?, source: [UInt8], audiences: [Audience]
    ) {
        self.operation = operation
        self.body = body
        self.authorization = authorization
        self.source = source
        self.audiences = audiences
    }
}

/// The answer to one request. Two that the client cannot tell apart are equal, whatever their causes.
package struct ServiceReply: Hashable, Sendable {
    /// 200, or the status of a refusal.
    package let status: Int
    package let body: [UInt8]
    /// The media type of the body; `nil` for an answer without one.
    package let mediaType: String?
    /// The error of a refusal; `nil` for 200.
    package let error: TresorError?
    /// The time after which to ask again, in seconds; for 429 and 503.
    package let retryAfter: UInt32?
    /// The reason of a refusal for the operator; `nil` for none.
    package let cause: Refusal.Cause?

    /// The answer of an operation that was done.
    package init(_ answer: some ServiceMessage) {
        status = 200
        body = answer.bytes
        mediaType = WireForm.mediaType
        error = nil
        retryAfter = nil
        cause = nil
    }

    /// A refusal.
    package init(_ refusal: Refusal, retryAfter: UInt32? = nil) {
        status = refusal.status.rawValue
        body = refusal.body
        mediaType = WireForm.mediaType
        error = refusal.error
        self.retryAfter = retryAfter
        cause = refusal.cause
    }

    /// An answer that was kept.
    package init(body: [UInt8]) { self.init(status: 200, mediaType: WireForm.mediaType, body: body) }

    /// An answer that no operation gives.
    package init(status: Int, mediaType: String?, body: [UInt8] = []) {
        self.status = status
        self.body = body
        self.mediaType = mediaType
        error = nil
        retryAfter = nil
        cause = nil
    }

    package static func == (one: ServiceReply, other: ServiceReply) -> Bool {
        one.status == other.status && one.body == other.body && one.mediaType == other.mediaType
            && one.error == other.error && one.retryAfter == other.retryAfter
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(body)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A service behind its wire: it judges requests and answers them.
package protocol ServiceHandler: Sendable {
    /// Answers one request. Takes any bytes.
    func answer(_ call: ServiceCall) async -> ServiceReply

    /// Whether a request of this session has held before. A quick look, which proves nothing.
    ///
    /// - Parameter authorization: the text of the header. Takes any text.
    func knows(_ authorization: String) -> Bool

    /// Whether the service can answer: its database does.
    func isHealthy() async -> Bool
}

extension ServiceHandler {
    /// A handler that keeps no sessions knows none.
    package func knows(_ authorization: String) -> Bool { false }
}

/// One request, as the wire gives it.
package struct ServiceCall: Sendable {
    package let operation: ServiceOperation
    package let body: [UInt8]
    /// The text of the header `Authorization`, not yet read; `nil` for none.
    package let authorization: String?
    /// The address that the request came from, for limits.
    package let source: [UInt8]

    package init(operation: ServiceOperation, body: [UInt8], authorization: String?, source: [UInt8]) {
        self.operation = operation
        self.body = body
        self.authorization = authorization
        self.source = source
    }
}

/// The answer to one request.
package struct ServiceReply: Hashable, Sendable {
    /// 200, or the status of a refusal.
    package let status: Int
    package let body: [UInt8]
    /// The error of a refusal; `nil` for 200.
    package let error: TresorError?
    /// The time after which to ask again, in seconds; for 429 and 503.
    package let retryAfter: UInt32?

    /// The answer of an operation that was done.
    package init(_ answer: some ServiceMessage) {
        status = 200
        body = answer.bytes
        error = nil
        retryAfter = nil
    }

    /// A refusal.
    package init(_ refusal: Refusal, retryAfter: UInt32? = nil) {
        status = refusal.status.rawValue
        body = refusal.body
        error = refusal.error
        self.retryAfter = retryAfter
    }

    /// An answer that was kept.
    package init(body: [UInt8]) {
        status = 200
        self.body = body
        error = nil
        retryAfter = nil
    }
}

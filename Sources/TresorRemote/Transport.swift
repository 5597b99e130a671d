// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The way to a service and back, for one exchange at a time or for several at once.
package protocol Transport: Sendable {
    /// The address that it dials.
    var audience: Audience { get }

    /// Sends a request and reads its answer. It never sends a request twice.
    ///
    /// - Throws: ``TransportFailure``.
    func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer
}

/// One request: `POST` with a body of the type ``WireForm/mediaType``.
package struct TransportRequest: Sendable {
    /// The target, for example `/v1/append`.
    package let target: String
    /// The value of the header `Authorization`; `nil` for none.
    package let authorization: String?
    package let body: [UInt8]
    /// The time in which nothing may move; each byte that moves gives more (``Allowance``).
    package let timeout: Duration
    /// The maximum size of the body of the answer in bytes.
    package let maximumAnswerByteCount: Int
    /// Whether the answer may come as late as the service likes: it waits for news.
    package var isLongPoll = false
    /// Takes how far the bodies of request and answer are.
    package var transfer: @Sendable (Transfer) -> Void = { _ in }
}

/// One answer.
package struct TransportAnswer: Sendable {
    package let status: Int
    /// Whether the body is of the type ``WireForm/mediaType``.
    package let isOfService: Bool
    /// The time of the header `Date`, in seconds since 1970; `nil` for none.
    package let date: UInt64?
    /// The value of the header `Retry-After` in seconds; `nil` for none.
    package let retryAfter: UInt32?
    package let body: [UInt8]
}

/// The failure of an exchange.
package struct TransportFailure: Error, Hashable, Sendable {
    package let error: TresorError
    /// Whether the connection broke after the request was sent, so that nobody knows whether it was done.
    package let isBroken: Bool
    /// The obstacle in the way, where it is known.
    package let obstacle: Obstacle?

    /// Whether the request may be done although no answer came: something failed behind its sending.
    package var mayBeDone: Bool {
        switch obstacle {
        case .slow, .away, .page, .changed, .noHTTP: true
        case nil: isBroken
        default: false
        }
    }

    init(_ error: TresorError, isBroken: Bool = false, _ obstacle: Obstacle? = nil) {
        self.error = error
        self.isBroken = isBroken
        self.obstacle = obstacle
    }

    /// The failure that an obstacle is. A service that is away behind its proxy is a connection that broke.
    init(_ obstacle: Obstacle) {
        let isBroken = if case .away = obstacle { true } else { false }
        self.init(.store(obstacle.fault), isBroken: isBroken, obstacle)
    }

    /// The connection ended before the answer did.
    static let broken = TransportFailure(.store(.unreachable), isBroken: true)
    /// There is no connection, or no answer in time.
    static let unreachable = TransportFailure(.store(.unreachable))
    /// The certificate does not prove that the service has its name.
    static let certificate = TransportFailure(.store(.certificate))
    /// The answer is not that of a service.
    static let foreign = TransportFailure(.store(.foreign))
    static let cancelled = TransportFailure(.cancelled)
}

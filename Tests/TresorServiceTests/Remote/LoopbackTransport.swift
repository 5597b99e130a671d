// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto

@testable import TresorRemote

/// A transport straight into a handler. A test can have exchanges fail.
final class LoopbackTransport: Transport {
    /// The fate of an exchange.
    enum Fault {
        /// The connection breaks before the handler has the request.
        case breaking
        /// The handler answers, and the connection breaks on the way back.
        case losingAnswer
        /// There is no connection.
        case unreachable
        /// Somebody else answers.
        case answering(TransportAnswer)
    }

    let audience = Audience.ofTests
    private let handler: any ServiceHandler
    private let clock: @Sendable () -> UInt64
    /// Chooses the fate of the exchange with a number, counted from 0; `nil` for none.
    private let fault: @Sendable (Int) -> Fault?
    private let requests = Mutex<[TransportRequest]>([])

    /// The requests that were made.
    var sent: [TransportRequest] { requests.withLock { $0 } }

    init(
        into handler: any ServiceHandler, clock: @escaping @Sendable () -> UInt64,
        fault: @escaping @Sendable (Int) -> Fault? = { _ in nil }
    ) {
        self.handler = handler
        self.clock = clock
        self.fault = fault
    }

    func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count - 1
        }
        let fault = fault(number)
        switch fault {
        case .breaking: throw .broken
        case .unreachable: throw .unreachable
        case .answering(let answer): return answer
        case .losingAnswer, nil: break
        }
        guard request.target.hasPrefix("/v1/"),
            let operation = ServiceOperation(rawValue: String(request.target.dropFirst(4)))
        else { throw .foreign }
        let reply = await handler.answer(
            ServiceCall(
                operation: operation, body: request.body, authorization: request.authorization, source: [],
                audiences: [audience]))
        if fault != nil { throw .broken }
        return TransportAnswer(
            status: reply.status, isOfService: true, date: clock(), retryAfter: reply.retryAfter, body: reply.body)
    }
}

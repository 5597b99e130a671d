// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

@testable import TresorRemote

/// A transport that loses the answer to the first request of an operation, and takes nothing after it.
final class CutTransport: Transport {
    let audience = Audience.ofTests
    private let base: any Transport
    private let target: String
    private let failure: TransportFailure
    private let isCut = Mutex(false)

    /// - Parameter failure: how the answer is lost. One that is none of a request that was sent loses the request too.
    init(over base: any Transport, at operation: ServiceOperation, by failure: TransportFailure) {
        self.base = base
        self.failure = failure
        target = "/v1/\(operation.rawValue)"
    }

    func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        guard !isCut.withLock({ $0 }) else { throw .unreachable }
        guard request.target == target else { return try await base.exchange(request) }
        isCut.withLock { $0 = true }
        if failure.mayBeDone { _ = try await base.exchange(request) }
        throw failure
    }
}

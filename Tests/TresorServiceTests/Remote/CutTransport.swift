// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

@testable import TresorRemote

/// A transport that loses the answer to the first request of an operation, and takes nothing after it.
final class CutTransport: Transport {
    let audience = Audience.ofTests
    private let base: any Transport
    private let target: String
    private let isCut = Mutex(false)

    init(over base: any Transport, at operation: ServiceOperation) {
        self.base = base
        target = "/v1/\(operation.rawValue)"
    }

    func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        guard !isCut.withLock({ $0 }) else { throw .unreachable }
        let answer = try await base.exchange(request)
        guard request.target == target else { return answer }
        isCut.withLock { $0 = true }
        throw .broken
    }
}

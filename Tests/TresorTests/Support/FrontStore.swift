// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
import TresorStore

/// A store that stands before another.
protocol LayeredStore: Store {
    var truth: any Store { get }
}

/// A store that passes on every call that it does not answer itself. One for the wraps of many members goes through its
/// calls for those of one.
protocol FrontStore: LayeredStore, ForwardingStore {}

extension FrontStore {
    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(truth) }

    func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        var found: [[[UInt8]]] = []
        for user in users { found.append(try await wraps(of: user, in: tresor, epoch: epoch)) }
        return found
    }
}

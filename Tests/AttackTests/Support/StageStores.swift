// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
import TresorStore

/// The stores of these suites: one kind, which clients see as it is. `TresorTests` has the others.
enum StageStores {
    static func make() -> any Store { MemoryStore() }
    static func seen(_ store: any Store) -> any Store { store }

    static func byHand<Answer>(
        _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await calls() }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
import TresorStore

/// A store whose answers with packs and volumes are on their way while somebody else acts.
struct SlowStore: FrontStore {
    let truth: any Store
    let act: @Sendable () async -> Void

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        let answer = try await truth.blobs(hashes, in: tresor)
        await act()
        return answer
    }
}

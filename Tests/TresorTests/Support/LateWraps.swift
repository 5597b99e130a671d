// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

/// A store whose answer with all wraps of a person in one tresor is on its way while something else happens, once.
final class LateWraps: FrontStore {
    let truth: any Store
    private let tresor: TresorID
    private let happening = Mutex<(@Sendable () async -> Void)?>(nil)

    init(truth: any Store, tresor: TresorID) { (self.truth, self.tresor) = (truth, tresor) }

    func act(_ act: @escaping @Sendable () async -> Void) { happening.withLock { $0 = act } }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        let act = tresor == self.tresor && epoch == nil ? happening.withLock { $0.take() } : nil
        await act?()
        return try await truth.wraps(of: user, in: tresor, epoch: epoch)
    }
}

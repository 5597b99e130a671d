// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A password for work on another thread, which cannot borrow its caller's.
final class HeldPassword: Sendable {
    let value: Password

    /// Copies a password into secret memory of its own.
    init(copying password: borrowing Password) throws(TresorError) {
        value = try Password(copying: password)
    }

    /// Makes a password slot (SPEC §8.1). Takes about a second.
    ///
    /// - Throws: the errors of `Slot.setPassword`; ``TresorError/cancelled`` for a task that was cancelled.
    static func slot(
        of identity: Identity, password: borrowing Password, cost: Argon2id.Cost, time: UInt64
    ) async throws(TresorError) -> Slot {
        let password = try HeldPassword(copying: password)
        try Cancellation.check()
        let slot = try await Cores.apart { () throws(TresorError) in
            try Slot.setPassword(of: identity, password: password.value, cost: cost, time: time)
        }
        try Cancellation.check()
        return slot
    }
}

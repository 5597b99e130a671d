// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto

/// A value that cannot be copied, for work on another thread, which cannot borrow its caller's. Shared by reference; the last
/// release wipes what is secret in it.
final class Held<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) { self.value = value }
}

/// A value that work on another thread uses up, and nobody a second time.
final class HeldOnce<Value: ~Copyable & Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: consuming Value) { self.value = Mutex(value) }

    /// Takes the value.
    ///
    /// - Throws: ``TresorError/cancelled`` after the first time.
    func take() throws(TresorError) -> Value {
        let taken = value.withLock { $0.take() }
        guard let taken else { throw .cancelled }
        return taken
    }
}

extension Slot {
    /// Makes a password slot on another thread (SPEC §8.1). Takes about a second.
    ///
    /// - Throws: the errors of `setPassword`; ``TresorError/cancelled`` for a task that was cancelled.
    static func setPasswordApart(
        of identity: Identity, password: borrowing Password, cost: Argon2id.Cost, time: UInt64
    ) async throws(TresorError) -> Slot {
        let password = Held(try Password(copying: password))
        try Cancellation.check()
        let slot = try await Cores.apart { () throws(TresorError) in
            try Slot.setPassword(of: identity, password: password.value, cost: cost, time: time)
        }
        try Cancellation.check()
        return slot
    }
}

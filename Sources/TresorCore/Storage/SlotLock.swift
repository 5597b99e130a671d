// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The right to change the key slots of a home (SPEC §8.4). One task or process has it at a time, from the first reading
/// of a change to its last write, the store's calls included.
///
/// It lasts as long as its value, and ends with the process.
public struct SlotLock: ~Copyable, Sendable {
    private let end: @Sendable () -> Void

    /// Makes the right of a home of your own.
    ///
    /// - Parameter end: gives it back; called once, when the value ends.
    public init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

/// Gives the slot lock of a home that lives in the memory of one process.
package final class SlotMutex: Sendable {
    private let isHeld = Mutex(false)

    package init() {}

    /// Takes the lock without waiting; `nil` while another task has it.
    package func lock() -> SlotLock? {
        let isTaken = isHeld.withLock { isHeld in
            defer { isHeld = true }
            return isHeld
        }
        return isTaken ? nil : SlotLock { [self] in isHeld.withLock { $0 = false } }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore

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

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Holds secrets until they are locked. The secrets are wiped when their last user releases them.
package final class Lockable<Secrets: Sendable>: Sendable {
    private let secrets: Mutex<Secrets?>

    /// Holds `secrets`.
    package init(_ secrets: Secrets) { self.secrets = Mutex(secrets) }

    /// Whether the secrets were released.
    package var isLocked: Bool { secrets.withLock { $0 == nil } }

    /// Returns the secrets. Use them for one step, and keep them no longer.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `locked` once they are released.
    package func unlocked() throws(TresorError) -> Secrets {
        guard let held = secrets.withLock({ $0 }) else { throw .usage(.locked) }
        return held
    }

    /// Changes the secrets; does nothing once they are released.
    package func update(_ change: (inout Secrets) -> Void) {
        secrets.withLock { held in
            guard var changed = held.take() else { return }
            change(&changed)
            held = changed
        }
    }

    /// Releases the secrets. There is no way back.
    package func lock() { secrets.withLock { $0 = nil } }
}

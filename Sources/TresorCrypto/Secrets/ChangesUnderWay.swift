// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts the changes of one person that are under way and go on to their end, although the person's secrets may be
/// released by then.
package final class ChangesUnderWay: Sendable {
    private let count = Mutex(0)

    package init() {}

    package var isEmpty: Bool { count.withLock { $0 == 0 } }

    /// Counts a change while its steps run.
    ///
    /// - Throws: the errors of `steps`.
    package func counting<Value>(_ steps: () async throws(TresorError) -> Value) async throws(TresorError) -> Value {
        count.withLock { $0 += 1 }
        defer { count.withLock { $0 -= 1 } }
        return try await steps()
    }
}

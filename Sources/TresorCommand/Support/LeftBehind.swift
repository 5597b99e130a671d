// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// The tresors in which this run wrote entries that reach the stores of others by an export alone.
final class LeftBehind: Sendable {
    private let tresors = Mutex<[TresorID: @Sendable () -> Void]>([:])

    /// - Parameter say: tells it once, at the end.
    func note(_ tresor: TresorID, saying say: @escaping @Sendable () -> Void) {
        tresors.withLock { $0[tresor] = say }
    }

    /// Tells it at the end of a run, whether or not that succeeded.
    func tell() {
        let told = tresors.withLock { tresors in
            defer { tresors = [:] }
            return tresors
        }
        for (_, say) in told.sorted(by: { $0.key < $1.key }) { say() }
    }
}

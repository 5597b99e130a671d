// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto

/// A cache of the last folded log: most tests of a file share one log.
enum FoldedLogs {
    private static let last: Mutex<(entries: [[UInt8]], state: LogState)?> = Mutex(nil)

    static func state(of entries: [[UInt8]], tresor: TresorID) throws(TresorError) -> LogState {
        if let known = last.withLock({ $0 }), known.state.tresor == tresor, known.entries == entries {
            return known.state
        }
        let state = try Fold.state(of: entries, tresor: tresor)
        last.withLock { $0 = (entries, state) }
        return state
    }
}

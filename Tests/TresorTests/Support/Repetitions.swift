// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How often a property is tried: `fallback` times unless a variable of the environment says otherwise.
func repetitions(_ variable: String, else fallback: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? fallback
}

/// One batch of the seeds with which a property is tried: from 0 on, or the one that `TRESOR_SEED` names, alone.
func seeds(_ variable: String, else fallback: Int, batch: Int, of batchCount: Int) -> [UInt64] {
    if let seed = ProcessInfo.processInfo.environment["TRESOR_SEED"].flatMap({ UInt64($0) }) {
        return batch == 0 ? [seed] : []
    }
    return stride(from: batch, to: repetitions(variable, else: fallback), by: batchCount).map { UInt64($0) }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How often a property is tried: `fallback` times unless a variable of the environment says otherwise.
func repetitions(_ variable: String, else fallback: Int) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? fallback
}

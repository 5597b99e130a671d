// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// How often a store gave an answer that is a lie: a lie that nobody was told shows nothing.
final class Served: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func note() { number.withLock { $0 += 1 } }
}

extension EvilStore {
    /// Answers each question for the wraps of one person with what `transform` makes of the honest answer.
    func lieAboutWraps(of person: UserID, _ transform: @escaping @Sendable (Log) -> Log) -> Served {
        let served = Served()
        showWraps { wraps, user, _ in
            guard user == person else { return wraps }
            served.note()
            return transform(wraps)
        }
        return served
    }

    /// Shows what `transform` makes of every log.
    func lieAboutLog(_ transform: @escaping @Sendable (Log) -> Log) -> Served {
        let served = Served()
        show { log in
            served.note()
            return transform(log)
        }
        return served
    }
}

/// Bytes whose last bit is another one.
func damaged(_ bytes: [UInt8]) -> [UInt8] { flipped(bytes, 8 * bytes.count - 1) }

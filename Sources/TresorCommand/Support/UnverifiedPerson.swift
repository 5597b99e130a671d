// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The person for whom the last act was refused, because their keys were not compared.
final class UnverifiedPerson: Sendable {
    private let last = Mutex<CommandFailure?>(nil)

    /// The failure that names the person; `nil` if none was met.
    var failure: CommandFailure? { last.withLock { $0 } }

    func note(_ failure: CommandFailure) { last.withLock { $0 = failure } }
}

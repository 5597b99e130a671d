// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto

/// What ended the last call of the home that failed, if it can be named.
final class LastHomeFault: Sendable {
    private let last = Mutex<(error: TresorError, failure: CommandFailure?)?>(nil)

    func note(_ error: TresorError, _ failure: CommandFailure?) { last.withLock { $0 = (error, failure) } }

    /// What an error of the home is about; `nil` for another error.
    func failure(for error: TresorError) -> CommandFailure? {
        last.withLock { last in last.flatMap { $0.error == error ? $0.failure : nil } }
    }
}

// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension Process {
    /// Starts it with no signal blocked. The threads of a pool block most signals, and a child inherits that: SIGTERM
    /// would never reach it.
    public func start() throws {
        var none = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try run()
    }
}

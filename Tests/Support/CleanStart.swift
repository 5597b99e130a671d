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

    /// Waits for the end. A process that runs for minutes is killed, and the error says what it did then.
    public func end(within seconds: Double = 300) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while isRunning {
            guard Date() < deadline else {
                let what = doing(processIdentifier)
                kill(processIdentifier, SIGKILL)
                waitUntilExit()
                throw Endless(what: what)
            }
            usleep(5_000)
        }
    }
}

/// A process that did not end.
struct Endless: Error, CustomStringConvertible {
    let what: String

    var description: String { "it did not end: \(what)" }
}

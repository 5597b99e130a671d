// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A clock that shows the time that a test sets.
public final class FixedClock: Sendable {
    private let time: Mutex<UInt64>

    /// Sets the clock.
    ///
    /// - Parameter seconds: seconds since 1970; by default a moment on 2 May 2026.
    public init(_ seconds: UInt64 = 1_777_730_400) { time = Mutex(seconds) }

    /// The time in seconds since 1970.
    public var now: UInt64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    /// The clock as a client takes it.
    public var read: @Sendable () -> UInt64 { { self.now } }
}

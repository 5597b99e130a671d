// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// The states that one operation has read from the store, so that *settle* need not read a log again (SPEC §9.7).
///
/// A reading holds for one second at most: an operation that waits for a person or a long file reads again.
final class SteadyLogs: Sendable {
    private struct Reading: Sendable {
        let state: LogState
        let time: Duration
    }

    /// The time for which a reading holds.
    static let patience = Duration.seconds(1)

    private let clock: @Sendable () -> Duration
    private let readings = Mutex<[TresorID: Reading]>([:])

    /// Makes a memory of readings.
    ///
    /// - Parameter clock: a time that never goes back.
    init(clock: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.clock = clock ?? { ContinuousClock.now - start }
    }

    /// The time now, to be taken before the store is asked.
    var now: Duration { clock() }

    /// Returns the state that was read less than a second ago; `nil` if there is none.
    func state(of tresor: TresorID) -> LogState? {
        let now = clock()
        return readings.withLock { readings in
            guard let reading = readings[tresor], now - reading.time < Self.patience else { return nil }
            return reading.state
        }
    }

    /// Holds a state that the store showed to a reader who began at `time`.
    func hold(_ state: LogState, since time: Duration) {
        readings.withLock { $0[state.tresor] = Reading(state: state, time: time) }
    }

    /// Ends the reading of a log that is about to change, or that could not be read.
    func forget(_ tresor: TresorID) {
        readings.withLock { $0[tresor] = nil }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// The states of the logs that were read in this turn, so that *settle* need not read a log again (SPEC §9.7).
final class LogView: Sendable {
    private struct Reading: Sendable {
        let state: LogState
        let turn: UInt64
    }

    private let turns: Turns
    private let readings = Mutex<[TresorID: Reading]>([:])

    init(of turns: Turns) { self.turns = turns }

    /// The present turn, to be taken before the store is asked.
    var turn: UInt64 { turns.number }

    /// Returns the state that was read in this turn; `nil` if there is none.
    func state(of tresor: TresorID) -> LogState? {
        let turn = turn
        return readings.withLock { $0[tresor].flatMap { $0.turn == turn ? $0.state : nil } }
    }

    /// Holds a state that the store showed to a reader who began in `turn`.
    func hold(_ state: LogState, since turn: UInt64) {
        readings.withLock { $0[state.tresor] = Reading(state: state, turn: turn) }
    }

    /// Ends the reading of a log that is about to change, or that could not be read.
    func forget(_ tresor: TresorID) {
        readings.withLock { $0[tresor] = nil }
    }
}

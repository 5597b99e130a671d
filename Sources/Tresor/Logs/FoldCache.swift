// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// The states that this process has folded or read from its home, so that a log is not verified again at every step.
///
/// Each is bound to its head, which binds all entries before it.
final class FoldCache: Sendable {
    private struct Folded: Sendable {
        let state: LogState
        var turn: UInt64
    }

    private struct Contents: Sendable {
        var logs: [TresorID: Folded] = [:]
        var turn: UInt64 = 0
    }

    /// The most logs that are kept; the least recently used one is dropped.
    static let maximumCount = 16

    private let contents = Mutex(Contents())

    /// Returns the state that was folded up to exactly this head.
    func state(of tresor: TresorID, at head: Head) -> LogState? {
        contents.withLock { contents in
            guard let folded = contents.logs[tresor], folded.state.head == head else { return nil }
            contents.turn += 1
            contents.logs[tresor]?.turn = contents.turn
            return folded.state
        }
    }

    func keep(_ state: LogState) {
        contents.withLock { contents in
            contents.turn += 1
            contents.logs[state.tresor] = Folded(state: state, turn: contents.turn)
            guard contents.logs.count > Self.maximumCount,
                let oldest = contents.logs.min(by: { $0.value.turn < $1.value.turn })
            else { return }
            contents.logs[oldest.key] = nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// States that this process has folded, so that the same log is not verified again at every step. Each is bound to the pinned head and to the bytes of
/// the log in the home: when either differs, the log is folded anew.
final class LogCache: Sendable {
    private struct Folded: Sendable {
        let head: Head
        let bytes: [UInt8]
        let state: State
        var turn: UInt64
    }

    private struct Contents: Sendable {
        var logs: [TresorID: Folded] = [:]
        var turn: UInt64 = 0
    }

    /// The most logs that are kept; the one not used for longest gives way.
    static let maximumCount = 16

    private let contents = Mutex(Contents())

    /// The state that was folded from exactly these bytes up to exactly this head.
    func state(of tresor: TresorID, at head: Head, bytes: [UInt8]) -> State? {
        contents.withLock { contents in
            guard let folded = contents.logs[tresor], folded.head == head, folded.bytes == bytes else { return nil }
            contents.turn += 1
            contents.logs[tresor]?.turn = contents.turn
            return folded.state
        }
    }

    func keep(_ state: State, bytes: [UInt8]) {
        contents.withLock { contents in
            contents.turn += 1
            contents.logs[state.tresor] = Folded(head: state.head, bytes: bytes, state: state, turn: contents.turn)
            guard contents.logs.count > Self.maximumCount,
                let oldest = contents.logs.min(by: { $0.value.turn < $1.value.turn })
            else { return }
            contents.logs[oldest.key] = nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto

/// The view that one ``Records`` value and its copies have read, and the tasks that wait for changes.
final class RecordCache: Sendable {
    private struct State {
        var view: RecordView?
        /// The table that everyone who waits was told.
        var told: RecordTable?
        var listeners: [UInt64: AsyncStream<RecordChanges>.Continuation] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The last view that was read.
    var view: RecordView? {
        get { state.withLock(\.view) }
        set { state.withLock { $0.view = newValue } }
    }

    /// Whether nothing was told yet, nor begun.
    var hasNotBegun: Bool { state.withLock { $0.told == nil } }

    /// Takes a table as known to everyone who waits, unless there is one.
    func begin(with table: RecordTable) { state.withLock { $0.told = $0.told ?? table } }

    /// Tells everyone who waits of the records that are not as in the last table they were told of. The home has them.
    func tell(_ view: RecordView) {
        let (names, revisions, listeners) = state.withLock { state in
            let told = state.told ?? RecordTable()
            // To compare two tables takes long, and most commands wait for nothing.
            let names = state.listeners.isEmpty ? [] : view.table.records(unlike: told)
            let revisions = names.flatMap { name in
                Set(view.table.heads(of: name)).subtracting(told.heads(of: name)).map(\.revision)
            }
            state.told = view.table
            return (names, revisions, Array(state.listeners.values))
        }
        guard !names.isEmpty else { return }
        let changes = RecordChanges(
            names: names.map(\.text), revision: revisions.max() ?? view.state.head.sequence)
        for listener in listeners { listener.yield(joining: changes) }
    }

    /// Begins to listen.
    func listen() -> AsyncStream<RecordChanges> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.listeners[state.next] = continuation
                return state.next
            }
            continuation.onTermination = { [self] _ in state.withLock { $0.listeners[number] = nil } }
        }
    }
}

extension AsyncStream<RecordChanges>.Continuation {
    /// Tells of changes, together with those that were told and not taken yet. So at most one notice waits, and none is
    /// lost.
    fileprivate func yield(joining changes: RecordChanges) {
        var next = changes
        while case .dropped(let unread) = yield(next) {
            let all = next.joined(with: unread)
            guard all != next else { return }
            next = all
        }
    }
}

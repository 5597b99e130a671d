// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto

/// The person, the clock, and what was read in this turn: what each step of a client works with.
struct Operation: Sendable {
    /// The time in seconds since 1970.
    let clock: @Sendable () -> UInt64
    let view: HomeView
    /// The logs that were read in this turn; `nil` where every step reads the store.
    private(set) var logs: LogView?
    /// The snapshots of the person; without them every log is folded from its first entry.
    let snapshots: Snapshots?
    private let turns: Turns?

    /// - Parameter turns: the turns for which readings hold; `nil` where every step reads home and store.
    init(home: any Home, turns: Turns?, clock: @escaping @Sendable () -> UInt64) {
        view = HomeView(home, as: nil, readings: turns.map { HomeReadings(of: $0) })
        logs = turns.map { LogView(of: $0) }
        snapshots = nil
        self.turns = turns
        self.clock = clock
    }

    /// Makes the operation of a person who unlocked the home that another one has read. Without memory for the key of the
    /// snapshots there are none.
    init(_ other: Operation, as person: Identity) {
        view = HomeView(other.view.base, as: person, readings: other.view.readings)
        (logs, turns, clock) = (other.logs, other.turns, other.clock)
        snapshots = try? Snapshots(person)
    }

    /// The unlocked identity of the person; `nil` before it is opened.
    var person: Identity? { view.person }

    /// The home as it is or, where readings are held or the person has locked it, as the operation sees it.
    var home: any Home { view.readings != nil || view.isLocked ? view : view.base }

    /// Returns this operation for another store, whose logs nobody has read.
    var onOtherStore: Operation {
        var other = self
        other.logs = nil
        return other
    }

    /// Ends the turn after a wait: what was read before may be old.
    func hasWaited() { turns?.end() }

    /// Ends the operation between two steps if its task was cancelled or its person has locked the session.
    ///
    /// - Throws: ``TresorError/cancelled``; ``TresorError/usage(_:)`` with `locked`.
    func step() throws(TresorError) {
        try Cancellation.check()
        try view.checkUnlocked()
    }
}

/// The turns of a run. What was read in a turn holds to its end.
///
/// A turn ends where time passes: a person is asked, a program or another machine is waited for, or much was done.
package final class Turns: Sendable {
    private struct Contents: Sendable {
        var number: UInt64 = 0
        var work = 0
    }

    /// The most work of a turn: so many files, or a quarter of a mebibyte for each.
    private static let mostWork = 256

    private let contents = Mutex(Contents())

    /// Begins the first turn.
    package init() {}

    /// The number of the present turn.
    package var number: UInt64 { contents.withLock { $0.number } }

    /// Ends the present turn.
    package func end() {
        contents.withLock { $0 = Contents(number: $0.number + 1) }
    }

    /// Counts a file that was sealed or opened, and ends the turn after the last one of it.
    package func count(file byteCount: Int) {
        contents.withLock { contents in
            contents.work += 1 + byteCount / (1 << 18)
            if contents.work >= Self.mostWork { contents = Contents(number: contents.number + 1) }
        }
    }
}

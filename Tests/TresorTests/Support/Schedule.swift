// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Numbers that a seed determines (SplitMix64).
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// Runs the acts of several people at once, one call to the store at a time, in random order: no one continues before
/// all others wait for a turn or have finished.
actor Schedule {
    private var dice: Dice
    private var actingCount: Int
    private var waiting: [(person: Int, turn: CheckedContinuation<Void, Never>)] = []

    init(of count: Int, seed: UInt64) {
        actingCount = count
        dice = Dice(seed: seed)
    }

    func turn(of person: Int) async {
        await withCheckedContinuation { turn in
            waiting.append((person, turn))
            goOn()
        }
    }

    func finish() {
        actingCount -= 1
        goOn()
    }

    private func goOn() {
        guard actingCount > 0, waiting.count == actingCount else { return }
        waiting.sort { $0.person < $1.person }
        waiting.remove(at: Int.random(in: waiting.indices, using: &dice)).turn.resume()
    }
}

/// One person's way to an honest store, on which every call waits for its turn. It notes what was read and written.
final class ScheduledStore: FrontStore {
    struct Notes: Sendable {
        /// How long the log was when it was first read since the notes were taken last.
        var firstLength: Int?
        /// The sequence numbers that were written.
        var written: [UInt64] = []
        /// The writes sent to the store, though another may have been faster.
        var asked: [LogChange] = []
        /// How many entries were fetched.
        var fetchedCount = 0
    }

    private let honest: any Store
    var truth: any Store { honest }
    private let schedule: Schedule
    private let person: Int
    private let notes = Mutex(Notes())

    init(_ honest: any Store, _ schedule: Schedule, person: Int) {
        self.honest = honest
        self.schedule = schedule
        self.person = person
    }

    /// The events since the last reading.
    func takeNotes() -> Notes {
        notes.withLock { notes in
            defer { notes = Notes() }
            return notes
        }
    }
}

extension ScheduledStore {
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        await schedule.turn(of: person)
        let entries = try await honest.entries(of: tresor, from: first, limit: limit)
        notes.withLock { notes in
            notes.firstLength = notes.firstLength ?? Int(first) + entries.count
            notes.fetchedCount += entries.count
        }
        return entries
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        await schedule.turn(of: person)
        let outcome = try await honest.append(change)
        notes.withLock { notes in
            notes.asked.append(change)
            if outcome == .done { notes.written.append(change.sequence) }
        }
        return outcome
    }

    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        await schedule.turn(of: person)
        return try await call(honest)
    }
}

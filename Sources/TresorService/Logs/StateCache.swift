// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The states of logs: those in memory, and the snapshots from which the others are folded.
    final class StateCache: Sendable {
        /// The number of entries between two snapshots.
        static let interval: UInt64 = 64
        /// The size in bytes above which a snapshot is written more seldom, and that above which none is.
        private static let largeByteCount = 1 << 20
        private static let greatestByteCount = 16 << 20
        private static let pageCount: UInt64 = 1_024

        private struct Slot {
            let state: LogState
            let cost: Int
            var used: UInt64
        }

        private struct Slots {
            var slots: [TresorID: Slot] = [:]
            var cost = 0
            var clock: UInt64 = 0
        }

        private let engine: any SQLEngine
        private let greatestCost: Int
        private let slots = Mutex(Slots())

        /// A fold that runs, and the end to which it folds.
        private struct Flight {
            let end: LogEnd
            let task: Task<Result<LogState, TresorError>, Never>
        }

        private let flights = Mutex<[TresorID: Flight]>([:])

        /// - Parameter greatestCost: the memory that the states may take, in bytes.
        init(engine: any SQLEngine, greatestCost: Int = 256 << 20) {
            self.engine = engine
            self.greatestCost = greatestCost
        }

        /// Returns the state of a log at its end.
        ///
        /// - Throws: ``TresorError/noAccess`` for a log that was deleted in the meantime; `TresorError.store(_:)` with
        ///   `damaged` for one that does not fold to this end; the errors of the engine.
        func state(of tresor: TresorID, at end: LogEnd) async throws(TresorError) -> LogState {
            var base = self.known(tresor)
            if let base, base.head.hash == end.head, base.entryCount == end.count { return base }
            if let state = base, state.entryCount >= end.count { base = nil }
            // Who asks for a log that is being folded gets the same state: a long one is folded once.
            let flight = flights.withLock { [base] flights in
                if let present = flights[tresor], present.end == end { return present }
                let task = Task { [self] in
                    let result: Result<LogState, TresorError>
                    do throws(TresorError) {
                        result = .success(try await fold(tresor, to: end, from: base))
                    } catch {
                        result = .failure(error)
                    }
                    self.flights.withLock { if $0[tresor]?.end == end { $0[tresor] = nil } }
                    return result
                }
                let flight = Flight(end: end, task: task)
                flights[tresor] = flight
                return flight
            }
            return try await flight.task.value.get()
        }

        /// Folds a log from a state, or from its snapshot.
        private func fold(
            _ tresor: TresorID, to end: LogEnd, from known: LogState?
        ) async throws(TresorError) -> LogState {
            var base = known
            if base == nil { base = try await snapshot(of: tresor) }
            var fold = base.map { Fold(state: $0) } ?? Fold(tresor: tresor)
            var next = base?.entryCount ?? 0
            guard next <= end.count else { throw .store(.damaged) }
            while next < end.count {
                let last = min(end.count, next + Self.pageCount)
                let rows = try await engine.read(Logs.search(tresor, next..<last))
                var page: [[UInt8]] = []
                for row in rows { page.append(try row.bytes(0)) }
                guard UInt64(page.count) == last - next else { throw .noAccess }
                do throws(TresorError) { try fold.apply(page) } catch { throw .store(.damaged) }
                next = last
            }
            guard let state = fold.state, state.head.hash == end.head else { throw .store(.damaged) }
            keep(state)
            return state
        }

        /// Keeps a state in memory.
        func keep(_ state: LogState) {
            let cost = Self.cost(of: state)
            slots.withLock { slots in
                slots.clock += 1
                slots.cost -= slots.slots[state.tresor]?.cost ?? 0
                slots.slots[state.tresor] = Slot(state: state, cost: cost, used: slots.clock)
                slots.cost += cost
                if slots.cost > greatestCost { Self.shrink(&slots, to: greatestCost / 2) }
            }
        }

        /// Forgets a log.
        func forget(_ tresor: TresorID) {
            slots.withLock { $0.cost -= $0.slots.removeValue(forKey: tresor)?.cost ?? 0 }
        }

        /// Returns the state of a log that is in memory. The log may have grown since.
        func known(_ tresor: TresorID) -> LogState? {
            slots.withLock { slots in
                slots.clock += 1
                slots.slots[tresor]?.used = slots.clock
                return slots.slots[tresor]?.state
            }
        }

        private static func shrink(_ slots: inout Slots, to cost: Int) {
            for (tresor, slot) in slots.slots.sorted(by: { $0.value.used < $1.value.used }) where slots.cost > cost {
                slots.slots[tresor] = nil
                slots.cost -= slot.cost
            }
        }

        /// The memory that a state takes, roughly: hashes, card chains, and the statements of epochs.
        private static func cost(of state: LogState) -> Int {
            let epochs = state.epochs.reduce(0) { $0 + 256 + $1.epoch.backLink.count }
            return 1_024 + 32 * state.hashes.count + 6_144 * state.chains.count + epochs
        }

        private func snapshot(of tresor: TresorID) async throws(TresorError) -> LogState? {
            let found = try await engine.read(
                SQL("SELECT state FROM states WHERE tresor = $1", [.digest(tresor.digest)]))
            guard let bytes = try found.first?.bytes(0) else { return nil }
            var decoder = ByteDecoder(bytes)
            // The state of another release is folded again.
            guard let state = try? LogState(from: &decoder), decoder.remaining == 0, state.tresor == tresor else {
                return nil
            }
            return state
        }

        /// The statements that write the snapshot of a state, if its time has come.
        ///
        /// - Parameter isDue: whether it has, whatever the number of entries is.
        static func storing(_ state: LogState, isDue: Bool = false) -> [SQL] {
            guard isDue || state.entryCount.isMultiple(of: interval) else { return [] }
            var encoder = ByteEncoder()
            state.encode(into: &encoder)
            let isDue =
                isDue || encoder.bytes.count <= largeByteCount || state.entryCount.isMultiple(of: interval * 16)
            guard isDue, encoder.bytes.count <= greatestByteCount else { return [] }
            return [
                SQL(
                    """
                    INSERT INTO states (tresor, count, state) VALUES ($1, $2, $3)
                    ON CONFLICT (tresor) DO UPDATE SET count = $2, state = $3
                    """,
                    [.digest(state.tresor.digest), .number(state.entryCount), .bytes(encoder.bytes)])
            ]
        }
    }
#endif

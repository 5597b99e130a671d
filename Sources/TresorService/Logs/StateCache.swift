// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The states of logs: those in memory, and those that are folded from snapshots.
    final class StateCache: Sendable {
        /// The entries that a fold reads at once: so many, and no more bytes than these.
        private static let pageCount: UInt64 = 1_024
        private static let pageByteCount = 16 << 20
        /// The memory that the states of a process may take, in bytes, unless its settings say otherwise.
        static let memoryByteCount = 256 << 20

        private struct Slot {
            let state: LogState
            let cost: Int
            /// The weight that was folded since the last snapshot.
            var folded: Int
            var used: UInt64
        }

        private struct Slots {
            var slots: [TresorID: Slot] = [:]
            var cost = 0
            var clock: UInt64 = 0
        }

        private let engine: any SQLEngine
        private let work: WorkApart
        private let greatestCost: Int
        private let slots = Mutex(Slots())

        /// A fold that runs, and the end to which it folds.
        private struct Flight {
            let end: LogEnd
            let task: Task<Result<LogState?, TresorError>, Never>
        }

        private let flights = Mutex<[TresorID: Flight]>([:])

        /// - Parameter greatestCost: the memory that the states may take, in bytes.
        init(engine: any SQLEngine, work: WorkApart, greatestCost: Int = memoryByteCount) {
            self.engine = engine
            self.work = work
            self.greatestCost = greatestCost
        }

        /// Whether a state leaves room for others. No entry makes one that does not, unless the entry takes access away.
        func fits(_ cost: Int) -> Bool { cost <= greatestCost / 2 }

        /// The memory that the states take, in bytes.
        var cost: Int { slots.withLock(\.cost) }

        /// Returns the state of a log at its end. A log is folded once at a time, and who asks for it waits for that.
        ///
        /// - Parameter account: the account that pays for the fold.
        /// - Returns: `nil` for a log that has grown in the meantime.
        /// - Throws: ``TresorError/noAccess`` for a log that was deleted in the meantime; ``TresorError/busy`` for an
        ///   account that may not ask for work now; `TresorError.store(_:)` with `damaged` for a log that does not fold to
        ///   this end; the errors of the engine.
        func state(
            of tresor: TresorID, at end: LogEnd, for account: WorkApart.Account
        ) async throws(TresorError) -> LogState? {
            while true {
                if let state = known(tresor), state.head.hash == end.head { return state }
                let (flight, isOwn) = begin(tresor, end, for: account)
                let result = await flight.task.value
                if isOwn { return try result.get() }
                // That of somebody else may lead elsewhere, or have failed for their sake.
                if flight.end == end, case .success(let state) = result { return state }
            }
        }

        /// Begins a fold, unless one runs.
        private func begin(
            _ tresor: TresorID, _ end: LogEnd, for account: WorkApart.Account
        ) -> (flight: Flight, isOwn: Bool) {
            flights.withLock { flights in
                if let present = flights[tresor] { return (present, false) }
                // A fold that has just ended left its state here.
                let base = slot(of: tresor)
                let task = Task { [self] in
                    let result: Result<LogState?, TresorError>
                    do throws(TresorError) {
                        result = .success(
                            try await work.turn(of: account) { (turn) async throws(TresorError) in
                                try await fold(tresor, to: end, from: base, in: turn)
                            })
                    } catch {
                        result = .failure(error)
                    }
                    self.flights.withLock { $0[tresor] = nil }
                    return result
                }
                let flight = Flight(end: end, task: task)
                flights[tresor] = flight
                return (flight, true)
            }
        }

        /// Folds a log: from the state in memory, from its snapshot, or from its first entry.
        ///
        /// A state that does not lead to the end is of another history. A standby that lacked the last entries has taken
        /// over, or the database was replaced.
        ///
        /// - Returns: `nil` for one that goes on behind the end.
        private func fold(
            _ tresor: TresorID, to end: LogEnd, from known: Slot?, in turn: WorkApart.Turn
        ) async throws(TresorError) -> LogState? {
            if let known {
                do throws(TresorError) {
                    return try await fold(tresor, to: end, from: known.state, known.folded, known.cost, in: turn)
                } catch {
                    guard error == .store(.damaged) else { throw error }
                    forget(tresor)
                }
            }
            if let state = try await StateSnapshots(engine: engine).state(of: tresor, in: turn) {
                do throws(TresorError) {
                    return try await fold(tresor, to: end, from: state, 0, 0, in: turn)
                } catch {
                    guard error == .store(.damaged) else { throw error }
                }
            }
            return try await fold(tresor, to: end, from: nil, 0, 0, in: turn)
        }

        /// Folds a log from a state.
        ///
        /// - Parameters:
        ///   - folded: the weight that was folded since the last snapshot.
        ///   - cost: the memory that the state takes; 0 if nothing has measured it.
        /// - Returns: `nil` for one that goes on behind the end.
        /// - Throws: `TresorError.store(_:)` with `damaged` for a state that does not lead to the end.
        private func fold(
            _ tresor: TresorID, to end: LogEnd, from base: LogState?, _ folded: Int, _ cost: Int,
            in turn: WorkApart.Turn
        ) async throws(TresorError) -> LogState? {
            var (folded, cost) = (folded, cost)
            var next = base?.entryCount ?? 0
            guard next <= end.count else {
                guard try await has(tresor, next) else { throw .store(.damaged) }
                return nil
            }
            var fold = base.map { Fold(state: $0) } ?? Fold(tresor: tresor)
            while next < end.count {
                let range = next..<min(end.count, next + Self.pageCount)
                let rows = try await engine.read(Logs.page(of: tresor, range, byteCount: Self.pageByteCount))
                let page = try Logs.entries(rows)
                guard !page.isEmpty else { throw .noAccess }
                let weight = page.reduce(0) { $0 + WorkApart.weight(ofBytes: $1.count) }
                let before = fold
                (fold, cost) = try await turn.compute(weight) { () throws(TresorError) in
                    var after = before
                    do throws(TresorError) { try after.apply(page) } catch { throw .store(.damaged) }
                    return (after, after.state.map { HeldMemory.byteCount(of: $0) } ?? 0)
                }
                next += UInt64(page.count)
                folded += weight
                if let state = fold.state, await store(state, cost, after: folded, in: turn) { folded = 0 }
            }
            guard let state = fold.state, state.head.hash == end.head else { throw .store(.damaged) }
            // The snapshot may be the state itself, which nothing has measured yet.
            keep(state, cost: cost > 0 ? cost : HeldMemory.byteCount(of: state), folded: folded)
            return state
        }

        /// Whether a log has so many entries by now.
        private func has(_ tresor: TresorID, _ count: UInt64) async throws(TresorError) -> Bool {
            let rows = try await engine.read(
                SQL("SELECT count FROM tresors WHERE tresor = $1", [.digest(tresor.digest)]))
            return try rows.first?.number(0) ?? 0 >= count
        }

        /// Keeps the state after an entry that was written.
        ///
        /// - Parameters:
        ///   - cost: the memory that the state takes, in bytes.
        ///   - weight: the weight of the entry.
        ///   - account: the account that pays for a snapshot, if one is due.
        func extend(to state: LogState, cost: Int, by weight: Int, for account: WorkApart.Account) async {
            let folded = (slots.withLock { $0.slots[state.tresor]?.folded } ?? 0) + weight
            let isDue = folded >= StateSnapshots.interval(ofCost: cost)
            // A snapshot is a help alone: after one that was not written the next is due at its time.
            keep(state, cost: cost, folded: isDue ? 0 : folded)
            guard isDue else { return }
            _ = try? await work.turn(of: account) { (turn) async throws(TresorError) in
                await store(state, cost, after: folded, in: turn)
            }
        }

        /// Writes a snapshot, if it is due.
        ///
        /// - Parameter folded: the weight that was folded since the last one.
        /// - Returns: whether it was written.
        private func store(
            _ state: LogState, _ cost: Int, after folded: Int, in turn: WorkApart.Turn
        ) async -> Bool {
            guard folded >= StateSnapshots.interval(ofCost: cost),
                let bytes = try? await turn.compute(cost >> 17, { StateSnapshots.bytes(of: state) })
            else { return false }
            let snapshots = StateSnapshots(engine: engine)
            return (try? await snapshots.write(bytes, of: state.tresor, count: state.entryCount)) != nil
        }

        /// Keeps a state in memory.
        ///
        /// - Parameters:
        ///   - cost: the memory that it takes, in bytes.
        ///   - folded: the weight that was folded since the last snapshot.
        func keep(_ state: LogState, cost: Int, folded: Int) {
            slots.withLock { slots in
                let present = slots.slots[state.tresor]
                if let present, present.state.entryCount > state.entryCount { return }
                slots.cost -= present?.cost ?? 0
                slots.slots[state.tresor] = nil
                // A state that does not fit beside others evicts none. It is folded again from its snapshot.
                guard fits(cost) else { return }
                slots.clock += 1
                slots.slots[state.tresor] = Slot(state: state, cost: cost, folded: folded, used: slots.clock)
                slots.cost += cost
                if slots.cost > greatestCost { Self.shrink(&slots, to: greatestCost / 2) }
            }
        }

        /// Forgets a log.
        func forget(_ tresor: TresorID) {
            slots.withLock { $0.cost -= $0.slots.removeValue(forKey: tresor)?.cost ?? 0 }
        }

        /// Returns the state of a log that is in memory. The log may have grown since.
        func known(_ tresor: TresorID) -> LogState? { slot(of: tresor)?.state }

        private func slot(of tresor: TresorID) -> Slot? {
            slots.withLock { slots in
                slots.clock += 1
                slots.slots[tresor]?.used = slots.clock
                return slots.slots[tresor]
            }
        }

        private static func shrink(_ slots: inout Slots, to cost: Int) {
            for (tresor, slot) in slots.slots.sorted(by: { $0.value.used < $1.value.used }) where slots.cost > cost {
                slots.slots[tresor] = nil
                slots.cost -= slot.cost
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The states of logs: folded once, kept as far as they fit, and begun from snapshots.
    @Suite(.overEveryEngine) struct StateTests {
        private static func end(of state: LogState) -> LogEnd {
            LogEnd(count: state.entryCount, head: state.head.hash, founder: state.founder)
        }

        @Test func A231_aLogIsFoldedOnceAtATime() async throws {
            let house = try await Household(Bench())
            let end = Self.end(of: try await house.state())
            let engine = CountingEngine(house.bench.engine)
            let cache = StateCache(engine: engine, work: Works().work)
            let tresor = house.tresor
            try await withThrowingTaskGroup(of: UInt64?.self) { group in
                for account in 1...8 as ClosedRange<UInt8> {
                    group.addTask { try await cache.state(of: tresor, at: end, for: [account])?.entryCount }
                }
                for try await count in group { #expect(count == end.count) }
            }
            // Its snapshot, which is not there, and its entries.
            #expect(engine.count == 2)
        }

        /// A person folds what another one may not fold now.
        @Test func A231_aDebtIsNobodyElses() async throws {
            let house = try await Household(Bench())
            let end = Self.end(of: try await house.state())
            let works = Works(count: 10)
            try await works.run(20, for: 1)
            let cache = StateCache(engine: house.bench.engine, work: works.work)
            await #expect(throws: TresorError.busy) { try await cache.state(of: house.tresor, at: end, for: [1]) }
            #expect(try await cache.state(of: house.tresor, at: end, for: [2])?.head.hash == end.head)
            // A state in memory costs nothing.
            #expect(try await cache.state(of: house.tresor, at: end, for: [1]) != nil)
        }

        @Test func A231_aLogThatHasGrownIsAConflict() async throws {
            let house = try await Household(Bench())
            let state = try await house.state()
            let cache = StateCache(engine: house.bench.engine, work: Works().work)
            cache.keep(state, cost: HeldMemory.byteCount(of: state), folded: 0)
            let before = LogEnd(count: state.entryCount - 1, head: .zero, founder: state.founder)
            #expect(try await cache.state(of: house.tresor, at: before, for: [1]) == nil)
        }

        @Test func A231_aStateThatDoesNotFitEvictsNone() async throws {
            let house = try await Household(Bench())
            let small = try await house.state()
            let second = try await house.cast.tresor("second", of: house.owner)
            var large = try await second.state()
            let chain = try #require(large.chain(of: large.founder))
            for number in 0..<100 as Range<UInt8> {
                let user = try #require(Hash256([UInt8](repeating: number, count: 32)))
                large.chains[UserID(user)] = chain
            }
            let (least, most) = (HeldMemory.byteCount(of: small), HeldMemory.byteCount(of: large))
            let cache = StateCache(
                engine: house.bench.engine, work: Works().work, greatestCost: 2 * max(least, most / 2 - 1))
            cache.keep(small, cost: least, folded: 0)
            cache.keep(large, cost: most, folded: 0)
            #expect(cache.known(small.tresor) != nil && cache.known(large.tresor) == nil)
            #expect(cache.cost == least)
        }

        @Test func A231_aSnapshotOfAnySizeIsWrittenInParts() async throws {
            let house = try await Household(Bench())
            let engine = house.bench.engine
            let state = try await house.state()
            let bytes = StateSnapshots.bytes(of: state)
            let snapshots = StateSnapshots(engine: engine, partByteCount: 1_000)
            try await snapshots.write(bytes, of: house.tresor, count: state.entryCount)
            let rows = try await house.bench.rows()[4].count
            #expect(rows == (bytes.count + 999) / 1_000 && rows > 1)
            // A newer one that was not finished counts for nothing.
            _ = try await engine.write([
                SQL(
                    "INSERT INTO states (tresor, count, part, state) VALUES ($1, $2, 1, $3)",
                    [.digest(house.tresor.digest), .number(state.entryCount + 1), .bytes([1])])
            ])
            let counting = CountingEngine(engine)
            let read = try await Works().work.turn(of: [1]) { (turn) async throws(TresorError) in
                try await StateSnapshots(engine: counting).state(of: house.tresor, in: turn)
            }
            let found = try #require(read)
            // One part lies in memory beside what was read, however many there are. All are of one time.
            #expect(counting.statementCount == 1 + rows)
            #expect(counting.count == 1)
            #expect(StateSnapshots.bytes(of: found) == bytes)
            try await snapshots.write(bytes, of: house.tresor, count: state.entryCount + 2)
            #expect(try await house.bench.rows()[4].count == rows)
            // A tresor that was deleted has none.
            _ = try await house.signer(house.owner).ask(DeleteTresorRequest(tresor: house.tresor))
            try await house.bench.service.sweep()
            await #expect(throws: TresorError.noAccess) {
                try await snapshots.write(bytes, of: house.tresor, count: state.entryCount)
            }
            #expect(try await house.bench.rows()[4].isEmpty)
        }

        @Test func A231_aSnapshotIsDueAfterAsMuchAsAStateIsLarge() {
            #expect(StateSnapshots.interval(ofCost: 0) == 256)
            #expect(StateSnapshots.interval(ofCost: 4_096_000) == 1_000)
            #expect(StateSnapshots.interval(ofCost: .max) == WorkApart.weight(ofBytes: 16 << 20) - 1)
        }

        /// A page of a fold is bounded by bytes, and takes at least one entry.
        @Test func A231_entriesAreReadInPortions() async throws {
            let house = try await Household(Bench())
            let (tresor, count) = (house.tresor, try await house.state().entryCount)
            var (read, pages): ([[UInt8]], Int) = ([], 0)
            while UInt64(read.count) < count {
                let range = UInt64(read.count)..<count
                read += try Logs.entries(
                    try await house.bench.engine.read(Logs.page(of: tresor, range, byteCount: 1)))
                pages += 1
            }
            #expect(UInt64(pages) == count)
            #expect(try Fold.state(of: read, tresor: tresor).entryCount == count)
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorPostgres
    @testable import TresorService

    /// The things that PostgreSQL alone can do to a service: break connections, and let transactions collide.
    @Suite(.enabled(if: PostgresCluster.programs != nil, "PostgreSQL is not installed")) struct PostgresTests {
        private static let items = Schema(steps: [
            [Table(name: "items", columns: [.bytes("item"), .integer("number")], key: ["item"])]
        ])
        private static let insert: StaticString = "INSERT INTO items (item, number) VALUES ($1, 0)"
        private static let count: StaticString = "UPDATE items SET number = number + 1 WHERE item = $1"
        private static let ending = SQL(
            """
            WITH others AS MATERIALIZED \
            (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) \
            SELECT count(*) FROM others WHERE pg_terminate_backend(pid, 4000)
            """)

        /// How often something ran.
        private final class Runs: Sendable {
            private let count = Atomic(0)
            func add() -> Int { count.add(1, ordering: .relaxed).newValue }
            var value: Int { count.load(ordering: .relaxed) }
        }

        private static func engines() async throws -> (PostgresEngine, PostgresEngine) {
            let location = try PostgresCluster.newDatabase()
            let engine = try await PostgresEngine.open(location)
            try await items.migrate(engine)
            _ = try await engine.write([SQL(insert, [.bytes([1])]), SQL(insert, [.bytes([2])])])
            return (engine, try await PostgresEngine.open(location, connectionCount: 1))
        }

        @Test func aBrokenConnectionIsOpenedAgain() async throws {
            let (engine, other) = try await Self.engines()
            let hints = engine.hints()
            for _ in 0..<3 {
                #expect(try await other.read(Self.ending).first?.number(0) ?? 0 > 0)
                #expect(try await engine.write([SQL(Self.count, [.bytes([1])])]) == [1])
            }
            #expect(
                try await engine.read(SQL("SELECT number FROM items WHERE item = $1", [.bytes([1])])) == [SQLRow([3])])
            // A listener is told that hints were lost, and hears new ones.
            var isTold = false
            for await hint in hints {
                if hint == [7] { break }
                isTold = isTold || hint.isEmpty
                if isTold { engine.notify([7]) }
            }
            #expect(isTold)
            await engine.close()
            await other.close()
        }

        /// A waiter hears the first hint at once. Each notification is a transaction, and those behind it share one.
        @Test func hintsThatComeCloseTogetherAreSentTogether() {
            let start = ContinuousClock.now
            var pending = PendingHints()
            let first = pending.add([1], at: start)
            #expect(first == .zero)
            let second = pending.add([2], at: start)
            #expect(second == nil)
            let sent = Set(pending.take(at: start))
            #expect(sent == [[1], [2]])
            let close = start + .milliseconds(2)
            let third = pending.add([3], at: close)
            #expect(third == PendingHints.pause - .milliseconds(2))
            let again = pending.add([3], at: close)
            #expect(again == nil)
            let next = pending.take(at: start + PendingHints.pause)
            #expect(next == [[3]])
            let later = pending.add([4], at: start + PendingHints.pause * 2)
            #expect(later == .zero)
        }

        /// A process that ends tells the others first what it has written.
        @Test func hintsThatWaitAreSentBeforeTheEnd() async throws {
            let (engine, other) = try await Self.engines()
            let (own, hints) = (engine.hints(), other.hints())
            engine.notify([0])
            for await hint in own where hint == [0] { break }
            // The first has been sent. Those that come close behind it wait.
            for hint in 1...8 as ClosedRange<UInt8> { engine.notify([hint]) }
            await engine.close()
            // A hint that is sent later comes later: here nothing more can come.
            other.notify([9])
            var received: Set<[UInt8]> = []
            for await hint in hints {
                received.insert(hint)
                if hint == [9] { break }
            }
            let all = Set((0...9 as ClosedRange<UInt8>).map { [$0] })
            #expect(received == all)
            await other.close()
        }

        @Test func aConnectionThatBreaksBeforeTheCommitIsTriedAgain() async throws {
            let (engine, other) = try await Self.engines()
            let runs = Runs()
            let (isOpen, isBroken) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let writing = engine.write { (transaction) throws(TresorError) -> [Int] in
                let first = try transaction.run([SQL(Self.count, [.bytes([1])])])
                if runs.add() == 1 {
                    isOpen.signal()
                    isBroken.wait()
                }
                return try first + transaction.run([SQL(Self.count, [.bytes([2])])])
            }
            try await Cores.apart { isOpen.wait() }
            _ = try await other.read(Self.ending)
            isBroken.signal()
            #expect(try await writing == [1, 1])
            #expect(runs.value == 2)
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([1]), SQLRow([1])])
            await engine.close()
            await other.close()
        }

        @Test func aCommitOfUnknownFateIsNoSuccess() async throws {
            let (engine, other) = try await Self.engines()
            let runs = Runs()
            let (isOpen, isBroken) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let writing = Task {
                try await engine.write { (transaction) throws(TresorError) -> [Int] in
                    _ = try transaction.run([SQL(Self.count, [.bytes([1])])])
                    if runs.add() == 1 {
                        isOpen.signal()
                        isBroken.wait()
                    }
                    return try transaction.finish([SQL(Self.count, [.bytes([2])])])
                }
            }
            try await Cores.apart { isOpen.wait() }
            _ = try await other.read(Self.ending)
            isBroken.signal()
            await #expect(throws: TresorError.store(.inputOutput)) { try await writing.value }
            #expect(runs.value == 1)
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([0]), SQLRow([0])])
            await engine.close()
            await other.close()
        }

        /// A clock that a test moves ahead of the real one.
        private final class AheadClock: Sendable {
            private let lead = Mutex(Duration.zero)
            func move(ahead duration: Duration) { lead.withLock { $0 = duration } }
            @Sendable func read() -> ContinuousClock.Instant { .now + lead.withLock { $0 } }
        }

        /// Makes updates of items hang in their commit. No limit of PostgreSQL ends one, for example if it waits for a
        /// standby. Here a trigger holds it up.
        private static let hanging = [
            SQL(
                schema: """
                    CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_sleep(3600); RETURN NULL; END'
                    """),
            SQL(
                schema: """
                    CREATE CONSTRAINT TRIGGER hanging AFTER UPDATE ON items DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION hang()
                    """),
        ]

        /// Counts what hangs so.
        private static let sleeping = SQL(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")

        @Test func commitsThatHangAreGivenUpAndStopNoRead() async throws {
            let location = try PostgresCluster.newDatabase()
            let clock = AheadClock()
            // Three writes, and one more read.
            let engine = try await PostgresEngine.open(location, connectionCount: 4, clock: clock.read)
            try await Self.items.migrate(engine)
            _ = try await engine.write((1...6).map { SQL(Self.insert, [.bytes([$0])]) } + Self.hanging)
            func write(_ item: UInt8) -> Task<[Int], any Error> {
                Task { try await engine.write([SQL(Self.count, [.bytes([item])])]) }
            }
            let first = (1...3).map { write($0) }
            try await wait(looks: 100_000) { try await engine.read(Self.sleeping).first?.integer(0) == 3 }
            let server = try await engine.read(SQL("SELECT CAST(pg_backend_pid() AS bigint)"))
            let time = ContinuousClock.now
            let next = (4...6).map { write($0) }
            engine.endWaits(begunBefore: time)
            for task in first { await #expect(throws: TresorError.store(.inputOutput)) { try await task.value } }
            // PostgreSQL does not know that they were given up. One more tries whether commits succeed again.
            try await wait(looks: 100_000) {
                engine.endWaits(begunBefore: time)
                return try await engine.read(Self.sleeping).first?.integer(0) == 4
            }
            for _ in 0..<100 {
                engine.endWaits(begunBefore: time)
                #expect(try await engine.read(Self.sleeping).first?.integer(0) == 4)
                // Reads need no new connection.
                #expect(try await engine.read(SQL("SELECT CAST(pg_backend_pid() AS bigint)")) == server)
            }
            // The engine gives up by itself what hangs for too long, and what waits behind that.
            clock.move(ahead: PostgresWatch.limit)
            for task in next { await #expect(throws: TresorError.self) { try await task.value } }
            clock.move(ahead: .zero)
            let other = try await PostgresEngine.open(location, connectionCount: 1)
            _ = try await other.read(Self.ending)
            #expect(try await other.read(SQL("SELECT DISTINCT number FROM items")) == [SQLRow([0])])
            _ = try await other.write([SQL(schema: "DROP TRIGGER hanging ON items")])
            // After one commit there is room for all of them.
            try await wait(looks: 100_000) {
                engine.endWaits(begunBefore: time)
                return (try? await engine.write([SQL(Self.count, [.bytes([1])])])) == [1]
            }
            let (isOpen, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let open = engine.write { (transaction) throws(TresorError) -> [Int] in
                let changes = try transaction.run([SQL(Self.count, [.bytes([2])])])
                isOpen.signal()
                isSeen.wait()
                return changes
            }
            try await Cores.apart { isOpen.wait() }
            let second = try? await engine.write([SQL(Self.count, [.bytes([3])])])
            isSeen.signal()
            #expect(try await open == [1])
            #expect(second == [1])
            await engine.close()
            await other.close()
        }

        /// A transaction that lifts the limits of its statements, and of its locks.
        private static func long(_ engine: PostgresEngine) async throws(TresorError) -> [Int] {
            try await engine.write { (transaction) throws(TresorError) in
                try transaction.run(
                    SQLDialect.postgres.liftingLimits
                        + [SQL("SET LOCAL lock_timeout = 0"), SQL(Self.count, [.bytes([1])])])
            }
        }

        @Test func aCommitThatHangsIsGivenUpHoweverLongItsStatementsMayTake() async throws {
            let (engine, other) = try await Self.engines()
            _ = try await engine.write(Self.hanging)
            let ended = Runs()
            let writing = Task {
                defer { _ = ended.add() }
                return try await Self.long(engine)
            }
            try await wait(looks: 100_000) { try await engine.read(Self.sleeping).first?.integer(0) == 1 }
            engine.endWaits(begunBefore: .now)
            try await wait { ended.value == 1 }
            await #expect(throws: TresorError.store(.inputOutput)) { try await writing.value }
            _ = try await other.read(Self.ending)
            await engine.close()
            await other.close()
        }

        @Test func aStatementWithoutALimitIsNotGivenUp() async throws {
            let (engine, other) = try await Self.engines()
            let (isHeld, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let holding = Task {
                // Where nothing could be held, the test goes on and fails.
                defer { isHeld.signal() }
                return try await other.write { (transaction) throws(TresorError) -> [Int] in
                    let changes = try transaction.run([
                        SQL("SET LOCAL idle_in_transaction_session_timeout = 0"), SQL(Self.count, [.bytes([1])]),
                    ])
                    isHeld.signal()
                    isSeen.wait()
                    return changes
                }
            }
            defer { isSeen.signal() }
            try await Cores.apart { isHeld.wait() }
            async let waiting = Self.long(engine)
            let locked = SQL(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
            try await wait(looks: 100_000) { try await engine.read(locked).first?.integer(0) == 1 }
            engine.endWaits(begunBefore: .now)
            isSeen.signal()
            #expect(try await holding.value.last == 1)
            #expect(try await waiting.last == 1)
            await engine.close()
            await other.close()
        }

        @Test func aDeadlockIsTriedAgain() async throws {
            let (engine, other) = try await Self.engines()
            let runs = Runs()
            let meeting = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
            let ended = DispatchSemaphore(value: 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for side in 0..<2 {
                    group.addTask {
                        try await engine.write { (transaction) throws(TresorError) in
                            let items: [UInt8] = side == 0 ? [1, 2] : [2, 1]
                            let isFirst = runs.add() <= 2
                            // The one that is tried again could come before the one that waits for it, as often as it likes.
                            if !isFirst { ended.wait() }
                            _ = try transaction.run([SQL(Self.count, [.bytes([items[0]])])])
                            if isFirst {
                                meeting[side].signal()
                                meeting[1 - side].wait()
                            }
                            _ = try transaction.run([SQL(Self.count, [.bytes([items[1]])])])
                        }
                        ended.signal()
                    }
                }
                try await group.waitForAll()
            }
            #expect(runs.value == 3)
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([2]), SQLRow([2])])
            await engine.close()
            await other.close()
        }

        /// A read of one exchange is not begun, and is a transaction nevertheless.
        @Test(.longRun) func aReadOfOneExchangeSeesOneState() async throws {
            let (engine, other) = try await Self.engines()
            let number = SQL("SELECT number FROM items WHERE item = $1", [.bytes([1])])
            async let reading = other.read { (transaction) throws(TresorError) in
                try transaction.run(
                    [number, SQL("SELECT CAST(1 AS bigint) FROM pg_sleep(1)"), number], finishing: true
                ).map(\.rows)
            }
            try await Task.sleep(for: .milliseconds(500))
            #expect(try await engine.write([SQL(Self.count, [.bytes([1])])]) == [1])
            let rows = try await reading
            #expect(rows.count == 3 && rows[0] == rows[2])
            #expect(try await other.read(number) == [SQLRow([1])])
            await engine.close()
            await other.close()
        }

        @Test func aCommitWaitsForTheDiskWhateverTheDefaultIs() async throws {
            let location = try PostgresCluster.newDatabase(options: "-c synchronous_commit=off")
            let engine = try await PostgresEngine.open(location)
            let settings = try await engine.read(
                SQL(
                    """
                    SELECT CAST(current_setting('synchronous_commit') = 'on' AS integer), \
                    CAST(current_setting('fsync') = 'on' AS integer)
                    """))
            #expect(settings == [SQLRow([1, 1])])
            await engine.close()
        }

        @Test func tablesOfTresorsAreSpreadAndNeverCompressed() async throws {
            let engine = try await PostgresEngine.open(try PostgresCluster.newDatabase())
            try await Schema.current.migrate(engine)
            let tables = Schema.current.steps.joined()
            let parts = try await engine.read(
                SQL("SELECT count(*) FROM pg_inherits WHERE inhparent::regclass::text !~ 'pkey|_by_'"))
            #expect(
                parts == [SQLRow([.integer(Int64(tables.filter { $0.partCount > 1 }.map(\.partCount).reduce(0, +)))])])
            // The part of a partitioned table has the storage of the whole.
            let external = try await engine.read(
                SQL(
                    """
                    SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
                    WHERE relkind = 'r' AND relispartition AND attname IN ('entry', 'wrap') AND attstorage = 'e'
                    """))
            #expect(external == [SQLRow([64])])
            // The parts have the fill that the whole cannot have.
            let filled = try await engine.read(
                SQL(
                    """
                    SELECT count(*) FROM pg_class \
                    WHERE relkind = 'r' AND relispartition AND 'fillfactor=70' = ANY (reloptions)
                    """))
            let filling = tables.filter { $0.partCount > 1 && $0.fill == 70 }.map(\.partCount).reduce(0, +)
            #expect(filling > 0 && filled == [SQLRow([.integer(Int64(filling))])])
            await engine.close()
        }

        @Test func aServerThatIsNotThereIsAnError() async throws {
            let location = try #require(PostgresLocation("postgresql:///tresor?host=/nowhere"))
            let told = Mutex<[String?]>([])
            location.outage.onChange { reason in told.withLock { $0.append(reason) } }
            await #expect(throws: TresorError.store(.inputOutput)) { try await PostgresEngine.open(location) }
            let reasons = told.withLock { $0 }
            #expect(reasons.count == 1)
            #expect(reasons.first??.contains("No such file or directory") == true)
            #expect(location.outage.reason == reasons.first)
        }

        /// An outage is told at its beginning and at its end, in one line each.
        @Test func anOutageIsToldTwice() {
            let outage = Outage()
            let told = Mutex<[String?]>([])
            outage.onChange { reason in told.withLock { $0.append(reason) } }
            for reason in [nil, "refused", "no such role", nil, nil, "gone"] { outage.note(reason) }
            #expect(told.withLock { $0 } == ["refused", nil, "gone"])
        }
    }
#endif

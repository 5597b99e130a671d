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

    /// Transactions of one exchange, which PostgreSQL begins and commits without being told. Each goes over one connection,
    /// on which reads and writes take turns.
    @Suite(.enabled(if: PostgresCluster.programs != nil, "PostgreSQL is not installed")) struct PostgresExchangeTests {
        private static let items = Schema(steps: [
            [Table(name: "items", columns: [.bytes("item"), .integer("number")], key: ["item"])]
        ])
        private static let count = SQL("UPDATE items SET number = number + 1 WHERE item = $1", [.bytes([1])])
        private static let number = SQL("SELECT number FROM items WHERE item = $1", [.bytes([1])])

        /// An engine with one connection, another one with a connection for reads alone beside it, and one item.
        private static func engines() async throws -> (PostgresEngine, PostgresEngine) {
            let location = try PostgresCluster.newDatabase()
            let engine = try await PostgresEngine.open(location, connectionCount: 1)
            try await items.migrate(engine)
            #expect(
                try await engine.write([SQL("INSERT INTO items (item, number) VALUES ($1, 0)", [.bytes([1])])]) == [1])
            return (engine, try await PostgresEngine.open(location, connectionCount: 2))
        }

        @Test func readsAndWritesTakeTurnsOnOneConnection() async throws {
            let (engine, other) = try await Self.engines()
            for round in 1...3 as ClosedRange<Int64> {
                #expect(try await engine.write([Self.count]) == [1])
                #expect(try await engine.read(Self.number) == [SQLRow([.integer(round)])])
                // A read of one exchange writes nothing, also where the connection has just written.
                await #expect(throws: TresorError.store(.readOnly)) { try await engine.read(Self.count) }
                #expect(try await other.read(Self.number) == [SQLRow([.integer(round)])])
            }
            await engine.close()
            await other.close()
        }

        @Test func aWriteOfOneExchangeIsWholeOrNothing() async throws {
            let (engine, other) = try await Self.engines()
            let absent = SQL("UPDATE items SET number = 9 WHERE item = $1", [.bytes([2])])
            for _ in 0..<2 {
                await #expect(throws: TresorError.forked) {
                    try await engine.write([Self.count, absent.orElse(.forked), Self.count])
                }
                await #expect(throws: TresorError.forked) {
                    try await engine.write([Self.count, absent.orElse(.forked)])
                }
                #expect(try await engine.read(Self.number) == [SQLRow([0])])
            }
            #expect(try await engine.write([Self.count, absent]) == [1, 0])
            #expect(try await other.read(Self.number) == [SQLRow([1])])
            await engine.close()
            await other.close()
        }

        /// A write that waits for another one sees what that has committed: it does not collide with it.
        @Test func aWriteOfOneExchangeSeesWhatWasCommittedBeforeIt() async throws {
            let (engine, other) = try await Self.engines()
            #expect(try await engine.read(Self.number) == [SQLRow([0])])
            let (isHeld, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            defer { isSeen.signal() }
            let holding = Task {
                try await other.write { (transaction) throws(TresorError) -> [Int] in
                    // Where nothing could be held, the test goes on and fails.
                    defer { isHeld.signal() }
                    let changes = try transaction.run([Self.count])
                    isHeld.signal()
                    isSeen.wait()
                    return changes
                }
            }
            try await Cores.apart { isHeld.wait() }
            let runs = Atomic(0)
            async let writing = engine.write { (transaction) throws(TresorError) -> [Int] in
                runs.add(1, ordering: .relaxed)
                return try transaction.finish([Self.count])
            }
            let locked = SQL(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
            try await wait(looks: 100_000) { try await other.read(locked).first?.integer(0) == 1 }
            isSeen.signal()
            #expect(try await writing == [1])
            #expect(try await holding.value == [1])
            #expect(runs.load(ordering: .relaxed) == 1)
            #expect(try await engine.read(Self.number) == [SQLRow([2])])
            await engine.close()
            await other.close()
        }

        /// Reads and writes that take turns go over two connections, and set neither anew.
        @Test func readsAndWritesHaveConnectionsOfTheirOwn() async throws {
            let (engine, other) = try await Self.engines()
            let server = SQL("SELECT CAST(pg_backend_pid() AS bigint)")
            let reading = try await other.read(server)
            var writing: Set<[SQLRow]> = []
            for _ in 0..<3 {
                let found = try await other.write { (transaction) throws(TresorError) in
                    try transaction.run([server], finishing: true).map(\.rows)
                }
                writing.formUnion(found)
                #expect(try await other.read(server) == reading)
            }
            #expect(writing.count == 1 && !writing.contains(reading))
            await engine.close()
            await other.close()
        }

        /// A commit that fails is no success, and the connection goes on.
        @Test func aCommitThatFailsIsNoSuccess() async throws {
            let (engine, other) = try await Self.engines()
            _ = try await engine.write([
                SQL(
                    schema: """
                        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN RAISE EXCEPTION ''full'' USING ERRCODE = ''53100''; END'
                        """),
                SQL(
                    schema: """
                        CREATE CONSTRAINT TRIGGER failing AFTER UPDATE ON items DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION fail()
                        """),
            ])
            let server = SQL("SELECT CAST(pg_backend_pid() AS bigint)")
            let before = try await engine.read(server)
            for _ in 0..<2 {
                await #expect(throws: TresorError.store(.full)) { try await engine.write([Self.count]) }
            }
            #expect(try await engine.read(Self.number) == [SQLRow([0])])
            #expect(try await engine.read(server) == before)
            await engine.close()
            await other.close()
        }
    }
#endif

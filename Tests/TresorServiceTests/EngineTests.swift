// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorPostgres

    @testable import TresorService

    /// The promises of both engines.
    @Suite struct EngineTests {
        /// Opens an engine with one table, `items (item, number, value)`.
        private static func engine(_ kind: EngineKind) async throws -> any SQLEngine {
            let engine = try await TestDatabase(kind).open()
            try await items.migrate(engine)
            return engine
        }

        private static let items = Schema(steps: [
            [
                Table(
                    name: "items",
                    columns: [.bytes("item"), .integer("number"), .incompressible("value").optional], key: ["item"])
            ]
        ])

        private static let insert: StaticString = "INSERT INTO items (item, number, value) VALUES ($1, $2, $3)"

        @Test(arguments: EngineKind.installed) func valuesReturnAsTheyWere(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let values: [(Int64, SQLValue)] = [
                (0, nil), (-1, .bytes([])), (.max, .bytes([0])), (.min, .bytes(Array(0...255))),
                (1 << 40, .bytes([UInt8](repeating: 0xFF, count: 16 << 20))),
            ]
            for (number, value) in values {
                let item = withUnsafeBytes(of: number) { SQLValue.bytes(Array($0)) }
                #expect(try await engine.write([SQL(Self.insert, [item, .integer(number), value])]) == [1])
                let rows = try await engine.read(SQL("SELECT number, value, item FROM items WHERE item = $1", [item]))
                #expect(rows.count == 1)
                let isEqual = rows.first?.values == [.integer(number), value, item]
                #expect(isEqual, "\(number)")
            }
            let sums = try await engine.read(
                SQL("SELECT count(*), CAST(sum(number) AS bigint) FROM items WHERE number BETWEEN -1 AND 0"))
            #expect(sums == [SQLRow([2, -1])])
            await engine.close()
        }

        /// A process that is killed between a commit and the emptying of the log leaves what it erased to the next one.
        @Test func theFirstWriteEmptiesTheLogOfAProcessThatEnded() async throws {
            let directory = try TestDirectory()
            let engine = try await SQLiteEngine.open(at: directory["service.db"], creating: true)
            try await Self.items.migrate(engine)
            let value = [UInt8](repeating: 0xA7, count: 100)
            _ = try await engine.write([SQL(Self.insert, [.bytes([1]), .integer(1), .bytes(value)])])
            _ = try await engine.write([SQL("DELETE FROM items WHERE item = $1", [.bytes([1])])])
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: directory["service.db\(end)"], toPath: directory["left.db\(end)"])
            }
            let log = URL(filePath: directory["left.db-wal"])
            #expect(try Data(contentsOf: log).range(of: Data(value)) != nil)
            let next = try await SQLiteEngine.open(at: directory["left.db"], creating: false)
            _ = try await next.write([SQL(Self.insert, [.bytes([2]), .integer(2), nil])])
            #expect(try Data(contentsOf: log).range(of: Data(value)) == nil)
            await next.close()
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aPlaceholderMayStandTwiceAndInAnyOrder(kind: EngineKind)
            async throws
        {
            let engine = try await Self.engine(kind)
            let rows = try await engine.read(
                SQL("SELECT $2 + 0, $1 + 0, $2 + $1, $3", [.integer(1), .integer(20), .bytes([7])]))
            #expect(rows == [SQLRow([20, 1, 21, .bytes([7])])])
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func manyStatementsGoInOneExchange(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let statements = (0..<5000).map { number in
                SQL(Self.insert, [.bytes(Array("\(number)".utf8)), .integer(Int64(number)), .bytes([1])])
            }
            #expect(try await engine.write(statements) == [Int](repeating: 1, count: 5000))
            let changes = try await engine.write([
                SQL("UPDATE items SET value = $1 WHERE number < 10", [nil]),
                SQL("DELETE FROM items WHERE number >= $1", [4000]),
                SQL(
                    "INSERT INTO items (item, number) VALUES ($1, 0) ON CONFLICT DO NOTHING", [.bytes(Array("1".utf8))]),
            ])
            #expect(changes == [10, 1000, 0])
            let rows = try await engine.read { (transaction) throws(TresorError) in
                try transaction.rows(
                    of: (0..<4000).map { number in
                        SQL("SELECT number FROM items WHERE item = $1", [.bytes(Array("\(number)".utf8))])
                    })
            }
            #expect(rows == (0..<4000).map { [SQLRow([.integer($0)])] })
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func ofSixteenWritersOneSwaps(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            _ = try await engine.write([SQL(Self.insert, [.bytes([1]), 0, .bytes([0])])])
            for round in Int64(0)..<20 {
                let winners = try await withThrowingTaskGroup(of: Int.self) { group in
                    for writer in UInt8(0)..<16 {
                        group.addTask {
                            try await engine.write([
                                SQL(
                                    "UPDATE items SET number = $1, value = $2 WHERE item = $3 AND number = $4",
                                    [.integer(round + 1), .bytes([writer]), .bytes([1]), .integer(round)]),
                                SQL(
                                    """
                                    INSERT INTO items (item, number, value) SELECT $1, $2, $3 \
                                    WHERE EXISTS (SELECT 1 FROM items WHERE item = $4 AND value = $3 AND number = $2)
                                    """,
                                    [
                                        .bytes([2, writer, UInt8(round)]), .integer(round + 1), .bytes([writer]),
                                        .bytes([1]),
                                    ]),
                            ])[0]
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(winners == 1)
            }
            let rows = try await engine.read(SQL("SELECT count(*) FROM items WHERE item <> $1", [.bytes([1])]))
            #expect(rows == [SQLRow([20])])
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aBodyThatThrowsLeavesNothing(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            await #expect(throws: TresorError.noAccess) {
                try await engine.write { (transaction) throws(TresorError) in
                    #expect(try transaction.run([SQL(Self.insert, [.bytes([1]), 1, nil])]) == [1])
                    #expect(try transaction.run(SQL("SELECT number FROM items")) == [SQLRow([1])])
                    throw .noAccess
                }
            }
            #expect(try await engine.read(SQL("SELECT number FROM items")).isEmpty)
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aRefusedStatementTakesAllBack(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let item = SQL(Self.insert, [.bytes([1]), 1, nil])
            await #expect(throws: TresorError.store(.damaged)) { try await engine.write([item, item]) }
            // A body that goes on nevertheless does not help.
            await #expect(throws: TresorError.self) {
                try await engine.write { (transaction) throws(TresorError) in
                    _ = try? transaction.run([item, item])
                    _ = try? transaction.run([item])
                    _ = try? transaction.finish([item])
                }
            }
            #expect(try await engine.read(SQL("SELECT number FROM items")).isEmpty)
            await #expect(throws: TresorError.store(.readOnly)) {
                try await engine.read { (transaction) throws(TresorError) in try transaction.run([item]) }
            }
            await #expect(throws: TresorError.store(.readOnly)) { try await engine.read(item) }
            #expect(try await engine.read(SQL("SELECT number FROM items")).isEmpty)
            #expect(try await engine.write([item]) == [1])
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aRequirementTakesAllBack(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let insert = SQL(
                "INSERT INTO items (item, number) VALUES ($1, 1) ON CONFLICT DO NOTHING", [.bytes([1])]
            ).orElse(.busy)
            let swap = SQL("UPDATE items SET number = 2 WHERE item = $1 AND number = 1", [.bytes([1])]).orElse(.forked)
            let other = SQL(Self.insert, [.bytes([2]), 7, nil])
            await #expect(throws: TresorError.forked) { try await engine.write([other, swap, insert]) }
            #expect(try await engine.read(SQL("SELECT number FROM items")).isEmpty)
            #expect(try await engine.write([insert, swap, other]) == [1, 1, 1])
            await #expect(throws: TresorError.busy) { try await engine.write([insert, swap]) }
            // A key that is taken needs no words in the statement, and is damage where nothing requires it.
            let same = SQL("INSERT INTO items (item, number) VALUES ($1, 3)", [.bytes([1])])
            await #expect(throws: TresorError.forked) { try await engine.write([same.orElse(.forked), other]) }
            await #expect(throws: TresorError.forked) {
                try await engine.write { (transaction) throws(TresorError) in
                    _ = try? transaction.run([same.orElse(.forked)])
                    _ = try? transaction.run([SQL("DELETE FROM items WHERE item = $1", [.bytes([2])])])
                }
            }
            await #expect(throws: TresorError.store(.damaged)) { try await engine.write([same]) }
            await #expect(throws: TresorError.forked) {
                try await engine.write { (transaction) throws(TresorError) in
                    _ = try transaction.run([SQL("DELETE FROM items WHERE item = $1", [.bytes([2])]).orElse(.busy)])
                    _ = try? transaction.run([swap])
                }
            }
            let rows = try await engine.read(SQL("SELECT number FROM items ORDER BY item"))
            #expect(rows == [SQLRow([2]), SQLRow([7])])
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func nothingRunsAfterTheEnd(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let item = SQL(Self.insert, [.bytes([1]), 1, nil])
            await #expect(throws: TresorError.store(.other)) {
                try await engine.write { (transaction) throws(TresorError) in
                    _ = try transaction.finish([item])
                    _ = try transaction.run(SQL("SELECT number FROM items"))
                }
            }
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([1])])
            await engine.close()
            await #expect(throws: TresorError.self) { try await engine.read(SQL("SELECT number FROM items")) }
        }

        /// Several readers and a writer at once.
        @Test(.longRun, arguments: EngineKind.installed) func aReadSeesOneCommittedState(kind: EngineKind) async throws
        {
            let engine = try await Self.engine(kind)
            _ = try await engine.write([
                SQL(Self.insert, [.bytes([1]), 0, nil]), SQL(Self.insert, [.bytes([2]), 0, nil]),
            ])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for number in Int64(1)...60 {
                        _ = try await engine.write { (transaction) throws(TresorError) in
                            for item in UInt8(1)...2 {
                                _ = try transaction.run([
                                    SQL(
                                        "UPDATE items SET number = $1 WHERE item = $2",
                                        [.integer(number), .bytes([item])])
                                ])
                            }
                        }
                    }
                }
                for _ in 0..<3 {
                    group.addTask {
                        for _ in 0..<60 {
                            let (first, second) = try await engine.read { (transaction) throws(TresorError) in
                                let first = try transaction.run(
                                    SQL("SELECT number FROM items WHERE item = $1", [.bytes([1])]))
                                usleep(2000)
                                return (
                                    first,
                                    try transaction.run(SQL("SELECT number FROM items WHERE item = $1", [.bytes([2])]))
                                )
                            }
                            #expect(first == second)
                        }
                    }
                }
                try await group.waitForAll()
            }
            await engine.close()
        }

        /// The write comes between two statements of the read, and is over before the second.
        @Test(arguments: EngineKind.installed) func aReadSeesNoWriteInItsMiddle(kind: EngineKind) async throws {
            let database = try TestDatabase(kind)
            let (engine, other) = (try await database.open(), try await database.open())
            try await Self.items.migrate(engine)
            _ = try await engine.write([SQL(Self.insert, [.bytes([1]), 0, nil])])
            let number = SQL("SELECT number FROM items WHERE item = $1", [.bytes([1])])
            let (hasRead, isWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let reading = other.read { (transaction) throws(TresorError) in
                let first = try transaction.run(number)
                hasRead.signal()
                isWritten.wait()
                return (first, try transaction.run(number))
            }
            try await Cores.apart { hasRead.wait() }
            let written: [Int]
            do {
                defer { isWritten.signal() }
                written = try await engine.write([SQL("UPDATE items SET number = 1 WHERE item = $1", [.bytes([1])])])
            }
            let (first, second) = try await reading
            #expect(written == [1])
            #expect(first == [SQLRow([0])] && second == first)
            #expect(try await engine.read(number) == [SQLRow([1])])
            await engine.close()
            await other.close()
        }

        /// Each engine waits for five seconds: all do it at the same time.
        @Test func aHeldLockIsBusy() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for kind in EngineKind.installed { group.addTask { try await Self.expectBusy(kind) } }
                try await group.waitForAll()
            }
        }

        private static func expectBusy(_ kind: EngineKind) async throws {
            let database = try TestDatabase(kind)
            let (engine, other) = (try await database.open(), try await database.open())
            try await items.migrate(engine)
            _ = try await engine.write([SQL(insert, [.bytes([1]), 0, nil])])
            let update = SQL("UPDATE items SET number = number + 1 WHERE item = $1", [.bytes([1])])
            let (isHeld, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let holding: Void = other.write { (transaction) throws(TresorError) in
                _ = try transaction.run([update])
                isHeld.signal()
                release.wait()
            }
            try await Cores.apart { isHeld.wait() }
            let clock = ContinuousClock()
            let start = clock.now
            await #expect(throws: TresorError.busy) { try await engine.write([update]) }
            #expect(start.duration(to: clock.now) > .seconds(4))
            // Reads go on.
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([0])])
            release.signal()
            try await holding
            #expect(try await engine.write([update]) == [1])
            #expect(try await engine.read(SQL("SELECT number FROM items")) == [SQLRow([2])])
            await engine.close()
            await other.close()
        }

        /// What is written into a file that was removed, no later start finds. A reader that opens the new one would mix both.
        @Test func aFileThatIsNotInItsPlaceIsNotUsed() async throws {
            let directory = try TestDirectory()
            let path = directory["service.db"]
            let engine = try await SQLiteEngine.open(at: path, creating: true)
            try await Self.items.migrate(engine)
            let told = Mutex<[String?]>([])
            engine.outage.onChange { reason in told.withLock { $0.append(reason) } }
            let insert = SQL(Self.insert, [.bytes([1]), .integer(1), nil])
            let moved = directory["moved.db"]
            try FileManager.default.moveItem(atPath: path, toPath: moved)
            for isReplaced in [false, true] {
                if isReplaced { try FileManager.default.copyItem(atPath: moved, toPath: path) }
                await #expect(throws: TresorError.store(.inputOutput)) { try await engine.write([insert]) }
                await #expect(throws: TresorError.store(.inputOutput)) {
                    try await engine.read(SQL("SELECT item FROM items"))
                }
            }
            #expect(told.withLock { $0.count } == 1)
            // The very file, put back, is used again.
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: moved, toPath: path)
            #expect(try await engine.write([insert]) == [1])
            let reasons = told.withLock { $0 }
            #expect(reasons.count == 2 && reasons.last == .some(nil))
            #expect(reasons.first??.contains("\(path) is not the file any more") == true)
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func hintsReachWhoListens(kind: EngineKind) async throws {
            let engine = try await Self.engine(kind)
            let hints = engine.hints()
            let sent = Set((0..<100).map { [UInt8](repeating: UInt8($0), count: 32) })
            for hint in sent { engine.notify(hint) }
            var received: Set<[UInt8]> = []
            for await hint in hints {
                received.insert(hint)
                if received == sent { break }
            }
            #expect(received == sent)
            let rest = engine.hints()
            await engine.close()
            for await _ in rest {}
        }
    }

    /// How suites run over every engine.
    @Suite struct EveryEngineTests {
        @Test func aTestRunsOnceOverEachEngine() async throws {
            let seen = Mutex<[SQLDialect]>([])
            try await EveryEngine().provideScope(for: #require(Test.current), testCase: nil) {
                let dialect = try await Bench().engine.dialect
                seen.withLock { $0.append(dialect) }
            }
            #expect(seen.withLock { $0 } == EngineKind.installed.map { $0 == .sqlite ? .sqlite : .postgres })
        }
    }
#endif

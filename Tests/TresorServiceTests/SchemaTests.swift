// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCrypto

    @testable import TresorService

    /// The schema and its migrations.
    @Suite struct SchemaTests {
        private static let items = Table(name: "items", columns: [.bytes("item")], key: ["item"])
        private static let more = Table(
            name: "more", columns: [.bytes("item"), .integer("number")], key: ["item", "number"], partCount: 4,
            fill: 70)

        @Test(arguments: EngineKind.installed) func anOlderDatabaseMigrates(kind: EngineKind) async throws {
            let engine = try await TestDatabase(kind).open()
            try await Schema(steps: [[Self.items]]).migrate(engine)
            _ = try await engine.write([SQL("INSERT INTO items (item) VALUES ($1)", [.bytes([1])])])
            await #expect(throws: TresorError.self) { try await engine.read(SQL("SELECT item FROM more")) }
            for _ in 0..<2 { try await Schema(steps: [[Self.items], [Self.more]]).migrate(engine) }
            #expect(try await engine.read(SQL("SELECT item FROM items")) == [SQLRow([.bytes([1])])])
            _ = try await engine.write([SQL("INSERT INTO more (item, number) VALUES ($1, $2)", [.bytes([1]), 2])])
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aNewerDatabaseIsRefused(kind: EngineKind) async throws {
            let engine = try await TestDatabase(kind).open()
            try await Schema(steps: [[Self.items], [Self.more]]).migrate(engine)
            await #expect(throws: TresorError.store(.schema)) {
                try await Schema(steps: [[Self.items]]).migrate(engine)
            }
            #expect(try await engine.read(SQL("SELECT item FROM items")).isEmpty)
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func aMigrationThatFailsLeavesNothing(kind: EngineKind) async throws {
            let engine = try await TestDatabase(kind).open()
            let broken = Table(name: "broken", columns: [.bytes("item")], key: ["nothing"])
            await #expect(throws: TresorError.self) {
                try await Schema(steps: [[Self.items], [broken]]).migrate(engine)
            }
            await #expect(throws: TresorError.self) { try await engine.read(SQL("SELECT item FROM items")) }
            try await Schema(steps: [[Self.items]]).migrate(engine)
            await engine.close()
        }

        @Test(arguments: EngineKind.installed) func manyProcessesMigrateAtOnce(kind: EngineKind) async throws {
            let database = try TestDatabase(kind)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let engine = try await database.open()
                        try await Schema.current.migrate(engine)
                        await engine.close()
                    }
                }
                try await group.waitForAll()
            }
            let engine = try await database.open()
            let steps = try await engine.read(SQL("SELECT count(*) FROM schema_steps"))
            #expect(steps == [SQLRow([.integer(Schema.current.version)])])
            for table in Schema.current.steps.joined() {
                let names = table.columns.map(\.name).joined(separator: ", ")
                #expect(try await engine.read(SQL(schema: "SELECT \(names) FROM \(table.name)")).isEmpty)
            }
            await engine.close()
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TresorCrypto
    import TresorPostgres

    @testable import TresorService

    /// A database with the schema of the service and without rows, for one bench at a time.
    ///
    /// Those of PostgreSQL are used again: to make one takes longer than most tests.
    final class BenchDatabase: Sendable {
        private static let free = Mutex<[BenchDatabase]>([])
        private static let template = "service"
        private static let makingTemplate = Mutex<Task<Void, any Error>?>(nil)

        let engine: any SQLEngine
        private let location: PostgresLocation?
        private let second = Mutex<(any SQLEngine)?>(nil)

        private init(_ engine: any SQLEngine, at location: PostgresLocation? = nil) {
            self.engine = engine
            self.location = location
        }

        static func take(_ kind: EngineKind) async throws -> BenchDatabase {
            guard kind == .postgres else {
                let engine = try await TestDatabase(.sqlite).open()
                try await Schema.current.migrate(engine)
                return BenchDatabase(engine)
            }
            if let used = free.withLock({ $0.popLast() }) {
                _ = try await used.engine.write(
                    Schema.current.steps.joined().map { SQL(schema: "DELETE FROM \($0.name)") })
                return used
            }
            try await makeTemplate().value
            let location = try PostgresCluster.newDatabase(copying: template)
            return BenchDatabase(try await PostgresEngine.open(location, connectionCount: 4), at: location)
        }

        private static func makeTemplate() -> Task<Void, any Error> {
            makingTemplate.withLock { making in
                let task =
                    making
                    ?? Task {
                        let location = try PostgresCluster.newDatabase(named: template)
                        let engine = try await PostgresEngine.open(location, connectionCount: 1)
                        try await Schema.current.migrate(engine)
                        await engine.close()
                    }
                making = task
                return task
            }
        }

        /// The engine of another process on this database. An SQLite file has one process.
        func another() async throws -> any SQLEngine {
            guard let location else { return engine }
            if let second = second.withLock({ $0 }) { return second }
            let opened = try await PostgresEngine.open(location, connectionCount: 4)
            second.withLock { $0 = opened }
            return opened
        }

        /// Lets another bench have the database.
        func giveBack() {
            if location != nil { Self.free.withLock { $0.append(self) } }
        }
    }
#endif

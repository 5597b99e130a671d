// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCrypto

    /// The layout of a database of the service, in numbered steps. A step that was released never changes.
    package struct Schema: Sendable {
        /// The steps, each with the tables that it creates. A database of version n has the first n.
        let steps: [[Table]]

        /// The schema of this release.
        package static let current = Schema(steps: [first, second, third])

        /// The version that a database has after all steps.
        package var version: Int64 { Int64(steps.count) }

        /// Brings a database to this schema: creates it, migrates an older one, and leaves one of this version as it is.
        /// All happens in one transaction, and of several processes that start together one does it.
        ///
        /// - Throws: `TresorError.store(_:)` with `schema` for a database of a newer release; the errors of the engine.
        package func migrate(_ engine: some SQLEngine) async throws(TresorError) {
            let dialect = engine.dialect
            try await engine.write { (transaction) throws(TresorError) in
                if dialect == .postgres {
                    // Large tables take longer than a request may, and another process may be doing the same.
                    _ = try transaction.run(
                        dialect.liftingLimits + [
                            SQL("SET LOCAL lock_timeout = 60000"),
                            SQL("SELECT 1 FROM pg_advisory_xact_lock(6076296386)"),
                        ])
                }
                _ = try transaction.run([
                    SQL(
                        schema: "CREATE TABLE IF NOT EXISTS schema_steps (step \(dialect.integer) NOT NULL PRIMARY KEY)"
                    )
                ])
                let rows = try transaction.run(SQL("SELECT CAST(coalesce(max(step), 0) AS bigint) FROM schema_steps"))
                guard let present = try rows.first?.integer(0), present >= 0, present <= version else {
                    throw .store(.schema)
                }
                for (number, tables) in zip(Int64(1)..., steps) where number > present {
                    _ = try transaction.run(tables.flatMap { $0.statements(in: dialect) })
                    _ = try transaction.run([SQL("INSERT INTO schema_steps (step) VALUES ($1)", [.integer(number)])])
                }
            }
        }
    }

    extension Schema {
        /// Returns the version of a database, and changes nothing: 0 for one without a schema.
        ///
        /// - Throws: the errors of the engine.
        package static func version(of engine: some SQLEngine) async throws(TresorError) -> Int64 {
            let isThere =
                switch engine.dialect {
                case .sqlite: SQL("SELECT count(*) FROM sqlite_master WHERE name = 'schema_steps'")
                case .postgres:
                    SQL("SELECT CAST(CASE WHEN to_regclass('schema_steps') IS NULL THEN 0 ELSE 1 END AS bigint)")
                }
            guard try await engine.read(isThere).first?.integer(0) == 1 else { return 0 }
            let rows = try await engine.read(SQL("SELECT CAST(coalesce(max(step), 0) AS bigint) FROM schema_steps"))
            return try rows.first?.integer(0) ?? 0
        }
    }

    extension SQLDialect {
        /// The name of the type for 64 bits.
        fileprivate var integer: String {
            switch self {
            case .sqlite: "INTEGER"
            case .postgres: "bigint"
            }
        }
    }
#endif

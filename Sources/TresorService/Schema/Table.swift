// SPDX-License-Identifier: Apache-2.0

#if Server
    /// A table of the schema, for both engines.
    ///
    /// A table of a tresor begins its key with the tresor id, so that a database that is spread over machines by it keeps
    /// each append on one. There are no sequences, foreign keys, triggers or functions.
    struct Table: Sendable {
        enum Content: Sendable {
            case bytes
            /// Bytes that are too random or too large to be worth compressing.
            case incompressible
            case integer
        }

        struct Column: Sendable {
            let name: String
            let content: Content
            var isOptional = false

            static func bytes(_ name: String) -> Column { Column(name: name, content: .bytes) }
            static func incompressible(_ name: String) -> Column { Column(name: name, content: .incompressible) }
            static func integer(_ name: String) -> Column { Column(name: name, content: .integer) }

            /// The column, which may hold nothing.
            var optional: Column { Column(name: name, content: content, isOptional: true) }
        }

        struct Index: Sendable {
            let columns: [String]
            var isUnique = false
        }

        let name: String
        let columns: [Column]
        /// The columns of the primary key.
        let key: [String]
        var indexes: [Index] = []
        /// The number of parts over which PostgreSQL spreads the rows by the first column of the key.
        var partCount = 1
        /// The percentage of a page that PostgreSQL fills, so that a row that changes often stays in its page. Of a table
        /// that is spread, each part has it: PostgreSQL refuses it for the whole.
        var fill = 100

        /// Returns the statements that create the table.
        func statements(in dialect: SQLDialect) -> [SQL] {
            let indexes = indexes.map { index in
                "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(name)_by_\(index.columns.joined(separator: "_")) "
                    + "ON \(name) (\(index.columns.joined(separator: ", ")))"
            }
            let texts =
                switch dialect {
                case .sqlite: ["CREATE TABLE \(name) (\(definition(in: dialect))) STRICT"]
                case .postgres: postgres()
                }
            return (texts + indexes).map { SQL(schema: $0) }
        }

        private func definition(in dialect: SQLDialect) -> String {
            let columns = columns.map { column in
                "\(column.name) \(dialect.type(of: column.content))\(column.isOptional ? "" : " NOT NULL")"
            }
            return (columns + ["PRIMARY KEY (\(key.joined(separator: ", ")))"]).joined(separator: ", ")
        }

        private func postgres() -> [String] {
            var create = "CREATE TABLE \(name) (\(definition(in: .postgres)))"
            let filling = fill < 100 ? " WITH (fillfactor = \(fill))" : ""
            create += partCount > 1 ? " PARTITION BY HASH (\(key[0]))" : filling
            let storage = columns.filter { $0.content == .incompressible }.map {
                "ALTER TABLE \(name) ALTER COLUMN \($0.name) SET STORAGE EXTERNAL"
            }
            let parts = (partCount > 1 ? 0..<partCount : 0..<0).map {
                "CREATE TABLE \(name)_\($0) PARTITION OF \(name) "
                    + "FOR VALUES WITH (MODULUS \(partCount), REMAINDER \($0))\(filling)"
            }
            return [create] + storage + parts
        }
    }

    extension SQLDialect {
        fileprivate func type(of content: Table.Content) -> String {
            switch (self, content) {
            case (.sqlite, .integer): "INTEGER"
            case (.sqlite, _): "BLOB"
            case (.postgres, .integer): "bigint"
            case (.postgres, _): "bytea"
            }
        }
    }
#endif

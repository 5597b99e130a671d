// SPDX-License-Identifier: Apache-2.0

import GRDB
import TresorCore
import TresorCrypto

/// The layout of a store file. An opened file must match it exactly, because a store file comes from another person.
///
/// Ids are BLOBs; sequence numbers, epochs and numbers of parts are 8 big-endian bytes, so that byte order is number
/// order for all of them.
enum StoreSchema {
    /// "TRSR".
    static let applicationID: Int32 = 0x5452_5352
    static let version: Int32 = 3

    /// The names of the objects and the SQL that creates them. SQLite keeps both verbatim.
    private static let objects: [(type: String, name: String, table: String, sql: String)] = [
        (
            "table", "cards", "cards",
            "CREATE TABLE cards (user BLOB NOT NULL PRIMARY KEY, handle BLOB NOT NULL, chain BLOB NOT NULL) STRICT"
        ),
        (
            "index", "cards_by_handle", "cards",
            "CREATE INDEX cards_by_handle ON cards (handle)"
        ),
        (
            "table", "entries", "entries",
            "CREATE TABLE entries (tresor BLOB NOT NULL, sequence BLOB NOT NULL, entry BLOB NOT NULL, "
                + "PRIMARY KEY (tresor, sequence)) STRICT"
        ),
        (
            "table", "wraps", "wraps",
            "CREATE TABLE wraps (user BLOB NOT NULL, tresor BLOB NOT NULL, epoch BLOB NOT NULL, wrap BLOB NOT NULL, "
                + "PRIMARY KEY (user, tresor, epoch)) STRICT"
        ),
        (
            "table", "blobs", "blobs",
            "CREATE TABLE blobs (tresor BLOB NOT NULL, hash BLOB NOT NULL, part BLOB NOT NULL, bytes BLOB NOT NULL, "
                + "PRIMARY KEY (tresor, hash, part)) STRICT"
        ),
        (
            "table", "deleted", "deleted",
            "CREATE TABLE deleted (tresor BLOB NOT NULL PRIMARY KEY) STRICT"
        ),
        (
            "table", "server_shares", "server_shares",
            "CREATE TABLE server_shares (user BLOB NOT NULL, device BLOB NOT NULL, share BLOB NOT NULL, "
                + "key BLOB NOT NULL, "
                + "PRIMARY KEY (user, device)) STRICT"
        ),
        (
            "table", "kit_copies", "kit_copies",
            "CREATE TABLE kit_copies (locator BLOB NOT NULL PRIMARY KEY, copy BLOB NOT NULL) STRICT"
        ),
    ]

    /// The other entries of `sqlite_schema`: the indexes of primary keys and the table of applied migrations.
    private static let implied: [(type: String, name: String, table: String, sql: String?)] =
        ["cards", "entries", "wraps", "blobs", "deleted", "server_shares", "kit_copies", "grdb_migrations"].map {
            ("index", "sqlite_autoindex_\($0)_1", $0, nil)
        } + [
            (
                "table", "grdb_migrations", "grdb_migrations",
                "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"
            )
        ]

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
        migrator.registerMigration("\(version)") { database in
            for object in objects { try database.execute(sql: object.sql) }
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
        return migrator
    }

    /// Whether a file has no layout yet: it is empty, or a process was stopped before it created the layout.
    static func isBlank(_ database: Database) throws -> Bool {
        let names = try String.fetchAll(database, sql: "SELECT tbl_name FROM sqlite_schema LIMIT 3")
        return try names.allSatisfy { $0 == "grdb_migrations" }
            && Int32.fetchOne(database, sql: "PRAGMA application_id") == 0
            && Int32.fetchOne(database, sql: "PRAGMA user_version") == 0
    }

    /// Refuses a file that differs from the result of the migrations.
    static func verify(_ database: Database) throws {
        let found = try Row.fetchAll(
            database, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?",
            arguments: [objects.count + implied.count + 1])
        guard !found.isEmpty else { throw TresorError.store(.damaged) }
        guard
            try DatabaseValue.fetchOne(database, sql: "PRAGMA application_id") == Int64(applicationID).databaseValue,
            try DatabaseValue.fetchOne(database, sql: "PRAGMA user_version") == Int64(version).databaseValue,
            Set(found.map { Array($0.databaseValues) }) == expected
        else { throw TresorError.store(.schema) }
    }

    private static var expected: Set<[DatabaseValue]> {
        let made = objects.map { [$0.type, $0.name, $0.table, $0.sql].map(\.databaseValue) }
        let besides = implied.map {
            [$0.type, $0.name, $0.table].map(\.databaseValue) + [$0.sql?.databaseValue ?? .null]
        }
        return Set(made + besides)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorTesting

@testable import TresorStore
@testable import TresorSQLite

/// The statements that run on a store file, and on files of an odd form.
@Suite struct StatementTests {
    private let scratch: Scratch
    private var path: String { scratch["store.db"] }

    init() throws { scratch = try Scratch() }

    /// Does everything a store can do, in a store that has something of everything.
    private func useEverything(_ store: SQLiteStore) async throws {
        let entry = random(3000)
        let first = LogChange(
            tresor: tresor(1), sequence: 0, previous: .zero, entry: entry,
            putting: [StoredWrap(user: user(1), epoch: 1, bytes: random(1250))])
        #expect(try await store.append(first) == .done)
        let second = try LogChange(
            tresor: tresor(1), sequence: 1, after: entry, entry: random(70_000),
            putting: [StoredWrap(user: user(1), epoch: 2, bytes: random(1250))], removingWrapsOf: [user(2)],
            blobs: [
                StoredBlob(hash: digest(1), size: 2, bytes: [1, 2]), StoredBlob(hash: digest(2), size: 1, bytes: nil),
            ])
        try await store.putBlob(0, [3], of: digest(2), in: tresor(1))
        #expect(try await store.append(second) == .done)
        #expect(try await store.append(second) == .conflict)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 10) == [entry, second.entry])
        #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: nil).count == 2)
        #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: 2).count == 1)
        #expect(try await store.wraps(of: [user(1), user(2)], in: tresor(1), epoch: 2).map(\.count) == [1, 0])
        try await store.putWraps([StoredWrap(user: user(2), epoch: 2, bytes: [1])], in: tresor(1))
        #expect(try await store.tresors(of: user(2)) == [tresor(1)])
        #expect(try await store.blobs([digest(1), digest(2)], in: tresor(1)) == [[1, 2], [3]])
        #expect(try await store.blob(digest(1), part: 0, in: tresor(1)) == [1, 2])
        try await store.deleteBlobs([digest(1)], in: tresor(1))
        try await store.deleteTresor(tresor(1))
        let chain = random(1400)
        for _ in 0..<2 { #expect(try await store.putCard(chain, user: user(1), handle: [1], replacing: nil) == .done) }
        #expect(try await store.putCard([1], user: user(2), handle: [1], replacing: nil) == .conflict)
        #expect(try await store.card(of: user(1)) == chain)
        #expect(try await store.cards(handle: [1]) == [chain])
        #expect(try await store.users(prefix: [], limit: 9) == [user(1)])
        #expect(try await store.users(prefix: [1], limit: 9) == [user(1)])
        try await store.putServerShare([7], deviceKey: .zero, user: user(1), device: device(1))
        #expect(try await store.serverShare(user: user(1), device: device(1)) == [7])
        try await store.deleteServerShares(user: user(1), devices: [device(1)])
        try await store.deleteServerShares(user: user(1), devices: nil)
        try await store.putKitCopy([8], locator: digest(1))
        #expect(try await store.kitCopy(locator: digest(1)) == [8])
        try await store.deleteKitCopy(locator: digest(1))
    }

    /// All that may run. A statement of a trigger would show as a comment with its name.
    private static let statements: Set<String> = [
        "BEGIN DEFERRED TRANSACTION", "BEGIN IMMEDIATE TRANSACTION", "COMMIT TRANSACTION", "PRAGMA application_id",
        "PRAGMA query_only = 0", "PRAGMA query_only = 1", "PRAGMA user_version",
        "SELECT tbl_name FROM sqlite_schema LIMIT 3",
        "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?",
        "DELETE FROM blobs WHERE tresor = ?", "PRAGMA freelist_count", "PRAGMA incremental_vacuum(n)",
        "DELETE FROM blobs WHERE rowid IN (SELECT rowid FROM blobs WHERE tresor = ? AND hash = ? ORDER BY part DESC LIMIT ?)",
        "DELETE FROM entries WHERE tresor = ?", "DELETE FROM wraps WHERE tresor = ?",
        "INSERT INTO deleted (tresor) VALUES (?) ON CONFLICT (tresor) DO NOTHING",
        "SELECT tresor FROM deleted WHERE tresor = ?",
        "INSERT INTO blobs (tresor, hash, part, bytes) VALUES (?, ?, ?, ?) "
            + "ON CONFLICT (tresor, hash, part) DO UPDATE SET bytes = excluded.bytes",
        "SELECT COUNT(*), MAX(part), SUM(LENGTH(bytes)) FROM blobs WHERE tresor = ? AND hash = ?",
        "SELECT SUM(LENGTH(bytes)) FROM blobs WHERE tresor = ? AND hash = ?",
        "SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? AND part = ?",
        "SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? ORDER BY part",
        "DELETE FROM server_shares WHERE user = ?", "DELETE FROM server_shares WHERE user = ? AND device = ?",
        "DELETE FROM kit_copies WHERE locator = ?", "DELETE FROM wraps WHERE user = ? AND tresor = ?",
        "INSERT INTO cards (user, handle, chain) VALUES (?, ?, ?) "
            + "ON CONFLICT (user) DO UPDATE SET handle = excluded.handle, chain = excluded.chain",
        "INSERT INTO entries (tresor, sequence, entry) VALUES (?, ?, ?)",
        "INSERT INTO server_shares (user, device, share, key) VALUES (?, ?, ?, ?) "
            + "ON CONFLICT (user, device) DO UPDATE SET share = excluded.share, key = excluded.key",
        "INSERT INTO kit_copies (locator, copy) VALUES (?, ?) ON CONFLICT (locator) DO UPDATE SET copy = excluded.copy",
        "INSERT INTO wraps (user, tresor, epoch, wrap) VALUES (?, ?, ?, ?) "
            + "ON CONFLICT (user, tresor, epoch) DO UPDATE SET wrap = excluded.wrap",
        "SELECT DISTINCT tresor FROM wraps WHERE user = ? ORDER BY tresor",
        "SELECT chain FROM cards WHERE handle = ? ORDER BY user LIMIT ?", "SELECT chain FROM cards WHERE user = ?",
        "SELECT copy FROM kit_copies WHERE locator = ?",
        "SELECT entry FROM entries WHERE tresor = ? AND sequence >= ? ORDER BY sequence LIMIT ?",
        "SELECT share FROM server_shares WHERE user = ? AND device = ?",
        "SELECT sequence, entry FROM entries WHERE tresor = ? ORDER BY sequence DESC LIMIT 1",
        "SELECT user FROM cards WHERE handle = ? AND user <> ? LIMIT 1",
        "SELECT user FROM cards WHERE user >= ? AND user < ? ORDER BY user LIMIT ?",
        "SELECT user FROM cards WHERE user >= ? ORDER BY user LIMIT ?",
        "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? AND epoch = ?",
        "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? ORDER BY epoch",
    ]

    @Test func A108_noStatementRunsThatIsNotOneOfTheseMade() async throws {
        let seen = Notes()
        let store = try await SQLiteStore.open(at: path, creating: true)
        try await store.connection.read(seen.note)
        try await useEverything(store)
        try await store.connection.read { database in
            try StoreSchema.verify(database)
            _ = try StoreSchema.isBlank(database)
        }
        #expect(seen.all.subtracting(Self.statements) == [], "unexpected")
        #expect(Self.statements.subtracting(seen.all) == [], "never ran")
    }

    private final class Notes: Sendable {
        private let statements = Mutex<Set<String>>([])

        var all: Set<String> { statements.withLock { $0 } }

        @Sendable func note(_ database: Database) {
            database.trace { [self] event in
                if case .statement(let statement) = event { add(statement.sql) }
            }
        }

        /// How many pages are moved follows the room of the disk.
        private func add(_ statement: String) {
            let shown = statement.replacing(#/incremental_vacuum\(\d+\)/#, with: "incremental_vacuum(n)")
            _ = statements.withLock { $0.insert(shown) }
        }
    }

    /// A trigger added to a file in use shows among the statements of another connection, and does not run on ours.
    @Test func A108_aTriggerWouldShowAndDoesNotRun() async throws {
        let (seen, others) = (Notes(), Notes())
        let store = try await SQLiteStore.open(at: path, creating: true)
        try await store.connection.read(seen.note)
        #expect(try await store.putCard([1], user: user(1), handle: [1], replacing: nil) == .done)
        try await stranger(at: path).writeWithoutTransaction { database in
            others.note(database)
            try database.execute(
                sql: "CREATE TRIGGER more AFTER INSERT ON server_shares "
                    + "BEGIN INSERT INTO kit_copies VALUES (new.user, new.share); END")
            try database.execute(sql: "INSERT INTO server_shares VALUES (x'01', x'02', x'03', x'04')")
        }
        #expect(others.all.contains { $0.hasPrefix("--") }, "\(others.all)")
        #expect(try await store.kitCopy(locator: digest(1)) == nil)
        try await store.putServerShare([7], deviceKey: .zero, user: user(1), device: device(1))
        #expect(try await store.kitCopy(locator: digest(1)) == nil)
        #expect(seen.all.subtracting(Self.statements) == [])
    }

    @Test(arguments: [512, 1024, 65_536]) func A108_anyPageSizeWorks(size: Int) async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        try await DatabaseQueue(path: path).writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA page_size = \(size); VACUUM")
            #expect(try Int.fetchOne(database, sql: "PRAGMA page_size") == size)
        }
        try await useEverything(try await SQLiteStore.open(at: path, creating: false))
        let opened = try await SQLiteStore.open(at: path, creating: true)
        #expect(try await opened.connection.read { try Int.fetchOne($0, sql: "PRAGMA page_size") } == size)
        #expect(try await opened.connection.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }
}

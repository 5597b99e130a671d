// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TestSupport
import Testing
import TresorCore
import TresorCrypto
import TresorTesting

@testable import TresorStore
@testable import TresorSQLite

@Suite struct SQLiteStoreTests {
    let scratch: Scratch
    var path: String { scratch["store.db"] }

    init() throws { scratch = try Scratch() }

    @Test func missingFileIsNotFound() async throws {
        #expect(await errorOf { _ = try await SQLiteStore.open(at: path, creating: false) } == .notFound)
        #expect(try scratch.names.isEmpty)
    }

    /// Two machines write into one mailbox (SPEC §8.6).
    @Test func aCopyIsReplacedOnlyWhileItIsAsItWasRead() async throws {
        let (locator, other) = (
            try #require(Hash256([UInt8](repeating: 1, count: 32))),
            try #require(Hash256([UInt8](repeating: 2, count: 32)))
        )
        let stores: [any ReplacingStore] = [MemoryStore(), try await SQLiteStore.open(at: path, creating: true)]
        for store in stores {
            #expect(try await !store.replaceKitCopy([1], with: [2], locator: locator))
            #expect(try await store.kitCopy(locator: locator) == nil)
            try await store.putKitCopy([1], locator: locator)
            try await store.putKitCopy([1], locator: other)
            #expect(try await store.replaceKitCopy([1], with: [2], locator: locator))
            #expect(try await !store.replaceKitCopy([1], with: [3], locator: locator))
            #expect(try await store.kitCopy(locator: locator) == [2])
            #expect(try await store.kitCopy(locator: other) == [1])
            try await store.deleteKitCopy(locator: locator)
            #expect(try await !store.replaceKitCopy([2], with: [3], locator: locator))
            #expect(try await store.kitCopy(locator: locator) == nil)
        }
    }

    @Test func missingDirectoryIsAnErrorOfTheStore() async {
        let path = scratch["none/store.db"]
        #expect(await errorOf { _ = try await SQLiteStore.open(at: path, creating: true) } == .store(.inputOutput))
        #expect(await errorOf { _ = try await SQLiteStore.open(at: path, creating: false) } == .notFound)
    }

    @Test func directoryInItsPlaceIsAnErrorOfTheStore() async {
        let error = await errorOf { _ = try await SQLiteStore.open(at: scratch.path, creating: true) }
        #expect(error == .store(.inputOutput))
    }

    @Test func newFileIsWholeAndLeavesNothingElse() async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        #expect(try scratch.names == ["store.db"])
        let queue = try DatabaseQueue(path: path)
        let answers = try await queue.read { database in
            try ["journal_mode", "page_size", "application_id", "user_version", "integrity_check"].map {
                try String.fetchOne(database, sql: "PRAGMA \($0)")
            }
        }
        #expect(answers == ["wal", "8192", "\(0x5452_5352)", "3", "ok"])
        let strict = try await queue.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict")
        }
        #expect(strict == 7)
    }

    @Test func A217_theLostBeginningOfALogIsRestored() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let entries = (0..<3).map { _ in random(300) }
        for (index, entry) in entries.enumerated() {
            let previous = index == 0 ? nil : entries[index - 1]
            let change = try LogChange(tresor: tresor(1), sequence: UInt64(index), after: previous, entry: entry)
            #expect(try await store.append(change) == .done)
        }
        let queue = try DatabaseQueue(path: path)
        try await queue.write { database in
            try database.execute(sql: "DELETE FROM entries WHERE entry <> ?", arguments: [Data(entries[2])])
        }
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 9) == [entries[2]])
        #expect(try await store.restore(entries[1], at: 1, of: tresor(1)) == .done)
        #expect(try await store.restore(entries[0], at: 0, of: tresor(1)) == .done)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 9) == entries)
        // Restoring an existing entry is done; nothing is replaced, and nothing follows the end.
        #expect(try await store.restore(entries[0], at: 0, of: tresor(1)) == .done)
        #expect(try await store.restore(entries[1], at: 0, of: tresor(1)) == .conflict)
        #expect(try await store.restore(entries[1], at: 3, of: tresor(1)) == .conflict)
        #expect(try await store.restore(entries[1], at: 0, of: tresor(2)) == .conflict)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 9) == entries)
    }

    @Test(arguments: [mode_t(0), 0o022, 0o077]) func newFileHasItsModeFromTheUmask(_ mask: mode_t) async throws {
        await #expect(processExitsWith: .success) { [mask = mask as mode_t] in
            umask(mask)
            let scratch = try Scratch()
            let store = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            try await store.putServerShare([1], deviceKey: .zero, user: user(1), device: device(1))
            for name in ["store.db", "store.db-wal", "store.db-shm"] {
                #expect(try mode(of: scratch[name]) == 0o666 & ~Int(mask))
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs to become somebody else"))
    func placeThatCannotBeWrittenIsReadOnly() async throws {
        await #expect(processExitsWith: .success) {
            let scratch = try Scratch()
            do { _ = try await SQLiteStore.open(at: scratch["store.db"], creating: true) }
            try setMode(0o644, of: scratch["store.db"])
            try setMode(0o755, of: scratch.path)
            #expect(seteuid(65534) == 0)
            let creating = await errorOf { _ = try await SQLiteStore.open(at: scratch["new.db"], creating: true) }
            let opening = await errorOf {
                let store = try await SQLiteStore.open(at: scratch["store.db"], creating: false)
                try await store.putServerShare([1], deviceKey: .zero, user: user(1), device: device(1))
            }
            #expect(seteuid(0) == 0)
            #expect(creating == .store(.readOnly))
            #expect(opening == .store(.readOnly) || opening == .store(.inputOutput))
        }
    }

    /// However much was written, and whoever else had it open.
    @Test func whoClosesAStoreLastLeavesItsFileAlone() async throws {
        do {
            let store = try await SQLiteStore.open(at: path, creating: true)
            let other = try await SQLiteStore.open(at: path, creating: false)
            for number: UInt8 in 1...40 {
                try await store.putBlob(0, random(60_000), of: digest(number), in: tresor(1))
            }
            #expect(try await other.blob(digest(1), part: 0, in: tresor(1)) != nil)
            #expect(try bytes(at: path + "-wal").count > 1_000_000)
        }
        #expect(try scratch.names == ["store.db"])
    }

    @Test func openingWritesNothing() async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        let before = try bytes(at: path)
        do {
            let store = try await SQLiteStore.open(at: path, creating: true)
            #expect(try await store.card(of: user(1)) == nil)
            #expect(try bytes(at: path + "-wal").isEmpty)
        }
        #expect(try bytes(at: path) == before)
    }

    @Test func connectionIsSetAsItMustBe() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let settings = try await store.connection.read { database in
            try ["synchronous", "secure_delete", "trusted_schema", "cell_size_check", "temp_store"].map {
                try Int.fetchOne(database, sql: "PRAGMA \($0)")
            }
        }
        #expect(settings == [2, 1, 0, 1, 2])
    }

    @Test(arguments: [
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x'",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
    ])
    func noStatementDamagesTheSchema(_ statement: String) async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        await #expect(throws: TresorError.self) { try await store.connection.write { try $0.execute(sql: statement) } }
        #expect(throws: Never.self) { try DatabaseQueue(path: path).read(StoreSchema.verify) }
    }

    @Test func contentSurvivesReopening() async throws {
        do {
            let store = try await SQLiteStore.open(at: path, creating: true)
            #expect(try await store.putCard([1], user: user(1), handle: [2], replacing: nil) == .done)
        }
        let store = try await SQLiteStore.open(at: path, creating: false)
        #expect(try await store.card(of: user(1)) == [1])
    }

    @Test(arguments: 0..<5) func manyMayCreateAtOnceAndOneAppends(_ round: Int) async throws {
        let path = path
        let stores = try await withThrowingTaskGroup(of: SQLiteStore.self) { group in
            for _ in 0..<8 { group.addTask { try await SQLiteStore.open(at: path, creating: true) } }
            return try await group.reduce(into: [SQLiteStore]()) { $0.append($1) }
        }
        #expect(try await race(stores) == 1)
        let log = try await stores[0].entries(of: tresor(1), from: 0, limit: 10)
        #expect(log.count == 1)
        for store in stores { #expect(try await store.entries(of: tresor(1), from: 0, limit: 10) == log) }
        #expect(try scratch.names.allSatisfy { $0.hasPrefix("store.db") && !$0.hasSuffix(".new") })
    }

    /// Killed before the store had its name, or before the temporary lost its own.
    @Test func A105_whatAKilledMakerLeftIsSweptUp() async throws {
        for suffix in ["", "-wal", "-journal"] {
            #expect(
                FileManager.default.createFile(atPath: "\(path).0123456789abcdef.new\(suffix)", contents: Data([1])))
        }
        let others = ["other", "restored", "2024"].map { "store.db.\($0).new" }
        for name in others { #expect(FileManager.default.createFile(atPath: scratch[name], contents: Data([1]))) }
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        #expect(try scratch.names.filter { $0.contains(".new") } == others.sorted())
        try FileManager.default.linkItem(atPath: path, toPath: "\(path).fedcba9876543210.new")
        do { _ = try await SQLiteStore.open(at: path, creating: false) }
        #expect(try scratch.names.filter { $0.contains(".new") } == others.sorted())
    }

    /// Paths that SQLite would take for a URI, or for a database in memory.
    @Test(arguments: ["file:a.db", ":memory:", "file:m.db?mode=memory", "a%20b.db?x=1"])
    func everyPathIsTheNameOfAFile(_ name: String) async throws {
        await #expect(processExitsWith: .success) { [name = name as String] in
            let scratch = try Scratch()
            #expect(FileManager.default.changeCurrentDirectoryPath(scratch.path))
            do {
                try await SQLiteStore.open(at: name, creating: true).putServerShare(
                    [1], deviceKey: .zero, user: user(1), device: device(1))
            }
            #expect(try scratch.names == [name])
            let store = try await SQLiteStore.open(at: scratch[name], creating: false)
            #expect(try await store.serverShare(user: user(1), device: device(1)) == [1])
        }
    }

    /// Their order, and how long one waits for the others, is the kernel's.
    @Test(.longRun) func A107_processesLoseNoEntry() async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        await withTaskGroup { [path] group in
            for _ in 0..<4 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let store = try await SQLiteStore.open(at: path, creating: false)
                        for _ in 0..<25 { try await appendAtTheEnd(of: store) }
                    }
                }
            }
        }
        let store = try await SQLiteStore.open(at: path, creating: false)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 1000).count == 100)
    }

    @Test func longWriteOfSomebodyElseIsBusy() async throws {
        #expect(StoreConnection.patience == 5)
        let store = try SQLiteStore.openBlocking(at: path, creating: true, patience: 0.001)
        let other = try stranger(at: path)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let error = await errorOf {
            try await store.putServerShare([1], deviceKey: .zero, user: user(1), device: device(1))
        }
        #expect(error == .busy)
        #expect(try await store.serverShare(user: user(1), device: device(1)) == nil)
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await store.putServerShare([1], deviceKey: .zero, user: user(1), device: device(1))
        #expect(try await store.serverShare(user: user(1), device: device(1)) == [1])
    }

    @Test func readerDoesNotStopADeletionAndIsReported() async throws {
        let store = try SQLiteStore.openBlocking(at: path, creating: true, patience: 0.001)
        try await store.putServerShare([1], deviceKey: .zero, user: user(1), device: device(1))
        let other = try stranger(at: path)
        try await other.writeWithoutTransaction {
            try $0.execute(sql: "BEGIN")
            _ = try Row.fetchAll($0, sql: "SELECT * FROM server_shares")
        }
        #expect(await errorOf { try await store.deleteServerShares(user: user(1), devices: nil) } == .busy)
        #expect(try await store.serverShare(user: user(1), device: device(1)) == nil)
    }

    @Test(arguments: [
        (ResultCode.SQLITE_BUSY, TresorError.busy), (.SQLITE_BUSY_SNAPSHOT, .busy), (.SQLITE_LOCKED, .busy),
        (.SQLITE_PROTOCOL, .busy),
        (.SQLITE_FULL, .store(.full)), (.SQLITE_READONLY, .store(.readOnly)),
        (.SQLITE_READONLY_DIRECTORY, .store(.readOnly)), (.SQLITE_CORRUPT, .store(.damaged)),
        (.SQLITE_NOTADB, .store(.damaged)), (.SQLITE_IOERR, .store(.inputOutput)),
        (.SQLITE_IOERR_FSYNC, .store(.inputOutput)), (.SQLITE_IOERR_NOMEM, .store(.memory)),
        (.SQLITE_CANTOPEN, .store(.inputOutput)), (.SQLITE_ERROR, .store(.other)),
        (.SQLITE_CONSTRAINT_DATATYPE, .store(.damaged)),
    ])
    func resultCodesHaveTheirNames(_ code: ResultCode, _ expected: TresorError) {
        #expect(TresorError(sqlite: code) == expected)
    }

    @Test func fullFileIsAnErrorAndChangesNothing() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        try await store.connection.write { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let change = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: random(100_000))
        #expect(await errorOf { _ = try await store.append(change) } == .store(.full))
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 1).isEmpty)
    }
}

/// Appends an entry of its own, again and again until nobody else was faster.
private func appendAtTheEnd(of store: SQLiteStore) async throws {
    while true {
        let log = try await store.entries(of: tresor(1), from: 0, limit: 1000)
        let change = try LogChange(
            tresor: tresor(1), sequence: UInt64(log.count), after: log.last, entry: random(100))
        if try await store.append(change) == .done { return }
    }
}

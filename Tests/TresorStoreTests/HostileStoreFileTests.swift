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

@Suite struct HostileStoreFileTests {
    let scratch: Scratch
    var path: String { scratch["store.db"] }

    init() throws { scratch = try Scratch() }

    /// A store with something of everything, in one file.
    private func fill() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        var dice = SeededGenerator(seed: LongRun.seed)
        for id in UInt8(0)..<20 {
            let card = dice.bytes(1400)
            #expect(try await store.putCard(card, user: user(id), handle: [id], replacing: nil) == .done)
            let wrap = StoredWrap(user: user(id), epoch: 1, bytes: dice.bytes(1250))
            try await store.putWraps([wrap], in: tresor(1))
            try await store.putServerShare(dice.bytes(32), deviceKey: .zero, user: user(id), device: device(1))
        }
        var previous: [UInt8]?
        for sequence in UInt64(0)..<8 {
            let entry = dice.bytes(3000)
            let change = try LogChange(tresor: tresor(1), sequence: sequence, after: previous, entry: entry)
            #expect(try await store.append(change) == .done)
            previous = entry
        }
        try await store.putKitCopy(dice.bytes(6000), locator: digest(1))
    }

    /// Uses all of a store; what it hands out need not be true.
    private func exercise() async throws {
        let store = try await SQLiteStore.open(at: path, creating: false)
        _ = try await store.users(prefix: [], limit: 100)
        for id in UInt8(0)..<20 {
            _ = try await store.card(of: user(id))
            _ = try await store.cards(handle: [id])
            _ = try await store.wraps(of: user(id), in: tresor(1), epoch: nil)
            _ = try await store.tresors(of: user(id))
            _ = try await store.serverShare(user: user(id), device: device(1))
        }
        let log = try await store.entries(of: tresor(1), from: 0, limit: 100)
        _ = try await store.kitCopy(locator: digest(1))
        let change = try LogChange(
            tresor: tresor(1), sequence: UInt64(log.count), after: log.last, entry: [1],
            putting: [StoredWrap(user: user(50), epoch: 2, bytes: [1])], removingWrapsOf: [user(3)])
        _ = try await store.append(change)
        try await store.deleteServerShares(user: user(4), devices: nil)
        try await store.deleteKitCopy(locator: digest(1))
    }

    private func requireStoreError(_ error: TresorError?, _ comment: Comment) {
        switch error {
        case nil, .store: break
        default: Issue.record("\(String(describing: error)): \(comment)")
        }
    }

    @Test func A108_wholeStoreIsUsed() async throws {
        try await fill()
        try await exercise()
    }

    @Test(arguments: [[], [0], Array("SQLite format 3\0".utf8), [UInt8](repeating: 0x41, count: 8192)])
    func A108_whatIsNoDatabaseIsRefused(_ content: [UInt8]) async throws {
        try write(content, to: path)
        // An empty file is a place for a new one.
        for creating in content.isEmpty ? [false] : [false, true] {
            let error = await errorOf { _ = try await SQLiteStore.open(at: path, creating: creating) }
            #expect(error == .store(.damaged))
        }
        #expect(try bytes(at: path) == content)
    }

    @Test(arguments: [
        "CREATE TABLE more (a)", "CREATE VIEW more AS SELECT * FROM cards",
        "CREATE INDEX more ON server_shares (share)",
        "CREATE TRIGGER more AFTER INSERT ON cards BEGIN DELETE FROM cards; END",
        "CREATE TRIGGER more AFTER DELETE ON server_shares "
            + "BEGIN INSERT INTO kit_copies VALUES (old.user, old.share); END",
        "DROP INDEX cards_by_handle", "DROP TABLE kit_copies", "ALTER TABLE server_shares ADD COLUMN more BLOB",
        "ALTER TABLE server_shares RENAME COLUMN share TO other",
        "DROP TABLE server_shares; CREATE VIEW server_shares AS SELECT user, user AS device, chain AS share FROM cards",
        "DROP TABLE kit_copies; CREATE TABLE kit_copies (locator, copy)",
        "CREATE VIRTUAL TABLE more USING fts5(a)", "PRAGMA user_version = 1", "PRAGMA user_version = 0",
        "PRAGMA application_id = 0",
    ])
    func A108_otherLayoutIsRefused(_ sql: String) async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        do { try await DatabaseQueue(path: path).writeWithoutTransaction { try $0.execute(sql: sql) } }
        for creating in [false, true] {
            let error = await errorOf { _ = try await SQLiteStore.open(at: path, creating: creating) }
            #expect(error == .store(.schema))
        }
    }

    @Test func A108_otherDatabaseIsRefused() async throws {
        do { try await DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE a (b)") } }
        #expect(await errorOf { _ = try await SQLiteStore.open(at: path, creating: true) } == .store(.schema))
    }

    @Test(arguments: [
        "UPDATE cards SET user = x'00'", "UPDATE wraps SET tresor = x'0102'",
    ])
    func A108_idsOfOtherLengthAreRefused(_ sql: String) async throws {
        do {
            let store = try await SQLiteStore.open(at: path, creating: true)
            #expect(try await store.putCard([1], user: user(1), handle: [1], replacing: nil) == .done)
            try await store.putWraps([StoredWrap(user: user(1), epoch: 1, bytes: [1])], in: tresor(1))
            try await store.connection.write { try $0.execute(sql: sql) }
        }
        let store = try await SQLiteStore.open(at: path, creating: false)
        let errors = [
            await errorOf { _ = try await store.users(prefix: [], limit: 10) },
            await errorOf { _ = try await store.tresors(of: user(1)) },
        ]
        #expect(errors.contains(.store(.damaged)))
    }

    /// STRICT binds only honest writers; a crafted file holds any type anywhere.
    @Test(arguments: ["'text'", "7", "1.5", "NULL"])
    func A108_valuesOfOtherTypesAreRefused(_ value: String) async throws {
        do { _ = try await SQLiteStore.open(at: path, creating: true) }
        do {
            try await DatabaseQueue(path: path).writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA writable_schema = ON")
                try database.execute(
                    sql:
                        "UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), 'chain BLOB NOT NULL', 'chain')"
                )
                try database.execute(sql: "PRAGMA writable_schema = RESET")
                try database.execute(
                    sql: "INSERT INTO cards VALUES (?, x'01', \(value))", arguments: [Data(user(1).digest.bytes)])
                try database.execute(sql: "PRAGMA writable_schema = ON")
                try database.execute(
                    sql: "UPDATE sqlite_schema SET sql = replace(sql, 'chain)', 'chain BLOB NOT NULL)') || ' STRICT' "
                        + "WHERE type = 'table' AND name <> 'grdb_migrations'")
            }
        }
        let store = try await SQLiteStore.open(at: path, creating: false)
        #expect(await errorOf { _ = try await store.card(of: user(1)) } == .store(.damaged))
        #expect(await errorOf { _ = try await store.cards(handle: [1]) } == .store(.damaged))
        let error = await errorOf { _ = try await store.putCard([1], user: user(1), handle: [1], replacing: nil) }
        #expect(error == .store(.damaged))
    }

    @Test func A108_truncatedFileNeverTraps() async throws {
        try await fill()
        let whole = try bytes(at: path)
        var lengths = Array(stride(from: 0, to: whole.count, by: 4096))
        lengths += [1, 15, 16, 99, 100, 101, 512, 4095, 4097, whole.count - 1]
        for length in lengths {
            try write(Array(whole.prefix(length)), to: path)
            let error = await errorOf { try await exercise() }
            requireStoreError(error, "cut to \(length)")
            if length < 100 { #expect(error == .store(.damaged)) }
        }
    }

    @Test func A108_flippedBitsNeverTrap() async throws {
        try await fill()
        let whole = try bytes(at: path)
        var dice = SeededGenerator(seed: LongRun.seed)
        var places = Array(0..<100)
        for page in stride(from: 0, to: whole.count, by: 4096) {
            places += [0, 1, 3, 4, 5, 6, 7, 8, 9, 10].map { page + $0 }
            places += (0..<2).map { _ in page + Int.random(in: 0..<4096, using: &dice) }
        }
        var refused = 0
        for place in places.sampled(3) where place < whole.count {
            var damaged = whole
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
            try write(damaged, to: path)
            try? FileManager.default.removeItem(atPath: path + "-wal")
            try? FileManager.default.removeItem(atPath: path + "-shm")
            let error = await errorOf { try await exercise() }
            requireStoreError(
                error, "TRESOR_SEED=\(LongRun.seed): \(whole[place]) at \(place) became \(damaged[place])")
            if error != nil { refused += 1 }
        }
        #expect(refused > (LongRun.isOn ? 50 : 16))
    }

    @Test func A108_garbageInTheWriteAheadLogIsNotBelieved() async throws {
        do {
            let store = try await SQLiteStore.open(at: path, creating: true)
            #expect(try await store.putCard([1], user: user(1), handle: [1], replacing: nil) == .done)
        }
        try write(random(50_000), to: path + "-wal")
        let store = try await SQLiteStore.open(at: path, creating: false)
        #expect(try await store.card(of: user(1)) == [1])
    }

    /// A row that no program writes is not loaded to be checked.
    @Test func A214_aHugeRowIsNotLoaded() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let greatest = random((16 << 20) - 200)
        #expect(try await store.putCard(greatest, user: user(1), handle: [1], replacing: nil) == .done)
        let isWhole = try await store.card(of: user(1)) == greatest
        #expect(isWhole)
        let error = await errorOf {
            _ = try await store.putCard(random(16 << 20), user: user(2), handle: [2], replacing: nil)
        }
        #expect(error == .store(.damaged))
        try await addHugeRows()
        await expectHugeRowsRefused(by: store)
        #expect(try await store.card(of: user(1)) != nil)
    }

    /// The memory is that of a process of its own.
    @Test(.longRun) func A214_aHugeRowTakesNoMemory() async {
        await #expect(processExitsWith: .success) {
            let tests = try HostileStoreFileTests()
            let store = try await SQLiteStore.open(at: tests.path, creating: true)
            try await tests.addHugeRows()
            let before = tests.greatestMemory
            await tests.expectHugeRowsRefused(by: store)
            #expect(tests.greatestMemory - before < 150 << 20)
        }
    }

    /// Writes rows that are greater than any that a store accepts.
    private func addHugeRows() async throws {
        try await stranger(at: path).write { database in
            for (sql, first) in [
                ("INSERT INTO entries VALUES (?, x'0000000000000000', zeroblob(200000000))", tresor(1).digest),
                ("INSERT INTO cards VALUES (?, x'02', zeroblob(17000000))", user(2).digest),
                ("INSERT INTO wraps VALUES (?, x'01', x'01', zeroblob(17000000))", user(1).digest),
                ("INSERT INTO kit_copies VALUES (?, zeroblob(17000000))", digest(1)),
            ] { try database.execute(sql: sql, arguments: [Data(first.bytes)]) }
        }
    }

    private func expectHugeRowsRefused(by store: SQLiteStore) async {
        #expect(await errorOf { _ = try await store.entries(of: tresor(1), from: 0, limit: 256) } == .store(.damaged))
        #expect(await errorOf { _ = try await store.card(of: user(2)) } == .store(.damaged))
        #expect(await errorOf { _ = try await store.cards(handle: [2]) } == .store(.damaged))
        #expect(await errorOf { _ = try await store.kitCopy(locator: digest(1)) } == .store(.damaged))
    }

    /// The most bytes that this process ever had in memory.
    private var greatestMemory: Int {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss << 10
        #endif
    }

    @Test func A108_namesAreNeverStatements() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let handle = Array("'; DROP TABLE cards; --".utf8)
        #expect(try await store.putCard([1], user: user(1), handle: handle, replacing: nil) == .done)
        #expect(try await store.cards(handle: handle) == [[1]])
    }
}

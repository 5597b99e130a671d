// SPDX-License-Identifier: Apache-2.0

import Cvariadic
import Dispatch
import Foundation
import GRDB
public import TresorCore

/// The embedded store: one SQLite file that several processes, and several people, use at the same time.
///
/// The file is as untrusted as any other store. It is opened with the schema trusted in nothing, its layout must be the expected one to
/// the letter, and whatever else is wrong with it is ``TresorError/store(_:)``. Writes are durable when a call returns. A call that waits 5
/// seconds for somebody else's write throws ``TresorError/busy``.
///
/// Calls that delete overwrite the bytes in the file and empty its write-ahead log. While another process reads, or without space, the log cannot
/// be emptied: the deletion of halves and kit copies then throws ``TresorError/busy`` after 5 seconds, or ``TresorError/store(_:)``, done but for
/// that, and is to be repeated; deleted wraps, which hold nothing that was not their receiver's, may stay until the next such call.
///
/// Reading needs no writing: a file, or a directory, that this process may not write to is read in place, and every
/// write is ``TresorError/store(_:)`` with `readOnly`. Where somebody else writes to it meanwhile, a read throws
/// ``TresorError/busy``.
public final class SQLiteStore: Store {
    private let queue: DatabaseQueue
    /// The state of a file that is read in place, on a medium that cannot be written.
    private let still: StoreFile.Still?

    private init(_ queue: DatabaseQueue, still: StoreFile.Still? = nil) {
        self.queue = queue
        self.still = still
    }

    /// Opens a store file.
    ///
    /// - Parameters:
    ///   - path: where the file is. A new one gets its mode from the umask, since a store is shared.
    ///   - creating: whether a missing file is made, which appears whole or not at all, and an empty one filled.
    /// - Throws: ``TresorError/notFound`` for a missing file that is not to be made; ``TresorError/store(_:)`` with `damaged` for
    ///   a file that is not a store, `schema` for one of another layout, `readOnly` or `inputOutput` for one that cannot be had;
    ///   ``TresorError/busy``.
    public static func open(at path: String, creating: Bool) async throws(TresorError) -> SQLiteStore {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async {
                continuation.resume(returning: Result { try openBlocking(at: path, creating: creating) })
            }
        }
        do { return try result.get() } catch { throw TresorError(store: error) }
    }

    static func openBlocking(at path: String, creating: Bool) throws -> SQLiteStore {
        // What begins with "file:" or is ":memory:" is the name of a file here, too.
        let path = path.utf8.first == UInt8(ascii: "/") ? path : "./\(path)"
        if try !StoreFile.exists(at: path) {
            guard creating else { throw TresorError.notFound }
            try StoreFile.create(at: path) { temporary in
                let queue = try DatabaseQueue(path: temporary, configuration: configuration)
                try queue.inDatabase(useWriteAheadLog)
                try StoreSchema.migrator.migrate(queue)
                try queue.close()
            }
        } else if let still = StoreFile.still(at: path) {
            return try openStill(still, at: path)
        } else {
            StoreFile.sweepSecondName(of: path)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        if creating, StoreFile.hasRoom(at: path), try queue.inDatabase(StoreSchema.isBlank) {
            try queue.inDatabase(useWriteAheadLog)
            try StoreSchema.migrator.migrate(queue)
        }
        try queue.inDatabase { database in
            try StoreSchema.verify(database)
            try useWriteAheadLog(database)
        }
        return SQLiteStore(queue)
    }

    /// Opens a file on a medium that cannot be written. Without a write-ahead log SQLite needs no index in shared
    /// memory beside the file, which it could not make.
    private static func openStill(_ still: StoreFile.Still, at path: String) throws -> SQLiteStore {
        variadic_sqlite3_understand_uris()
        var configuration = configuration
        configuration.readonly = true
        let queue = try DatabaseQueue(path: still.location, configuration: configuration)
        try queue.inDatabase(StoreSchema.verify)
        return SQLiteStore(queue, still: still)
    }

    /// How many bytes a row may have (SPEC §11): 16 MiB.
    private static var greatestRow: Int32 {
        return 16 << 20
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "tresor.store"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        // Otherwise a rollback that fails, as it may with a damaged file, would be a trap.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            guard let connection = database.sqliteConnection,
                variadic_sqlite3_defend(UnsafeMutableRawPointer(connection), greatestRow) == 0
            else { throw TresorError.store(.other) }
            // Temporary copies of pages in files of their own would outlive what is deleted.
            try database.execute(
                sql: """
                    PRAGMA trusted_schema = OFF;
                    PRAGMA cell_size_check = ON;
                    PRAGMA mmap_size = 0;
                    PRAGMA temp_store = MEMORY;
                    PRAGMA secure_delete = ON;
                    PRAGMA synchronous = FULL;
                    """)
        }
        return configuration
    }

    /// GRDB's own setting of this mode writes to the file at every opening; this does so only when the file is in another mode.
    private static func useWriteAheadLog(_ database: Database) throws {
        guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw TresorError.store(.other)
        }
    }

    /// Runs reads that see one state.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TresorError) -> Value {
        do {
            let value = try await queue.read(body)
            guard still?.isUnchanged ?? true else { throw TresorError.busy }
            return value
        } catch {
            throw TresorError(store: error)
        }
    }

    /// What of the write-ahead log stays after a write.
    enum Remainder {
        /// What was written before may stay.
        case all
        /// Nothing, if it can be emptied; else the next write that erases empties it.
        case nothingIfPossible
        /// Nothing.
        case nothing
    }

    /// Runs writes that happen together or not at all.
    ///
    /// - Parameter leaving: whether the write-ahead log is then emptied, so that nothing deleted stays readable. Where nothing may stay, one that
    ///   cannot be emptied is an error although the write is done: calls that delete secrets are repeatable.
    func write<Value: Sendable>(
        leaving remainder: Remainder = .all, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TresorError) -> Value {
        do {
            return try await queue.writeWithoutTransaction { database in
                var value: Value?
                try database.inTransaction(.immediate) {
                    value = try body(database)
                    return .commit
                }
                try Self.emptyWriteAheadLog(database, leaving: remainder)
                guard let value else { throw TresorError.store(.other) }
                return value
            }
        } catch {
            throw TresorError(store: error)
        }
    }

    private static func emptyWriteAheadLog(_ database: Database, leaving remainder: Remainder) throws {
        guard remainder != .all else { return }
        do {
            _ = try database.checkpoint(.truncate)
        } catch {
            // The write is done, and an error would say that it is not.
            guard remainder == .nothingIfPossible else { throw error }
        }
    }
}

extension Hash256 {
    var data: Data { Data(bytes) }
}

extension UInt64 {
    /// 8 big-endian bytes.
    var data: Data { withUnsafeBytes(of: bigEndian) { Data($0) } }
}

extension DatabaseValue {
    /// The bytes; a store file may hold anything anywhere.
    func blob() throws -> [UInt8] {
        guard case .blob(let data) = storage else { throw TresorError.store(.damaged) }
        return Array(data)
    }

    func digest() throws -> Hash256 {
        guard let digest = Hash256(try blob()) else { throw TresorError.store(.damaged) }
        return digest
    }
}

extension Database {
    /// The first column of every row, which must hold bytes.
    func blobs(_ sql: String, _ arguments: StatementArguments) throws -> [[UInt8]] {
        try DatabaseValue.fetchAll(self, sql: sql, arguments: arguments).map { try $0.blob() }
    }

    /// The first column of the first row.
    func blob(_ sql: String, _ arguments: StatementArguments) throws -> [UInt8]? {
        try DatabaseValue.fetchOne(self, sql: sql, arguments: arguments)?.blob()
    }
}

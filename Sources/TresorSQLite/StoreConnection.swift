// SPDX-License-Identifier: Apache-2.0

import Cvariadic
import GRDB
import TresorCore
import TresorCrypto

/// An open store file: its transactions, and the bytes that they leave in it.
struct StoreConnection: Sendable {
    private let queue: DatabaseQueue
    private let path: String
    /// The state of a file on a read-only medium, read in place.
    private let still: StoreFile.Still?
    /// The bytes that the disk of a file has left; `nil` where it does not tell.
    private let roomOfDisk: @Sendable (_ path: String) -> UInt64?

    private init(
        _ queue: DatabaseQueue, at path: String, still: StoreFile.Still? = nil,
        room: @escaping @Sendable (String) -> UInt64? = StoreFile.room
    ) {
        (self.queue, self.path, self.still, roomOfDisk) = (queue, path, still, room)
    }

    /// The seconds that a call waits for another write.
    static let patience = 5.0

    /// Opens a store file, on this thread.
    ///
    /// - Parameter room: tells the bytes that the disk of a file has left.
    static func open(
        at path: String, creating: Bool, patience: Double = StoreConnection.patience,
        room: @escaping @Sendable (String) -> UInt64? = StoreFile.room
    ) throws -> StoreConnection {
        let configuration = Self.configuration(patience: patience)
        // A path that begins with "file:" or is ":memory:" names a file here too.
        let path = path.utf8.first == UInt8(ascii: "/") ? path : "./\(path)"
        if try !StoreFile.exists(at: path) {
            guard creating else { throw TresorError.notFound }
            try StoreFile.create(at: path) { temporary in
                let queue = try DatabaseQueue(path: temporary, configuration: configuration)
                try queue.inDatabase(begin)
                try StoreSchema.migrator.migrate(queue)
                // Closing empties the write-ahead log too, but says nothing when that fails.
                try queue.inDatabase { _ = try $0.checkpoint(.truncate) }
                try queue.close()
            }
        } else if let still = StoreFile.still(at: path) {
            return try openStill(still, at: path, configuration)
        } else {
            StoreFile.sweepSecondName(of: path)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        if creating, StoreFile.hasRoom(at: path), try queue.inDatabase(StoreSchema.isBlank) {
            try queue.inDatabase(begin)
            try StoreSchema.migrator.migrate(queue)
        }
        try queue.inDatabase { database in
            try StoreSchema.verify(database)
            try useWriteAheadLog(database)
        }
        return StoreConnection(queue, at: path, room: room)
    }

    /// Opens a file on a read-only medium. Without a write-ahead log SQLite needs no index in shared memory beside the
    /// file, which it could not create.
    private static func openStill(
        _ still: StoreFile.Still, at path: String, _ configuration: Configuration
    ) throws -> StoreConnection {
        variadic_sqlite3_understand_uris()
        var configuration = configuration
        configuration.readonly = true
        let queue = try DatabaseQueue(path: still.location, configuration: configuration)
        try queue.inDatabase(StoreSchema.verify)
        return StoreConnection(queue, at: path, still: still)
    }

    /// The maximum size of a row in bytes (SPEC §11): 16 MiB.
    private static var greatestRow: Int32 {
        return 16 << 20
    }

    private static func configuration(patience: Double) -> Configuration {
        var configuration = Configuration()
        configuration.label = "tresor.store"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(patience)
        // Without this a failed rollback, possible with a damaged file, would trap.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { try StoreDefence.prepare($0, greatestRow: greatestRow) }
        return configuration
    }

    /// Begins an empty file. Three packs of a few records share a page of 8 KiB; of 4 KiB each would take one alone. The file
    /// notes where each page belongs, so that it can shrink page by page: `VACUUM` would take the room of a second file.
    private static func begin(_ database: Database) throws {
        try database.execute(sql: "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL")
        try useWriteAheadLog(database)
    }

    /// GRDB's own setting of this mode writes to the file at every opening. This writes only if the file is in another
    /// mode.
    private static func useWriteAheadLog(_ database: Database) throws {
        guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw TresorError.store(.other)
        }
    }

    /// Runs reads in one transaction.
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

    /// The part of the write-ahead log that may stay after a write.
    enum Remainder {
        /// Earlier writes may stay.
        case all
        /// Nothing, if it can be emptied; otherwise the next erasing write empties it.
        case nothingIfPossible
        /// Nothing.
        case nothing
    }

    /// Runs writes in one transaction.
    ///
    /// - Parameters:
    ///   - leaving: whether to empty the write-ahead log afterwards, so that deleted bytes are not readable. If nothing may
    ///     stay and the log cannot be emptied, throws although the write is done: calls that delete secrets are
    ///     repeatable.
    ///   - byteCount: the bytes of blobs that are put.
    func write<Value: Sendable>(
        leaving remainder: Remainder = .all, putting byteCount: Int = 0,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TresorError) -> Value {
        do {
            return try await queue.writeWithoutTransaction { database in
                if byteCount > 0 { try leaveRoom(after: UInt64(byteCount), database) }
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

    /// The bytes that the disk has left; `nil` where it does not tell.
    var room: UInt64? { roomOfDisk(path) }

    /// Refuses bytes of a blob after which the disk had no room for the write-ahead log of their deletion. What the log has
    /// already goes into the file first, which may grow by as much.
    ///
    /// More has to be left after many bytes than after few: where a large content is refused, a small change, a deletion
    /// and a checkpoint still fit. Half of it may be free pages of the file.
    private func leaveRoom(after byteCount: UInt64, _ database: Database) throws {
        func isLeft() throws -> Bool {
            guard let room else { return true }
            let left = room - min(room, StoreFile.logByteCount(of: path))
            let needed = (128 << 10) + 2 * byteCount
            guard left < needed + 2 * byteCount else { return true }
            return try left >= needed && left + UInt64(Self.freePages(database)) * 8192 >= needed + 2 * byteCount
        }
        guard try !isLeft() else { return }
        try Self.emptyWriteAheadLog(database, leaving: .nothingIfPossible)
        guard try isLeft() else { throw TresorError.store(.full) }
    }

    /// Gives the free pages back to the disk, at once as many as there is room to move others into their places. What stays,
    /// the next deletion gives back.
    func shrink() async {
        try? await queue.writeWithoutTransaction { database in
            var (free, before) = (try Self.freePages(database), Int64.max)
            while free > 0, free < before {
                // 0 is for all of them.
                let pages = room.map { max(1, $0 / 2 / 8192) } ?? 0
                try database.execute(sql: "PRAGMA incremental_vacuum(\(pages))")
                _ = try database.checkpoint(.truncate)
                (free, before) = (try Self.freePages(database), free)
            }
        }
    }

    private static func freePages(_ database: Database) throws -> Int64 {
        // A file that is not ours may say anything.
        try max(0, Int64.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0)
    }

    private static func emptyWriteAheadLog(_ database: Database, leaving remainder: Remainder) throws {
        guard remainder != .all else { return }
        do {
            _ = try database.checkpoint(.truncate)
        } catch {
            // The write is done; an error would deny it.
            guard remainder == .nothingIfPossible else { throw error }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import GRDB
    import TresorCore
    package import TresorCrypto
    import TresorSQLite
    import TresorStore

    /// The database of one clinic: one SQLite file, and one process that writes to it.
    ///
    /// Writes come one after the other; reads go on beside them. The file is in write-ahead mode, and each commit waits
    /// for the disk. A file that is not at its path any more is not used: what is written into one that was removed or
    /// replaced is found by no later start.
    package final class SQLiteEngine: SQLEngine {
        /// "TRSV": not the mark of an embedded store, so that neither program takes the other's file.
        package static let applicationID: Int32 = 0x5452_5356
        /// The maximum size of a row in bytes: 32 MiB.
        static let greatestRow: Int32 = 32 << 20

        package let dialect = SQLDialect.sqlite
        /// Whether the file that was opened is the one at its path.
        package let outage = Outage()
        private let pool: DatabasePool
        private let path: String
        private let file: FileIdentity?
        private let board = HintBoard()
        private let erasure = Erasure()

        private init(_ pool: DatabasePool, at path: String) {
            self.pool = pool
            self.path = path
            file = FileIdentity(path: path)
        }

        /// Opens a file.
        ///
        /// - Parameters:
        ///   - path: the file.
        ///   - creating: whether to create a missing file.
        /// - Throws: `TresorError.notFound` for a missing file that is not created; `TresorError.store(_:)` with
        ///   `damaged` for a file of something else, `schema` for a database of another program; `TresorError.busy`.
        package static func open(at path: String, creating: Bool) async throws(TresorError) -> SQLiteEngine {
            let path = name(of: path)
            if try StoreFile.exists(at: path) {
                guard StoreFile.hasRoom(at: path) else { throw .store(.damaged) }
            } else if creating {
                try await create(at: path)
            } else {
                throw .notFound
            }
            return try await openFile(at: path)
        }

        /// A path that begins with "file:" or is ":memory:" names a file here too.
        private static func name(of path: String) -> String {
            path.utf8.first == UInt8(ascii: "/") ? path : "./\(path)"
        }

        /// Of two that make a database, one does, and both open it.
        private static func create(at path: String) async throws(TresorError) {
            try await Cores.apart { () throws(TresorError) in
                do {
                    try StoreFile.create(at: path) { temporary in
                        let queue = try DatabaseQueue(path: temporary, configuration: configuration)
                        try queue.write(mark)
                        try queue.writeWithoutTransaction { database in
                            _ = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
                        }
                        try queue.close()
                    }
                } catch {
                    throw TresorError(store: error)
                }
            }
        }

        private static func openFile(at path: String) async throws(TresorError) -> SQLiteEngine {
            return try await Cores.apart { () throws(TresorError) in
                do {
                    let pool = try DatabasePool(path: path, configuration: configuration)
                    try pool.write(mark)
                    return SQLiteEngine(pool, at: path)
                } catch {
                    throw TresorError(store: error)
                }
            }
        }

        private static var configuration: Configuration {
            var configuration = Configuration()
            configuration.label = "tresor.service"
            configuration.foreignKeysEnabled = false
            configuration.busyMode = .timeout(5)
            // Without this a failed rollback, possible with a damaged file, would trap.
            configuration.allowsUnsafeTransactions = true
            configuration.maximumReaderCount = max(4, 2 * Cores.count)
            configuration.prepareDatabase { try StoreDefence.prepare($0, greatestRow: greatestRow) }
            return configuration
        }

        /// Makes an empty file one of ours, and refuses one of another program.
        private static func mark(_ database: Database) throws {
            let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id")
            guard mark != applicationID else { return }
            let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema")
            guard mark == 0, objects == 0 else { throw TresorError.store(.schema) }
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
        }

        package func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try await guarded {
                try await pool.writeWithoutTransaction { [self] database in
                    defer { erasure.finish(database, erasing: erasing) }
                    // It may have waited for a long time, while somebody restored a backup.
                    return try SQLiteTransaction.run(on: database, .immediate, checking: checkPlace, body)
                }
            }
        }

        package func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try await guarded {
                try await pool.unsafeRead { try SQLiteTransaction.run(on: $0, .deferred, body) }
            }
        }

        /// Works on the file, unless another one is at its path, or none.
        private func guarded<Value>(_ work: () async throws -> Value) async throws(TresorError) -> Value {
            try checkPlace()
            do { return try await work() } catch { throw TresorError(store: error) }
        }

        private func checkPlace() throws(TresorError) {
            guard let file, FileIdentity(path: path) == file else {
                outage.note(
                    "\(path) is not the file any more that this process opened: it was moved, removed or replaced; stop the "
                        + "service first; then move the file back, or restore a backup and remove the -wal and -shm beside it"
                )
                throw .store(.inputOutput)
            }
            outage.note(nil)
        }

        package var isDiskFull: Bool { StoreFile.isDiskFull(at: path) }

        package func notify(_ hint: [UInt8]) { board.post(hint) }

        package func hints() -> AsyncStream<[UInt8]> { board.hints() }

        /// Looks whether the pages of the file fit together, which reads all of it.
        ///
        /// - Parameter byteCount: the size in bytes of the largest file that is looked at.
        /// - Throws: `TresorError.store(_:)`, with `damaged` if they do not.
        package func verify(upTo byteCount: Int64) async throws(TresorError) {
            try await guarded {
                try await pool.read { database in
                    let sizes = try ["page_count", "page_size"].map {
                        try Int64.fetchOne(database, sql: "PRAGMA \($0)") ?? 0
                    }
                    guard sizes[0] * sizes[1] <= byteCount else { return }
                    let found = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
                    guard found == ["ok"] else { throw TresorError.store(.damaged) }
                }
            }
        }

        /// Copies the database, as the last commit left it, to a file that is whole or is not there. A copy of an earlier
        /// time gives way.
        ///
        /// - Throws: `TresorError.store(_:)`.
        package func copy(to path: String) async throws(TresorError) {
            let path = Self.name(of: path)
            try await Cores.apart { [pool] () throws(TresorError) in
                do {
                    unlink(path)
                    try StoreFile.create(at: path) { temporary in
                        let copy = try DatabaseQueue(path: temporary)
                        try pool.backup(to: copy)
                        try copy.close()
                    }
                } catch {
                    throw TresorError(store: error)
                }
            }
        }

        package func close() async {
            board.close()
            // A connection in use closes with its last statement. The readers close last and cannot move the log into the
            // file, so the writer does it first: a copy of the file alone is then whole.
            _ = try? await Cores.apart { [pool] () throws(TresorError) in
                do {
                    _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
                    try pool.close()
                } catch {
                    throw TresorError(store: error)
                }
            }
        }
    }
#endif

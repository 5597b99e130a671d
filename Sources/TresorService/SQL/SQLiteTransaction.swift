// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import GRDB
    import Synchronization
    import TresorCrypto
    import TresorSQLite

    /// A transaction of SQLite.
    final class SQLiteTransaction: SQLTransaction {
        private let database: Database
        private var isFinished = false
        /// The failure of a statement. Whatever the body does then, nothing of the transaction stays.
        private var failure: TresorError?

        private let check: () throws(TresorError) -> Void

        private init(_ database: Database, _ check: @escaping () throws(TresorError) -> Void) {
            self.database = database
            self.check = check
        }

        /// Runs a body in a transaction of its own.
        ///
        /// - Parameter check: looks whether the file is in its place, when it has been locked and before the commit.
        static func run<Value>(
            on database: Database, _ kind: Database.TransactionKind,
            checking check: @escaping () throws(TresorError) -> Void = {},
            _ body: (any SQLTransaction) throws(TresorError) -> Value
        ) throws -> Value {
            try database.beginTransaction(kind)
            let transaction = SQLiteTransaction(database, check)
            do {
                try check()
                let value = try body(transaction)
                try transaction.commit()
                return value
            } catch {
                if database.isInsideTransaction { try database.rollback() }
                throw error
            }
        }

        private func commit() throws {
            if let failure { throw failure }
            guard !isFinished else { return }
            try check()
            try database.commit()
            isFinished = true
        }

        func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
            guard !isFinished, failure == nil else { throw failure ?? .store(.other) }
            do {
                let results = try statements.map(run)
                if finishing { try commit() }
                return results
            } catch {
                let error = TresorError(store: error)
                failure = error
                throw error
            }
        }

        /// The texts of the statements that run often, as SQLite numbers their placeholders.
        private static let texts = Mutex<[String: String]>([:])

        private static func text(of sql: SQL) -> String {
            guard sql.isKept else { return sql.text.replacing("$", with: "?") }
            return texts.withLock { texts in
                if let text = texts[sql.text] { return text }
                let text = sql.text.replacing("$", with: "?")
                texts[sql.text] = text
                return text
            }
        }

        private func run(_ sql: SQL) throws -> SQLResult {
            let text = Self.text(of: sql)
            let statement =
                try sql.isKept ? database.cachedStatement(sql: text) : database.makeStatement(sql: text)
            let arguments = StatementArguments(sql.values.map(\.databaseValue))
            let before = database.totalChangesCount
            guard statement.columnCount > 0 else {
                do { try statement.execute(arguments: arguments) } catch let error as DatabaseError {
                    // Another row has the key.
                    let isTaken = [.SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_UNIQUE]
                        .contains(error.extendedResultCode)
                    if isTaken, let requirement = sql.requirement { throw requirement }
                    throw error
                }
                if let requirement = sql.requirement, database.totalChangesCount == before { throw requirement }
                return SQLResult(rows: [], changes: database.totalChangesCount - before)
            }
            var rows: [SQLRow] = []
            let cursor = try Row.fetchCursor(statement, arguments: arguments)
            while let row = try cursor.next() { rows.append(SQLRow(try row.databaseValues.map(SQLValue.init))) }
            return SQLResult(rows: rows, changes: database.totalChangesCount - before)
        }
    }

    /// Empties the write-ahead log after a write that erases, so that deleted bytes are not readable in it.
    ///
    /// A reader can keep the log from being emptied. The next write then does it. So does the first write of a process:
    /// the one before it may have been killed between the two.
    final class Erasure: Sendable {
        private let isDue = Atomic(true)

        func finish(_ database: Database, erasing: Bool) {
            if erasing { isDue.store(true, ordering: .relaxed) }
            guard isDue.load(ordering: .relaxed), !database.isInsideTransaction else { return }
            // Other writes wait meanwhile, so this waits for readers only as long as one read takes.
            try? database.execute(sql: "PRAGMA busy_timeout = 100")
            if (try? database.checkpoint(.truncate)) != nil { isDue.store(false, ordering: .relaxed) }
            try? database.execute(sql: "PRAGMA busy_timeout = 5000")
        }
    }

    extension SQLValue {
        fileprivate var databaseValue: DatabaseValue {
            switch self {
            case .null: .null
            case .integer(let integer): integer.databaseValue
            case .bytes(let bytes): Data(bytes).databaseValue
            }
        }

        /// The value of a column. This program stores integers and bytes alone.
        fileprivate init(_ value: DatabaseValue) throws {
            switch value.storage {
            case .null: self = .null
            case .int64(let integer): self = .integer(integer)
            case .blob(let data): self = .bytes(Array(data))
            case .double, .string: throw TresorError.store(.damaged)
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCrypto

    /// A database of the service: PostgreSQL, or one SQLite file.
    ///
    /// A body runs on a thread that may wait, never on those that serve all tasks. It gets a transaction and must not let
    /// it out. It may run again from its beginning, because another transaction came between; so it changes nothing but
    /// the database. A body that throws leaves the database as it was.
    package protocol SQLEngine: Sendable {
        /// How this database names its types.
        var dialect: SQLDialect { get }

        /// Runs a body that may write. What it wrote is on the disk when the call returns.
        ///
        /// Reads see what others had committed before the statement began. Two transactions that change one row come one
        /// after the other: compare and swap in the `WHERE` of an `UPDATE`, and look at the number of changes.
        ///
        /// - Parameter erasing: whether deleted bytes must not stay readable. SQLite overwrites them, also in its
        ///   write-ahead log as soon as nobody reads; PostgreSQL does not overwrite.
        /// - Throws: the error of the body; `TresorError.busy` if a lock was held for 5 seconds or others came between
        ///   3 times; `TresorError.store(_:)` with `full` for a full disk, and with other faults for anything else. After
        ///   a connection that broke during the commit, or a commit that took too long, nobody knows whether it happened:
        ///   that is `inputOutput`, and never success.
        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value

        /// Runs a body that only reads. All its statements see the same committed state.
        ///
        /// - Throws: the error of the body; `TresorError.store(_:)`, with `readOnly` for a statement that writes;
        ///   `TresorError.busy`.
        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value

        /// Whether the disk is known to have no room for what a revocation writes. To ask takes no room.
        var isDiskFull: Bool { get }

        /// Tells every process on this database that something changed. A hint: it may be lost, doubled or late.
        ///
        /// - Parameter hint: at most 64 bytes, for example a tresor id.
        func notify(_ hint: [UInt8])

        /// Returns the hints of all processes, this one too, from now on. An empty hint says that some were lost.
        func hints() -> AsyncStream<[UInt8]>

        /// Closes the connections. What runs comes to its end; calls afterwards throw `TresorError.store(_:)`.
        func close() async
    }

    /// A transaction: what the body of ``SQLEngine/write(erasing:_:)`` or ``SQLEngine/read(_:)`` gets.
    package protocol SQLTransaction {
        /// Runs statements in order, in one exchange where the engine can.
        ///
        /// - Parameter finishing: whether this also ends the transaction, in the same exchange. A write is then on the
        ///   disk when the call returns, and the body can run nothing more.
        /// - Throws: `TresorError.store(_:)`, `TresorError.busy`, and the error of ``SQL/orElse(_:)``. After an error
        ///   nothing of the transaction stays, whatever the body does then.
        func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult]
    }

    extension SQLTransaction {
        /// Runs a statement and returns its rows.
        ///
        /// - Throws: `TresorError.store(_:)`, `TresorError.busy`.
        package func run(_ statement: SQL) throws(TresorError) -> [SQLRow] {
            try run([statement], finishing: false)[0].rows
        }

        /// Runs statements in one exchange and returns the number of rows that each changed.
        ///
        /// - Throws: `TresorError.store(_:)`, `TresorError.busy`.
        package func run(_ statements: [SQL]) throws(TresorError) -> [Int] {
            try run(statements, finishing: false).map(\.changes)
        }

        /// Runs statements in one exchange and returns the rows of each.
        ///
        /// - Throws: `TresorError.store(_:)`, `TresorError.busy`.
        package func rows(of statements: [SQL]) throws(TresorError) -> [[SQLRow]] {
            try run(statements, finishing: false).map(\.rows)
        }

        /// Runs the last statements of the transaction and ends it, in one exchange. Returns the number of rows that each
        /// changed. A later statement that depends on an earlier one says so in its `WHERE`.
        ///
        /// - Throws: `TresorError.store(_:)`, `TresorError.busy`.
        package func finish(_ statements: [SQL]) throws(TresorError) -> [Int] {
            try run(statements, finishing: true).map(\.changes)
        }
    }

    extension SQLEngine {
        package var isDiskFull: Bool { false }

        /// Runs a body that may write, and overwrites nothing that it deletes.
        ///
        /// - Throws: as ``write(erasing:_:)``.
        package func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try await write(erasing: false, body)
        }

        /// Runs statements as one transaction in one exchange, and returns the number of rows that each changed.
        ///
        /// - Throws: as ``write(erasing:_:)``.
        package func write(_ statements: [SQL]) async throws(TresorError) -> [Int] {
            try await write { (transaction) throws(TresorError) in try transaction.finish(statements) }
        }

        /// Runs one statement that reads, in one exchange.
        ///
        /// - Throws: as ``read(_:)``.
        package func read(_ statement: SQL) async throws(TresorError) -> [SQLRow] {
            try await read { (transaction) throws(TresorError) in
                try transaction.run([statement], finishing: true)[0].rows
            }
        }

        /// Runs statements that read one state, in one exchange, and returns the rows of each.
        ///
        /// - Throws: as ``read(_:)``.
        package func read(_ statements: [SQL]) async throws(TresorError) -> [[SQLRow]] {
            try await read { (transaction) throws(TresorError) in
                try transaction.run(statements, finishing: true).map(\.rows)
            }
        }
    }

    /// How an engine writes what creates the schema.
    package enum SQLDialect: Sendable {
        case sqlite
        case postgres

        /// The statements with which a transaction begins that takes longer than a request may.
        var liftingLimits: [SQL] {
            switch self {
            case .sqlite: []
            case .postgres: [.liftingLimits]
            }
        }
    }
#endif

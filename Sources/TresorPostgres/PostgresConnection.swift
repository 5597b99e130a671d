// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq
    import TresorCrypto
    import TresorService

    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    /// A connection to PostgreSQL, which connects again after it broke. One thread at a time uses it.
    final class PostgresConnection {
        /// A statement that the server has prepared, with the types that its values had.
        private struct Plan: Hashable {
            let text: String
            /// Whether it fails unless it changes a row.
            let isRequired: Bool
            let types: [Oid]
        }

        /// How a commit ended.
        enum CommitEnd {
            case done
            /// It did not end in time, and was given up.
            case hung
        }

        private enum Step {
            case prepare(Plan, name: String)
            /// - Parameter requirement: the error if the statement changes no row.
            case run(requirement: TresorError?)
            case commit
        }

        private static let begin = SQL("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        private static let beginReading = SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        private static let writingByDefault = SQL(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE")
        private static let readingByDefault = SQL(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        private static let commit = SQL("COMMIT")
        private static let rollback = SQL("ROLLBACK")

        private let location: PostgresLocation
        private let watch: PostgresWatch
        private var connection: OpaquePointer?
        /// How the commit of the last transaction ended; `nil` if that shows nothing about other commits.
        var lastCommit: CommitEnd?
        private var plans: [Plan: String] = [:]
        /// The kind of a transaction that does not say how it begins.
        private(set) var defaultKind = PostgresTransaction.Kind.read

        /// Whether the last attempt to open the connection failed.
        private var isUnavailable = false

        init(_ location: PostgresLocation, _ watch: PostgresWatch) {
            self.location = location
            self.watch = watch
        }

        deinit { close() }

        /// The state of a connection before the next transaction.
        enum Readiness: Equatable {
            /// It is open, and a transaction of this kind needs no other setting.
            case open(PostgresTransaction.Kind)
            /// It has to be opened.
            case closed
            /// It has to be opened, and the last attempt failed.
            case unavailable
        }

        /// Whether there is a connection, as far as it was used.
        var isOpen: Bool { connection != nil }

        /// Its state before the next transaction.
        var readiness: Readiness { isOpen ? .open(defaultKind) : isUnavailable ? .unavailable : .closed }

        /// Closes the connection. The next call of ``prepare()`` opens another.
        func close() {
            if let connection { PQfinish(connection) }
            connection = nil
            plans = [:]
            defaultKind = .read
        }

        /// Opens the connection if it is not open or the server closed it.
        ///
        /// - Throws: `broken` if no server is there; `refused` with `readOnly` if none can be written.
        func prepare() throws(PostgresFailure) {
            if let connection, Self.isAlive(connection) { return }
            close()
            isUnavailable = true
            connection = try Self.open(location, watch)
            isUnavailable = false
        }

        /// Runs statements in one exchange.
        ///
        /// PostgreSQL takes what is sent in one exchange as one transaction, and commits it at the end. One that does not say
        /// how it begins only reads, or writes, by the settings of this connection, which are changed where they are others.
        /// So a whole transaction of one exchange needs no `BEGIN` and no `COMMIT`.
        ///
        /// - Parameters:
        ///   - beginning: the transaction that begins first; `nil` for none.
        ///   - committing: whether the transaction is committed last.
        ///   - isLimited: whether the server must answer within ``PostgresWatch/limit``.
        /// - Throws: the first failure. What came after it was not done.
        func exchange(
            _ statements: [SQL], beginning: PostgresTransaction.Kind? = nil, committing: Bool = false,
            isLimited: Bool = true
        ) throws(PostgresFailure) -> [SQLResult] {
            guard let connection else { throw .broken }
            guard isLimited else {
                return try exchange(statements, on: connection, beginning: beginning, committing: committing)
            }
            try watch.begin(on: PQsocket(connection))
            do throws(PostgresFailure) {
                let results = try exchange(statements, on: connection, beginning: beginning, committing: committing)
                _ = watch.end()
                return results
            } catch {
                throw watch.end() ? .late : error
            }
        }

        private func exchange(
            _ statements: [SQL], on connection: OpaquePointer, beginning: PostgresTransaction.Kind?, committing: Bool
        ) throws(PostgresFailure) -> [SQLResult] {
            var fresh: [Plan: String] = [:]
            // Settings for one transaction alone, and statements that create a schema, need one that was begun.
            let whole = committing && statements.allSatisfy { $0.isKept && !$0.liftsLimits } ? beginning : nil
            let beginning = whole == nil ? beginning : nil
            var settings: [Step] = []
            if let whole, whole != defaultKind {
                let setting = whole == .write ? Self.writingByDefault : Self.readingByDefault
                try send(setting, to: connection, &settings, &fresh, as: .run(requirement: nil))
                guard PQpipelineSync(connection) == 1 else { throw .broken }
            }
            var steps: [Step] = []
            if let beginning {
                let begin = beginning == .write ? Self.begin : Self.beginReading
                try send(begin, to: connection, &steps, &fresh, as: .run(requirement: nil))
            }
            for statement in statements {
                try send(statement, to: connection, &steps, &fresh, as: .run(requirement: statement.requirement))
            }
            if committing, whole == nil { try send(Self.commit, to: connection, &steps, &fresh, as: .commit) }
            guard PQpipelineSync(connection) == 1 else { throw .broken }
            if let whole, whole != defaultKind {
                // If a setting failed, the statements behind it were no transaction of this kind.
                guard (try? receive(settings, from: connection)) != nil else { throw .broken }
                defaultKind = whole
            }
            let results = try receive(steps, from: connection)
            return Array(results.dropFirst(beginning == nil ? 0 : 1).prefix(statements.count))
        }

        /// Ends a transaction that failed. A connection that cannot even do that is closed.
        func rollBack() {
            guard let connection else { return }
            guard PQtransactionStatus(connection) != PQTRANS_IDLE else { return }
            _ = try? exchange([Self.rollback])
            if PQtransactionStatus(connection) != PQTRANS_IDLE { close() }
        }

        private func send(
            _ sql: SQL, to connection: OpaquePointer, _ steps: inout [Step], _ fresh: inout [Plan: String],
            as step: Step
        ) throws(PostgresFailure) {
            let parameters = PostgresParameters(sql.values)
            var isSent = true
            if sql.isKept {
                let plan = Plan(text: sql.text, isRequired: sql.requirement != nil, types: parameters.types)
                var known = plans[plan]
                if known == nil, !fresh.isEmpty { known = fresh[plan] }
                let name = known ?? "p\(plans.count + fresh.count)"
                if known == nil {
                    let text = Self.text(of: sql)
                    isSent = PQsendPrepare(connection, name, text, Int32(plan.types.count), plan.types) == 1
                    steps.append(.prepare(plan, name: name))
                    fresh[plan] = name
                }
                isSent =
                    isSent
                    && parameters.withArguments { count, values, lengths, formats in
                        PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1) == 1
                    }
            } else {
                isSent = parameters.withArguments { count, values, lengths, formats in
                    let text = Self.text(of: sql)
                    return PQsendQueryParams(
                        connection, text, count, parameters.types, values, lengths, formats, 1) == 1
                }
            }
            steps.append(step)
            guard isSent else { throw .broken }
        }

        /// The text of a statement. A required one fails if it changes no row, so that the server itself refuses all that
        /// comes after it: it divides by the number of rows.
        private static func text(of sql: SQL) -> String {
            guard sql.requirement != nil else { return sql.text }
            return "WITH changed AS (\(sql.text) RETURNING 1) SELECT 1 / count(*) FROM changed"
        }

        /// The states by which a required statement that changes no row fails: it divided by zero, or another row has its key.
        private static let missingRequirement = ["22012", "23505"]

        /// Receives the answers to what was sent, until the pipeline is empty.
        private func receive(_ steps: [Step], from connection: OpaquePointer) throws(PostgresFailure) -> [SQLResult] {
            var results: [SQLResult] = []
            var failure: PostgresFailure?
            for step in steps {
                guard let answer = PQgetResult(connection) else { throw .broken }
                defer { PQclear(answer) }
                do throws(PostgresFailure) {
                    try take(answer, of: step, into: &results)
                } catch {
                    if case .broken = error { throw error }
                    failure = failure ?? error
                }
                // An empty answer stands between two steps.
                guard PQstatus(connection) == CONNECTION_OK, PQgetResult(connection) == nil else { throw .broken }
            }
            let commit = try receiveEnd(from: connection)
            if let failure = failure ?? commit { throw failure }
            return results
        }

        /// Receives the end of the pipeline, at which PostgreSQL commits a transaction without a `COMMIT`.
        ///
        /// - Returns: why it was not committed; `nil` if nothing failed here.
        private func receiveEnd(from connection: OpaquePointer) throws(PostgresFailure) -> PostgresFailure? {
            guard let first = PQgetResult(connection) else { throw .broken }
            defer { PQclear(first) }
            guard PQresultStatus(first) != PGRES_PIPELINE_SYNC else { return nil }
            let failure = PostgresFailure(state: Self.state(of: first))
            guard PQstatus(connection) == CONNECTION_OK, PQgetResult(connection) == nil,
                let end = PQgetResult(connection)
            else { throw .broken }
            defer { PQclear(end) }
            guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw .broken }
            return failure
        }

        /// The five characters of the `SQLSTATE` of an answer; `nil` for none.
        private static func state(of answer: OpaquePointer) -> String? {
            PQresultErrorField(answer, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        }

        private func take(
            _ answer: OpaquePointer, of step: Step, into results: inout [SQLResult]
        ) throws(PostgresFailure) {
            switch PQresultStatus(answer) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
            // A statement before this one failed.
            case PGRES_PIPELINE_ABORTED: throw .refused(.store(.other))
            default:
                let state = Self.state(of: answer)
                if case .run(let requirement?) = step, let state, Self.missingRequirement.contains(state) {
                    throw .refused(requirement)
                }
                throw PostgresFailure(state: state)
            }
            switch step {
            case .prepare(let plan, let name): plans[plan] = name
            case .run(nil): results.append(try SQLResult(answer))
            case .run: results.append(SQLResult(rows: [], changes: 1))
            case .commit:
                guard let tag = PQcmdStatus(answer), String(cString: tag) == "COMMIT" else {
                    throw .refused(.store(.other))
                }
            }
        }
    }

    /// Opening.
    extension PostgresConnection {
        /// Opens a connection in pipeline mode.
        ///
        /// A statement may take 5 seconds, and wait 5 seconds for a lock. A commit waits for the disk, whatever the
        /// server's default is. A transaction reads one state, until the connection is set to write by default.
        private static func open(
            _ location: PostgresLocation, _ watch: PostgresWatch
        ) throws(PostgresFailure) -> OpaquePointer {
            let connection = try connect(
                location, watch: watch,
                settings: "SET statement_timeout = 5000; SET lock_timeout = 5000; SET synchronous_commit = on; "
                    + "SET idle_in_transaction_session_timeout = 30000; SET default_transaction_read_only = on; "
                    + "SET default_transaction_isolation = 'repeatable read'")
            guard PQenterPipelineMode(connection) == 1 else {
                PQfinish(connection)
                throw .broken
            }
            return connection
        }

        /// Opens a connection to a host of the location that can be written, and sets it up. The location notes how it went.
        ///
        /// - Throws: `refused` with `readOnly` if hosts answer, but none can be written.
        static func connect(
            _ location: PostgresLocation, watch: PostgresWatch, settings: String
        ) throws(PostgresFailure) -> OpaquePointer {
            var words = ""
            do throws(PostgresFailure) {
                let connection = try connect(location, watch, settings, &words)
                location.outage.note(nil)
                return connection
            } catch {
                location.outage.note(location.reason(in: words))
                throw error
            }
        }

        private static func connect(
            _ location: PostgresLocation, _ watch: PostgresWatch, _ settings: String, _ words: inout String
        ) throws(PostgresFailure) -> OpaquePointer {
            var connection = try connect(location, to: "any", &words)
            if isReadOnly(connection) {
                PQfinish(connection)
                // Only now are all hosts asked: one that does not answer costs 5 seconds.
                do throws(PostgresFailure) { connection = try connect(location, to: "read-write", &words) } catch {
                    throw .refused(.store(.readOnly))
                }
            }
            do throws(PostgresFailure) { try watch.begin(on: PQsocket(connection)) } catch {
                PQfinish(connection)
                throw error
            }
            let answer = PQexec(connection, settings)
            _ = watch.end()
            defer { PQclear(answer) }
            if PQresultStatus(answer) == PGRES_COMMAND_OK { return connection }
            words = String(cString: PQerrorMessage(connection))
            PQfinish(connection)
            throw .broken
        }

        /// Whether a server is a standby, or begins sessions that only read. One before PostgreSQL 14 does not say so.
        private static func isReadOnly(_ connection: OpaquePointer) -> Bool {
            ["in_hot_standby", "default_transaction_read_only"].contains { (name: String) in
                PQparameterStatus(connection, name).map { String(cString: $0) } == "on"
            }
        }

        /// - Parameters:
        ///   - target: the hosts that count, as libpq's `target_session_attrs` says it.
        ///   - words: takes libpq's words for a failure.
        private static func connect(
            _ location: PostgresLocation, to target: String, _ words: inout String
        ) throws(PostgresFailure) -> OpaquePointer {
            // The location may overrule what stands before it, and not what stands after it.
            let options = [
                ("connect_timeout", "5"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
                ("tcp_user_timeout", "15000"), ("fallback_application_name", "tresor-server"),
                ("dbname", location.text), ("target_session_attrs", target),
            ]
            let opened = withCStrings(options.map(\.0)) { keywords in
                withCStrings(options.map(\.1)) { values in PQconnectdbParams(keywords, values, 1) }
            }
            guard let opened else { throw .broken }
            // libpq would print what the server notices.
            _ = PQsetNoticeProcessor(opened, { _, _ in }, nil)
            guard PQstatus(opened) == CONNECTION_OK else {
                words = String(cString: PQerrorMessage(opened))
                PQfinish(opened)
                throw .broken
            }
            return opened
        }

        /// Takes in what the server said on an idle connection, and returns whether it has not closed it.
        ///
        /// - Parameter rounds: the maximum number of reads. A server that says more counts as gone.
        static func isAlive(_ connection: OpaquePointer, rounds: Int = 8) -> Bool {
            guard PQstatus(connection) == CONNECTION_OK else { return false }
            for _ in 0..<rounds {
                var waiting = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 0) != 0 else { return true }
                guard PQconsumeInput(connection) == 1, PQstatus(connection) == CONNECTION_OK else { return false }
            }
            return false
        }
    }

    /// Calls `body` with the addresses of C strings and a final `nil`.
    private func withCStrings<Result>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies.map { $0.map { UnsafePointer($0) } } + [nil])
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The service's side of a log-in by password (SPEC §20.5).
    ///
    /// A handle that nobody has is answered as another one: by the same statements, the same computation and as many bytes.
    struct Logins: Sendable {
        /// The time for which an attempt is good, in seconds.
        static let duration: UInt64 = 60

        let context: ServiceContext

        /// Answers the first message of a log-in, and notes the attempt.
        ///
        /// - Throws: ``TresorError/unsupported`` where this process has no server key; ``TresorError/altered`` for bytes that
        ///   are no element; the errors of the engine.
        func begin(_ request: LoginRequest, from source: [UInt8]) async throws(TresorError) -> Limited<LoginAnswer> {
            guard let secret = context.settings.logins else { throw .unsupported }
            let parameters = try LoginParameters(server: context.settings.server, handle: request.handle)
            let buckets = try LoginLimits(secret: secret).buckets(of: request.handle, from: source)
            let now = context.now
            let time = LoginLimits.milliseconds(now)
            // Bytes that are no elements take nothing from what all strangers share.
            let message = request.message
            try Ristretto255.check(message.span.extracting(first: OPAQUE.keyByteCount))
            try Ristretto255.check(message.span.extracting(last: OPAQUE.keyByteCount))
            // A try beyond the limits costs no computation, and one beyond that of the process no transaction.
            if let seconds = context.limits.look(.logins, .logins) { return .tooOften(seconds) }
            let found = try await context.engine.read([Self.search(request.handle)] + buckets.map(\.search))
            let wait = try LoginLimits.longestWait(for: buckets, found.dropFirst(), at: time)
            guard wait == 0 else { return .tooOften(wait) }
            // People who have used up their own tries take nothing from those of others.
            if let seconds = context.limits.take(.logins, .logins) { return .tooOften(seconds) }
            let account = try Found(found[0].first)
            let answer = try secret.opaque.answer(
                request.message, record: account.record ?? secret.unknownRecord, identifier: parameters.identifier,
                names: parameters.names(), context: parameters.context)
            let attempt = try randomBytes(LoginAnswer.attemptByteCount)
            let expected = answer.expected.span.publicBytes
            let noting = SQL(
                """
                INSERT INTO login_attempts (attempt, account, revision, expected, source, time)
                VALUES ($1, $2, $3, $4, $5, $6)
                """,
                [
                    .bytes(attempt), .digest(account.user), .number(account.revision), .bytes(expected),
                    .bytes(try secret.code(5, [source])), .number(now),
                ])
            do throws(TresorError) {
                _ = try await context.engine.write(buckets.map { $0.taking(at: time).orElse(.busy) } + [noting])
            } catch {
                // Others may have emptied a bucket meanwhile.
                guard error == .busy else { throw error }
                let wait = try await LoginLimits.wait(for: buckets, at: time, in: context.engine)
                guard wait > 0 else { throw error }
                return .tooOften(wait)
            }
            return .answer(LoginAnswer(attempt: attempt, message: answer.message))
        }

        /// Takes the last message of a log-in: the attempt is spent, whatever the message is.
        ///
        /// - Throws: ``TresorError/noAccess`` for an attempt that is not there, another message, one that comes late, and a
        ///   record that the account no longer has; ``TresorError/unsupported`` where this process has no server key; the
        ///   errors of the engine.
        func finish(_ request: FinishLoginRequest, from source: [UInt8]) async throws(TresorError) -> FinishLoginAnswer
        {
            guard let secret = context.settings.logins else { throw .unsupported }
            let now = context.now
            // An id that nobody was given costs no write.
            let rows = try await context.engine.read(
                SQL(
                    """
                    SELECT account, revision, expected, source, time FROM login_attempts
                    WHERE attempt = $1 AND length(expected) > 0
                    """, [.bytes(request.attempt)]))
            guard let row = rows.first else { throw .noAccess }
            let attempt = try Attempt(row)
            let isEnded = try attempt.isEnded(by: request.message, at: now)
            let spending = isEnded ? Self.deleting(request.attempt) : Self.failing(request.attempt)
            let answer: FinishLoginAnswer? = try await context.engine.write { (transaction) throws(TresorError) in
                // Of two who bring one attempt, the first spends it.
                guard try transaction.run([spending]) == [1], isEnded else { return nil }
                guard let found = try Self.find(attempt, in: transaction) else { return nil }
                // Takings of other sources stay: nobody fills the bucket of a source with log-ins of their own.
                if try secret.code(5, [source]) == attempt.source {
                    let buckets = try LoginLimits(secret: secret).buckets(of: found.handle, from: source)
                    _ = try transaction.run(buckets.map(\.givingBack))
                }
                return found.answer
            }
            guard let answer else { throw .noAccess }
            return answer
        }

        /// The statement that deletes an attempt which was ended with the password.
        private static func deleting(_ attempt: [UInt8]) -> SQL {
            SQL("DELETE FROM login_attempts WHERE attempt = $1 AND length(expected) > 0", [.bytes(attempt)])
        }

        /// The statement that spends an attempt which failed. It stays until the sweep counts it: so each handle has the same
        /// work, and no row is that of many.
        private static func failing(_ attempt: [UInt8]) -> SQL {
            SQL(
                "UPDATE login_attempts SET expected = $2 WHERE attempt = $1 AND length(expected) > 0",
                [.bytes(attempt), .bytes([])])
        }

        /// The account of a handle, as a log-in begins with it.
        private struct Found {
            /// Zero for a handle that nobody has.
            let user: Hash256
            /// 0 without a statement.
            let revision: UInt64
            let record: [UInt8]?

            init(_ row: SQLRow?) throws(TresorError) {
                user = try row?.digest(0) ?? .zero
                revision = try row.map { (row) throws(TresorError) in try row.number(1) } ?? 0
                guard let row, try !row.isNull(2) else {
                    record = nil
                    return
                }
                record = try row.bytes(2)
                guard revision > 0, record?.count == OPAQUE.recordByteCount else { throw .store(.damaged) }
            }
        }

        /// The statement that finds the account of a handle with its record.
        private static func search(_ handle: Name) -> SQL {
            SQL(
                "SELECT account, COALESCE(revision, 0), record FROM accounts WHERE handle = $1 AND state = 3",
                [.bytes(handle.bytes)])
        }

        /// The row of an attempt.
        private struct Attempt {
            let account: Hash256
            let revision: UInt64
            let expected: [UInt8]
            let source: [UInt8]
            let time: UInt64

            init(_ row: SQLRow) throws(TresorError) {
                account = try row.digest(0)
                revision = try row.number(1)
                expected = try row.bytes(2)
                source = try row.bytes(3)
                time = try row.number(4)
            }

            /// Whether a message proves the password, in time. The comparison takes constant time; the clock of another
            /// process may differ a little.
            func isEnded(by message: [UInt8], at now: UInt64) throws(TresorError) -> Bool {
                let expected = self.expected
                let isSame = try SecretBytes(copying: expected.span).matches(SecretBytes(copying: message.span))
                return isSame && now <= time + Logins.duration && time <= now + Logins.duration
            }
        }

        /// Finds what the person gets who proved the password; `nil` if the account has another record by now, or none.
        private static func find(
            _ attempt: Attempt, in transaction: any SQLTransaction
        ) throws(TresorError) -> (handle: Name, answer: FinishLoginAnswer)? {
            let found = try transaction.run(
                SQL(
                    """
                    SELECT handle, statement, copy FROM accounts
                    WHERE account = $1 AND state = 3 AND revision = $2 AND record IS NOT NULL
                    """, [.digest(attempt.account), .number(attempt.revision)]))
            guard let row = found.first else { return nil }
            guard let statement = try LoginStatement(column: row.value(1)) else { throw .store(.damaged) }
            return (try Name(row.bytes(0)), FinishLoginAnswer(statement: statement, copy: try row.bytes(2)))
        }

    }

    /// The tries and counts that the service keeps of log-ins.
    extension Logins {
        /// The statements that find the attempts of a person that ended without the password, since their newest statement:
        /// those that were counted, and those that the sweep will count.
        static func failures(of user: UserID, at now: UInt64) -> [SQL] {
            let account = SQLValue.digest(user.digest)
            return [
                SQL(
                    """
                    SELECT failures, failed FROM login_failures WHERE account = $1
                    AND revision = (SELECT COALESCE(revision, 0) FROM accounts WHERE account = $1)
                    """, [account]),
                SQL(
                    """
                    SELECT count(*), CAST(COALESCE(max(time), 0) AS bigint) FROM login_attempts
                    WHERE account = $1 AND (time < $2 OR length(expected) = 0)
                    AND revision = (SELECT COALESCE(revision, 0) FROM accounts WHERE account = $1)
                    """, [account, .number(now - min(now, duration))]),
            ]
        }

        /// The statements that forget the attempts of a person.
        static func forgetting(_ user: UserID) -> [SQL] {
            let account = SQLValue.digest(user.digest)
            return [
                SQL("DELETE FROM login_attempts WHERE account = $1", [account]),
                SQL("DELETE FROM login_failures WHERE account = $1", [account]),
            ]
        }

        /// Counts the attempts that failed, and drops them and the buckets that are full.
        func sweep() async throws(TresorError) {
            var count: Int
            repeat {
                try Cancellation.check()
                let now = context.now
                count = try await context.engine.write { (transaction) throws(TresorError) in
                    try Self.dropLate(at: now, in: transaction)
                }
            } while count == LoginLimits.portion
            repeat {
                try Cancellation.check()
                count = try await context.engine.write([LoginLimits.dropping(at: context.now)])[0]
            } while count == LoginLimits.portion
        }

        /// Drops some attempts of before, and of a clock that was ahead. Returns their number.
        private static func dropLate(at now: UInt64, in transaction: any SQLTransaction) throws(TresorError) -> Int {
            let dropped = try transaction.run(
                SQL(
                    """
                    DELETE FROM login_attempts WHERE attempt IN
                    (SELECT attempt FROM login_attempts WHERE time < $1 OR time > $2 LIMIT $3)
                    RETURNING account, revision, time
                    """,
                    [
                        .number(now - min(now, duration)), .number(now + duration),
                        .integer(Int64(LoginLimits.portion)),
                    ]))
            var failures: [Hash256: [UInt64: (count: UInt64, time: UInt64)]] = [:]
            for row in dropped {
                let (account, revision, time) = (try row.digest(0), try row.number(1), try row.number(2))
                let former = failures[account]?[revision] ?? (0, 0)
                failures[account, default: [:]][revision] = (former.count + 1, max(former.time, time))
            }
            var counting: [SQL] = []
            for (account, revisions) in failures.sorted(by: { $0.key < $1.key }) {
                for (revision, failed) in revisions.sorted(by: { $0.key < $1.key }) {
                    counting.append(Self.counting(failed.count, of: account, revision, at: failed.time))
                }
            }
            if !counting.isEmpty { _ = try transaction.run(counting) }
            return dropped.count
        }

        /// The statement that counts attempts which ended without the password. It counts nothing for nobody, for a closed
        /// account, and of attempts that began before the newest statement.
        private static func counting(
            _ count: UInt64, of account: Hash256, _ revision: UInt64, at time: UInt64
        ) -> SQL {
            SQL(
                """
                INSERT INTO login_failures (account, revision, failures, failed)
                SELECT account, CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint) FROM accounts
                WHERE account = $1 AND state = 3 AND COALESCE(revision, 0) = $2
                ON CONFLICT (account, revision) DO UPDATE SET failures = login_failures.failures + $3,
                failed = CASE WHEN login_failures.failed > $4 THEN login_failures.failed ELSE $4 END
                """, [.digest(account), .number(revision), .number(count), .number(time)])
        }
    }
#endif

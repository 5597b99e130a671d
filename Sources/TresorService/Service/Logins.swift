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

        /// How a log-in begins.
        enum Beginning: Sendable {
            case answer(LoginAnswer)
            /// Somebody asks too often: they may again after so many seconds.
            case tooOften(UInt32)
        }

        /// Answers the first message of a log-in, and notes the attempt.
        ///
        /// - Throws: ``TresorError/unsupported`` where this process has no server key; ``TresorError/altered`` for bytes that
        ///   are no element; the errors of the engine.
        func begin(_ request: LoginRequest, from source: [UInt8]) async throws(TresorError) -> Beginning {
            guard let secret = context.settings.logins else { throw .unsupported }
            let parameters = try LoginParameters(server: context.settings.server, handle: request.handle)
            let buckets = try LoginLimits(secret: secret).buckets(of: request.handle, from: source)
            let now = context.now
            let time = LoginLimits.milliseconds(now)
            // A try beyond the limits costs no computation.
            let found = try await context.engine.read { (transaction) throws(TresorError) in
                try transaction.run([Self.search(request.handle)] + buckets.map(\.search), finishing: true).map(\.rows)
            }
            var wait: UInt32 = 0
            for (bucket, rows) in zip(buckets, found.dropFirst()) {
                wait = max(wait, try bucket.wait(rows.first, at: time))
            }
            guard wait == 0 else { return .tooOften(wait) }
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
            // Others may have emptied a bucket meanwhile.
            _ = try await context.engine.write(buckets.map { $0.taking(at: time).orElse(.busy) } + [noting])
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
            let answer: FinishLoginAnswer? = try await context.engine.write { (transaction) throws(TresorError) in
                let taken = try transaction.run(
                    SQL(
                        """
                        DELETE FROM login_attempts WHERE attempt = $1
                        RETURNING account, revision, expected, source, time
                        """, [.bytes(request.attempt)]))
                guard let row = taken.first else { return nil }
                let attempt = try Attempt(row)
                guard try attempt.isEnded(by: request.message, at: now) else {
                    _ = try transaction.run([Self.counting(1, of: attempt.account, at: attempt.time)])
                    return nil
                }
                guard let found = try Self.find(attempt, in: transaction) else { return nil }
                // What another source took stays taken: nobody fills the bucket of a source with log-ins of their own.
                if try secret.code(5, [source]) == attempt.source {
                    let buckets = try LoginLimits(secret: secret).buckets(of: found.handle, from: source)
                    _ = try transaction.run(buckets.map(\.givingBack))
                }
                return found.answer
            }
            guard let answer else { throw .noAccess }
            return answer
        }

        /// The account of a handle, as a log-in begins with it.
        private struct Found {
            /// Zero for a handle that nobody has.
            let user: Hash256
            /// 0 without a record.
            let revision: UInt64
            let record: [UInt8]?

            init(_ row: SQLRow?) throws(TresorError) {
                user = try row?.digest(0) ?? .zero
                guard let row, try !row.isNull(2) else {
                    (revision, record) = (0, nil)
                    return
                }
                revision = try row.number(1)
                record = try row.bytes(2)
                guard revision > 0, record?.count == OPAQUE.recordByteCount else { throw .store(.damaged) }
            }
        }

        /// The statement that finds the account of a handle with its record.
        private static func search(_ handle: Name) -> SQL {
            SQL(
                "SELECT account, revision, record FROM accounts WHERE handle = $1 AND state = 3",
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

        /// The statement that counts attempts which ended without the password.
        private static func counting(_ count: UInt64, of account: Hash256, at time: UInt64) -> SQL {
            SQL(
                """
                INSERT INTO login_failures (account, failures, failed) VALUES ($1, $2, $3)
                ON CONFLICT (account) DO UPDATE SET failures = login_failures.failures + $2,
                failed = CASE WHEN login_failures.failed > $3 THEN login_failures.failed ELSE $3 END
                """, [.digest(account), .number(count), .number(time)])
        }
    }

    /// What is kept of log-ins.
    extension Logins {
        /// The statements that find the attempts of a person that ended without the password: those that were counted, and
        /// those that nobody ended in time.
        static func failures(of user: UserID, at now: UInt64) -> [SQL] {
            let account = SQLValue.digest(user.digest)
            return [
                SQL("SELECT failures, failed FROM login_failures WHERE account = $1", [account]),
                SQL(
                    """
                    SELECT count(*), CAST(COALESCE(max(time), 0) AS bigint) FROM login_attempts
                    WHERE account = $1 AND time < $2
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

        /// Counts the attempts that nobody ended in time, and drops them and the buckets that are full.
        func sweep() async throws(TresorError) {
            let now = context.now
            var count: Int
            repeat {
                count = try await context.engine.write { (transaction) throws(TresorError) in
                    try Self.dropLate(at: now, in: transaction)
                }
            } while count == LoginLimits.portion
            repeat {
                count = try await context.engine.write([LoginLimits.dropping(at: now)])[0]
            } while count == LoginLimits.portion
        }

        /// Drops some attempts of before, and of a clock that was ahead. Returns their number.
        private static func dropLate(at now: UInt64, in transaction: any SQLTransaction) throws(TresorError) -> Int {
            let dropped = try transaction.run(
                SQL(
                    """
                    DELETE FROM login_attempts WHERE attempt IN
                    (SELECT attempt FROM login_attempts WHERE time < $1 OR time > $2 LIMIT $3) RETURNING account, time
                    """,
                    [
                        .number(now - min(now, duration)), .number(now + duration),
                        .integer(Int64(LoginLimits.portion)),
                    ]))
            var failures: [Hash256: (count: UInt64, time: UInt64)] = [:]
            for row in dropped {
                let (account, time) = (try row.digest(0), try row.number(1))
                let former = failures[account] ?? (0, 0)
                failures[account] = (former.count + 1, max(former.time, time))
            }
            let counted = failures.sorted { $0.key < $1.key }
            if !counted.isEmpty {
                _ = try transaction.run(counted.map { counting($0.value.count, of: $0.key, at: $0.value.time) })
            }
            return dropped.count
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// How a person gets an account (SPEC §18.6), and what they ask about it. Each step may be repeated.
    struct Registrations: Sendable {
        /// The time after which a registration that was only asked for lapses, in seconds: 7 days.
        static let lapse: UInt64 = 7 * 86_400
        /// The time after which a registration lapses for which the operator decided nothing, in seconds: 30 days.
        static let longLapse: UInt64 = 30 * 86_400

        let context: ServiceContext

        /// Reserves the handle of the caller's chain for them.
        ///
        /// - Throws: ``TresorError/unverified`` for a handle of another user, also of one whose account is closed, and for
        ///   another card of this user;
        ///   ``TresorError/noAccess`` for an invitation that is not good, and for somebody whose account was closed;
        ///   ``TresorError/unsupported`` for a log-in by password where this process has no server key;
        ///   ``TresorError/altered`` for a blinded element that is none; ``TresorError/busy`` for too many open cases.
        func register(
            _ request: RegisterRequest, by caller: Caller
        ) async throws(TresorError) -> Limited<RegisterAnswer> {
            guard request.blinded.isEmpty || context.settings.logins != nil else { throw .unsupported }
            let chain = try await context.readChain(request.chain, of: caller)
            let evaluated = try evaluate(request.blinded, under: chain.handle)
            let bucket = try bucket(of: request.blinded, under: chain.handle)
            let now = context.now
            let time = LoginLimits.milliseconds(now)
            let invitation: Hash256? =
                request.invitation.isEmpty ? nil : try Invitation(request.invitation).hash()
            let steps = RegistrationSteps(settings: context.settings, closed: context.closed, now: now)
            let erasing = try await mayDeleteRecord(chain)
            do throws(TresorError) {
                return .answer(
                    try await context.revoke(for: caller, erasing: erasing) {
                        (transaction, revoked) throws(TresorError) in
                        let state = try steps.register(chain, invitation, in: transaction, &revoked)
                        if let bucket { _ = try transaction.run([bucket.taking(at: time).orElse(.busy)]) }
                        return RegisterAnswer(state: state, evaluated: evaluated)
                    })
            } catch {
                guard error == .busy, let bucket else { throw error }
                let wait = try await LoginLimits.wait(for: [bucket], at: time, in: context.engine)
                guard wait > 0 else { throw error }
                return .tooOften(wait)
            }
        }

        /// Whether a case has a record that goes with a registration: it continues, gives way to an invitation, or has lapsed.
        private func mayDeleteRecord(_ chain: CardChain) async throws(TresorError) -> Bool {
            let now = context.now
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT account FROM accounts WHERE state < 3 AND record IS NOT NULL
                    AND (account = $1 OR handle = $2 OR asked < $3) LIMIT 1
                    """,
                    [
                        .digest(chain.user.digest), .bytes(chain.handle.bytes),
                        .number(now - min(now, Self.longLapse)),
                    ]))
            return !found.isEmpty
        }

        /// Evaluates a blinded element under a handle: nothing for none.
        private func evaluate(_ blinded: [UInt8], under handle: Name) throws(TresorError) -> [UInt8] {
            guard let secret = context.settings.logins, !blinded.isEmpty else { return [] }
            let parameters = try LoginParameters(server: context.settings.server, handle: handle)
            return try secret.opaque.register(blinded.span, identifier: parameters.identifier)
        }

        /// The bucket from which a blinded element takes: `nil` for none.
        private func bucket(
            of blinded: [UInt8], under handle: Name
        ) throws(TresorError) -> LoginLimits.Bucket? {
            guard let secret = context.settings.logins, !blinded.isEmpty else { return nil }
            return try LoginLimits(secret: secret).evaluations(of: handle)
        }

        /// Takes all that the service keeps for a person, and admits them if they have an invitation or everybody is
        /// admitted. Somebody who has an account, or waits for one, replaces what it keeps for their log-in.
        ///
        /// - Throws: ``TresorError/altered`` for a statement of somebody else, for a record or a copy that is not that of
        ///   the statement, and for a copy that is larger than one of their chain; ``TresorError/unsupported`` for a
        ///   log-in by password where this process has no server key;
        ///   ``TresorError/failed(_:)`` for a statement that neither is the present one nor follows it;
        ///   ``TresorError/busy`` for another one of the present revision, which another home of theirs has set, and if it
        ///   changes in between; the errors of ``ClosedAccounts/check(_:)``.
        func finish(_ request: FinishRequest, by caller: Caller) async throws(TresorError) -> FinishAnswer {
            guard request.record.isEmpty || context.settings.logins != nil else { throw .unsupported }
            let statement = request.statement
            guard statement.server == context.server, statement.user == caller.user,
                try LoginStatement.hash(ofRecord: request.record) == statement.record,
                try LoginStatement.hash(ofCopy: request.copy) == statement.copy
            else { throw .altered }
            // Otherwise a log-in under this handle would fail in another way than one under a handle that nobody has.
            if !request.record.isEmpty {
                let record = request.record
                try Ristretto255.check(record.span.extracting(first: Ristretto255.byteCount))
            }
            let steps = RegistrationSteps(settings: context.settings, closed: context.closed, now: context.now)
            let former = try await context.engine.read(
                SQL(
                    "SELECT account FROM accounts WHERE account = $1 AND record IS NOT NULL",
                    [.digest(caller.user.digest)]))
            return try await context.revoke(for: caller, erasing: !former.isEmpty) {
                (transaction, revoked) throws(TresorError) in
                FinishAnswer(state: try steps.finish(request, of: caller.user, in: transaction, &revoked))
            }
        }

        func account(_ request: AccountRequest, by caller: Caller) async throws(TresorError) -> AccountAnswer {
            let account = SQL(
                """
                SELECT state, statement, CAST(CASE WHEN record IS NULL THEN 0 ELSE 1 END AS bigint) FROM accounts
                WHERE account = $1
                """, [.digest(caller.user.digest)])
            let failures = Logins.failures(of: caller.user, at: context.now)
            let sums = [UsageCache.search(caller.user), UsageCache.deleted(caller.user)]
            let found = try await context.engine.read([account] + sums + failures)
            guard let row = found[0].first else { throw .noAccess }
            var (failureCount, failed): (UInt64, UInt64) = (0, 0)
            for row in found[3...].compactMap(\.first) {
                failureCount += try row.number(0)
                failed = max(failed, try row.number(1))
            }
            let usage = try Usage(found[1])
            let deleted = try found[2].first?.number(0) ?? 0
            let quotas = context.settings.quotas
            return AccountAnswer(
                state: try AccountState(column: row.number(0)), statement: try LoginStatement(column: row.value(1)),
                hasRecord: try row.number(2) == 1, failures: failureCount, failed: failed, tresors: usage.tresors,
                bytes: usage.bytes - min(usage.bytes, deleted), maximumTresors: quotas.tresors,
                maximumBytes: quotas.bytes, maximumEntries: quotas.entries)
        }

        /// Ends all sessions of the caller: the next era of their account begins.
        func endSessions(_ request: EndSessionsRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            try await context.revoke(for: caller) { (transaction, revoked) throws(TresorError) in
                let eras = try Account.nextEras(
                    SQL("SELECT account, era FROM accounts WHERE account = $1", [.digest(caller.user.digest)]),
                    in: transaction)
                _ = try transaction.run(eras.map { Account.beginning($0.era, of: $0.user) })
                revoked += eras.map { Revocation.sessions($0.user, until: $0.era) }
                return DoneAnswer()
            }
        }

        func sweep() async throws(TresorError) {
            let now = context.now
            // Erasing takes time, also where there is nothing to erase.
            if try await !context.engine.read(RegistrationSteps.lapsed(at: now)).isEmpty {
                try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                    _ = try transaction.run([
                        SQL("DELETE FROM invitations WHERE account IS NULL AND until < $1", [.number(now)])
                    ])
                    // Somebody who waited in vain may have a record.
                    try RegistrationSteps.dropLapsed(at: now, in: transaction)
                }
            }
            while try await context.engine.write([RequestKey.dropping(before: now)]) != [0] {
                try Cancellation.check()
            }
        }
    }

    /// The steps of a registration inside a transaction.
    private struct RegistrationSteps: Sendable {
        let settings: ServiceSettings
        let closed: ClosedAccounts
        let now: UInt64

        private struct Case {
            let state: AccountState
            let chain: [UInt8]
            let statement: LoginStatement?
            let invitation: Hash256?

            var isInvited: Bool { invitation != nil }
        }

        func register(
            _ chain: CardChain, _ invitation: Hash256?, in transaction: any SQLTransaction,
            _ revoked: inout [Revocation]
        ) throws(TresorError) -> AccountState {
            try Self.dropLapsed(at: now, in: transaction)
            if let present = try find(chain.user, in: transaction) {
                try closed.check(chain)
                return try resume(present, chain, invitation, in: transaction, &revoked)
            }
            if let invitation {
                // Strangers who take the handle, or fill the list of open cases, do not stop the people whom the
                // operator invited.
                try take(invitation, for: chain.user, in: transaction)
                _ = try transaction.run([Account.displacing(by: chain)])
            } else {
                let found = try transaction.rows(of: [
                    Account.holding(settings.operator), SQL("SELECT count(*) FROM accounts WHERE state < 3"),
                ])
                guard let open = found[1].first, try open.number(0) < settings.quotas.openCases else { throw .busy }
            }
            // A database from a backup may have no row that says so. As a row would, it says so behind the invitation and the
            // limit: nobody tells a closed account from an active one.
            try closed.check(chain)
            let inserted = try transaction.run([Account.insertion(of: chain, .asked, invitation: invitation, at: now)])
            guard inserted == [1] else { throw .unverified }
            return .asked
        }

        /// Resumes a case, or finds an account.
        private func resume(
            _ present: Case, _ chain: CardChain, _ invitation: Hash256?, in transaction: any SQLTransaction,
            _ revoked: inout [Revocation]
        ) throws(TresorError) -> AccountState {
            guard present.state != .closed else { throw .noAccess }
            if chain.bytes != present.chain {
                let former = try CardChain(present.chain, knowing: present.chain)
                guard present.state < .active, chain.extends(former) else { throw .unverified }
                let changed = try transaction.run([Account.replacement(by: chain, after: former.newest.generation)])
                guard changed == [1] else { throw .busy }
                revoked.append(Revocation(renewalTo: chain))
            }
            guard let invitation, !present.isInvited, present.state < .active else { return present.state }
            try take(invitation, for: chain.user, in: transaction)
            let state = present.state == .complete ? stateWhenComplete(isInvited: true) : present.state
            _ = try transaction.run([
                SQL(
                    "UPDATE accounts SET invitation = $2, state = $3 WHERE account = $1",
                    [.digest(chain.user.digest), .digest(invitation), .integer(Int64(state.rawValue))])
            ])
            // Before state 2 the case may lapse, and then the invitation is good again.
            if present.state == .complete { revoked.append(.invitation(invitation)) }
            return state
        }

        func finish(
            _ request: FinishRequest, of user: UserID, in transaction: any SQLTransaction,
            _ revoked: inout [Revocation]
        ) throws(TresorError) -> AccountState {
            guard let present = try find(user, in: transaction) else { throw .noAccess }
            let chain = try CardChain(present.chain, knowing: present.chain)
            try closed.check(chain)
            let statement = request.statement
            try statement.verify(by: chain)
            guard present.state < .closed else { throw .noAccess }
            if present.statement == statement { return present.state }
            guard request.copy.count <= IdentityFile.maximumLoginCopyByteCount(of: chain) else { throw .altered }
            let revision = present.statement?.revision ?? 0
            guard statement.revision == revision + 1, statement.generation == chain.newest.generation else {
                // Two homes of the person have followed one statement: this one follows the other's when it tries again.
                throw statement.revision == revision ? .busy : .failed(.other)
            }
            let isNew = present.state == .asked
            let state = isNew ? stateWhenComplete(isInvited: present.isInvited) : present.state
            let changed = try transaction.run(
                [
                    SQL(
                        """
                        UPDATE accounts SET state = $2, statement = $3, revision = $4, record = $5, copy = $6
                        WHERE account = $1 AND state = $7 AND COALESCE(revision, 0) = $8
                        """,
                        [
                            .digest(user.digest), .integer(Int64(state.rawValue)), .bytes(statement.bytes),
                            .number(statement.revision), Self.value(request.record), Self.value(request.copy),
                            .integer(Int64(present.state.rawValue)), .number(revision),
                        ])
                ] + Logins.forgetting(user))
            guard changed[0] == 1 else { throw .busy }
            if isNew, let invitation = present.invitation { revoked.append(.invitation(invitation)) }
            return state
        }

        /// The value of bytes that may not be there.
        private static func value(_ bytes: [UInt8]) -> SQLValue { bytes.isEmpty ? .null : .bytes(bytes) }

        private func stateWhenComplete(isInvited: Bool) -> AccountState {
            switch settings.registration {
            case .open: .active
            case .byInvitation: isInvited ? .active : .complete
            case .closed: .complete
            }
        }

        /// Finds the case of a user, and holds it: neither the operator nor a copy of the request changes it until the
        /// end.
        private func find(_ user: UserID, in transaction: any SQLTransaction) throws(TresorError) -> Case? {
            let found = try transaction.rows(of: [
                Account.holding(user),
                SQL(
                    "SELECT state, chain, statement, invitation FROM accounts WHERE account = $1",
                    [.digest(user.digest)]),
            ])
            guard let row = found[1].first else { return nil }
            return Case(
                state: try AccountState(column: row.number(0)), chain: try row.bytes(1),
                statement: try LoginStatement(column: row.value(2)),
                invitation: try row.isNull(3) ? nil : try row.digest(3))
        }

        /// Binds an invitation to a user. It is good once.
        private func take(
            _ invitation: Hash256, for user: UserID, in transaction: any SQLTransaction
        ) throws(TresorError) {
            let taken = try transaction.run([
                SQL(
                    """
                    UPDATE invitations SET account = $2
                    WHERE hash = $1 AND until >= $3 AND (account IS NULL OR account = $2)
                    """,
                    [.digest(invitation), .digest(user.digest), .number(now)])
            ])
            guard taken == [1] else { throw .noAccess }
        }

        /// Frees the handles and the invitations of cases that were only asked for, and the handles of those without an
        /// invitation for which the operator decided nothing.
        ///
        /// An invitation is free when its case has gone, and not before: the case may just be ending well.
        static func dropLapsed(at now: UInt64, in transaction: any SQLTransaction) throws(TresorError) {
            let (asked, complete) = limits(at: now)
            let dropped = try transaction.rows(of: [
                SQL("DELETE FROM accounts WHERE state = 1 AND asked < $1 RETURNING invitation", [.number(asked)]),
                SQL(
                    "DELETE FROM accounts WHERE state = 2 AND asked < $1 AND invitation IS NULL",
                    [.number(complete)]),
            ])
            let freed = try dropped[0].map { (row) throws(TresorError) in try row.value(0) }.filter { $0 != .null }
            guard !freed.isEmpty else { return }
            _ = try transaction.run(
                freed.map { SQL("UPDATE invitations SET account = NULL WHERE hash = $1", [$0]) })
        }

        /// A row if an invitation or a case has lapsed.
        static func lapsed(at now: UInt64) -> SQL {
            let (asked, complete) = limits(at: now)
            return SQL(
                """
                SELECT 1 FROM invitations WHERE account IS NULL AND until < $1
                UNION ALL SELECT 1 FROM accounts WHERE state = 1 AND asked < $2
                UNION ALL SELECT 1 FROM accounts WHERE state = 2 AND asked < $3 AND invitation IS NULL LIMIT 1
                """,
                [.number(now), .number(asked), .number(complete)])
        }

        /// The times before which a case that was begun lapses, and one that waits to be admitted.
        private static func limits(at now: UInt64) -> (asked: UInt64, complete: UInt64) {
            (now - min(now, Registrations.lapse), now - min(now, Registrations.longLapse))
        }
    }
#endif

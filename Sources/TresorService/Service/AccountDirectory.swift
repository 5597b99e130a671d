// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    package import TresorCrypto

    /// The accounts and invitations of a service, as the person who runs its program sees and ends them (SPEC §18.6).
    package struct AccountDirectory: Sendable {
        /// Somebody who has an account, or waits for one.
        package struct Person: Hashable, Sendable {
            package let user: UserID
            package let handle: Name
            package let state: AccountState
            /// The time at which they registered, in seconds since 1970.
            package let registered: UInt64
            /// The number of tresors that they founded, without those that were deleted.
            package let founded: UInt64
            /// The number of tresors of which they are members, or in which they wait.
            package let joined: UInt64
            /// The number of tresors whose shares they approve.
            package let approving: UInt64
            /// The bytes of all tresors that they founded, by which their quota counts.
            package let bytes: UInt64
            /// The label of the invitation by which they came, if the database knows it.
            package let label: Name?
        }

        /// An invitation with which nobody has an account yet.
        package struct OpenInvitation: Hashable, Sendable {
            /// The hash of its code.
            package let hash: Hash256
            package let label: Name
            /// The end of its time, in seconds since 1970.
            package let until: UInt64
            /// The handle of the person who has begun to register with it; `nil` for nobody.
            package let handle: Name?
        }

        /// The number of rows in a page.
        private static let pageCount = 256

        let context: ServiceContext

        /// Returns the accounts after one, by rising user id: at most 256.
        ///
        /// - Throws: the errors of the engine.
        package func people(after user: UserID?) async throws(TresorError) -> [Person] {
            // No id lies between one and the same with another byte.
            try await people(
                from: user.map { $0.digest.bytes + [0] } ?? [],
                through: [UInt8](repeating: .max, count: Hash256.byteCount))
        }

        /// Returns the account of a user; `nil` for none.
        ///
        /// - Throws: the errors of the engine.
        package func person(_ user: UserID) async throws(TresorError) -> Person? {
            try await people(from: user.digest.bytes, through: user.digest.bytes).first
        }

        /// Returns the account with a handle; `nil` for none.
        ///
        /// - Throws: the errors of the engine.
        package func person(called handle: Name) async throws(TresorError) -> Person? {
            let found = try await context.engine.read(
                SQL("SELECT account FROM accounts WHERE handle = $1", [.bytes(handle.bytes)]))
            guard let row = found.first else { return nil }
            return try await person(UserID(try row.digest(0)))
        }

        private func people(from first: [UInt8], through last: [UInt8]) async throws(TresorError) -> [Person] {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT a.account, a.handle, a.state, a.asked,
                    (SELECT count(*) FROM tresors t WHERE t.founder = a.account AND t.deleted IS NULL),
                    (SELECT count(*) FROM access x
                    WHERE x.account = a.account AND x.last_sequence IS NULL AND x.role <> $4),
                    (SELECT count(*) FROM access x
                    WHERE x.account = a.account AND x.last_sequence IS NULL AND x.role = $4),
                    (SELECT CAST(COALESCE(sum(t.bytes), 0) AS bigint) FROM tresors t WHERE t.founder = a.account),
                    i.label
                    FROM accounts a LEFT JOIN invitations i ON i.hash = a.invitation
                    WHERE a.account >= $1 AND a.account <= $2 ORDER BY a.account LIMIT $3
                    """,
                    [.bytes(first), .bytes(last), .integer(Int64(Self.pageCount)), Self.approver]))
            return try found.map { (row) throws(TresorError) in
                Person(
                    user: UserID(try row.digest(0)), handle: try Name(try row.bytes(1)),
                    state: try AccountState(column: row.number(2)), registered: try row.number(3),
                    founded: try row.number(4), joined: try row.number(5), approving: try row.number(6),
                    // A count that is wrong hides nobody; the check finds it.
                    bytes: UInt64(max(0, try row.integer(7))),
                    label: try row.isNull(8) ? nil : try Name(try row.bytes(8)))
            }
        }

        /// True if an account is closed, also where the file of revocations alone says so.
        ///
        /// - Throws: the errors of the engine.
        package func isClosed(_ user: UserID) async throws(TresorError) -> Bool {
            if context.closed.contains(user) { return true }
            return try await person(user)?.state == .closed
        }

        /// Returns the number of tresors that would have no owner with an active account without somebody, and in which
        /// others are.
        ///
        /// - Throws: the errors of the engine.
        package func loneTresors(of user: UserID) async throws(TresorError) -> UInt64 {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT count(*) FROM access x JOIN tresors t ON t.tresor = x.tresor
                    WHERE x.account = $1 AND x.last_sequence IS NULL AND x.role = $2 AND t.deleted IS NULL
                    AND NOT EXISTS (SELECT 1 FROM access o JOIN accounts a ON a.account = o.account
                    WHERE o.tresor = x.tresor AND o.account <> $1 AND o.last_sequence IS NULL AND o.role = $2
                    AND a.state = 3)
                    AND EXISTS (SELECT 1 FROM access m WHERE m.tresor = x.tresor AND m.account <> $1
                    AND m.last_sequence IS NULL AND m.role <> $3)
                    """,
                    [.digest(user.digest), .integer(Int64(Role.owner.rawValue)), Self.approver]))
            return try found.first?.number(0) ?? 0
        }

        private static let approver = SQLValue.integer(Int64(Membership.Place.approver.code))

        /// Returns the handles of the other owners of the tresors in which somebody is, whose accounts are active, in byte
        /// order: first those of tresors that this person founded.
        ///
        /// - Parameter limit: the greatest number of handles.
        /// - Returns: the handles, and whether there are more.
        /// - Throws: the errors of the engine.
        package func owners(
            beside user: UserID, limit: Int = 256
        ) async throws(TresorError) -> (handles: [Name], areCut: Bool) {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT a.handle FROM access x LEFT JOIN tresors t ON t.tresor = x.tresor
                    JOIN access o ON o.tresor = x.tresor JOIN accounts a ON a.account = o.account
                    WHERE x.account = $1 AND x.last_sequence IS NULL AND a.state = 3
                    AND o.account <> $1 AND o.last_sequence IS NULL AND o.role = $2
                    GROUP BY a.handle ORDER BY max(CASE WHEN t.founder = $1 THEN 1 ELSE 0 END) DESC, a.handle LIMIT $3
                    """,
                    [.digest(user.digest), .integer(Int64(Role.owner.rawValue)), .integer(Int64(limit + 1))]))
            let handles = try found.prefix(limit).map { (row) throws(TresorError) in try Name(try row.bytes(0)) }
            return (handles, found.count > limit)
        }

        /// Returns the card chain of an account.
        ///
        /// - Throws: ``TresorError/notFound`` for no account; the errors of the chain and of the engine.
        package func chain(of user: UserID) async throws(TresorError) -> CardChain {
            guard let row = try await context.engine.read(Account.chain(of: user, .asked ... .closed)).first else {
                throw .notFound
            }
            let bytes = try row.bytes(0)
            return try CardChain(bytes, knowing: bytes)
        }

        /// Closes an account, as its person does with *delete-account*, and keeps its handle taken behind each backup. Logs,
        /// and so the tresors of everybody, stay as they are.
        ///
        /// - Throws: ``TresorError/noAccess`` for the operator, and for an account that is not active; the errors of the
        ///   file of revocations and of the engine.
        package func close(_ user: UserID) async throws(TresorError) {
            guard user != context.settings.operator else { throw .noAccess }
            try await context.engine.write(erasing: true) {
                [settings = context.settings, server = context.server] (transaction) throws(TresorError) in
                try Deletions.close(user, in: transaction)
                let search = SQL("SELECT handle FROM accounts WHERE account = $1", [.digest(user.digest)])
                guard let row = try transaction.run(search).first else { throw .noAccess }
                let handle = try Revocation.hash(of: try Name(try row.bytes(0)), at: server)
                try settings.note([.account(user, handle: handle)])
            }
        }

        /// Returns the open invitations after one, by rising hash: at most 256.
        ///
        /// - Throws: the errors of the engine.
        package func invitations(after hash: Hash256?) async throws(TresorError) -> [OpenInvitation] {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT i.hash, i.label, i.until, a.handle FROM invitations i
                    LEFT JOIN accounts a ON a.account = i.account AND a.invitation = i.hash
                    WHERE i.hash > $1 AND (i.account IS NULL AND i.until >= $2 OR a.state = 1)
                    ORDER BY i.hash LIMIT $3
                    """,
                    [
                        hash.map { .digest($0) } ?? .bytes([]), .number(context.now),
                        .integer(Int64(Self.pageCount)),
                    ]))
            return try found.map { (row) throws(TresorError) in
                OpenInvitation(
                    hash: try row.digest(0), label: try Name(try row.bytes(1)), until: try row.number(2),
                    handle: try row.isNull(3) ? nil : try Name(try row.bytes(3)))
            }
        }

        /// Withdraws an invitation. Somebody who has begun to register with it goes on without one.
        ///
        /// - Throws: ``TresorError/noAccess`` for one that is not there, or with which somebody has registered; the errors of
        ///   the file of revocations and of the engine.
        package func withdraw(_ invitation: Hash256) async throws(TresorError) {
            try await context.engine.write { [settings = context.settings] (transaction) throws(TresorError) in
                let held = SQL("UPDATE invitations SET until = until WHERE hash = $1", [.digest(invitation)])
                guard try transaction.run([held]) == [1] else { throw .noAccess }
                let revocation = Revocation.withdrawal(invitation)
                // Nobody can take it now. Who has finished with it meanwhile keeps it.
                guard try transaction.run(revocation.statements).last == 1 else { throw .noAccess }
                try settings.note([revocation])
            }
        }
    }
#endif

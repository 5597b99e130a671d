// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Deleting tresors and accounts.
    struct Deletions: Sendable {
        let context: ServiceContext

        /// Deletes a tresor. Its id stays taken, so that no stale client brings it back.
        ///
        /// A tombstone takes its place at once. ``sweep()`` deletes what lies behind it. The founder gets the room back with
        /// the last part.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody but the founder, or an owner once the founder has left.
        func tresor(_ request: DeleteTresorRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let log = try await context.memberLog(of: caller.user, in: request.tresor)
            guard log.membership.role == .owner else { throw .noAccess }
            if caller.user != log.end.founder {
                let founder = try await context.findMemberLog(of: log.end.founder, in: request.tresor)
                guard founder?.membership.isIn != true else { throw .noAccess }
            }
            let tresor = SQLValue.digest(request.tresor.digest)
            let now = context.now
            let answer = try await context.change(for: caller) { (transaction) throws(TresorError) in
                let deleted = try transaction.run([
                    SQL(
                        """
                        UPDATE tresors SET deleted = $3, changed = $3
                        WHERE tresor = $1 AND head = $2 AND deleted IS NULL
                        """,
                        [tresor, .digest(log.end.head), .number(now)]),
                    SQL("INSERT INTO deletions (tresor) VALUES ($1) ON CONFLICT DO NOTHING", [tresor]),
                    // These rows say who is in which tresor, and are few.
                    SQL("DELETE FROM access WHERE tresor = $1", [tresor]),
                ])
                // The log has grown: the caller may no longer be who they were.
                guard deleted[0] == 1 else { throw .busy }
                return DoneAnswer()
            }
            context.states.forget(request.tresor)
            context.removals.forget(request.tresor)
            context.sweeps.ask()
            return answer
        }

        /// The number of tombstones that are looked up at once.
        private static let pageCount = 16

        /// Deletes what lies behind tombstones, also what a process left that has ended. One that fails stops no other.
        ///
        /// - Throws: the last error of the engine.
        func sweep() async throws(TresorError) {
            var failure: TresorError?
            var after = SQLValue.bytes([])
            while true {
                let found = try await context.engine.read(
                    SQL(
                        "SELECT tresor FROM deletions WHERE tresor > $1 ORDER BY tresor LIMIT $2",
                        [after, .integer(Int64(Self.pageCount))]))
                for row in found {
                    after = try row.value(0)
                    do throws(TresorError) { try await erase(after) } catch { failure = error }
                }
                guard found.count == Self.pageCount else { break }
            }
            if let failure { throw failure }
        }

        /// Deletes in parts what lies behind a tombstone, so that other writes come between.
        private func erase(_ tresor: SQLValue) async throws(TresorError) {
            for part in Self.parts {
                var isEmpty = false
                while !isEmpty {
                    try Cancellation.check()
                    isEmpty = try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                        // The row is held: rows that another process deletes now would look as if there were none.
                        try transaction.run([
                            SQL("UPDATE deletions SET tresor = tresor WHERE tresor = $1", [tresor]),
                            SQL(part, [tresor]),
                        ])[1] == 0
                    }
                }
            }
            // The counts of the authors go with that of the founder.
            _ = try await context.engine.write([
                SQL("UPDATE deletions SET tresor = tresor WHERE tresor = $1", [tresor]),
                SQL("DELETE FROM authors WHERE tresor = $1", [tresor]),
                SQL("UPDATE tresors SET bytes = 0 WHERE tresor = $1 AND deleted IS NOT NULL", [tresor]),
                SQL("DELETE FROM deletions WHERE tresor = $1", [tresor]),
            ])
        }

        /// The statements that delete at most 16 MiB of a tresor each, and are repeated until they find nothing.
        private static let parts: [StaticString] = [
            """
            DELETE FROM wraps WHERE tresor = $1 AND (account, epoch, putter) IN
            (SELECT account, epoch, putter FROM wraps WHERE tresor = $1 LIMIT 8192)
            """,
            """
            DELETE FROM blobs WHERE tresor = $1 AND (hash, part) IN
            (SELECT hash, part FROM blobs WHERE tresor = $1 LIMIT 64)
            """,
            // At least one, for no entry has more than 1 MiB.
            """
            DELETE FROM entries WHERE tresor = $1 AND sequence <=
            (SELECT max(sequence) FROM
            (SELECT sequence, sum(length(entry)) OVER (ORDER BY sequence) AS size FROM
            (SELECT sequence, entry FROM entries WHERE tresor = $1 ORDER BY sequence LIMIT 8192) AS begun) AS sized
            WHERE size <= 16777216)
            """,
            """
            DELETE FROM blob_names WHERE tresor = $1 AND hash IN
            (SELECT hash FROM blob_names WHERE tresor = $1 LIMIT 8192)
            """,
            """
            DELETE FROM blob_orphans WHERE tresor = $1 AND hash IN
            (SELECT hash FROM blob_orphans WHERE tresor = $1 LIMIT 8192)
            """,
            // A part of a snapshot has at most 4 MiB.
            """
            DELETE FROM states WHERE tresor = $1 AND (count, part) IN
            (SELECT count, part FROM states WHERE tresor = $1 LIMIT 4)
            """,
        ]

        /// Deletes the caller's account: log-in, server shares, kit copies and sessions. Chain and handle stay.
        ///
        /// - Throws: ``TresorError/noAccess`` for the operator, without whom nobody could be admitted.
        func account(_ request: DeleteAccountRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            guard caller.user != context.settings.operator else { throw .noAccess }
            return try await context.revoke(for: caller, erasing: true) { (transaction, revoked) throws(TresorError) in
                try Self.close(caller.user, in: transaction)
                // A person who makes an account and deletes it takes no handle for ever: the operator alone does.
                revoked.append(.account(caller.user, handle: .zero))
                return DoneAnswer()
            }
        }

        /// Closes an active account.
        ///
        /// - Throws: ``TresorError/noAccess`` for another one.
        static func close(_ user: UserID, in transaction: any SQLTransaction) throws(TresorError) {
            guard try transaction.run(closing(user))[0] == 1 else { throw .noAccess }
        }

        /// The statements that close an account, and delete what is kept for it.
        ///
        /// - Parameter least: the least state of an account that is closed. A service closes active ones; a backup may have
        ///   the account as it was before.
        static func closing(_ user: UserID, from least: AccountState = .active) -> [SQL] {
            let account = SQLValue.digest(user.digest)
            return [
                SQL(
                    """
                    UPDATE accounts SET state = 4, statement = NULL, record = NULL, copy = NULL
                    WHERE account = $1 AND state >= $2 AND state < 4
                    """, [account, .integer(Int64(least.rawValue))]),
                SQL("DELETE FROM server_shares WHERE account = $1", [account]),
                SQL("DELETE FROM kit_copies WHERE account = $1", [account]),
                SQL("DELETE FROM offers WHERE account = $1", [account]),
            ] + Logins.forgetting(user)
        }
    }
#endif

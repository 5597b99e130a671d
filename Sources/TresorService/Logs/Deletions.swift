// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Deleting tresors and accounts.
    struct Deletions: Sendable {
        let context: ServiceContext

        /// Deletes a tresor. Its id stays taken, so that no stale client brings it back.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody but the founder, or an owner once the founder has left.
        func tresor(_ request: DeleteTresorRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let seat = try await context.seat(of: caller.user, in: request.tresor)
            guard seat.role == .owner else { throw .noAccess }
            if caller.user != seat.end.founder {
                let founder = try await context.findSeat(of: seat.end.founder, in: request.tresor)
                guard founder?.isIn != true else { throw .noAccess }
            }
            let tresor = SQLValue.digest(request.tresor.digest)
            let now = context.now
            let answer = try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                let deleted = try transaction.run([
                    SQL(
                        """
                        UPDATE tresors SET deleted = $3, bytes = 0, changed = $3
                        WHERE tresor = $1 AND head = $2 AND deleted IS NULL
                        """,
                        [tresor, .digest(seat.end.head), .number(now)]),
                    SQL("DELETE FROM entries WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM wraps WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM access WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM states WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM blobs WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM blob_names WHERE tresor = $1", [tresor]),
                    SQL("DELETE FROM blob_orphans WHERE tresor = $1", [tresor]),
                ])
                // The log has grown: the caller may no longer be who they were.
                guard deleted[0] == 1 else { throw .busy }
                return DoneAnswer()
            }
            context.states.forget(request.tresor)
            return answer
        }

        /// Deletes the caller's account: log-in, server shares, kit copies and sessions. Chain and handle stay.
        ///
        /// - Throws: ``TresorError/noAccess`` for the operator, without whom nobody could be admitted.
        func account(_ request: DeleteAccountRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            guard caller.user != context.settings.operator else { throw .noAccess }
            let user = SQLValue.digest(caller.user.digest)
            return try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                let closed = try transaction.run([
                    SQL(
                        "UPDATE accounts SET state = 4, statement = NULL WHERE account = $1 AND state = 3", [user]),
                    SQL("DELETE FROM server_shares WHERE account = $1", [user]),
                    SQL("DELETE FROM kit_copies WHERE account = $1", [user]),
                ])
                guard closed[0] == 1 else { throw .noAccess }
                return DoneAnswer()
            }
        }
    }
#endif

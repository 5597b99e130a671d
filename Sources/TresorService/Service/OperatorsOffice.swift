// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The work of the operator of a service: inviting and admitting people (SPEC §18.6).
    package struct OperatorsOffice: Sendable {
        /// The number of people in a page.
        private static let pageCount = 64

        let context: ServiceContext

        /// Puts an invitation.
        ///
        /// - Throws: ``TresorError/failed(_:)`` for one that has ended, for one that would be good for longer than 14
        ///   days, and for one that is there.
        func invite(_ request: InviteRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let now = context.now
            guard request.until >= now,
                request.until <= now + Invitation.duration + RequestStatement.clockWindow
            else { throw .failed(.clock) }
            return try await context.change(for: caller) { (transaction) throws(TresorError) in
                let inserted = try transaction.run([
                    SQL(
                        """
                        INSERT INTO invitations (hash, label, until, account) VALUES ($1, $2, $3, NULL)
                        ON CONFLICT DO NOTHING
                        """,
                        [.digest(request.hash), .bytes(request.label.bytes), .number(request.until)])
                ])
                guard inserted == [1] else { throw .failed(.other) }
                return DoneAnswer()
            }
        }

        /// Returns the people who wait, by rising user id: for an account, or with a new card after a backup was restored.
        func inbox(_ request: InboxRequest) async throws(TresorError) -> InboxAnswer {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT c.chain, i.label, c.asked, c.state FROM
                    (SELECT account, chain, asked, state, invitation FROM accounts WHERE state < 3
                    UNION ALL SELECT account, chain, asked, 2, NULL FROM offers) c
                    LEFT JOIN invitations i ON i.hash = c.invitation
                    WHERE c.account > $1 ORDER BY c.account LIMIT $2
                    """,
                    [.digest(request.after), .integer(Int64(Self.pageCount + 1))]))
            var cases: [InboxAnswer.Case] = []
            var byteCount = 0
            for row in found.prefix(Self.pageCount) {
                let chain = try row.bytes(0)
                byteCount += chain.count
                guard cases.isEmpty || byteCount <= ServiceOperation.pageByteCount else { break }
                let label = try row.isNull(1) ? Name.empty : try Name(try row.bytes(1))
                cases.append(
                    InboxAnswer.Case(
                        state: try AccountState(column: row.number(3)), chain: chain, label: label,
                        asked: try row.number(2)))
            }
            return InboxAnswer(cases: cases, more: cases.count < found.count)
        }

        /// Admits a person who waits, or refuses them, which frees their handle. One who has only asked can be refused.
        /// While it looks and decides, it holds the row of the person: nobody else decides about them or changes it. A card
        /// that they offer in between waits for the next decision.
        ///
        /// - Throws: ``TresorError/noAccess`` for a user who does not wait, and to admit one whose account is closed, or
        ///   under the handle of such a person; ``TresorError/unverified`` for another card than the one that the operator
        ///   was shown; ``TresorError/busy`` if it changes in between.
        func admit(_ request: AdmitRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            // Newer keys, and a refusal, delete a record.
            try await context.revoke(for: caller, erasing: true) { (transaction, revoked) throws(TresorError) in
                let user = SQLValue.digest(request.user.digest)
                let found = try transaction.rows(of: [
                    Account.holding(request.user), Offers.search(request.user),
                    SQL("SELECT state, chain, invitation FROM accounts WHERE account = $1", [user]),
                ])
                if let offered = try found[1].first?.bytes(0) {
                    let renewal = try Offers.decide(offered, by: request, in: transaction)
                    if let renewal { revoked.append(renewal) }
                    return DoneAnswer()
                }
                guard let row = found[2].first else { throw .noAccess }
                let state = try AccountState(column: row.number(0))
                let waits = state == .complete || state == .asked && !request.isAdmitted
                guard waits || state == .active && request.isAdmitted else { throw .noAccess }
                let chain = try row.bytes(1)
                let waiting = try CardChain(chain, knowing: chain)
                guard waiting.newest.hash == request.card else { throw .unverified }
                guard waits else { return DoneAnswer() }
                // Such a case may have come from an import, or with a backup.
                if request.isAdmitted, (try? context.closed.check(waiting)) == nil { throw .noAccess }
                // Whatever the row has by now, no other card is decided on than the one that was shown.
                let shown = [user, .integer(Int64(state.rawValue)), .bytes(chain)]
                let changed =
                    request.isAdmitted
                    ? [
                        SQL(
                            "UPDATE accounts SET state = 3 WHERE account = $1 AND state = $2 AND chain = $3",
                            shown)
                    ]
                    : [
                        SQL("DELETE FROM accounts WHERE account = $1 AND state = $2 AND chain = $3", shown),
                        SQL("DELETE FROM invitations WHERE account = $1", [user]),
                    ]
                guard try transaction.run(changed).first == 1 else { throw .busy }
                // A backup may have it in the hands of the person who is refused.
                if !request.isAdmitted, try !row.isNull(2) { revoked.append(.withdrawal(try row.digest(2))) }
                return DoneAnswer()
            }
        }
    }
#endif

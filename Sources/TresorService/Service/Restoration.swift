// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The changes of a database that may come from an old backup (SPEC §18.7).
    struct Restoration: Sendable {
        let context: ServiceContext

        /// Takes out of the database what was revoked. Nothing changes in one that is not older.
        func apply(_ revocations: [Revocation]) async throws(TresorError) {
            context.closed.note(revocations)
            try await context.removals.compare(revocations, with: context.engine, at: context.now)
            let statements = revocations.flatMap(\.statements)
            guard !statements.isEmpty else { return }
            let limits = context.engine.dialect.liftingLimits
            try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                _ = try transaction.run(limits + statements)
            }
        }

        /// Takes out of the database all that may have been revoked, since nobody knows what was.
        ///
        /// - Parameter chain: the chain of the operator, if they have made new keys since the backup. Nobody else could
        ///   decide about it.
        /// - Throws: ``TresorError/unverified`` for a chain that does not continue the one that is there.
        func distrust(operator chain: CardChain?) async throws(TresorError) {
            let dialect = context.engine.dialect
            let `operator` = context.settings.operator
            try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                _ = try transaction.run(dialect.liftingLimits)
                if let chain { try Self.replace(by: chain, of: `operator`, transaction) }
                _ = try transaction.run([
                    SQL("DELETE FROM server_shares"), SQL("DELETE FROM invitations"),
                    SQL("UPDATE accounts SET invitation = NULL WHERE state < 3"),
                    // A password may have been changed since, because somebody else knew it.
                    SQL("UPDATE accounts SET record = NULL, copy = NULL"),
                    SQL(
                        "UPDATE accounts SET awaited = 0 WHERE state = 3 AND awaited IS NULL AND account <> $1",
                        [.digest(`operator`.digest)]),
                ])
                let eras = try Account.nextEras(SQL("SELECT account, era FROM accounts"), in: transaction)
                _ = try transaction.run(eras.map { Account.beginning($0.era, of: $0.user) })
            }
        }

        private static func replace(
            by chain: CardChain, of user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            guard chain.user == user, let row = try transaction.run(Account.chain(of: user, .active ... .active)).first
            else { throw .unverified }
            let present = try row.bytes(0)
            guard chain.bytes.starts(with: present) else { throw .unverified }
            let former = try CardClaim(newestIn: present)
            _ = try transaction.run([Account.replacement(by: chain, after: former.generation)])
        }
    }

    /// The cards that wait for the operator, because the account is of a backup that may be old.
    struct Offers: Sendable {
        let context: ServiceContext

        /// Keeps a chain for the operator. The first one stays until they decide about it.
        func put(_ chain: CardChain) async throws(TresorError) {
            _ = try await context.engine.write([
                SQL(
                    "INSERT INTO offers (account, chain, asked) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                    [.digest(chain.user.digest), .bytes(chain.bytes), .number(context.now)])
            ])
        }

        /// The statement that reads the chain that a user offers.
        static func search(_ user: UserID) -> SQL {
            SQL("SELECT chain FROM offers WHERE account = $1", [.digest(user.digest)])
        }

        /// Takes an offered chain, or drops it.
        ///
        /// - Throws: ``TresorError/unverified`` for another card than the one that the operator was shown, and for a
        ///   chain that does not continue the one that is there; ``TresorError/busy`` if either changes in between.
        static func decide(
            _ offered: [UInt8], by request: AdmitRequest, in transaction: any SQLTransaction
        ) throws(TresorError) -> Revocation? {
            let chain = try CardChain(offered, knowing: offered)
            guard chain.newest.hash == request.card else { throw .unverified }
            var statements = [
                SQL(
                    "DELETE FROM offers WHERE account = $1 AND chain = $2",
                    [.digest(request.user.digest), .bytes(offered)])
            ]
            if request.isAdmitted {
                let found = try transaction.run(Account.chain(of: request.user, .active ... .active))
                guard let present = try found.first?.bytes(0), offered.starts(with: present) else { throw .unverified }
                statements.append(Account.replacement(by: chain, after: try CardClaim(newestIn: present).generation))
            }
            guard try transaction.run(statements).allSatisfy({ $0 == 1 }) else { throw .busy }
            return request.isAdmitted ? Revocation(renewalTo: chain) : nil
        }
    }

    extension Revocation {
        /// The revocation that a new card makes.
        init(renewalTo chain: CardChain) {
            self = .card(chain.user, generation: chain.newest.generation, card: chain.newest.hash)
        }
    }
#endif

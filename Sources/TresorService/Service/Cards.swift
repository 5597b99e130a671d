// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The card chains of people with an account.
    struct Cards: Sendable {
        let context: ServiceContext

        /// Looks for the chain of a user, also of one whose account is closed, since logs hold it.
        static func lookup(_ request: CardRequest) -> Lookup {
            Lookup(statements: [Account.chain(of: request.user, .active ... .closed)]) { (found) throws(TresorError) in
                ServiceReply(ChainAnswer(chain: try found[0].first?.bytes(0) ?? []))
            }
        }

        /// Looks for the chains under a handle.
        static func lookup(_ request: CardsRequest) -> Lookup {
            let search = SQL("SELECT chain FROM accounts WHERE handle = $1 AND state = 3", [.bytes(request.handle)])
            return Lookup(statements: [search]) { (found) throws(TresorError) in
                var chains: [[UInt8]] = []
                for row in found[0] { chains.append(try row.bytes(0)) }
                return ServiceReply(ChainsAnswer(chains: chains))
            }
        }

        /// Returns the first users, in byte order, that begin with a prefix.
        func users(_ request: UsersRequest) async throws(TresorError) -> UsersAnswer {
            let rest = Hash256.byteCount - request.prefix.count
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT account FROM accounts WHERE account >= $1 AND account <= $2 AND state = 3
                    ORDER BY account LIMIT $3
                    """,
                    [
                        .bytes(request.prefix + [UInt8](repeating: 0, count: rest)),
                        .bytes(request.prefix + [UInt8](repeating: 255, count: rest)),
                        .integer(Int64(UsersAnswer.maximumCount)),
                    ]))
            var users: [UserID] = []
            for row in found { users.append(UserID(try row.digest(0))) }
            return UsersAnswer(users: users)
        }

        /// Replaces the chain of the caller by a longer one.
        ///
        /// - Throws: ``TresorError/noAccess`` for the chain of another user; ``TresorError/altered`` for one that does
        ///   not extend the present one; ``TresorError/waiting`` if the operator has to decide about it.
        func put(_ request: PutCardRequest, by caller: Caller) async throws(TresorError) -> OutcomeAnswer {
            guard try CardClaim(newestIn: request.chain).user == caller.user else { throw .noAccess }
            // Bytes are compared before a signature is checked, and none is checked again.
            let found = try await context.engine.read(Account.chain(of: caller.user, .active ... .active))
            guard let known = try found.first?.bytes(0) else { throw .noAccess }
            guard known == request.chain || known == request.replacing else { return OutcomeAnswer(.conflict) }
            let chain = try await context.readChain(request.chain, knowing: known, of: caller)
            if caller.account?.awaitsOperator == true, request.chain != known {
                try await Offers(context: context).put(chain)
                throw .waiting
            }
            return try await context.revoke(for: caller, erasing: true) { (transaction, revoked) throws(TresorError) in
                let found = try transaction.run(Account.chain(of: caller.user, .active ... .active))
                guard let present = try found.first?.bytes(0) else { throw .noAccess }
                if present == request.chain { return OutcomeAnswer(.done) }
                guard present == request.replacing else { return OutcomeAnswer(.conflict) }
                // Cards lie one after the other, and those of the longer chain were verified: the other one needs no
                // signature checked while the transaction waits.
                guard request.chain.starts(with: present) else { throw .altered }
                let former = try CardClaim(newestIn: present)
                let changed = try transaction.run([Account.replacement(by: chain, after: former.generation)])
                guard changed == [1] else { return OutcomeAnswer(.conflict) }
                revoked.append(Revocation(renewalTo: chain))
                return OutcomeAnswer(.done)
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// A session of a person that was open in the last minute, and a request that its key has signed.
    ///
    /// It may have ended since. So whatever is done for it is done in the transaction of ``keeping(_:at:)``, which stays
    /// without effect unless the session holds and is open.
    struct RecentSession: Sendable {
        let statement: SessionStatement
        /// The hash of the statement.
        let session: Hash256
        /// The key that has signed the statement.
        let signer: Hash256
        let request: RequestKey

        var user: UserID { statement.user }

        /// The statement that keeps the answer to the request. It fails if there is one, and changes no row unless the rows
        /// prove the session, the account is active, and the device is trusted that the session names (SPEC §18.2).
        func keeping(_ answer: [UInt8], at now: UInt64) -> SQL {
            let values: [SQLValue] = [
                .digest(user.digest), .bytes(request.id), .number(now), .bytes(request.content), .bytes(answer),
                .integer(Int64(AccountState.active.rawValue)), .integer(Int64(statement.generation)), .digest(signer),
                .bytes(statement.era.bytes),
            ]
            guard let device = statement.device else {
                return SQL(
                    """
                    INSERT INTO requests (scope, id, time, body, answer)
                    SELECT account, $2, $3, $4, $5 FROM accounts
                    WHERE account = $1 AND state = $6 AND generation = $7 AND sign_key = $8 AND era = $9
                    AND (awaited IS NULL OR awaited <= $7)
                    """, values)
            }
            return SQL(
                """
                INSERT INTO requests (scope, id, time, body, answer)
                SELECT account, $2, $3, $4, $5 FROM accounts
                WHERE account = $1 AND state = $6 AND generation = $7 AND sign_key = $8 AND era = $9
                AND (awaited IS NULL OR awaited <= $7)
                AND EXISTS (SELECT 1 FROM server_shares WHERE account = $1 AND device = $10)
                """, values + [.bytes(device.bytes)])
        }
    }

    extension RequestStatement {
        /// The statement that the key of a session has to sign.
        init(_ authorization: Authorization, in session: Hash256, _ call: ServiceCall) throws(TresorError) {
            try self.init(
                session: session, id: authorization.id, time: authorization.time, operation: call.operation,
                body: call.body)
        }
    }

    extension Authentication {
        /// Finds the statement of a session that has held in the last minute. Nobody else has it.
        ///
        /// - Parameter session: the hash of the statement.
        func recent(_ statement: SessionStatement, _ session: Hash256) -> SignedStatement? {
            let known = statements.newest(of: statement.user) { $0.session == session }
            guard let known, clock() <= known.time + Self.knownDuration else { return nil }
            return known
        }

        /// Returns the person whom a head with a small body proves by what lies in memory, as ``proves(_:)`` does; `nil`
        /// where the rows are to be asked.
        func knows(_ head: ServiceHead) -> UserID? {
            guard !head.isLarge, head.operation.speaker != .anyone,
                let statement = (try? read(head.authorization, head.audiences))?.statement,
                statement.kind == .identity, let session = try? statement.hash(), recent(statement, session) != nil
            else { return nil }
            return statement.user
        }

        /// Finds the recent session of a request of a person whose bucket has room for it.
        ///
        /// Nothing is taken from the bucket yet: the session may have ended, and one that has takes nothing from its person.
        /// ``confirm(_:_:)`` takes it.
        ///
        /// - Parameter find: finds what makes the request likely to be answered. It is asked before the signature of the
        ///   request is verified.
        /// - Returns: `nil` for another request: whatever is wrong, ``authenticate(_:_:)`` says it.
        func recentSession<Promise>(
            of call: ServiceCall, _ payment: Payment, promising find: (UserID) -> Promise?
        ) throws(TresorError) -> (session: RecentSession, promise: Promise)? {
            guard let authorization = try? read(call.authorization, call.audiences),
                authorization.statement.kind == .identity
            else { return nil }
            let statement = authorization.statement
            let session = try statement.hash()
            guard let known = recent(statement, session), let promise = find(statement.user) else { return nil }
            let request = try RequestStatement(authorization, in: session, call)
            let isSigned = try Self.holds { () throws(TresorError) in
                try Ed25519.verify(authorization.signature, of: request.message, by: statement.key)
            }
            guard isSigned, payment.hasRoom(.requests(statement.user.digest.bytes), rate) else { return nil }
            let held = RecentSession(
                statement: statement, session: session, signer: known.signer,
                request: RequestKey(request, of: statement.user))
            return (held, promise)
        }

        /// Returns what a request in a recent session looks for, if its person may ask now; `nil` for any other request. The
        /// sender was heard lately, so that a stranger has nothing read ahead.
        func lookup(of call: ServiceCall, in statement: SessionStatement, _ session: Hash256) -> Lookup? {
            guard statement.kind == .identity, recent(statement, session) != nil,
                limits.look(.requests(statement.user.digest.bytes), rate) == nil
            else { return nil }
            return try? Lookup.of(call, by: statement.user)
        }

        /// Notes that a recent session was open, and charges its person for the request.
        func confirm(_ recent: RecentSession, _ payment: Payment) {
            payment.take(.requests(recent.user.digest.bytes), rate)
            statements.keep(
                SignedStatement(recent.statement, recent.session, by: recent.signer, at: clock()), of: recent.user)
        }
    }
#endif

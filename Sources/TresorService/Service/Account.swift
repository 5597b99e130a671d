// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    import TresorCrypto

    /// The row of an account, as far as each request needs it.
    struct Account: Sendable {
        let state: AccountState
        /// The newest generation and its signing key.
        let generation: UInt32
        let key: Hash256
        /// The era that its sessions must name.
        let era: Era
        /// The card that has to come before the account goes on; `nil` as a rule.
        let awaited: AwaitedCard?

        /// The card that an account awaits, because the database comes from a backup.
        struct AwaitedCard: Sendable {
            /// The generation below which nobody speaks.
            let generation: UInt32
            /// The hash of the card of that generation; `nil` where the operator decides about the next card.
            let hash: Hash256?
        }

        /// The statement that reads the row of a user.
        static func search(_ user: UserID) -> SQL {
            SQL(
                """
                SELECT state, generation, sign_key, era, awaited, awaited_card FROM accounts
                WHERE account = $1
                """, [.digest(user.digest)])
        }

        init(_ row: SQLRow) throws(TresorError) {
            state = try AccountState(column: row.number(0))
            generation = try Self.generation(row, 1)
            key = try row.digest(2)
            guard let era = Era(try row.bytes(3)) else { throw .store(.damaged) }
            self.era = era
            awaited =
                try row.isNull(4)
                ? nil
                : AwaitedCard(
                    generation: try Self.generation(row, 4), hash: try row.isNull(5) ? nil : try row.digest(5))
        }

        private static func generation(_ row: SQLRow, _ column: Int) throws(TresorError) -> UInt32 {
            guard let generation = UInt32(exactly: try row.number(column)) else { throw .store(.damaged) }
            return generation
        }

        /// Whether the newest generation that is there may speak.
        var isNewest: Bool { generation >= awaited?.generation ?? 0 }

        /// Whether a chain has the card that the account awaits.
        func isContinued(by chain: CardChain) -> Bool {
            guard let awaited, let hash = awaited.hash else { return true }
            return chain.card(generation: awaited.generation)?.hash == hash
        }

        /// Whether the operator decides about the next card.
        var awaitsOperator: Bool { awaited.map { $0.hash == nil } ?? false }

        /// The statement that makes an account await a card, if its chain ends before that, and no later one is awaited. Of
        /// two with one number the first was never put: its transaction failed behind the record. A password that opens
        /// the keys before that card logs nobody in.
        static func awaiting(_ card: Hash256, generation: UInt32, of user: UserID) -> SQL {
            SQL(
                """
                UPDATE accounts SET awaited = $2, awaited_card = $3, record = NULL, copy = NULL
                WHERE account = $1 AND generation < $2 AND (awaited IS NULL OR awaited <= $2)
                """, [.digest(user.digest), .integer(Int64(generation)), .digest(card)])
        }

        /// The eras of accounts that come next.
        static func nextEras(
            _ accounts: SQL, in transaction: any SQLTransaction
        ) throws(TresorError) -> [(user: UserID, era: Era)] {
            var eras: [(user: UserID, era: Era)] = []
            for row in try transaction.run(accounts) {
                guard let era = Era(try row.bytes(1)) else { throw .store(.damaged) }
                eras.append((UserID(try row.digest(0)), try era.next()))
            }
            return eras
        }

        /// The statement that ends the sessions of all eras before one.
        static func beginning(_ era: Era, of user: UserID) -> SQL {
            SQL(
                "UPDATE accounts SET era = $2 WHERE account = $1 AND era < $2",
                [.digest(user.digest), .bytes(era.bytes)])
        }

        /// The statement that holds the row of a user until the transaction ends: what is counted after it stays so.
        static func holding(_ user: UserID) -> SQL {
            SQL("UPDATE accounts SET state = state WHERE account = $1", [.digest(user.digest)])
        }

        /// The statement that finds an account unless it is closed.
        static func open(_ user: UserID) -> SQL {
            SQL("SELECT state FROM accounts WHERE account = $1 AND state < 4", [.digest(user.digest)])
        }

        /// The statement that ends the case of somebody else under the handle of a chain, unless the operator knows of
        /// them: they were invited, or have an account.
        static func displacing(by chain: CardChain) -> SQL {
            SQL(
                "DELETE FROM accounts WHERE handle = $1 AND account <> $2 AND state < 3 AND invitation IS NULL",
                [.bytes(chain.handle.bytes), .digest(chain.user.digest)])
        }

        /// The statement that reads the chain of somebody else who keeps the handle of a chain: whom none of
        /// ``displacing(by:)`` displaces.
        static func keeping(from chain: CardChain) -> SQL {
            SQL(
                "SELECT chain FROM accounts WHERE handle = $1 AND account <> $2 AND (state >= 3 OR invitation IS NOT NULL)",
                [.bytes(chain.handle.bytes), .digest(chain.user.digest)])
        }

        /// The statement that makes an account; it changes no row if the user or the handle has one.
        static func insertion(
            of chain: CardChain, _ state: AccountState, invitation: Hash256?, at now: UInt64
        ) -> SQL {
            SQL(
                """
                INSERT INTO accounts
                (account, handle, state, chain, generation, sign_key, era, asked, invitation)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING
                """,
                [
                    .digest(chain.user.digest), .bytes(chain.handle.bytes), .integer(Int64(state.rawValue)),
                    .bytes(chain.bytes), .integer(Int64(chain.newest.generation)), .digest(chain.newest.signingKey),
                    .bytes(Era.first.bytes), .number(now), invitation.map { .digest($0) } ?? .null,
                ])
        }

        /// The statement that replaces the chain of an account, if its newest generation is the one given. A password that
        /// opens former keys logs nobody in: the person sets it again.
        static func replacement(by chain: CardChain, after generation: UInt32) -> SQL {
            SQL(
                """
                UPDATE accounts SET chain = $2, generation = $3, sign_key = $4, awaited = NULL, awaited_card = NULL,
                record = NULL, copy = NULL
                WHERE account = $1 AND generation = $5
                """,
                [
                    .digest(chain.user.digest), .bytes(chain.bytes), .integer(Int64(chain.newest.generation)),
                    .digest(chain.newest.signingKey), .integer(Int64(generation)),
                ])
        }

        /// The statement that reads the chain of a user who has an account in one of these states.
        static func chain(of user: UserID, _ states: ClosedRange<AccountState>) -> SQL {
            SQL(
                "SELECT chain FROM accounts WHERE account = $1 AND state >= $2 AND state <= $3",
                [
                    .digest(user.digest), .integer(Int64(states.lowerBound.rawValue)),
                    .integer(Int64(states.upperBound.rawValue)),
                ])
        }
    }

    extension LoginStatement {
        /// Reads a column; `nil` where it holds nothing.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` for bytes that are no statement.
        init?(column: SQLValue) throws(TresorError) {
            guard column != .null else { return nil }
            guard case .bytes(let bytes) = column, let statement = try? LoginStatement(bytes) else {
                throw .store(.damaged)
            }
            self = statement
        }
    }

    extension AccountState: Comparable {
        package static func < (left: AccountState, right: AccountState) -> Bool { left.rawValue < right.rawValue }

        /// - Throws: `TresorError.store(_:)` with `damaged` for a number that is no state.
        init(column: UInt64) throws(TresorError) {
            guard let state = UInt8(exactly: column).flatMap(AccountState.init(rawValue:)) else {
                throw .store(.damaged)
            }
            self = state
        }
    }
#endif

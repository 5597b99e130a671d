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

        /// The statement that reads the row of a user.
        static func search(_ user: UserID) -> SQL {
            SQL(
                "SELECT state, generation, sign_key, era FROM accounts WHERE account = $1",
                [.digest(user.digest)])
        }

        init(_ row: SQLRow) throws(TresorError) {
            state = try AccountState(column: row.number(0))
            guard let generation = UInt32(exactly: try row.number(1)) else { throw .store(.damaged) }
            self.generation = generation
            key = try row.digest(2)
            guard let era = Era(try row.bytes(3)) else { throw .store(.damaged) }
            self.era = era
        }

        /// The statement that holds the row of a user until the transaction ends: what is counted after it stays so.
        static func holding(_ user: UserID) -> SQL {
            SQL("UPDATE accounts SET state = state WHERE account = $1", [.digest(user.digest)])
        }

        /// The statement that ends the case of somebody else under the handle of a chain, unless the operator knows of
        /// them: they were invited, or have an account.
        static func displacing(by chain: CardChain) -> SQL {
            SQL(
                "DELETE FROM accounts WHERE handle = $1 AND account <> $2 AND state < 3 AND invitation IS NULL",
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

        /// The statement that replaces the chain of an account, if its newest generation is the one given.
        static func replacement(by chain: CardChain, after generation: UInt32) -> SQL {
            SQL(
                """
                UPDATE accounts SET chain = $2, generation = $3, sign_key = $4 WHERE account = $1 AND generation = $5
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

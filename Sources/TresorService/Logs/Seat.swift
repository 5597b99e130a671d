// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The end of a log, as the database has it.
    struct LogEnd: Hashable, Sendable {
        let count: UInt64
        let head: Hash256
        let founder: UserID
    }

    /// The part of a tresor that a person may read: the row of *access*, which the same fold has written as the log.
    struct Seat: Sendable {
        let end: LogEnd
        /// `nil` for a former member.
        let role: Role?
        /// The number of entries that the person may read: all, or those up to the one that removed them.
        let readableCount: UInt64

        var isMember: Bool { role != nil }

        /// The statement that reads the seat of a user; no row for a tresor that is not there, for one that was
        /// deleted, and for a user who never was a member.
        static func search(_ tresor: TresorID, _ user: UserID) -> SQL {
            SQL(
                """
                SELECT t.count, t.head, t.founder, a.role, a.last_sequence FROM access a
                JOIN tresors t ON t.tresor = a.tresor
                WHERE a.tresor = $1 AND a.account = $2 AND t.deleted IS NULL
                """,
                [.digest(tresor.digest), .digest(user.digest)])
        }

        init(_ row: SQLRow) throws(TresorError) {
            end = LogEnd(
                count: try row.number(0), head: try row.digest(1), founder: UserID(try row.digest(2)))
            if try row.isNull(4) {
                guard let role = UInt8(exactly: try row.number(3)).flatMap(Role.init(rawValue:)) else {
                    throw .store(.damaged)
                }
                self.role = role
                readableCount = end.count
            } else {
                role = nil
                readableCount = min(end.count, try row.number(4) + 1)
            }
        }
    }

    extension ServiceContext {
        /// Returns the seat of a user.
        ///
        /// - Throws: ``TresorError/noAccess`` for a tresor that is not there and for a user who never was in it: nobody
        ///   can tell one from the other.
        func seat(of user: UserID, in tresor: TresorID) async throws(TresorError) -> Seat {
            guard let seat = try await findSeat(of: user, in: tresor) else { throw .noAccess }
            return seat
        }

        /// Returns the seat of a user, or `nil`.
        func findSeat(of user: UserID, in tresor: TresorID) async throws(TresorError) -> Seat? {
            guard let row = try await engine.read(Seat.search(tresor, user)).first else { return nil }
            return try Seat(row)
        }
    }

    /// The part that a person may read after an entry: the row of *access* that the fold calls for.
    struct Access: Hashable, Sendable {
        let user: UserID
        /// `nil` for a former member.
        let role: Role?
        /// The first epoch that a member reads: 1 for full history.
        let firstEpoch: UInt64
        /// The entry that removed a former member.
        let last: UInt64?

        /// - Returns: `nil` for a user whom the log never knew as a member.
        init?(of user: UserID, in state: LogState) {
            self.user = user
            if let member = state.members[user] {
                role = member.role
                firstEpoch = if case .from(let epoch) = member.history { epoch } else { 1 }
                last = nil
            } else {
                guard let last = state.end(of: user) else { return nil }
                role = nil
                firstEpoch = 0
                self.last = last
            }
        }

        /// Reads the columns account, role, first_epoch and last.
        init(_ row: SQLRow) throws(TresorError) {
            user = UserID(try row.digest(0))
            role = UInt8(exactly: try row.number(1)).flatMap(Role.init(rawValue:))
            firstEpoch = try row.number(2)
            last = try row.isNull(3) ? nil : try row.number(3)
        }

        /// The statement that writes the row.
        func storing(in tresor: TresorID) -> SQL {
            SQL(
                """
                INSERT INTO access (tresor, account, role, first_epoch, last_sequence) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tresor, account) DO UPDATE SET role = $3, first_epoch = $4, last_sequence = $5
                """,
                [
                    .digest(tresor.digest), .digest(user.digest), .integer(Int64(role?.rawValue ?? 0)),
                    .number(firstEpoch), last.map { .number($0) } ?? .null,
                ])
        }
    }
#endif

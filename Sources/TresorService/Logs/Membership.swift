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

    extension LogEnd {
        /// Reads the columns count, head and founder.
        init(_ row: SQLRow) throws(TresorError) {
            self.init(count: try row.number(0), head: try row.digest(1), founder: UserID(try row.digest(2)))
        }
    }

    /// The row of *access*: the place of a person in a tresor, and the part of the log that they may read. The same fold
    /// has written it as the log.
    struct Membership: Hashable, Sendable {
        let user: UserID
        let place: Place
        /// The first epoch that a member reads, or will: 1 for full history.
        let firstEpoch: UInt64
        /// The entry that removed a former member.
        let last: UInt64?

        /// The role of a member; `nil` for anybody else.
        var role: Role? { if case .member(let role) = place, last == nil { role } else { nil } }

        /// Whether the person is in the log: a member, a person who waits, or an approver.
        var isIn: Bool { last == nil }

        /// The status of a person in a log.
        enum Place: Hashable, Sendable {
            case member(Role)
            case waiting
            case approver
            case former

            /// The number in the database.
            var code: UInt8 {
                switch self {
                case .member(let role): role.rawValue
                case .waiting: 4
                case .approver: 5
                case .former: 0
                }
            }

            init?(code: UInt64) {
                switch code {
                case 0: self = .former
                case 4: self = .waiting
                case 5: self = .approver
                default:
                    guard let role = UInt8(exactly: code).flatMap(Role.init(rawValue:)) else { return nil }
                    self = .member(role)
                }
            }
        }

        /// The membership after an entry, for which the fold calls.
        ///
        /// - Returns: `nil` for a user whom the log never knew as a member, and who does not wait or approve.
        init?(of user: UserID, in state: LogState) {
            self.user = user
            if let member = state.members[user] {
                place = .member(member.role)
                firstEpoch = member.history.firstEpoch
                last = nil
            } else if let waiting = state.waiting[user] {
                place = .waiting
                firstEpoch = waiting.history.firstEpoch
                last = nil
            } else if state.approvers.contains(user) {
                place = .approver
                firstEpoch = 0
                last = nil
            } else {
                guard let last = state.end(of: user) else { return nil }
                place = .former
                firstEpoch = 0
                self.last = last
            }
        }

        /// Reads the columns account, role, first_epoch and last_sequence.
        ///
        /// - Parameter column: the first of them.
        init(_ row: SQLRow, from column: Int = 0) throws(TresorError) {
            user = UserID(try row.digest(column))
            guard let place = Place(code: try row.number(column + 1)) else { throw .store(.damaged) }
            self.place = place
            firstEpoch = try row.number(column + 2)
            last = try row.isNull(column + 3) ? nil : try row.number(column + 3)
        }

        /// The statement that writes the row of a user, or deletes that of an approver who is one no more.
        static func storing(_ user: UserID, in state: LogState) -> SQL {
            if let membership = Membership(of: user, in: state) { return membership.storing(in: state.tresor) }
            return SQL(
                "DELETE FROM access WHERE tresor = $1 AND account = $2",
                [.digest(state.tresor.digest), .digest(user.digest)])
        }

        /// The statement that writes the row.
        func storing(in tresor: TresorID) -> SQL {
            SQL(
                """
                INSERT INTO access (tresor, account, role, first_epoch, last_sequence) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tresor, account) DO UPDATE SET role = $3, first_epoch = $4, last_sequence = $5
                """,
                [
                    .digest(tresor.digest), .digest(user.digest), .integer(Int64(place.code)),
                    .number(firstEpoch), last.map { .number($0) } ?? .null,
                ])
        }
    }

    /// A log and the membership of a person who is or was in it.
    struct MemberLog: Sendable {
        let end: LogEnd
        let membership: Membership

        /// The number of entries that the person may read: all, or those up to the one that removed them.
        var readableCount: UInt64 { membership.last.map { min(end.count, $0 + 1) } ?? end.count }

        /// The statement that reads the end of a log, and beside it the row of a user or nothing; no row for a tresor that
        /// is not there, and for one that was deleted.
        static func search(_ tresor: TresorID, _ user: UserID) -> SQL {
            SQL(
                """
                SELECT t.count, t.head, t.founder, a.account, a.role, a.first_epoch, a.last_sequence FROM tresors t
                LEFT JOIN access a ON a.tresor = t.tresor AND a.account = $2
                WHERE t.tresor = $1 AND t.deleted IS NULL
                """,
                [.digest(tresor.digest), .digest(user.digest)])
        }

        /// Reads what the statement found.
        ///
        /// - Returns: `nil` for a user who never was in the log.
        init?(_ row: SQLRow?) throws(TresorError) {
            guard let row, try !row.isNull(3) else { return nil }
            end = try LogEnd(row)
            membership = try Membership(row, from: 3)
            guard !membership.isIn || membership.place != .former else { throw .store(.damaged) }
        }
    }

    extension ServiceContext {
        /// Returns a log and the membership of a user in it.
        ///
        /// - Throws: ``TresorError/noAccess`` for a tresor that is not there and for a user who never was in it: nobody
        ///   can tell one from the other.
        func memberLog(of user: UserID, in tresor: TresorID) async throws(TresorError) -> MemberLog {
            guard let log = try await findMemberLog(of: user, in: tresor) else { throw .noAccess }
            return log
        }

        /// Returns a log and the membership of a user in it, or `nil`.
        func findMemberLog(of user: UserID, in tresor: TresorID) async throws(TresorError) -> MemberLog? {
            try MemberLog(try await engine.read(MemberLog.search(tresor, user)).first)
        }
    }
#endif

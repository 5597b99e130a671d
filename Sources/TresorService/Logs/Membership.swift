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
    struct Membership: Sendable {
        let end: LogEnd
        let place: Place
        /// The number of entries that the person may read: all, or those up to the one that removed them.
        let readableCount: UInt64

        /// The role of a member; `nil` for anybody else.
        var role: Role? { if case .member(let role) = place { role } else { nil } }

        /// Whether the person is in the log: a member, a person who waits, or an approver.
        var isIn: Bool { place != .former }

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

        /// The statement that reads the membership of a user; no row for a tresor that is not there, for one that was
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
                guard let place = Place(code: try row.number(3)), place != .former else { throw .store(.damaged) }
                self.place = place
                readableCount = end.count
            } else {
                place = .former
                readableCount = min(end.count, try row.number(4) + 1)
            }
        }
    }

    extension ServiceContext {
        /// Returns the membership of a user.
        ///
        /// - Throws: ``TresorError/noAccess`` for a tresor that is not there and for a user who never was in it: nobody
        ///   can tell one from the other.
        func membership(of user: UserID, in tresor: TresorID) async throws(TresorError) -> Membership {
            guard let membership = try await findMembership(of: user, in: tresor) else { throw .noAccess }
            return membership
        }

        /// Returns the membership of a user, or `nil`.
        func findMembership(of user: UserID, in tresor: TresorID) async throws(TresorError) -> Membership? {
            guard let row = try await engine.read(Membership.search(tresor, user)).first else { return nil }
            return try Membership(row)
        }
    }

    /// The part that a person may read after an entry: the row of *access* that the fold calls for.
    struct Access: Hashable, Sendable {
        let user: UserID
        let place: Membership.Place
        /// The first epoch that a member reads, or will: 1 for full history.
        let firstEpoch: UInt64
        /// The entry that removed a former member.
        let last: UInt64?

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

        /// Reads the columns account, role, first_epoch and last.
        init(_ row: SQLRow) throws(TresorError) {
            user = UserID(try row.digest(0))
            guard let place = Membership.Place(code: try row.number(1)) else { throw .store(.damaged) }
            self.place = place
            firstEpoch = try row.number(2)
            last = try row.isNull(3) ? nil : try row.number(3)
        }

        /// The statement that writes the row of a user, or deletes that of an approver who is one no more.
        static func storing(_ user: UserID, in state: LogState) -> SQL {
            if let access = Access(of: user, in: state) { return access.storing(in: state.tresor) }
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
#endif

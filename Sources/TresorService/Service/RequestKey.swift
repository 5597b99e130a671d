// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The request that an answer is kept for (SPEC §18.3): one id of one person, and what it asked for.
    struct RequestKey: Hashable, Sendable {
        /// The time for which an answer is kept, in seconds: an hour.
        static let duration: UInt64 = 3_600

        let user: UserID
        /// 16 bytes.
        let id: [UInt8]
        /// The time of sending, by the clock of the client.
        let time: UInt64
        /// The name of the operation and the hash of the body.
        let content: [UInt8]

        init(_ statement: RequestStatement, of user: UserID) {
            self.user = user
            id = statement.id
            time = statement.time
            content = Array(statement.operation.rawValue.utf8) + statement.body.bytes
        }

        /// An answer that was kept.
        enum KeptAnswer: Sendable {
            /// To this very request.
            case answer([UInt8])
            /// To this very request, whose answer is given once.
            case spent
            /// To another request with this id.
            case other
        }

        /// The statement that looks for an answer.
        var search: SQL {
            SQL(
                "SELECT body, answer FROM requests WHERE scope = $1 AND id = $2",
                [.digest(user.digest), .bytes(id)])
        }

        /// The statement that keeps an answer; `nil` for one that is given once. It fails if there is one: say what then, by
        /// ``SQL/orElse(_:)``.
        func keeping(_ answer: [UInt8]?, at now: UInt64) -> SQL {
            SQL(
                "INSERT INTO requests (scope, id, time, body, answer) VALUES ($1, $2, $3, $4, $5)",
                [
                    .digest(user.digest), .bytes(id), .number(now), .bytes(content),
                    answer.map { .bytes($0) } ?? .null,
                ])
        }

        /// Reads what the search found; `nil` for nothing.
        func kept(_ rows: [SQLRow]) throws(TresorError) -> KeptAnswer? {
            guard let row = rows.first else { return nil }
            guard try row.bytes(0) == content else { return .other }
            return try row.isNull(1) ? .spent : .answer(try row.bytes(1))
        }

        /// The number of answers that one statement drops, and those of the same second.
        static let portion = 5_000

        /// The statement that drops some of the answers that are no longer kept: no transaction lasts too long, however
        /// many there are.
        static func dropping(before now: UInt64) -> SQL {
            SQL(
                """
                DELETE FROM requests WHERE time < $1 AND time <= (SELECT max(time) FROM
                (SELECT time FROM requests WHERE time < $1 ORDER BY time LIMIT $2) AS oldest)
                """,
                [.number(now - min(now, duration)), .integer(Int64(portion))])
        }
    }
#endif

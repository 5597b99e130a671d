// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Reading logs.
    enum Logs {
        /// The maximum number of entries in a page.
        private static let pageCount: UInt64 = 8_192

        /// Looks for a page of the entries that a person may read: at most 4 MiB, but at least one. Its answer throws
        /// ``TresorError/noAccess`` for somebody who never was in the tresor.
        static func lookup(_ request: EntriesRequest, by user: UserID) -> Lookup {
            let limit = min(UInt64(request.limit), pageCount)
            let (end, isBeyond) = request.first.addingReportingOverflow(limit)
            let page = page(of: request.tresor, request.first..<(isBeyond ? .max : end), for: user)
            return Lookup(statements: [MemberLog.search(request.tresor, user), page]) { (found) throws(TresorError) in
                guard let readable = try MemberLog(found[0].first)?.readableCount else { throw .noAccess }
                guard request.first < readable, limit > 0 else {
                    return ServiceReply(EntriesAnswer(entries: [], more: false))
                }
                let entries = try Self.entries(found[1])
                guard !entries.isEmpty else { throw .store(.damaged) }
                return ServiceReply(
                    EntriesAnswer(entries: entries, more: request.first + UInt64(entries.count) < readable))
            }
        }

        /// Looks for the tresors of which a person is a member, in byte order.
        static func lookup(_ request: TresorsRequest, by user: UserID) -> Lookup {
            let page = SQL(
                """
                SELECT tresor FROM access WHERE account = $1 AND tresor > $2 AND last_sequence IS NULL
                ORDER BY tresor LIMIT $3
                """,
                [.digest(user.digest), .digest(request.after), .integer(Int64(TresorsAnswer.maximumCount + 1))])
            return Lookup(statements: [page]) { (found) throws(TresorError) in
                var tresors: [TresorID] = []
                for row in found[0].prefix(TresorsAnswer.maximumCount) { tresors.append(TresorID(try row.digest(0))) }
                return ServiceReply(TresorsAnswer(tresors: tresors, more: found[0].count > tresors.count))
            }
        }

        /// The statement that reads the first entries of a range: as many as fit into so many bytes, but at least one.
        static func page(of tresor: TresorID, _ sequences: Range<UInt64>, byteCount: Int) -> SQL {
            SQL(
                """
                SELECT entry FROM entries WHERE tresor = $1 AND sequence >= $2 AND sequence <=
                (SELECT max(sequence) FROM
                (SELECT sequence, sum(length(entry) + 4) OVER (ORDER BY sequence) AS total FROM entries
                WHERE tresor = $1 AND sequence >= $2 AND sequence < $3) AS sizes
                WHERE total <= $4 OR sequence = $2)
                ORDER BY sequence
                """,
                [
                    .digest(tresor.digest), .number(sequences.lowerBound), .number(sequences.upperBound),
                    .integer(Int64(byteCount)),
                ])
        }

        /// The statement that reads those of a page that a person may read. It reads nothing for anybody who never was in
        /// the tresor.
        private static func page(of tresor: TresorID, _ sequences: Range<UInt64>, for reader: UserID) -> SQL {
            SQL(
                """
                SELECT entry FROM entries WHERE tresor = $1 AND sequence >= $2 AND sequence <=
                (SELECT max(sequence) FROM
                (SELECT e.sequence, sum(length(e.entry) + 4) OVER (ORDER BY e.sequence) AS total
                FROM access a JOIN entries e ON e.tresor = a.tresor
                WHERE a.tresor = $1 AND a.account = $5 AND e.sequence >= $2 AND e.sequence < $3
                AND (a.last_sequence IS NULL OR e.sequence <= a.last_sequence)) AS sizes
                WHERE total <= $4 OR sequence = $2)
                ORDER BY sequence
                """,
                [
                    .digest(tresor.digest), .number(sequences.lowerBound), .number(sequences.upperBound),
                    .integer(Int64(ServiceOperation.pageByteCount)), .digest(reader.digest),
                ])
        }

        /// Reads the rows of a page.
        static func entries(_ rows: [SQLRow]) throws(TresorError) -> [[UInt8]] {
            var entries: [[UInt8]] = []
            for row in rows { entries.append(try row.bytes(0)) }
            return entries
        }
    }
#endif

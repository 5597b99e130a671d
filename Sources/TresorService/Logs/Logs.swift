// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Reading logs.
    struct Logs: Sendable {
        /// The maximum number of entries in a page.
        private static let pageCount: UInt64 = 8_192

        let context: ServiceContext

        /// Returns a page of the entries that the caller may read: at most 4 MiB, but at least one.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func entries(_ request: EntriesRequest, by caller: Caller) async throws(TresorError) -> EntriesAnswer {
            try await context.engine.read { (transaction) throws(TresorError) in
                let found = try transaction.run(MemberLog.search(request.tresor, caller.user)).first
                guard let readable = try MemberLog(found)?.readableCount else { throw .noAccess }
                let limit = min(UInt64(request.limit), Self.pageCount)
                guard request.first < readable, limit > 0 else { return EntriesAnswer(entries: [], more: false) }
                let end = min(readable, request.first + limit)
                let entries = try Self.page(
                    of: request.tresor, request.first..<end, byteCount: ServiceOperation.pageByteCount, transaction)
                guard !entries.isEmpty else { throw .store(.damaged) }
                return EntriesAnswer(
                    entries: entries, more: request.first + UInt64(entries.count) < readable)
            }
        }

        /// Returns the tresors of which the caller is a member, in byte order.
        func tresors(_ request: TresorsRequest, by caller: Caller) async throws(TresorError) -> TresorsAnswer {
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT tresor FROM access WHERE account = $1 AND tresor > $2 AND last_sequence IS NULL
                    ORDER BY tresor LIMIT $3
                    """,
                    [
                        .digest(caller.user.digest), .digest(request.after),
                        .integer(Int64(TresorsAnswer.maximumCount + 1)),
                    ]))
            var tresors: [TresorID] = []
            for row in found.prefix(TresorsAnswer.maximumCount) { tresors.append(TresorID(try row.digest(0))) }
            return TresorsAnswer(tresors: tresors, more: found.count > tresors.count)
        }

        /// Reads the first entries of a range: as many as fit into so many bytes, but at least one.
        static func page(
            of tresor: TresorID, _ sequences: Range<UInt64>, byteCount: Int, _ transaction: any SQLTransaction
        ) throws(TresorError) -> [[UInt8]] {
            let sizes = try transaction.run(
                SQL(
                    """
                    SELECT CAST(length(entry) AS bigint) FROM entries
                    WHERE tresor = $1 AND sequence >= $2 AND sequence < $3 ORDER BY sequence
                    """,
                    [.digest(tresor.digest), .number(sequences.lowerBound), .number(sequences.upperBound)]))
            var (count, sum): (UInt64, UInt64) = (0, 0)
            for size in sizes {
                sum += try size.number(0) + 4
                guard count == 0 || sum <= UInt64(byteCount) else { break }
                count += 1
            }
            let first = sequences.lowerBound
            var entries: [[UInt8]] = []
            for row in try transaction.run(search(tresor, first..<(first + count))) { entries.append(try row.bytes(0)) }
            return entries
        }

        /// The statement that reads entries in order.
        static func search(_ tresor: TresorID, _ sequences: Range<UInt64>) -> SQL {
            SQL(
                """
                SELECT entry FROM entries WHERE tresor = $1 AND sequence >= $2 AND sequence < $3 ORDER BY sequence
                """,
                [.digest(tresor.digest), .number(sequences.lowerBound), .number(sequences.upperBound)])
        }
    }
#endif

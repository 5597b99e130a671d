// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    import TresorCrypto

    /// The result of comparing a database with its logs.
    package struct CheckReport: Hashable, Sendable {
        /// A fault of one tresor.
        package struct Finding: Hashable, Sendable {
            package enum Difference: Hashable, Sendable {
                /// The entries do not fold.
                case log
                /// The row of the tresor names another end or another founder.
                case end
                /// The rows of *access* of so many people differ from the fold.
                case access(Int)
                /// So many members lack the wrap of the current epoch.
                case wraps(Int)
                /// The row of the tresor names another size, by which the quota of its founder counts.
                case size
                /// So many blobs that entries above the floor name are not there in all their bytes.
                case blobs(Int)
            }

            package let tresor: TresorID
            package let fault: Difference
        }

        /// The number of tresors that were folded.
        package var tresors = 0
        /// The number of entries.
        package var entries: UInt64 = 0
        package var findings: [Finding] = []
        /// The people for whose log-in the database keeps something else than their statement says.
        package var logins: [UserID] = []

        /// Whether nothing was found.
        package var isClean: Bool { findings.isEmpty && logins.isEmpty }
    }

    /// Folds every log from its first entry, and compares the rows that were written by the same fold. Compares what is kept
    /// for log-ins with what people have signed.
    struct Check: Sendable {
        private static let pageCount = 256

        let context: ServiceContext

        func run() async throws(TresorError) -> CheckReport {
            var report = CheckReport()
            report.logins = try await logins()
            var after = Hash256.zero
            while true {
                let rows = try await context.engine.read(
                    SQL(
                        """
                        SELECT tresor, count, head, founder FROM tresors WHERE tresor > $1 AND deleted IS NULL
                        ORDER BY tresor LIMIT $2
                        """,
                        [.digest(after), .integer(Int64(Self.pageCount))]))
                for row in rows {
                    after = try row.digest(0)
                    let end = LogEnd(
                        count: try row.number(1), head: try row.digest(2), founder: UserID(try row.digest(3)))
                    try await check(TresorID(after), end, &report)
                }
                guard rows.count == Self.pageCount else { return report }
            }
        }

        /// The people whose record or login copy is not that of their statement, by rising user id.
        private func logins() async throws(TresorError) -> [UserID] {
            var found: [UserID] = []
            // A login copy can have 1 MiB.
            let pageCount = 16
            var after = SQLValue.bytes([])
            while true {
                let rows = try await context.engine.read(
                    SQL(
                        """
                        SELECT account, statement, revision, record, copy, chain FROM accounts
                        WHERE account > $1 AND (record IS NOT NULL OR copy IS NOT NULL) ORDER BY account LIMIT $2
                        """, [after, .integer(Int64(pageCount))]))
                for row in rows {
                    after = try row.value(0)
                    let user = UserID(try row.digest(0))
                    if try !isSigned(row, by: user) { found.append(user) }
                }
                guard rows.count == pageCount else { return found }
            }
        }

        /// Whether a row of an account has what its statement says, and the newest keys of its person have signed that.
        private func isSigned(_ row: SQLRow, by user: UserID) throws(TresorError) -> Bool {
            guard case .bytes(let record) = try row.value(3), case .bytes(let copy) = try row.value(4),
                let statement = try? LoginStatement(row.bytes(1))
            else { return false }
            guard statement.user == user, statement.server == context.server,
                try row.value(2) == .number(statement.revision)
            else { return false }
            guard let bytes = try? row.bytes(5), let chain = try? CardChain(bytes, knowing: bytes),
                statement.generation == chain.newest.generation, (try? statement.verify(by: chain)) != nil
            else { return false }
            let hashes = (try LoginStatement.hash(ofRecord: record), try LoginStatement.hash(ofCopy: copy))
            return hashes == (statement.record, statement.copy)
        }

        private func check(
            _ tresor: TresorID, _ end: LogEnd, _ report: inout CheckReport
        ) async throws(TresorError) {
            func note(_ fault: CheckReport.Finding.Difference) {
                report.findings.append(CheckReport.Finding(tresor: tresor, fault: fault))
            }
            report.tresors += 1
            guard let state = try await fold(tresor, end.count) else { return note(.log) }
            report.entries += state.entryCount
            if state.head.hash != end.head || state.entryCount != end.count || state.founder != end.founder {
                // The log may have grown while it was read.
                guard try await isStill(tresor, end) else { return }
                note(.end)
            }
            let found = try await context.engine.read { (transaction) throws(TresorError) in
                try transaction.rows(of: [
                    SQL(
                        "SELECT account, role, first_epoch, last_sequence FROM access WHERE tresor = $1",
                        [.digest(tresor.digest)]),
                    SQL(
                        "SELECT account FROM wraps WHERE tresor = $1 AND epoch = $2",
                        [.digest(tresor.digest), .number(state.epoch)]),
                    SQL("SELECT bytes FROM tresors WHERE tresor = $1", [.digest(tresor.digest)]),
                    SQL(
                        """
                        SELECT CAST(COALESCE(sum(length(entry)), 0) AS bigint) FROM entries WHERE tresor = $1
                        """, [.digest(tresor.digest)]),
                    SQL(
                        "SELECT CAST(COALESCE(sum(length(wrap)), 0) AS bigint) FROM wraps WHERE tresor = $1",
                        [.digest(tresor.digest)]),
                    SQL(
                        """
                        SELECT CAST(COALESCE(sum(CASE WHEN length(bytes) < 512 THEN 512 ELSE length(bytes) END), 0)
                        AS bigint) FROM blobs WHERE tresor = $1
                        """, [.digest(tresor.digest)]),
                    SQL(
                        """
                        SELECT count(*) FROM blob_names n WHERE n.tresor = $1 AND n.sequence > $2 AND n.size <>
                        (SELECT CAST(COALESCE(sum(length(b.bytes)), 0) AS bigint) FROM blobs b
                        WHERE b.tresor = n.tresor AND b.hash = n.hash)
                        """, [.digest(tresor.digest), .number(state.floor)]),
                ])
            }
            guard try await isStill(tresor, end) else { return }
            let expected = Set(state.everybody.compactMap { Membership(of: $0, in: state) })
            let stored = Set(try found[0].map { (row) throws(TresorError) in try Membership(row) })
            let different = Set(expected.symmetricDifference(stored).map(\.user))
            if !different.isEmpty { note(.access(different.count)) }
            let wrapped = Set(try found[1].map { (row) throws(TresorError) in UserID(try row.digest(0)) })
            let missing = state.everybody.count { state.needsWraps($0) && !wrapped.contains($0) }
            if missing > 0 { note(.wraps(missing)) }
            let sizes = try found[2...5].map { (rows) throws(TresorError) in try rows.first?.integer(0) ?? 0 }
            if sizes[0] != sizes[1] + sizes[2] + sizes[3] { note(.size) }
            guard let gone = try found[6].first?.number(0) else { throw .store(.damaged) }
            if gone > 0 { note(.blobs(Int(clamping: gone))) }
        }

        private func isStill(_ tresor: TresorID, _ end: LogEnd) async throws(TresorError) -> Bool {
            let rows = try await context.engine.read(
                SQL(
                    "SELECT count FROM tresors WHERE tresor = $1 AND head = $2 AND deleted IS NULL",
                    [.digest(tresor.digest), .digest(end.head)]))
            return try rows.first?.number(0) == end.count
        }

        /// Returns the state; `nil` for entries that do not fold, or that are not there.
        private func fold(_ tresor: TresorID, _ count: UInt64) async throws(TresorError) -> LogState? {
            var fold = Fold(tresor: tresor)
            var next: UInt64 = 0
            while next < count {
                let range = next..<min(count, next + 1_024)
                let rows = try await context.engine.read(Logs.page(of: tresor, range, byteCount: 16 << 20))
                let page = try Logs.entries(rows)
                guard !page.isEmpty else { return nil }
                do throws(TresorError) { try fold.apply(page) } catch { return nil }
                next += UInt64(page.count)
            }
            return fold.state
        }
    }
#endif

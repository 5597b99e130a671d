// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    import TresorCrypto

    /// The count of the things that came from an embedded store.
    package struct ImportReport: Hashable, Sendable {
        /// The number of accounts that were made.
        package var accounts = 0
        /// The number of tresors, and of their entries.
        package var tresors = 0
        package var entries: UInt64 = 0
        /// The number of kit copies.
        package var kitCopies = 0
        /// The number of wraps that nobody needs, and that were left behind.
        package var leftWraps = 0
        /// The number of blobs that entries above the floor name, and that were not there.
        package var missingBlobs = 0
        /// The tresors that the database already had.
        package var present: [TresorID] = []
    }

    /// Takes an embedded store whole, through the rules.
    ///
    /// Cards become active accounts. Server shares stay behind, since a store does not know the keys of their devices:
    /// each person trusts their device again. A kit copy belongs to the person whose identity file it is; one that does
    /// not read, or whose person has no account, belongs to nobody.
    struct Import: Sendable {
        private static let pageCount = 1_024

        let context: ServiceContext

        func run(_ store: any Store) async throws(TresorError) -> ImportReport {
            var report = ImportReport()
            let users = try await store.users(prefix: [], limit: .max)
            for user in users { try await takeCard(of: user, from: store, &report) }
            var tresors: Set<TresorID> = []
            for user in users { tresors.formUnion(try await store.tresors(of: user)) }
            for tresor in tresors.sorted() { try await take(tresor, from: store, &report) }
            if let list = store as? any KitCopyList { try await takeKitCopies(from: list, &report) }
            return report
        }

        private func takeKitCopies(
            from store: any KitCopyList, _ report: inout ImportReport
        ) async throws(TresorError) {
            var last: Hash256?
            while true {
                let page = try await store.kitCopyLocators(after: last, limit: Self.pageCount)
                for locator in page {
                    guard let copy = try await store.kitCopy(locator: locator) else { continue }
                    let owner = (try? IdentityFile(copy))?.chain.user
                    let inserted = try await context.engine.write([
                        SQL(
                            """
                            INSERT INTO kit_copies (locator, account, copy)
                            VALUES ($1, (SELECT account FROM accounts WHERE account = $2), $3) ON CONFLICT DO NOTHING
                            """,
                            [.digest(locator), owner.map { .digest($0.digest) } ?? .bytes([]), .bytes(copy)])
                    ])
                    if inserted == [1] { report.kitCopies += 1 }
                }
                guard page.count == Self.pageCount else { return }
                last = page.last
            }
        }

        private func takeCard(
            of user: UserID, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) {
            guard let bytes = try await store.card(of: user) else { return }
            let chain = try CardChain(bytes)
            guard chain.user == user else { throw .altered }
            let inserted = try await context.engine.write([
                Account.insertion(of: chain, .active, invitation: nil, at: context.now)
            ])
            guard inserted != [1] else {
                report.accounts += 1
                return
            }
            // A person may have renewed their keys since an import that was interrupted.
            let rows = try await context.engine.read(Account.chain(of: user, .active ... .active))
            guard let present = try rows.first.map({ (row) throws(TresorError) in try CardChain(row.bytes(0)) }),
                present.extends(chain)
            else { throw .unverified }
        }

        private func take(
            _ tresor: TresorID, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) {
            var entries: [[UInt8]] = []
            while true {
                let page = try await store.entries(of: tresor, from: UInt64(entries.count), limit: Self.pageCount)
                entries += page
                guard page.count == Self.pageCount else { break }
            }
            let state = try Fold.state(of: entries, tresor: tresor)
            let (named, size) = try await takeBlobs(of: entries, in: state, from: store, &report)
            let wraps = try await wraps(of: state, from: store, &report)
            let now = context.now
            let statements =
                try Self.statements(entries, wraps, state) + Self.counting(entries, in: tresor, at: now) + named
            let byteCount = size + wraps.reduce(entries.reduce(0) { $0 + $1.count }) { $0 + $1.bytes.count }
            let isTaken = try await context.engine.write { (transaction) throws(TresorError) in
                let inserted = try transaction.run([
                    SQL(
                        """
                        INSERT INTO tresors (tresor, count, head, founder, bytes, deleted, changed)
                        VALUES ($1, $2, $3, $4, $5, NULL, $6) ON CONFLICT DO NOTHING
                        """,
                        [
                            .digest(tresor.digest), .number(state.entryCount), .digest(state.head.hash),
                            .digest(state.founder.digest), .integer(Int64(byteCount)), .number(now),
                        ])
                ])
                guard inserted == [1] else { return false }
                _ = try transaction.run(statements)
                return true
            }
            guard isTaken else { return report.present.append(tresor) }
            // Whoever asks for the log does not fold all of it.
            let snapshot = Snapshots.bytes(of: state)
            try await Snapshots(engine: context.engine).write(snapshot, of: tresor, count: state.entryCount)
            report.tresors += 1
            report.entries += state.entryCount
        }

        /// Takes the blobs that the entries name, part by part. Those of an import that was interrupted are taken again.
        ///
        /// - Returns: the statements that name and count them, and the number of their bytes.
        private func takeBlobs(
            of entries: [[UInt8]], in state: LogState, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) -> (naming: [SQL], byteCount: Int) {
            var (statements, byteCount): ([SQL], Int) = ([], 0)
            for bytes in entries {
                let entry = try Entry(bytes)
                let blobs = try entry.body.blobs
                guard !blobs.isEmpty, state.voidRule(of: entry) == nil else { continue }
                for blob in blobs {
                    var (size, part): (Int, UInt32) = (0, 0)
                    while let bytes = try await store.blob(blob.hash, part: part, in: state.tresor) {
                        _ = try await context.engine.write([
                            Blobs.storing(bytes, as: part, of: blob.hash, by: entry.author, in: state.tresor)
                        ])
                        (size, part) = (size + bytes.count, part + 1)
                    }
                    if UInt64(size) != blob.size, entry.sequence > state.floor { report.missingBlobs += 1 }
                    byteCount += size
                    statements.append(
                        Room.counting(
                            bytes: Int64(size), of: .digest(entry.author.digest), in: .digest(state.tresor.digest),
                            at: context.now))
                }
                statements += Blobs.statements(
                    [], of: entry.author, naming: blobs, at: entry.sequence, in: state.tresor, orElse: .busy)
            }
            return (statements, byteCount)
        }

        /// The statements that count the entries for their authors. The wraps count for the founder alone.
        private static func counting(
            _ entries: [[UInt8]], in tresor: TresorID, at now: UInt64
        ) throws(TresorError) -> [SQL] {
            var written: [UserID: (entries: UInt64, bytes: Int64)] = [:]
            for bytes in entries {
                let author = try Entry(bytes).author
                written[author, default: (0, 0)].entries += 1
                written[author, default: (0, 0)].bytes += Int64(bytes.count)
            }
            return written.map { author, written in
                Room.counting(
                    entries: written.entries, bytes: written.bytes, of: .digest(author.digest),
                    in: .digest(tresor.digest), at: now)
            }
        }

        /// Reads the wraps that the log calls for.
        private func wraps(
            of state: LogState, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) -> [Wrap] {
            var wraps: [Wrap] = []
            for user in state.everybody where state.needsWraps(user) {
                for bytes in try await store.wraps(of: user, in: state.tresor, epoch: nil) {
                    // A full-history member keeps the wraps of earlier epochs; only the newest one is needed.
                    guard let wrap = try? Wrap(bytes), wrap.user == user, wrap.isNeeded(in: state) else {
                        report.leftWraps += 1
                        continue
                    }
                    wraps.append(wrap)
                }
            }
            return wraps
        }

        private static func statements(_ entries: [[UInt8]], _ wraps: [Wrap], _ state: LogState) -> [SQL] {
            let tresor = SQLValue.digest(state.tresor.digest)
            let rows = entries.enumerated().map { sequence, entry in
                SQL(
                    "INSERT INTO entries (tresor, sequence, entry) VALUES ($1, $2, $3)",
                    [tresor, .integer(Int64(sequence)), .bytes(entry)])
            }
            let access = state.everybody.compactMap { Access(of: $0, in: state)?.storing(in: state.tresor) }
            return rows + wraps.map(Wraps.storing) + access
        }
    }
#endif

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
        /// The number of wraps that the logs do not call for, and that were left behind.
        package var leftWraps = 0
        /// The tresors that the database already had.
        package var present: [TresorID] = []
    }

    /// Takes an embedded store whole, through the rules.
    ///
    /// Cards become active accounts. Server shares stay behind, since a store does not know the keys of their devices:
    /// each person trusts their device again. A store names no kit copies; see ``KitCopies``.
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
            return report
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
            let wraps = try await wraps(of: state, from: store, &report)
            let statements = Self.statements(entries, wraps, state)
            let now = context.now
            let byteCount = wraps.reduce(entries.reduce(0) { $0 + $1.count }) { $0 + $1.bytes.count }
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
            report.tresors += 1
            report.entries += state.entryCount
        }

        /// Reads the wraps that the log calls for.
        private func wraps(
            of state: LogState, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) -> [Wrap] {
            var wraps: [Wrap] = []
            for user in state.members.keys.sorted() {
                for bytes in try await store.wraps(of: user, in: state.tresor, epoch: nil) {
                    // A full-history member keeps the wraps of earlier epochs; only the newest one is needed.
                    guard let wrap = try? Wrap(bytes), wrap.user == user, WrapRules.isCalledFor(wrap, in: state) else {
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

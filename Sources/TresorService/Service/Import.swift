// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    import TresorCrypto

    /// The plan of an import for the people of an embedded store. Anybody could write there: the operator looks at it.
    package struct ImportPlan: Sendable {
        /// The people in the logs who have no account, each with the newest card. They get one.
        package let members: [CardChain]
        /// The others who have a card in the store. They wait for the operator as if they had asked.
        package let others: [CardChain]
        /// The people of the store whose accounts the file of revocations closes, and others with the handles of those. They
        /// get none.
        package let closed: [CardChain]
        /// The people in the logs whose handle somebody else has. They get no account.
        package let rivals: [Rival]
        /// The tresors that stay out, because these people alone own them.
        package let left: [TresorID]
        let tresors: [TresorID]

        /// Somebody whose handle somebody else has.
        package struct Rival: Hashable, Sendable {
            package let chain: CardChain
            /// The other person: one with an account, or of the store.
            package let other: CardChain
            /// Whether this person is in a log that the service does not have yet; otherwise they were in one, or the service
            /// has all of theirs.
            package let isIn: Bool
        }
    }

    /// The count of the things that came from an embedded store.
    package struct ImportReport: Hashable, Sendable {
        /// The number of accounts that were made, and of the people who wait for the operator.
        package var accounts = 0
        package var waiting = 0
        /// The number of tresors, and of their entries.
        package var tresors = 0
        package var entries: UInt64 = 0
        /// The number of kit copies, and of those of people without an account, which were left behind.
        package var kitCopies = 0
        package var leftKitCopies = 0
        /// The number of wraps that nobody needs, and that were left behind.
        package var leftWraps = 0
        /// The number of blobs that entries above the floor name, and that were not there.
        package var missingBlobs = 0
        /// The tresors that the database already had.
        package var present: [TresorID] = []
    }

    /// Takes an embedded store whole, through the rules.
    ///
    /// The people in its logs get accounts, and everybody else waits. Server shares stay behind, since a store does not
    /// know the keys of their devices: each person trusts their device again. A kit copy belongs to the person whose
    /// identity file it is; it is taken where they have an account.
    struct Import: Sendable {
        private static let pageCount = 1_024

        let context: ServiceContext

        /// Reads and judges the cards and the logs, and changes nothing.
        func plan(_ store: any Store) async throws(TresorError) -> ImportPlan {
            var cards: [UserID: CardChain] = [:]
            var tresors: Set<TresorID> = []
            for user in try await store.users(prefix: [], limit: .max) {
                tresors.formUnion(try await store.tresors(of: user))
                cards[user] = try await store.shownChain(of: user)?.chain(of: user)
            }
            var members: [UserID: CardChain] = [:]
            var present: Set<UserID> = []
            var awaited: Set<UserID> = []
            var owners: [TresorID: [UserID]] = [:]
            for tresor in tresors {
                let state = try Fold.state(of: try await entries(of: tresor, from: store), tresor: tresor)
                let isTaken = try await isTaken(tresor)
                for user in state.everybody where state.author(user) != nil {
                    guard let known = state.chain(of: user) else { throw .altered }
                    let offered = cards[user].flatMap { $0.extends(known) ? $0 : nil } ?? known
                    members[user] = try Self.longer(members[user] ?? offered, offered)
                    guard state.isIn(user) else { continue }
                    present.insert(user)
                    if !isTaken { awaited.insert(user) }
                }
                owners[tresor] = state.members.filter { $0.value.role == .owner }.keys.sorted()
            }
            let others = cards.values.filter { members[$0.user] == nil }
            func isOpen(_ chain: CardChain) -> Bool { (try? context.closed.check(chain)) != nil }
            let newcomers = try await newcomers(among: members.values.sorted { $0.user < $1.user }).filter(isOpen)
            let rivals = try await rivals(among: newcomers, present, awaited)
            let refused = Set(rivals.map(\.chain.user))
            var left: [TresorID] = []
            let admitted = Set(newcomers.map(\.user)).subtracting(refused)
            for (tresor, owners) in owners where owners.contains(where: refused.contains) {
                if admitted.isDisjoint(with: owners), try await !isAnyActive(owners) { left.append(tresor) }
            }
            return ImportPlan(
                members: newcomers.filter { !refused.contains($0.user) },
                others: others.filter(isOpen).sorted { $0.user < $1.user },
                closed: (members.values + others).filter { !isOpen($0) }.sorted { $0.user < $1.user },
                rivals: rivals, left: left.sorted(), tresors: tresors.subtracting(left).sorted())
        }

        /// - Throws: ``TresorError/unverified`` for two chains of which neither continues the other.
        private static func longer(_ one: CardChain, _ other: CardChain) throws(TresorError) -> CardChain {
            guard !one.extends(other) else { return one }
            guard other.extends(one) else { throw .unverified }
            return other
        }

        /// Returns those who have no account. A person may have renewed their keys since an import that was interrupted.
        ///
        /// - Throws: ``TresorError/unverified`` for a person with an account that does not continue their card.
        private func newcomers(among members: [CardChain]) async throws(TresorError) -> [CardChain] {
            var newcomers: [CardChain] = []
            for chain in members {
                let rows = try await context.engine.read(Account.chain(of: chain.user, .active ... .closed))
                guard let row = rows.first else {
                    newcomers.append(chain)
                    continue
                }
                guard try CardChain(row.bytes(0)).extends(chain) else { throw .unverified }
            }
            return newcomers
        }

        /// Returns those whose handle somebody else keeps, in the service or before them in the store: people who are in a log
        /// come before those who were.
        private func rivals(
            among newcomers: [CardChain], _ present: Set<UserID>, _ awaited: Set<UserID>
        ) async throws(TresorError) -> [ImportPlan.Rival] {
            var rivals: [ImportPlan.Rival] = []
            var firsts: [Name: CardChain] = [:]
            let inLogs = newcomers.filter { present.contains($0.user) }
            for chain in inLogs + newcomers.filter({ !present.contains($0.user) }) {
                var other = firsts[chain.handle]
                if other == nil, let row = try await context.engine.read(Account.keeping(from: chain)).first {
                    other = try CardChain(row.bytes(0))
                }
                guard let other else {
                    firsts[chain.handle] = chain
                    continue
                }
                rivals.append(ImportPlan.Rival(chain: chain, other: other, isIn: awaited.contains(chain.user)))
            }
            return rivals
        }

        /// Whether the service has, or had, a tresor.
        private func isTaken(_ tresor: TresorID) async throws(TresorError) -> Bool {
            let search = SQL("SELECT tresor FROM tresors WHERE tresor = $1", [.digest(tresor.digest)])
            return try await !context.engine.read(search).isEmpty
        }

        /// Whether one of these people has an active account.
        private func isAnyActive(_ users: [UserID]) async throws(TresorError) -> Bool {
            for user in users {
                if try await !context.engine.read(Account.chain(of: user, .active ... .active)).isEmpty { return true }
            }
            return false
        }

        /// Takes a store.
        ///
        /// - Parameter plan: what the operator has seen. Nobody else gets an account, whatever the store has by now.
        func run(_ store: any Store, by plan: ImportPlan) async throws(TresorError) -> ImportReport {
            var report = ImportReport()
            for chain in plan.members {
                try await makeAccount(of: chain)
                report.accounts += 1
            }
            for chain in plan.others {
                let inserted = try await context.engine.write([
                    Account.insertion(of: chain, .complete, invitation: nil, at: context.now)
                ])
                if inserted == [1] { report.waiting += 1 }
            }
            for tresor in plan.tresors { try await take(tresor, from: store, &report) }
            if let list = store as? any KitCopyList { try await takeKitCopies(from: list, &report) }
            return report
        }

        /// Makes an account, also of somebody who waits with this very chain.
        private func makeAccount(of chain: CardChain) async throws(TresorError) {
            let now = context.now
            // The one who gives way may have a record.
            let changes = try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                try transaction.finish([
                    Account.displacing(by: chain),
                    SQL(
                        "UPDATE accounts SET state = 3 WHERE account = $1 AND chain = $2 AND state < 3",
                        [.digest(chain.user.digest), .bytes(chain.bytes)]),
                    Account.insertion(of: chain, .active, invitation: nil, at: now),
                ])
            }
            guard changes[1] + changes[2] == 1 else { throw .unverified }
        }

        private func takeKitCopies(
            from store: any KitCopyList, _ report: inout ImportReport
        ) async throws(TresorError) {
            var last: Hash256?
            while true {
                let page = try await store.kitCopyLocators(after: last, limit: Self.pageCount)
                for locator in page {
                    guard let copy = try await store.kitCopy(locator: locator) else { continue }
                    guard let owner = (try? IdentityFile(copy))?.chain.user,
                        try await !context.engine.read(Account.chain(of: owner, .active ... .active)).isEmpty
                    else {
                        report.leftKitCopies += 1
                        continue
                    }
                    let inserted = try await context.engine.write([
                        SQL(
                            """
                            INSERT INTO kit_copies (locator, account, copy) VALUES ($1, $2, $3)
                            ON CONFLICT DO NOTHING
                            """,
                            [.digest(locator), .digest(owner.digest), .bytes(copy)])
                    ])
                    if inserted == [1] { report.kitCopies += 1 }
                }
                guard page.count == Self.pageCount else { return }
                last = page.last
            }
        }

        private func entries(of tresor: TresorID, from store: any Store) async throws(TresorError) -> [[UInt8]] {
            var entries: [[UInt8]] = []
            while true {
                let page = try await store.entries(of: tresor, from: UInt64(entries.count), limit: Self.pageCount)
                entries += page
                guard page.count == Self.pageCount else { return entries }
            }
        }

        private func take(
            _ tresor: TresorID, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) {
            let entries = try await entries(of: tresor, from: store)
            let state = try Fold.state(of: entries, tresor: tresor)
            let (named, size) = try await takeBlobs(of: entries, in: state, from: store, &report)
            let wraps = try await wraps(of: state, from: store, &report)
            let now = context.now
            let statements =
                try Self.statements(entries, wraps, state) + Self.counting(entries, wraps, in: tresor, at: now)
                + named
            let byteCount = size + wraps.reduce(entries.reduce(0) { $0 + $1.count }) { $0 + $1.bytes.count }
            let dialect = context.engine.dialect
            let isTaken = try await context.engine.write { (transaction) throws(TresorError) in
                _ = try transaction.run(dialect.liftingLimits)
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
            // A request for the log does not fold all of it.
            let snapshot = StateSnapshots.bytes(of: state)
            try await StateSnapshots(engine: context.engine).write(snapshot, of: tresor, count: state.entryCount)
            report.tresors += 1
            report.entries += state.entryCount
        }

        /// Takes the blobs that the entries name, part by part. Those of an import that was interrupted are taken again.
        ///
        /// - Returns: the statements that name and count them, and the bytes that they count as.
        private func takeBlobs(
            of entries: [[UInt8]], in state: LogState, from store: any Store, _ report: inout ImportReport
        ) async throws(TresorError) -> (naming: [SQL], byteCount: Int) {
            var (statements, byteCount): ([SQL], Int) = ([], 0)
            // Several entries can name one.
            var taken: Set<Hash256> = []
            for bytes in entries {
                let entry = try Entry(bytes)
                let blobs = try entry.body.blobs
                guard !blobs.isEmpty, state.voidRule(of: entry) == nil else { continue }
                for blob in blobs where taken.insert(blob.hash).inserted {
                    var (size, room, part): (Int, Int, UInt32) = (0, 0, 0)
                    while let bytes = try await store.blob(blob.hash, part: part, in: state.tresor) {
                        _ = try await context.engine.write([
                            Blobs.storing(bytes, as: part, of: blob.hash, by: entry.author, in: state.tresor)
                        ])
                        (size, room, part) = (size + bytes.count, room + Blobs.room(ofPart: bytes.count), part + 1)
                    }
                    if UInt64(size) != blob.size, entry.sequence > state.floor { report.missingBlobs += 1 }
                    byteCount += room
                    statements.append(
                        Room.counting(
                            bytes: Int64(room), of: .digest(entry.author.digest), in: .digest(state.tresor.digest),
                            at: context.now))
                }
                statements += Blobs.statements(
                    [], of: entry.author, naming: blobs, at: entry.sequence, in: state.tresor, orElse: .busy)
            }
            return (statements, byteCount)
        }

        /// The statements that count the entries for their authors, and the wraps for their receivers.
        private static func counting(
            _ entries: [[UInt8]], _ wraps: [Wrap], in tresor: TresorID, at now: UInt64
        ) throws(TresorError) -> [SQL] {
            var written: [UserID: (entries: UInt64, bytes: Int64)] = [:]
            for bytes in entries {
                let author = try Entry(bytes).author
                written[author, default: (0, 0)].entries += 1
                written[author, default: (0, 0)].bytes += Int64(bytes.count)
            }
            for wrap in wraps { written[wrap.user, default: (0, 0)].bytes += Int64(wrap.bytes.count) }
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
                    guard let wrap = (try? UnverifiedWrap(bytes))?.needed(in: state), wrap.user == user else {
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
            let access = state.everybody.compactMap { Membership(of: $0, in: state)?.storing(in: state.tresor) }
            // Each counts as put by its receiver, who may replace it; others add.
            return rows + wraps.map { Wraps.storing($0, by: $0.user, at: 0) } + access
        }
    }
#endif

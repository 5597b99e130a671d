// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Reading wraps, and putting them without an entry.
    struct Wraps: Sendable {
        /// The number of people whose wraps one statement reads.
        private static let groupCount = 16

        let context: ServiceContext

        /// The most wraps that one statement reads of a person: they take more than 4 MiB.
        private static let greatestCount = 4096

        /// Returns the wraps of people for a member: at most 4 MiB, and those of one person alone if they take more.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func wraps(_ request: WrapsRequest, by caller: Caller) async throws(TresorError) -> WrapsAnswer {
            try await context.engine.read { (transaction) throws(TresorError) in
                guard let row = try transaction.run(Seat.search(request.tresor, caller.user)).first else {
                    throw .noAccess
                }
                let seat = try Seat(row)
                // A person who waits sees their own wraps alone.
                guard seat.isIn, seat.place != .waiting || request.users.allSatisfy({ $0 == caller.user }) else {
                    throw .noAccess
                }
                var answer: [[[UInt8]]] = []
                var byteCount = 0
                // Somebody who reads from now on may have a wrap of each epoch.
                let groupCount = request.epoch == nil ? 1 : Self.groupCount
                for start in stride(from: 0, to: request.users.count, by: groupCount) {
                    let users = request.users[start..<min(start + groupCount, request.users.count)]
                    let found = try Self.find(users, request, transaction)
                    for user in users {
                        var wraps = found[user] ?? []
                        if answer.isEmpty { wraps = Self.page(wraps) }
                        byteCount += wraps.reduce(4) { $0 + 2 + $1.count }
                        guard answer.isEmpty || byteCount <= ServiceOperation.pageByteCount else {
                            return WrapsAnswer(wraps: answer)
                        }
                        answer.append(wraps)
                    }
                }
                return WrapsAnswer(wraps: answer)
            }
        }

        /// The first wraps that fit into a page.
        private static func page(_ wraps: [[UInt8]]) -> [[UInt8]] {
            var byteCount = 8
            return Array(
                wraps.prefix { wrap in
                    byteCount += 2 + wrap.count
                    return byteCount <= ServiceOperation.pageByteCount
                })
        }

        private static func find(
            _ users: ArraySlice<UserID>, _ request: WrapsRequest, _ transaction: any SQLTransaction
        ) throws(TresorError) -> [UserID: [[UInt8]]] {
            guard let last = users.last else { return [:] }
            let tresor = request.tresor
            let statement: SQL
            if let epoch = request.epoch {
                let missing = groupCount - users.count
                let ids = users.map { SQLValue.digest($0.digest) }
                statement = SQL(
                    """
                    SELECT account, wrap FROM wraps WHERE tresor = $1 AND epoch = $2 AND account IN
                    ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
                    """,
                    [.digest(tresor.digest), .number(epoch)] + ids
                        + [SQLValue](repeating: .digest(last.digest), count: missing))
            } else {
                statement = SQL(
                    """
                    SELECT account, wrap FROM wraps WHERE tresor = $1 AND account = $2 AND epoch >= $3
                    ORDER BY epoch LIMIT $4
                    """,
                    [
                        .digest(tresor.digest), .digest(last.digest),
                        .number(request.first), .integer(Int64(greatestCount)),
                    ])
            }
            var wraps: [UserID: [[UInt8]]] = [:]
            for row in try transaction.run(statement) {
                wraps[UserID(try row.digest(0)), default: []].append(try row.bytes(1))
            }
            return wraps
        }

        /// Puts wraps that the log calls for: an owner those of anybody, a member with full history those that are
        /// missing, each member their own.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody else, and for a wrap of another member that is there and that
        ///   the log calls for; ``TresorError/altered`` for a wrap that the log does not call for;
        ///   ``TresorError/busy`` if the log grows in between.
        func put(_ request: PutWrapsRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let account = caller.user.digest.bytes
            let weight = 1 + request.wraps.count / 64
            let wraps = try await context.work.run(weight: weight, for: account) { () throws(TresorError) in
                try WrapRules.read(request.wraps, of: request.tresor)
            }
            let seat = try await context.seat(of: caller.user, in: request.tresor)
            guard seat.role != nil else { throw .noAccess }
            let found = try await context.states.state(of: request.tresor, at: seat.end, for: account)
            guard let state = found else { throw .busy }
            guard let member = state.members[caller.user] else { throw .store(.damaged) }
            let others = wraps.filter { $0.user != caller.user }
            guard others.isEmpty || member.history == .all else { throw .noAccess }
            guard wraps.allSatisfy({ $0.isNeeded(in: state) }) else { throw .altered }
            return try await context.change(for: caller) { (transaction) throws(TresorError) in
                // The row of the tresor is held, so that nobody is removed meanwhile.
                let held = try transaction.run([
                    SQL(
                        "UPDATE tresors SET count = count WHERE tresor = $1 AND head = $2 AND deleted IS NULL",
                        [.digest(state.tresor.digest), .digest(state.head.hash)])
                ])
                guard held == [1] else { throw .busy }
                if member.role != .owner { try Self.checkMissing(others, in: state, transaction) }
                try Self.store(wraps, in: state.tresor, transaction)
                return DoneAnswer()
            }
        }

        /// Stores wraps, and counts the room that they take more than those which they replace.
        private static func store(
            _ wraps: [Wrap], in tresor: TresorID, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            // Of two for the same place the last one stays.
            let places = Dictionary(wraps.map { (Place(user: $0.user, epoch: $0.epoch), $0) }) { $1 }
            let present = try transaction.rows(
                of: places.keys.map { place in
                    SQL(
                        """
                        SELECT CAST(length(wrap) AS bigint) FROM wraps
                        WHERE tresor = $1 AND account = $2 AND epoch = $3
                        """,
                        [.digest(tresor.digest), .digest(place.user.digest), .number(place.epoch)])
                })
            var growth = places.values.reduce(Int64(0)) { $0 + Int64($1.bytes.count) }
            for row in present.joined() { growth -= try row.integer(0) }
            let count = SQL(
                "UPDATE tresors SET bytes = bytes + $2 WHERE tresor = $1", [.digest(tresor.digest), .integer(growth)])
            _ = try transaction.run(places.values.map(Self.storing) + [count])
        }

        /// The place of a wrap in a tresor.
        private struct Place: Hashable {
            let user: UserID
            let epoch: UInt64
        }

        /// Checks that no wrap replaces another one that the log calls for.
        private static func checkMissing(
            _ wraps: [Wrap], in state: LogState, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            for wrap in wraps {
                let found = try transaction.run(
                    SQL(
                        "SELECT wrap FROM wraps WHERE tresor = $1 AND account = $2 AND epoch = $3",
                        [.digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch)]))
                guard let present = try found.first?.bytes(0), present != wrap.bytes else { continue }
                guard let stored = try? Wrap(present), stored.user == wrap.user, stored.epoch == wrap.epoch,
                    stored.isNeeded(in: state)
                else { continue }
                throw .noAccess
            }
        }

        /// The statement that stores a wrap in place of that of the same person and epoch.
        static func storing(_ wrap: Wrap) -> SQL {
            SQL(
                """
                INSERT INTO wraps (tresor, account, epoch, wrap) VALUES ($1, $2, $3, $4)
                ON CONFLICT (tresor, account, epoch) DO UPDATE SET wrap = $4
                """,
                [
                    .digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch), .bytes(wrap.bytes),
                ])
        }
    }
#endif

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

        /// Looks for the wraps of people for a member; `nil` for more people than one statement reads.
        static func lookup(_ request: WrapsRequest, by user: UserID) -> Lookup? {
            let groups = groups(of: request)
            guard groups.count == 1 else { return nil }
            let statements = [MemberLog.search(request.tresor, user), search(groups[0], request, for: user)]
            return Lookup(statements: statements) { (found) throws(TresorError) in
                ServiceReply(try answer(request, by: user, found[0].first) { (_) throws(TresorError) in found[1] })
            }
        }

        /// Returns the wraps of people for a member, a statement for each group of them.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func wraps(_ request: WrapsRequest, by caller: Caller) async throws(TresorError) -> WrapsAnswer {
            try await context.engine.read { (transaction) throws(TresorError) in
                let row = try transaction.run(MemberLog.search(request.tresor, caller.user)).first
                return try Self.answer(request, by: caller.user, row) { (users) throws(TresorError) in
                    try transaction.run(Self.search(users, request, for: caller.user))
                }
            }
        }

        /// The people of a request, as many together as one statement reads.
        private static func groups(of request: WrapsRequest) -> [ArraySlice<UserID>] {
            // Somebody who reads from now on may have a wrap of each epoch.
            let groupCount = request.epoch == nil ? 1 : Self.groupCount
            let count = request.epoch == nil ? min(request.users.count, Self.groupCount) : request.users.count
            return stride(from: 0, to: count, by: groupCount).map { start in
                request.users[start..<min(start + groupCount, request.users.count)]
            }
        }

        /// Answers with the wraps of people: at most 4 MiB, and those of one person alone if they take more. Of all epochs it
        /// answers with those of at most 16 people: each costs a statement.
        ///
        /// - Parameters:
        ///   - row: the row of the membership of the person who asks; `nil` for none.
        ///   - find: finds the rows of a group.
        /// - Throws: ``TresorError/noAccess``.
        private static func answer(
            _ request: WrapsRequest, by user: UserID, _ row: SQLRow?,
            _ find: (ArraySlice<UserID>) throws(TresorError) -> [SQLRow]
        ) throws(TresorError) -> WrapsAnswer {
            guard let membership = try MemberLog(row)?.membership else { throw .noAccess }
            // A person who waits sees their own wraps alone.
            let isOwn = request.users.allSatisfy { $0 == user }
            guard membership.isIn, isOwn || membership.place != .waiting else {
                throw .noAccess
            }
            var answer: [[[UInt8]]] = []
            var byteCount = 0
            for users in groups(of: request) {
                let found = try read(try find(users))
                for user in users {
                    let wraps = found[user] ?? []
                    if answer.isEmpty {
                        // The client asks on for a person who stands alone, and for nobody else.
                        let page = page(wraps)
                        guard page.count == wraps.count else { return WrapsAnswer(wraps: [page.map(\.bytes)]) }
                    }
                    byteCount += wraps.reduce(4) { $0 + 2 + $1.bytes.count }
                    guard answer.isEmpty || byteCount <= ServiceOperation.pageByteCount else {
                        return WrapsAnswer(wraps: answer)
                    }
                    answer.append(wraps.map(\.bytes))
                }
            }
            return WrapsAnswer(wraps: answer)
        }

        /// A wrap as a page has it.
        private struct Found {
            let epoch: UInt64
            let bytes: [UInt8]
        }

        /// The first wraps that fit into a page. The client asks on from the epoch after the last: none is cut.
        private static func page(_ wraps: [Found]) -> [Found] {
            var byteCount = 8
            let next = wraps.first { wrap in
                byteCount += 2 + wrap.bytes.count
                return byteCount > ServiceOperation.pageByteCount
            }
            guard let next else { return wraps }
            return wraps.filter { $0.epoch < next.epoch }
        }

        /// The statement that reads the wraps of a group of people. It reads nothing for anybody who never was in the tresor.
        private static func search(
            _ users: ArraySlice<UserID>, _ request: WrapsRequest, for reader: UserID
        ) -> SQL {
            // The last one stands in the places that are left.
            let ids = (0..<groupCount).map { number in
                SQLValue.digest(users[min(users.startIndex + number, users.endIndex - 1)].digest)
            }
            guard let epoch = request.epoch else {
                return SQL(
                    """
                    SELECT account, epoch, wrap FROM wraps WHERE tresor = $1 AND account = $2 AND epoch >= $3
                    AND EXISTS (SELECT 1 FROM access WHERE tresor = $1 AND account = $5)
                    ORDER BY epoch, since, putter LIMIT $4
                    """,
                    [
                        .digest(request.tresor.digest), ids[0], .number(request.first),
                        .integer(Int64(greatestCount)), .digest(reader.digest),
                    ])
            }
            return SQL(
                """
                SELECT account, epoch, wrap FROM wraps WHERE tresor = $1 AND epoch = $2 AND account IN
                ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
                AND EXISTS (SELECT 1 FROM access WHERE tresor = $1 AND account = $19)
                ORDER BY since, putter
                """,
                [.digest(request.tresor.digest), .number(epoch)] + ids + [.digest(reader.digest)])
        }

        /// Reads the wraps of each person in rows.
        private static func read(_ rows: [SQLRow]) throws(TresorError) -> [UserID: [Found]] {
            var wraps: [UserID: [Found]] = [:]
            for row in rows {
                let found = Found(epoch: try row.number(1), bytes: try row.bytes(2))
                wraps[UserID(try row.digest(0)), default: []].append(found)
            }
            return wraps
        }

        /// Adds wraps that the log needs: an owner those of anybody, a member with full history those that are missing,
        /// each member their own.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody else, and for a wrap of another member where one lies that the
        ///   log calls for; ``TresorError/altered`` for a wrap that the log does not need; ``TresorError/busy`` if the log
        ///   grows in between; `TresorError.failed(_:)` with `full` where too many lie.
        func put(_ request: PutWrapsRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let account = caller.user.digest.bytes
            let weight = 1 + request.wraps.count / 64
            let claimed = try await context.work.run(weight: weight, for: account) {
                () throws(TresorError) -> [UnverifiedWrap] in
                // Of several for the same place the first one counts.
                var places: Set<WrapPlace> = []
                let read = try WrapRules.read(request.wraps, of: request.tresor)
                return read.filter { places.insert(WrapPlace(user: $0.user, epoch: $0.epoch)).inserted }
            }
            let log = try await context.memberLog(of: caller.user, in: request.tresor)
            guard log.membership.role != nil else { throw .noAccess }
            let found = try await context.states.state(of: request.tresor, at: log.end, for: account)
            guard let state = found else { throw .busy }
            guard let member = state.members[caller.user] else { throw .store(.damaged) }
            guard member.history == .all || claimed.allSatisfy({ $0.user == caller.user }) else { throw .noAccess }
            let wraps = try await context.work.run(weight: Self.weight(of: claimed, on: state), for: account) {
                () throws(TresorError) -> [Wrap] in
                let epochs = state.approvalEpochs()
                return try claimed.map { (wrap) throws(TresorError) in
                    guard let needed = wrap.needed(in: state, approving: epochs) else { throw .altered }
                    return needed
                }
            }
            let now = context.now
            return try await context.change(for: caller) { (transaction) throws(TresorError) in
                // The row of the tresor is held, so that nobody is removed meanwhile.
                let held = try transaction.run([
                    SQL(
                        "UPDATE tresors SET count = count WHERE tresor = $1 AND head = $2 AND deleted IS NULL",
                        [.digest(state.tresor.digest), .digest(state.head.hash)])
                ])
                guard held == [1] else { throw .busy }
                try Self.add(wraps, by: caller.user, member.role, in: state, at: now, transaction)
                return DoneAnswer()
            }
        }

        /// The weight of judging wraps on a state, and of what is read and written: a statement each.
        private static func weight(of wraps: [UnverifiedWrap], on state: LogState) -> Int {
            1 + (state.chains.count + wraps.count) / 64 + WorkApart.weight(ofStatements: 2 * wraps.count)
        }

        /// Adds wraps of different places, and counts the room that they take, for who put them and for the founder.
        /// Wraps that the log calls for stay.
        private static func add(
            _ wraps: [Wrap], by putter: UserID, _ role: Role, in state: LogState, at now: UInt64,
            _ transaction: any SQLTransaction
        ) throws(TresorError) {
            let present = try transaction.rows(
                of: wraps.map { wrap in
                    SQL(
                        "SELECT putter, wrap FROM wraps WHERE tresor = $1 AND account = $2 AND epoch = $3",
                        [.digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch)])
                })
            var statements: [SQL] = []
            var growth: [UserID: Int64] = [:]
            for (wrap, rows) in zip(wraps, present) {
                let stored = try rows.map { (row) throws(TresorError) in
                    PresentWrap(putter: UserID(try row.digest(0)), bytes: try row.bytes(1))
                }
                let change = try WrapRules.change(stored, adding: wrap, by: putter, role, in: state)
                for other in change.going {
                    statements.append(Self.deletion(of: wrap, by: other.putter))
                    growth[other.putter, default: 0] -= Int64(other.bytes.count)
                }
                guard change.isAdded else { continue }
                statements.append(Self.storing(wrap, by: putter, at: state.entryCount))
                growth[putter, default: 0] += Int64(wrap.bytes.count)
            }
            let tresor = SQLValue.digest(state.tresor.digest)
            statements += growth.sorted { $0.key < $1.key }.map { user, bytes in
                Room.counting(bytes: bytes, of: .digest(user.digest), in: tresor, at: now)
            }
            statements.append(
                SQL(
                    "UPDATE tresors SET bytes = bytes + $2 WHERE tresor = $1",
                    [tresor, .integer(growth.values.reduce(0, +))]))
            _ = try transaction.run(statements)
        }

        /// The statement that deletes a wrap of the same person and epoch, which somebody put.
        private static func deletion(of wrap: Wrap, by putter: UserID) -> SQL {
            SQL(
                "DELETE FROM wraps WHERE tresor = $1 AND account = $2 AND epoch = $3 AND putter = $4",
                [
                    .digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch), .digest(putter.digest),
                ])
        }

        /// The statement that stores a wrap, unless one of the same person and epoch lies there from the same putter.
        ///
        /// - Parameter sequence: that of its entry, or the number of entries.
        static func storing(_ wrap: Wrap, by putter: UserID, at sequence: UInt64) -> SQL {
            SQL(
                """
                INSERT INTO wraps (tresor, account, epoch, putter, since, wrap) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT DO NOTHING
                """,
                [
                    .digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch), .digest(putter.digest),
                    .number(sequence), .bytes(wrap.bytes),
                ])
        }

        /// The statements that give the room of a wrap back before it is stored, where it will not be.
        static func sparing(_ wrap: Wrap, by putter: UserID) -> [SQL] {
            let values: [SQLValue] = [
                .digest(wrap.tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch), .digest(putter.digest),
                .integer(Int64(wrap.bytes.count)),
            ]
            return [
                SQL(
                    """
                    UPDATE tresors SET bytes = bytes - $5 WHERE tresor = $1 AND EXISTS
                    (SELECT 1 FROM wraps w WHERE w.tresor = $1 AND w.account = $2 AND w.epoch = $3 AND w.putter = $4)
                    """, values),
                SQL(
                    """
                    UPDATE authors SET bytes = bytes - $5 WHERE tresor = $1 AND account = $4 AND EXISTS
                    (SELECT 1 FROM wraps w WHERE w.tresor = $1 AND w.account = $2 AND w.epoch = $3 AND w.putter = $4)
                    """, values),
            ]
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Appending to logs: the judgment, and the one transaction that writes entry, wraps, access and snapshot.
    struct Appending: Sendable {
        let context: ServiceContext

        /// Appends an entry if the log ends where its author expects, and if the caller may.
        ///
        /// - Parameter triesKnownEnd: whether the end that this process knows is tried before the database is asked for it.
        /// - Throws: ``TresorError/noAccess`` for a person who is not in the tresor, whatever else is wrong, and for a
        ///   tresor that is not there; else the errors of ``AppendRules``; `TresorError.failed(_:)` with `full` beyond a
        ///   quota.
        func append(
            _ request: AppendRequest, by caller: Caller, triesKnownEnd: Bool = true
        ) async throws(TresorError) -> OutcomeAnswer {
            let account = caller.user.digest.bytes
            let weight = AppendDraft.weight(of: request)
            let draft = try await context.work.run(weight: weight, for: account) { () throws(TresorError) in
                try AppendDraft(request)
            }
            guard request.sequence > 0 else { return try await found(draft, by: caller) }
            let keeping = keeping(for: caller)
            if triesKnownEnd, try await appendAtKnownEnd(draft, by: caller.user, keeping: keeping) {
                return OutcomeAnswer(.done)
            }
            guard let place = try await place(of: caller.user, in: request.tresor) else { throw .noAccess }
            guard place.end.count == request.sequence, place.end.head == request.previous else {
                guard place.isMember else { throw .noAccess }
                return OutcomeAnswer(.conflict)
            }
            let found = try await context.states.state(of: request.tresor, at: place.end, for: account)
            guard let before = found else {
                guard place.isMember else { throw .noAccess }
                return OutcomeAnswer(.conflict)
            }
            let judgment: Judgment
            do throws(TresorError) {
                judgment = try await judge(draft, by: caller.user, on: before)
            } catch {
                throw place.isMember ? error : .noAccess
            }
            let demand = Demand(draft, on: before)
            try await checkRoom(demand, for: draft, judgment)
            let first = advance(draft, judgment)
            let isDone = try await write(draft, judgment, demand, for: caller.user, first: first, keeping: keeping)
            guard !isDone else { return OutcomeAnswer(.done) }
            guard place.isMember else { throw .noAccess }
            return OutcomeAnswer(.conflict)
        }

        /// Judges an entry by the rules and by the policy of the service: a tresor that is shared names the approvers whom
        /// the service demands, and only these approve. They may do so without it. A tresor of one person needs none.
        private func judge(
            _ draft: AppendDraft, by user: UserID, on before: LogState?
        ) async throws(TresorError) -> Judgment {
            let weight = draft.weight(on: before)
            let judgment = try await context.work.run(weight: weight, for: user.digest.bytes) {
                () throws(TresorError) in try AppendRules.judge(draft, by: user, on: before)
            }
            try context.removals.check(draft.entry, judgment, by: user, on: before, at: context.now)
            let wanted = Set(context.settings.approvers.map(\.user))
            guard !wanted.isEmpty, !wanted.contains(draft.entry.author) else { return judgment }
            switch draft.body {
            case .approve: throw .noAccess
            case .grant, .approvers:
                guard wanted.isSubset(of: judgment.state.approvers) else { throw .noAccess }
            default: break
            }
            return judgment
        }

        /// Reads the body of a small append of a member behind the end of a log that this process knows; `nil` for another
        /// one.
        func expected(_ body: [UInt8], by user: UserID) -> AppendRequest? {
            guard body.count <= ServiceHead.smallByteCount, let request = try? AppendRequest(body),
                AppendDraft.weight(of: request) < WorkApart.leastWeight, knownState(before: request, of: user) != nil
            else { return nil }
            return request
        }

        /// Appends an entry for a session that was open lately, in the transaction that reads its account.
        ///
        /// - Returns: `false` if nothing was written. Whatever is wrong is then said as if this had not been tried.
        func append(_ request: AppendRequest, in recent: RecentSession) async throws(TresorError) -> Bool {
            let (weight, account) = (AppendDraft.weight(of: request), recent.user.digest.bytes)
            let read = try? await context.work.run(weight: weight, for: account) { () throws(TresorError) in
                try AppendDraft(request)
            }
            guard let draft = read else { return false }
            let keeping = recent.keeping(OutcomeAnswer(.done).bytes, at: context.now).orElse(.forked)
            return try await appendAtKnownEnd(draft, by: recent.user, keeping: keeping)
        }

        /// The state of a log that this process knows, if it ends where a member expects.
        private func knownState(before request: AppendRequest, of user: UserID) -> LogState? {
            guard let before = context.states.known(request.tresor), before.entryCount == request.sequence,
                before.head.hash == request.previous, before.members[user] != nil
            else { return nil }
            return before
        }

        /// Appends an entry of a member where this process knows the end of the log, without asking where it is.
        ///
        /// - Returns: `false` if nothing was written. Whatever is wrong is then said as if this had not been tried.
        private func appendAtKnownEnd(
            _ draft: AppendDraft, by user: UserID, keeping: SQL
        ) async throws(TresorError) -> Bool {
            guard let before = knownState(before: draft.request, of: user),
                let judgment = try? await judge(draft, by: user, on: before)
            else { return false }
            let demand = Demand(draft, on: before)
            guard (try? await checkRoom(demand, for: draft, judgment)) != nil else { return false }
            let first = advance(draft, judgment)
            return try await write(draft, judgment, demand, for: user, first: first, keeping: keeping)
        }

        /// Writes the first entry of a log. Its founder, who is the caller, is judged by the entry alone, so that
        /// nobody learns whether a tresor is there.
        private func found(_ draft: AppendDraft, by caller: Caller) async throws(TresorError) -> OutcomeAnswer {
            let judgment = try await judge(draft, by: caller.user, on: nil)
            let place = try await place(of: caller.user, in: draft.request.tresor)
            if let place {
                guard place.isMember else { throw .noAccess }
                return OutcomeAnswer(.conflict)
            }
            let demand = Demand(draft, on: nil)
            try await checkRoom(demand, for: draft, judgment)
            let insertion = SQL(
                """
                INSERT INTO tresors (tresor, count, head, founder, bytes, deleted, changed)
                VALUES ($1, 1, $2, $3, $4, NULL, $5) ON CONFLICT DO NOTHING
                """,
                [
                    .digest(draft.request.tresor.digest), .digest(judgment.state.head.hash),
                    .digest(caller.user.digest), .number(draft.byteCount), .number(context.now),
                ])
            let keeping = keeping(for: caller)
            if try await write(draft, judgment, demand, for: caller.user, first: insertion, keeping: keeping) {
                return OutcomeAnswer(.done)
            }
            // A tresor that was deleted keeps its place.
            guard try await self.place(of: caller.user, in: draft.request.tresor)?.isMember == true else {
                throw .noAccess
            }
            return OutcomeAnswer(.conflict)
        }

        /// Returns the end of a log, and whether a user is in it; `nil` for a tresor that is not there.
        private func place(
            of user: UserID, in tresor: TresorID
        ) async throws(TresorError) -> (end: LogEnd, isMember: Bool)? {
            guard let row = try await context.engine.read(MemberLog.search(tresor, user)).first else { return nil }
            return (end: try LogEnd(row), isMember: try MemberLog(row)?.membership.isIn ?? false)
        }

        private func checkRoom(
            _ demand: Demand, for draft: AppendDraft, _ judgment: Judgment
        ) async throws(TresorError) {
            guard !draft.endsAccess else { return }
            guard context.states.fits(judgment.cost) else { throw .failed(.full) }
            try await Room(context: context).check(demand)
        }

        /// The statement that takes the place of an entry: it changes a row only if the log still ends there.
        private func advance(_ draft: AppendDraft, _ judgment: Judgment) -> SQL {
            SQL(
                """
                UPDATE tresors SET count = $4, head = $5, bytes = bytes + $6, changed = $7
                WHERE tresor = $1 AND count = $2 AND head = $3 AND deleted IS NULL
                """,
                [
                    .digest(draft.request.tresor.digest), .number(draft.request.sequence),
                    .digest(draft.request.previous), .number(draft.request.sequence + 1),
                    .digest(judgment.state.head.hash), .number(draft.byteCount), .number(context.now),
                ])
        }

        /// The statement that keeps the answer to a request that has proved who asks.
        private func keeping(for caller: Caller) -> SQL {
            caller.request.keeping(OutcomeAnswer(.done).bytes, at: context.now).orElse(.busy)
        }

        /// Writes all of it or nothing.
        ///
        /// - Parameters:
        ///   - first: the statement that takes the place of the entry.
        ///   - keeping: the statement that keeps the answer.
        /// - Returns: whether the place was free.
        private func write(
            _ draft: AppendDraft, _ judgment: Judgment, _ demand: Demand, for user: UserID, first: SQL, keeping: SQL
        ) async throws(TresorError) -> Bool {
            // No engine throws *forked*: it says here that somebody else took the place.
            let places = [first.orElse(.forked), keeping]
            // A blob that is not there is a conflict too.
            let blobs = Blobs.statements(
                draft.request.blobs, of: draft.entry.author, naming: judgment.named, at: draft.request.sequence,
                in: draft.request.tresor, orElse: .forked)
            let changes =
                Room.counting(demand, at: context.now) + blobs
                + Self.statements(
                    draft.request.entry, judgment.wraps, by: draft.entry.author, removing: draft.request.removing,
                    judgment
                )
            let revoked = try context.removals.revocations(by: draft.entry, judgment, at: context.now)
            do throws(TresorError) {
                if revoked.isEmpty {
                    _ = try await context.engine.write(places + changes)
                } else {
                    try await context.engine.write {
                        [settings = context.settings, removals = context.removals] (transaction) throws(TresorError) in
                        _ = try transaction.run(places + changes)
                        try settings.note(revoked)
                        removals.expect(draft.entry)
                    }
                }
            } catch {
                guard error == .forked else { throw error }
                return false
            }
            if revoked.isEmpty { await noteNobody(behind: draft.entry, judgment) }
            context.removals.confirm(draft.entry)
            context.usage.add(tresors: demand.tresors, bytes: demand.bytes, of: demand.founder)
            context.engine.notify(draft.request.tresor.digest.bytes)
            await context.states.extend(
                to: judgment.state, cost: judgment.cost, by: WorkApart.weight(ofBytes: draft.request.entry.count),
                for: user.digest.bytes)
            return true
        }

        /// Writes down that an entry has the place of a removal that failed while the entry waited for it. That is known when
        /// the entry is there: to look between its statements and the commit would cost each entry another exchange.
        private func noteNobody(behind entry: Entry, _ judgment: Judgment) async {
            let found = try? context.removals.revocations(by: entry, judgment, at: context.now)
            guard let revoked = found, !revoked.isEmpty else { return }
            // Where this fails, the file is as after a process that ended here.
            _ = try? await Cores.apart { [settings = context.settings] () throws(TresorError) in
                try settings.note(revoked)
            }
        }

        /// The statements that write an entry and what changes with it.
        static func statements(
            _ entry: [UInt8], _ wraps: [Wrap], by author: UserID, removing: [UserID], _ judgment: Judgment
        ) -> [SQL] {
            let state = judgment.state
            let tresor = SQLValue.digest(state.tresor.digest)
            var statements = [
                // The log has ended before this place: a row with this key is damage, and an engine says so.
                SQL(
                    "INSERT INTO entries (tresor, sequence, entry) VALUES ($1, $2, $3)",
                    [tresor, .number(state.head.sequence), .bytes(entry)])
            ]
            for user in Set(removing).sorted() {
                let gone = [tresor, .digest(user.digest)]
                // The founder and those who put them get the room back.
                statements += [
                    SQL(
                        """
                        UPDATE authors SET bytes = bytes - (SELECT CAST(COALESCE(sum(length(w.wrap)), 0) AS bigint)
                        FROM wraps w WHERE w.tresor = $1 AND w.account = $2 AND w.putter = authors.account)
                        WHERE tresor = $1 AND account IN
                        (SELECT w.putter FROM wraps w WHERE w.tresor = $1 AND w.account = $2)
                        """, gone),
                    SQL(
                        """
                        UPDATE tresors SET bytes = bytes - (SELECT CAST(COALESCE(sum(length(wrap)), 0) AS bigint)
                        FROM wraps WHERE tresor = $1 AND account = $2) WHERE tresor = $1
                        """, gone),
                    SQL("DELETE FROM wraps WHERE tresor = $1 AND account = $2", gone),
                ]
            }
            // A wrap that an approver has from the same author stays, and the new one takes no room.
            statements += wraps.filter { !state.isIn($0.user) }.flatMap { Wraps.sparing($0, by: author) }
            statements += wraps.map { Wraps.storing($0, by: author, at: state.head.sequence) }
            return statements + judgment.people.map { Membership.storing($0, in: state) }
        }
    }
#endif

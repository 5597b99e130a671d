// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// Waiting until logs grow. A hint: the logs prove it.
    struct News: Sendable {
        let context: ServiceContext

        /// Waits until a log of the caller's tresors has grown since the cursor, or the time is over.
        ///
        /// Without a cursor it answers at once, with a cursor and no tresors. Read the logs after that.
        ///
        /// - Throws: ``TresorError/busy`` for too many waits of an account; ``TresorError/altered`` for a cursor that
        ///   this service never gave.
        func news(_ request: NewsRequest, by caller: Caller) async throws(TresorError) -> NewsAnswer {
            let cursor = request.cursor.isEmpty ? nil : try NewsCursor(request.cursor)
            guard let cursor else { return try await changes(for: caller.user, since: nil) }
            let wait = try context.news.begin(for: caller.user)
            defer { context.news.end(wait) }
            let deadline = ContinuousClock.now + .seconds(Int(request.seconds))
            while !context.news.isClosed, !Task.isCancelled {
                await context.news.rest(wait, until: deadline)
                wait.reset()
                do throws(TresorError) {
                    let answer = try await changes(for: caller.user, since: cursor)
                    guard answer.tresors.isEmpty, ContinuousClock.now < deadline else { return answer }
                } catch {
                    guard error == .cancelled else { throw error }
                    break
                }
                await wait.wait(until: deadline)
            }
            return NewsAnswer(tresors: [], cursor: request.cursor, more: false)
        }

        /// Wakes the people of the tresors that hints name, until the hints or the task end.
        ///
        /// The first hint is followed at once. Those that come while it is, and while `rest` goes on, are gathered: the
        /// members of a tresor are read once for all of its hints, and each person is rung once for all of theirs.
        ///
        /// - Parameter rest: waits until the members are read again.
        func listen(
            to hints: AsyncStream<[UInt8]>,
            resting rest: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: NewsFeed.pause) }
        ) async {
            let gathered = GatheredHints()
            let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            async let following: Void = follow(gathered, at: signals, resting: rest)
            for await hint in hints where !context.news.isEmpty {
                gathered.add(hint)
                signal.yield()
            }
            signal.finish()
            await following
        }

        /// Follows what is gathered at each signal.
        private func follow(
            _ hints: GatheredHints, at signals: AsyncStream<Void>, resting rest: @Sendable () async -> Void
        ) async {
            for await _ in signals {
                await follow(hints.take())
                await rest()
            }
        }

        /// Wakes the people of these tresors; everybody for a hint that names none, and if the database does not answer.
        private func follow(_ hints: Set<[UInt8]>) async {
            let tresors = hints.compactMap { Hash256($0) }
            guard tresors.count == hints.count else { return context.news.ring(nil) }
            var people: Set<UserID> = []
            for tresor in tresors {
                let found = try? await context.engine.read(
                    SQL("SELECT account FROM access WHERE tresor = $1", [.digest(tresor)]))
                guard let found else { return context.news.ring(nil) }
                people.formUnion(found.compactMap { row in (try? row.digest(0)).map(UserID.init) })
            }
            context.news.ring(Array(people))
        }

        /// Finds the logs that have grown since a cursor; none for an account that was closed during the wait.
        private func changes(for user: UserID, since cursor: NewsCursor?) async throws(TresorError) -> NewsAnswer {
            let now = context.now
            let isFirst = cursor == nil
            let cursor = cursor ?? NewsCursor(since: now - min(now, NewsCursor.window))
            let found = try await context.engine.read(
                SQL(
                    """
                    SELECT t.tresor, t.count, t.changed FROM access a JOIN tresors t ON t.tresor = a.tresor
                    WHERE a.account = $1 AND t.deleted IS NULL
                    AND EXISTS (SELECT 1 FROM accounts WHERE account = $1 AND state = 3)
                    AND (a.last_sequence IS NULL OR a.last_sequence + 1 = t.count)
                    AND (t.changed > $2 OR t.changed = $2 AND t.tresor > $3)
                    ORDER BY t.changed, t.tresor LIMIT $4
                    """,
                    [
                        .digest(user.digest), .number(cursor.time), .digest(cursor.after),
                        .integer(Int64(TresorsAnswer.maximumCount + 1)),
                    ]))
            var logs: [NewsCursor.Log] = []
            for row in found.prefix(TresorsAnswer.maximumCount) {
                logs.append(
                    NewsCursor.Log(
                        tresor: TresorID(try row.digest(0)), count: try row.number(1), changed: try row.number(2)))
            }
            return cursor.answer(logs, goesOn: found.count > logs.count, isFirst: isFirst, at: now)
        }
    }

    /// The hints that nobody has followed yet, each once. Of very many, one is left that wakes everybody.
    private final class GatheredHints: Sendable {
        private static let greatestCount = 4096

        private let hints = Mutex<Set<[UInt8]>>([])

        func add(_ hint: [UInt8]) {
            hints.withLock { hints in
                if hints.count >= Self.greatestCount { hints = [[]] } else { hints.insert(hint) }
            }
        }

        func take() -> Set<[UInt8]> {
            hints.withLock { hints in
                defer { hints = [] }
                return hints
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Deleting blobs.
    extension Blobs {
        /// How long a deletion erases before its answer. A client gives up after three times as long without a byte, and
        /// the last portion may have begun just before the end.
        private static let duration: Duration = .seconds(10)

        /// Deletes blobs for an owner, or those that a writer has put and that no entry names.
        ///
        /// They become blobs that no entry names, whose time is over: an entry may take their room at once
        /// (``UsageCache/deleted(_:)``). Their parts go in portions before the answer, as far as they go in its time. The
        /// others, and what fails then, are left to ``sweep()``.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody else, and for a writer who names another blob;
        ///   ``TresorError/altered`` for a blob that an entry above the floor names; ``TresorError/busy`` if the log grows
        ///   in between. Nothing is deleted then.
        func delete(_ request: DeleteBlobsRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let log = try await context.memberLog(of: caller.user, in: request.tresor)
            guard log.membership.mayPut else { throw .noAccess }
            let state = try await context.states.state(
                of: request.tresor, at: log.end, for: caller.user.digest.bytes)
            guard let floor = state?.floor else { throw .busy }
            let tresor = SQLValue.digest(request.tresor.digest)
            let hashes = Set(request.hashes).sorted().map { SQLValue.digest($0) }
            let weight = 1 + WorkApart.weight(ofStatements: 5 * hashes.count)
            try await context.work.run(weight: weight, for: caller.user.digest.bytes) { () throws(TresorError) in }
            let answer = try await context.change(for: caller) { (transaction) throws(TresorError) in
                guard let held = try Self.hold(request.tresor, caller.user, transaction), held.membership.mayPut else {
                    throw .noAccess
                }
                if held.membership.role != .owner {
                    try Self.requirePutters(of: hashes, in: tresor, caller.user, transaction)
                }
                guard held.end == log.end else { throw .busy }
                let named = try transaction.rows(
                    of: hashes.map {
                        SQL("SELECT sequence FROM blob_names WHERE tresor = $1 AND hash = $2", [tresor, $0])
                    })
                for row in named.joined() {
                    guard try row.number(0) <= floor else { throw .altered }
                }
                _ = try transaction.run(hashes.flatMap { Self.abandoning([tresor, $0]) })
                return DoneAnswer()
            }
            // They are marked already: the sweep ends what is left or fails here.
            let end = context.settings.steadyClock() + Self.duration
            let left = try? await erase(hashes, of: tresor, before: 0, until: end)
            if left != [] { context.sweeps.ask() }
            return answer
        }

        /// Refuses blobs that an entry names, or of which somebody else has put a part.
        private static func requirePutters(
            of hashes: [SQLValue], in tresor: SQLValue, _ user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            let found = try transaction.rows(
                of: hashes.map {
                    SQL(
                        """
                        SELECT 1 FROM tresors WHERE tresor = $1 AND (
                            EXISTS (SELECT 1 FROM blob_names WHERE tresor = $1 AND hash = $2)
                            OR EXISTS (SELECT 1 FROM blobs WHERE tresor = $1 AND hash = $2 AND account <> $3))
                        """, [tresor, $0, .digest(user.digest)])
                })
            guard found.allSatisfy(\.isEmpty) else { throw .noAccess }
        }

        /// Deletes blobs that were put more than 7 days ago, and that no entry names.
        ///
        /// - Throws: the errors of the engine.
        func sweep() async throws(TresorError) {
            let limit = SQLValue.number(context.now - min(context.now, Self.lapse))
            while true {
                try Cancellation.check()
                let found = try await context.engine.read(
                    SQL("SELECT tresor, hash FROM blob_orphans WHERE time < $1 ORDER BY time LIMIT 64", [limit]))
                var blobs: [SQLValue: [SQLValue]] = [:]
                for row in found { try blobs[row.value(0), default: []].append(row.value(1)) }
                for (tresor, hashes) in blobs { try await erase(hashes, of: tresor, before: limit) }
                if found.count < 64 { return }
            }
        }

        /// Deletes blobs that no entry names, in portions, so that other writes come between.
        ///
        /// - Parameters:
        ///   - hashes: the blobs. One that an entry names by now stays, and so does one that was put again.
        ///   - limit: the time before which they were put.
        ///   - end: the time at which no portion begins any more; `nil` for none.
        /// - Returns: the blobs that are left.
        @discardableResult private func erase(
            _ hashes: [SQLValue], of tresor: SQLValue, before limit: SQLValue, until end: ContinuousClock.Instant? = nil
        ) async throws(TresorError) -> [SQLValue] {
            var left = hashes
            while !left.isEmpty, end.map({ context.settings.steadyClock() < $0 }) ?? true {
                try Cancellation.check()
                let next = left
                left = try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                    try deletePortion(of: next, in: tresor, before: limit, transaction)
                }
            }
            return left
        }

        /// Deletes a portion of the parts of blobs that no entry names.
        ///
        /// - Returns: the blobs that are left.
        private func deletePortion(
            of hashes: [SQLValue], in tresor: SQLValue, before limit: SQLValue, _ transaction: any SQLTransaction
        ) throws(TresorError) -> [SQLValue] {
            // The row of the tresor is held: no entry can name the blobs until the end, and nobody can put a part.
            _ = try transaction.run([SQL("UPDATE tresors SET count = count WHERE tresor = $1", [tresor])])
            var left = portionCount
            for (place, hash) in hashes.enumerated() {
                let blob = [tresor, hash]
                let found = try transaction.run(
                    SQL(
                        """
                        SELECT b.part FROM blob_orphans o JOIN blobs b ON b.tresor = o.tresor AND b.hash = o.hash
                        WHERE o.tresor = $1 AND o.hash = $2 AND o.time < $3 ORDER BY b.part LIMIT $4
                        """, blob + [limit, .integer(Int64(left))]))
                if let last = try found.last?.value(0) {
                    let parts = blob + [last]
                    let deletion = SQL("DELETE FROM blobs WHERE tresor = $1 AND hash = $2 AND part <= $3", parts)
                    _ = try transaction.run(Self.freeing(parts) + [deletion])
                }
                left -= max(1, found.count)
                guard left > 0 else { return Array(hashes[place...]) }
                let end = SQL(
                    "DELETE FROM blob_orphans WHERE tresor = $1 AND hash = $2 AND time < $3", blob + [limit])
                _ = try transaction.run([end])
            }
            return []
        }

        /// The statements after which nothing needs a blob: its time is over.
        private static func abandoning(_ blob: [SQLValue]) -> [SQL] {
            [
                SQL("DELETE FROM blob_names WHERE tresor = $1 AND hash = $2", blob),
                SQL(
                    """
                    INSERT INTO blob_orphans (tresor, hash, time)
                    SELECT $1, $2, -1 WHERE EXISTS (SELECT 1 FROM blobs WHERE tresor = $1 AND hash = $2)
                    ON CONFLICT (tresor, hash) DO UPDATE SET time = -1
                    """, blob),
            ]
        }

        /// The statements that give the room of parts back, to the founder and to those who put them.
        ///
        /// - Parameter parts: the tresor, the hash and the number of the last part.
        static func freeing(_ parts: [SQLValue]) -> [SQL] {
            [
                SQL(
                    """
                    UPDATE authors SET bytes = bytes - (SELECT CAST(COALESCE(sum(
                    CASE WHEN length(b.bytes) < 512 THEN 512 ELSE length(b.bytes) END), 0) AS bigint)
                    FROM blobs b WHERE b.tresor = $1 AND b.hash = $2 AND b.part <= $3
                    AND b.account = authors.account) WHERE tresor = $1 AND account IN
                    (SELECT b.account FROM blobs b WHERE b.tresor = $1 AND b.hash = $2 AND b.part <= $3)
                    """, parts),
                SQL(
                    """
                    UPDATE tresors SET bytes = bytes - (SELECT CAST(COALESCE(sum(
                    CASE WHEN length(b.bytes) < 512 THEN 512 ELSE length(b.bytes) END), 0) AS bigint)
                    FROM blobs b WHERE b.tresor = $1 AND b.hash = $2 AND b.part <= $3) WHERE tresor = $1
                    """, parts),
            ]
        }
    }
#endif

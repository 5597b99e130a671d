// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The room that a person has used of their quota.
    struct Usage: Sendable {
        /// The number of tresors that the person founded, the deleted ones too: their ids stay taken.
        var tresors: UInt64
        /// The bytes of the entries, wraps and blobs of these.
        var bytes: UInt64

        init(tresors: UInt64, bytes: UInt64) {
            self.tresors = tresors
            self.bytes = bytes
        }

        init(_ rows: [SQLRow]) throws(TresorError) {
            guard let row = rows.first else { throw .store(.damaged) }
            tresors = try row.number(0)
            // A count that is wrong stops nobody from writing; the check finds it.
            bytes = UInt64(max(0, try row.integer(1)))
        }
    }

    /// The room that people have used of their quotas. It is summed seldom: a sum looks at all tresors of a person.
    ///
    /// A change is judged by a sum, which is as old as half a minute while less than half of its limit is used: of the
    /// quota with the reserve for that change. So a limit is exceeded by what is written between the sum and the commit.
    /// Above the half, that is what the requests write that are at work at the same time. Below, it is also what other
    /// processes write in half a minute, as far as that is more than the other half.
    final class UsageCache: Sendable {
        private struct Entry {
            var usage: Usage
            let time: ContinuousClock.Instant
        }

        private static let duration: Duration = .seconds(30)
        private static let greatestCount = 50_000

        private let engine: any SQLEngine
        private let entries = Mutex<[UserID: Entry]>([:])

        init(engine: any SQLEngine) { self.engine = engine }

        /// The statement that sums.
        static func search(_ user: UserID) -> SQL {
            SQL(
                "SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS bigint) FROM tresors WHERE founder = $1",
                [.digest(user.digest)])
        }

        /// The statement that sums deleted blobs which are not erased yet, and lie in the other sum.
        static func deleted(_ user: UserID) -> SQL {
            SQL(
                """
                SELECT CAST(COALESCE(sum(
                CASE WHEN length(b.bytes) < 512 THEN 512 ELSE length(b.bytes) END), 0) AS bigint)
                FROM blob_orphans o JOIN tresors t ON t.tresor = o.tresor
                JOIN blobs b ON b.tresor = o.tresor AND b.hash = o.hash
                WHERE o.time < 0 AND t.founder = $1 AND t.deleted IS NULL
                """, [.digest(user.digest)])
        }

        /// Returns what a person has used.
        ///
        /// - Parameter isAmple: whether a sum that may be old leaves no doubt.
        func usage(of user: UserID, _ isAmple: (Usage) -> Bool) async throws(TresorError) -> Usage {
            let now = ContinuousClock.now
            if let entry = entries.withLock({ $0[user] }), entry.time.duration(to: now) < Self.duration,
                isAmple(entry.usage)
            {
                return entry.usage
            }
            return try await sum(of: user, at: now)
        }

        private func sum(of user: UserID, at now: ContinuousClock.Instant) async throws(TresorError) -> Usage {
            let usage = try Usage(try await engine.read(Self.search(user)))
            entries.withLock { entries in
                if entries.count >= Self.greatestCount { entries = [:] }
                entries[user] = Entry(usage: usage, time: now)
            }
            return usage
        }

        /// Adds what was written since.
        func add(tresors: UInt64, bytes: UInt64, of user: UserID) {
            entries.withLock { entries in
                entries[user]?.usage.tresors += tresors
                entries[user]?.usage.bytes += bytes
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// What a person has used of their quota.
    struct Usage: Sendable {
        /// The number of tresors that the person founded.
        var tresors: UInt64
        /// The bytes of the entries and wraps of these.
        var bytes: UInt64

        init(_ rows: [SQLRow]) throws(TresorError) {
            guard let row = rows.first else { throw .store(.damaged) }
            tresors = try row.number(0)
            bytes = try row.number(1)
        }
    }

    /// What people have used of their quotas. It is summed seldom, since a sum looks at all tresors of a person.
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
                """
                SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS bigint) FROM tresors
                WHERE founder = $1 AND deleted IS NULL
                """,
                [.digest(user.digest)])
        }

        /// Returns the usage of a person, at most half a minute old.
        func usage(of user: UserID) async throws(TresorError) -> Usage {
            let now = ContinuousClock.now
            if let entry = entries.withLock({ $0[user] }), entry.time.duration(to: now) < Self.duration {
                return entry.usage
            }
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

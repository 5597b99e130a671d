// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The limits on guessing passwords (SPEC §20.5). They lie in the database: a restart gives nobody more guesses, and all
    /// processes share them. A handle that nobody has is counted like others.
    struct LoginLimits: Sendable {
        /// A number of log-ins at once, and the milliseconds after which one more is allowed.
        struct Rate: Sendable {
            let count: UInt64
            let interval: UInt64

            /// Of a handle from a source: five, and one each ten minutes.
            static let pair = Rate(count: 5, interval: 600_000)
            /// Of a handle: twenty, and one each five minutes.
            static let handle = Rate(count: 20, interval: 300_000)
            /// Of a source: thirty, and one a minute.
            static let source = Rate(count: 30, interval: 60_000)

            /// The rate of a network that has several shares.
            fileprivate func times(_ share: Int) -> Rate {
                Rate(count: count * UInt64(share), interval: interval / UInt64(share))
            }
        }

        /// A bucket of the database.
        struct Bucket: Sendable {
            fileprivate let key: [UInt8]
            fileprivate let rate: Rate

            /// The statement that reads it.
            var search: SQL { SQL("SELECT filled FROM login_limits WHERE bucket = $1", [.bytes(key)]) }

            /// The statement that takes one; it changes no row if the bucket is empty.
            func taking(at now: UInt64) -> SQL {
                SQL(
                    """
                    INSERT INTO login_limits (bucket, filled) VALUES ($1, $2)
                    ON CONFLICT (bucket) DO UPDATE SET
                    filled = CASE WHEN login_limits.filled > $3 THEN login_limits.filled + $4 ELSE $2 END
                    WHERE login_limits.filled <= $5
                    """,
                    [
                        .bytes(key), .number(now + rate.interval), .number(now), .number(rate.interval),
                        .number(latest(at: now)),
                    ])
            }

            /// The statement that gives one back.
            var givingBack: SQL {
                SQL(
                    "UPDATE login_limits SET filled = filled - $2 WHERE bucket = $1",
                    [.bytes(key), .number(rate.interval)])
            }

            /// The seconds after which one is allowed, by the row that ``search`` found; 0 for now.
            func wait(_ row: SQLRow?, at now: UInt64) throws(TresorError) -> UInt32 {
                guard let filled = try row?.number(0), filled > latest(at: now) else { return 0 }
                return UInt32(clamping: (filled - latest(at: now)) / 1_000 + 1)
            }

            /// The latest time of being full at which one is left.
            private func latest(at now: UInt64) -> UInt64 { now + (rate.count - 1) * rate.interval }
        }

        let secret: LoginSecret

        /// The seconds after which each of these buckets has one left; 0 for now.
        static func wait(
            for buckets: [Bucket], at now: UInt64, in engine: any SQLEngine
        ) async throws(TresorError) -> UInt32 {
            let found = try await engine.read(buckets.map(\.search))
            return try longestWait(for: buckets, found[...], at: now)
        }

        /// The longest wait of buckets, by the rows that ``Bucket/search`` found for each.
        static func longestWait(
            for buckets: [Bucket], _ found: ArraySlice<[SQLRow]>, at now: UInt64
        ) throws(TresorError) -> UInt32 {
            var wait: UInt32 = 0
            for (bucket, rows) in zip(buckets, found) { wait = max(wait, try bucket.wait(rows.first, at: now)) }
            return wait
        }

        /// The buckets from which a log-in takes: that of the handle, and for each network of the source two. They are in the
        /// order of their keys, so that no two transactions wait for each other.
        func buckets(of handle: Name, from source: [UInt8]) throws(TresorError) -> [Bucket] {
            var buckets = [Bucket(key: try secret.code(1, [handle.bytes]), rate: .handle)]
            for network in SourceNetwork.all(of: source) {
                buckets += [
                    Bucket(
                        key: try secret.code(2, [handle.bytes, network.prefix]), rate: Rate.pair.times(network.share)),
                    Bucket(key: try secret.code(3, [network.prefix]), rate: Rate.source.times(network.share)),
                ]
            }
            return buckets.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        }

        /// The bucket from which a password takes that is set. Somebody who had a handle before its owner has tested
        /// no more passwords under it than a stranger who logs in.
        func evaluations(of handle: Name) throws(TresorError) -> Bucket {
            Bucket(key: try secret.code(4, [handle.bytes]), rate: .handle)
        }

        /// A time in milliseconds, by the seconds since 1970.
        static func milliseconds(_ now: UInt64) -> UInt64 { min(now, UInt64(Int64.max) / 2_000) * 1_000 }

        /// The statement that drops some of the buckets that are full, and those that a clock filled which was far ahead. The
        /// clock of the process that took from a bucket last may be a little ahead of this one's. A bucket from which
        /// somebody has just taken stays, and the order is that of ``buckets(of:from:)``.
        static func dropping(at now: UInt64) -> SQL {
            let now = milliseconds(now)
            let longest = [Rate.pair, .handle, .source].map { $0.count * $0.interval }.max() ?? 0
            return SQL(
                """
                DELETE FROM login_limits WHERE bucket IN
                (SELECT bucket FROM login_limits WHERE filled <= $1 OR filled > $2 ORDER BY bucket LIMIT $3)
                AND (filled <= $1 OR filled > $2)
                """, [.number(now), .number(now + 2 * longest), .integer(Int64(portion))])
        }

        /// The number of rows that one statement drops.
        static let portion = 5_000
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization

    /// Limits on how often somebody asks, of this process.
    final class RateLimits: Sendable {
        /// A number of requests at once, and the seconds after which one more is allowed.
        struct Rate: Sendable {
            let count: Double
            let seconds: Double

            /// Registrations of a source: ten, and one a minute.
            static let registration = Rate(count: 10, seconds: 60)
            /// Server shares of a device: twenty an hour.
            static let serverShare = Rate(count: 20, seconds: 180)

            /// So many requests a second of an account.
            static func requests(_ perSecond: UInt32) -> Rate {
                Rate(count: Double(perSecond) * 10, seconds: 1 / Double(max(1, perSecond)))
            }
        }

        private struct Bucket {
            var tokens: Double
            var time: ContinuousClock.Instant
        }

        /// The number of buckets above which those that are full are dropped.
        private static let greatestCount = 100_000

        private let buckets = Mutex<[[UInt8]: Bucket]>([:])

        /// Takes one request from a bucket.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        func take(_ key: [UInt8], _ rate: Rate, at time: ContinuousClock.Instant = .now) -> UInt32? {
            buckets.withLock { buckets in
                if buckets.count > Self.greatestCount {
                    buckets = buckets.filter { ($0.value.time.duration(to: time) / .seconds(3_600)) < 1 }
                }
                var bucket = buckets[key] ?? Bucket(tokens: rate.count, time: time)
                let passed = bucket.time.duration(to: time) / .seconds(1)
                bucket.tokens = min(rate.count, bucket.tokens + max(0, passed) / rate.seconds)
                bucket.time = time
                defer { buckets[key] = bucket }
                guard bucket.tokens >= 1 else { return UInt32(max(1, (1 - bucket.tokens) * rate.seconds + 1)) }
                bucket.tokens -= 1
                return nil
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// An answer, unless somebody asks too often.
    enum Limited<Answer: Sendable>: Sendable {
        case answer(Answer)
        /// They may ask again after so many seconds.
        case tooOften(UInt32)
    }

    /// Limits on how often somebody asks, of this process.
    ///
    /// The buckets lie in a table of fixed size, in sets of four. A hash, seeded anew in each process, says in which
    /// set a key has its bucket. In a set of others, the bucket that is full again first makes room. So a person with
    /// very many keys can loosen the limit of somebody else, and never tighten it.
    final class RateLimits: Sendable {
        /// A number of requests at once, and the seconds after which one more is allowed.
        struct Rate: Sendable {
            let count: Int
            let seconds: Double

            /// Registrations of a source without an account, and by an invitation: ten, and one a minute.
            static let registration = Rate(count: 10, seconds: 60)
            /// Registrations of an account, and what ends them: of each twenty, and one a minute. So many passwords are set
            /// under a handle.
            static let accountRegistration = Rate(count: 20, seconds: 60)
            /// Server shares of a device: two hundred, and one more each three seconds. Each command fetches one.
            static let serverShare = Rate(count: 200, seconds: 3)
            /// Kit copies for a source: sixty, and one a second. Who has the words asks once.
            static let kitCopy = Rate(count: 60, seconds: 1)
            /// Requests of a source that prove nothing: a hundred, and five a second.
            static let failure = Rate(count: 100, seconds: 0.2)

            /// Log-ins by password of all strangers together: two hundred, and twenty a second. Each is a computation.
            static let logins = Rate(count: 200, seconds: 0.05)

            /// The weight of work apart, in signatures that are verified: that of a large log at once, and then a
            /// fifteenth of a core's time.
            static let work = Rate(count: 32_768, seconds: 0.002)

            /// So many requests a second of an account.
            static func requests(_ perSecond: UInt32) -> Rate {
                Rate(count: Int(perSecond) * 10, seconds: 1 / Double(max(1, perSecond)))
            }

            /// The rate of a network that has several shares.
            fileprivate func times(_ share: Int) -> Rate {
                Rate(count: count * share, seconds: seconds / Double(share))
            }

            /// The time that one request takes from a bucket, in nanoseconds.
            fileprivate var interval: Int64 { Int64(seconds * 1e9) }
        }

        /// Somebody whose requests are counted, and what for.
        struct Key: Hashable, Sendable {
            fileprivate enum Kind { case requests, registration, finish, serverShare, kitCopy, failure, work, logins }

            fileprivate let kind: Kind
            fileprivate let bytes: [UInt8]

            /// The requests of a user.
            static func requests(_ user: [UInt8]) -> Key { Key(kind: .requests, bytes: user) }
            /// The registrations of a network, by an invitation, or of a user who has an account.
            static func registration(_ bytes: [UInt8]) -> Key { Key(kind: .registration, bytes: bytes) }
            /// The ends of registrations of a user.
            static func finish(_ user: [UInt8]) -> Key { Key(kind: .finish, bytes: user) }
            /// The server shares of a user, by device.
            static func serverShare(_ bytes: [UInt8]) -> Key { Key(kind: .serverShare, bytes: bytes) }
            /// The kit copies that a network asks for.
            static func kitCopy(_ network: [UInt8]) -> Key { Key(kind: .kitCopy, bytes: network) }
            /// The requests of a network that proved nothing.
            static func failure(_ network: [UInt8]) -> Key { Key(kind: .failure, bytes: network) }
            /// The log-ins by password of all.
            static let logins = Key(kind: .logins, bytes: [])
            /// The work of a user, or of a source that has not proved who it is.
            static func work(_ account: [UInt8]) -> Key { Key(kind: .work, bytes: account) }
        }

        /// A purpose for which the requests of a source are counted.
        enum SourceLimit: Sendable {
            case registration, kitCopy, failure

            /// The buckets of a source: one for each network that it is in.
            fileprivate func buckets(of source: [UInt8]) -> [(key: Key, rate: Rate)] {
                SourceNetwork.all(of: source).map { network -> (key: Key, rate: Rate) in
                    switch self {
                    case .registration: (.registration(network.prefix), Rate.registration.times(network.share))
                    case .kitCopy: (.kitCopy(network.prefix), Rate.kitCopy.times(network.share))
                    case .failure: (.failure(network.prefix), Rate.failure.times(network.share))
                    }
                }
            }
        }

        /// A bucket: empty places count as one that is full.
        private struct Bucket {
            /// The hash of the key.
            var tag = 0
            /// The time at which it is full again, in nanoseconds since the start. One request moves it by an interval.
            var full = Int64.min
        }

        /// The number of buckets in a set.
        private static let wayCount = 4

        private let clock: @Sendable () -> ContinuousClock.Instant
        private let start: ContinuousClock.Instant
        private let setCount: Int
        private let buckets: Mutex<[Bucket]>

        /// - Parameter setCount: the number of sets: 16 384 take 1 MiB.
        init(setCount: Int = 1 << 14, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
            self.setCount = setCount
            self.clock = clock
            start = clock()
            buckets = Mutex([Bucket](repeating: Bucket(), count: setCount * Self.wayCount))
        }

        /// Takes one request from a bucket.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        func take(_ key: Key, _ rate: Rate, at time: ContinuousClock.Instant? = nil) -> UInt32? {
            look(key, rate, at: time ?? clock(), taking: true)
        }

        /// Looks whether one request is allowed, and takes none.
        ///
        /// - Returns: `nil` if it is; else the seconds after which it is.
        func look(_ key: Key, _ rate: Rate, at time: ContinuousClock.Instant? = nil) -> UInt32? {
            look(key, rate, at: time ?? clock(), taking: false)
        }

        /// Takes one request of a source: from each of its buckets, or from none if one of them has too little.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        func take(_ limit: SourceLimit, of source: [UInt8]) -> UInt32? {
            if let seconds = look(limit, of: source) { return seconds }
            for bucket in limit.buckets(of: source) { _ = take(bucket.key, bucket.rate) }
            return nil
        }

        /// Looks whether one request of a source is allowed, and takes none.
        ///
        /// - Returns: `nil` if it is; else the seconds after which it is.
        func look(_ limit: SourceLimit, of source: [UInt8]) -> UInt32? {
            limit.buckets(of: source).compactMap { look($0.key, $0.rate) }.max()
        }

        /// Takes as many as were used, also more than the bucket holds: the next is allowed when so many have flowed in.
        func charge(_ count: Int, _ key: Key, _ rate: Rate, at time: ContinuousClock.Instant? = nil) {
            let now = nanoseconds(to: time ?? clock())
            let tag = key.hashValue
            buckets.withLock { buckets in
                let (place, full) = Self.find(tag, in: buckets, setCount, at: now)
                buckets[place] = Bucket(tag: tag, full: full + Int64(count) * rate.interval)
            }
        }

        private func nanoseconds(to time: ContinuousClock.Instant) -> Int64 {
            Int64((start.duration(to: time) / .nanoseconds(1)).rounded())
        }

        private func look(
            _ key: Key, _ rate: Rate, at time: ContinuousClock.Instant, taking: Bool
        ) -> UInt32? {
            let now = nanoseconds(to: time)
            let tag = key.hashValue
            return buckets.withLock { buckets in
                let (place, present) = Self.find(tag, in: buckets, setCount, at: now)
                let full = present + rate.interval
                let excess = full - now - Int64(rate.count) * rate.interval
                guard excess <= 0 else { return UInt32(clamping: excess / 1_000_000_000 + 1) }
                if taking { buckets[place] = Bucket(tag: tag, full: full) }
                return nil
            }
        }

        /// Returns the place of a key, and the time at which its bucket is full.
        private static func find(
            _ tag: Int, in buckets: [Bucket], _ setCount: Int, at now: Int64
        ) -> (place: Int, full: Int64) {
            let place = Self.place(of: tag, in: buckets, setCount)
            return (place, buckets[place].tag == tag ? max(now, buckets[place].full) : now)
        }

        /// Returns the place of a key: its own, or else that of the bucket in its set that is full again first.
        private static func place(of tag: Int, in buckets: [Bucket], _ setCount: Int) -> Int {
            let first = Int(UInt(bitPattern: tag) % UInt(setCount)) * wayCount
            let set = first..<(first + wayCount)
            if let known = set.first(where: { buckets[$0].tag == tag }) { return known }
            return set.min { buckets[$0].full < buckets[$1].full } ?? first
        }
    }
#endif

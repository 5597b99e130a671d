// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// The payment of one request from the limits of its person and its source: from each once, however often it is judged.
    final class Payment: Sendable {
        private struct Taken {
            /// The buckets that had room for this request when it was looked at first.
            var promised: Set<RateLimits.Key> = []
            var keys: Set<RateLimits.Key> = []
            var sources: Set<RateLimits.SourceLimit> = []
        }

        private let limits: RateLimits
        private let taken = Mutex(Taken())

        init(to limits: RateLimits) { self.limits = limits }

        /// Whether a bucket has room for this request. Nothing is taken yet, and what others take before this one does counts
        /// for the next: ``take(_:_:)`` allows this one.
        func hasRoom(_ key: RateLimits.Key, _ rate: RateLimits.Rate) -> Bool {
            taken.withLock { taken in
                if taken.keys.contains(key) { return true }
                guard limits.look(key, rate) == nil else { return false }
                taken.promised.insert(key)
                return true
            }
        }

        /// Takes back what ``hasRoom(_:_:)`` said about a bucket.
        func dropPromise(of key: RateLimits.Key) { taken.withLock { taken in _ = taken.promised.remove(key) } }

        /// Takes one request from a bucket, unless this one has.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        @discardableResult
        func take(_ key: RateLimits.Key, _ rate: RateLimits.Rate) -> UInt32? {
            taken.withLock { taken in
                guard !taken.keys.contains(key) else { return nil }
                if taken.promised.contains(key) {
                    limits.charge(1, key, rate)
                } else if let seconds = limits.take(key, rate) {
                    return seconds
                }
                taken.keys.insert(key)
                return nil
            }
        }

        /// Takes one request of its source, unless this one has.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        func take(_ limit: RateLimits.SourceLimit, of source: [UInt8]) -> UInt32? {
            taken.withLock { taken in
                guard !taken.sources.contains(limit) else { return nil }
                if let seconds = limits.take(limit, of: source) { return seconds }
                taken.sources.insert(limit)
                return nil
            }
        }
    }
#endif

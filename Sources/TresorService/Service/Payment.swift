// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// What one request takes from the limits of its person and its source: of each once, however often it is judged.
    final class Payment: Sendable {
        private struct Taken {
            var keys: Set<RateLimits.Key> = []
            var sources: Set<RateLimits.SourceLimit> = []
        }

        private let limits: RateLimits
        private let taken = Mutex(Taken())

        init(to limits: RateLimits) { self.limits = limits }

        /// Takes one request from a bucket, unless this one has.
        ///
        /// - Returns: `nil` if it is allowed; else the seconds after which it is.
        func take(_ key: RateLimits.Key, _ rate: RateLimits.Rate) -> UInt32? {
            taken.withLock { taken in
                guard !taken.keys.contains(key) else { return nil }
                if let seconds = limits.take(key, rate) { return seconds }
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

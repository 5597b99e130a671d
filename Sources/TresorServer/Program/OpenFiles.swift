// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import NIOCore
    import TresorCrypto

    /// The files and connections that this process may have open at once.
    enum OpenFiles {
        /// The number without which no service starts: what it needs before anybody connects to it, with room. Each thread of
        /// the network has some of its own.
        static let leastCount = UInt64(64 + 4 * System.coreCount)

        #if canImport(Darwin)
            private static let resource = RLIMIT_NOFILE
        #else
            private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif

        /// The greatest number of them.
        private static var maximumCount: UInt64 {
            var limit = rlimit()
            return getrlimit(resource, &limit) == 0 ? UInt64(limit.rlim_cur) : .max
        }

        /// - Throws: ``ServerFailure`` where a service would lack some.
        static func check() throws(ServerFailure) {
            guard maximumCount < leastCount else { return }
            throw ServerFailure(
                .failed(.other),
                "this process may have \(maximumCount) files and connections open, and a service needs \(leastCount) and one "
                    + "for each client: raise that with ulimit -n, or with LimitNOFILE of systemd")
        }

        /// Raises the limit as far as the system lets this process.
        static func raiseLimit() {
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0 else { return }
            #if canImport(Darwin)
                limit.rlim_cur = min(rlim_t(OPEN_MAX), limit.rlim_max)
            #else
                limit.rlim_cur = limit.rlim_max
            #endif
            _ = setrlimit(resource, &limit)
        }
    }
#endif

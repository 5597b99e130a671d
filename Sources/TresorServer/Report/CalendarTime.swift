// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore

    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    /// A time of the wall clock in UTC, in the forms of HTTP and of the log.
    struct CalendarTime: Hashable, Sendable {
        /// Seconds since 1970, and the milliseconds beyond.
        let seconds: Int
        let milliseconds: Int

        /// The time of the wall clock.
        static var now: CalendarTime {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return CalendarTime(seconds: time.tv_sec, milliseconds: time.tv_nsec / 1_000_000)
        }

        /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
        var httpDate: String { HTTPDate.text(unsigned) }

        /// `1994-11-06T08:49:37.120Z` (RFC 3339).
        var text: String {
            let fraction = String(milliseconds + 1000).dropFirst()
            return "\(day)T\(CivilDay.clock(at: unsigned)).\(fraction)Z"
        }

        /// `1994-11-06`.
        var day: String { CivilDay(at: unsigned).text }

        /// The seconds from 1970 on; no time here is before that.
        private var unsigned: UInt64 { UInt64(clamping: seconds) }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
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
        var httpDate: String {
            let fields = fields
            let day = Self.days[Int(fields.tm_wday)]
            let date = "\(two(fields.tm_mday)) \(Self.months[Int(fields.tm_mon)]) \(fields.tm_year + 1900)"
            return "\(day), \(date) \(clock) GMT"
        }

        /// `1994-11-06T08:49:37.120Z` (RFC 3339).
        var text: String {
            let fraction = String(milliseconds + 1000).dropFirst()
            return "\(day)T\(clock).\(fraction)Z"
        }

        /// `1994-11-06`.
        var day: String {
            let fields = fields
            return "\(fields.tm_year + 1900)-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))"
        }

        private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        private var fields: tm {
            var time = time_t(seconds)
            var fields = tm()
            gmtime_r(&time, &fields)
            return fields
        }

        private var clock: String {
            let fields = fields
            return "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec))"
        }

        private func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The hints that wait to be sent. One after a pause is sent at once, and those that come close behind it together.
    ///
    /// Each notification is a transaction of PostgreSQL, and each append brings a hint.
    struct PendingHints {
        /// The least time between two notifications.
        static let pause = Duration.milliseconds(10)

        private var hints: Set<[UInt8]> = []
        private var isScheduled = false
        /// The time from which a notification may be sent; `nil` before the first.
        private var next: ContinuousClock.Instant?

        /// Adds a hint.
        ///
        /// - Returns: the time after which all are to be taken; `nil` if somebody has been told so.
        mutating func add(_ hint: [UInt8], at now: ContinuousClock.Instant) -> Duration? {
            hints.insert(hint)
            guard !isScheduled else { return nil }
            isScheduled = true
            return next.map { max(.zero, now.duration(to: $0)) } ?? .zero
        }

        /// Takes all of them, to send them now.
        mutating func take(at now: ContinuousClock.Instant) -> [[UInt8]] {
            defer { (hints, isScheduled, next) = ([], false, now + Self.pause) }
            return Array(hints)
        }
    }
#endif

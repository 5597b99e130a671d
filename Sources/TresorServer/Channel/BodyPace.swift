// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore

    /// The pace of one body (SPEC §18.3): so many bytes in each span of time, and the whole in its time.
    ///
    /// It has no clock: its user looks each time that a span has passed.
    struct BodyPace: Sendable {
        private let limits: ServerLimits
        /// The time that is left.
        private var rest: TimeAmount
        /// The bytes that had come at the last look.
        private var byteCount = 0

        init(_ limits: ServerLimits) {
            self.limits = limits
            rest = limits.body
        }

        /// The time until the next look.
        var span: TimeAmount { min(limits.span, rest) }

        /// Looks at a body that is not there yet, after a span.
        ///
        /// - Parameter byteCount: the bytes of it that have come.
        /// - Returns: whether it is read on.
        mutating func isKept(by byteCount: Int) -> Bool {
            rest = rest - span
            let growth = byteCount - self.byteCount
            self.byteCount = byteCount
            return rest > .zero && growth >= limits.spanByteCount
        }
    }
#endif

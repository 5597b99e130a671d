// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore

    /// The pace of one body, of a request or of an answer (SPEC §18.3): so many bytes in each span of time.
    ///
    /// It has no clock: its user looks each time that a span has passed.
    struct BodyPace: Sendable {
        /// The time until the next look.
        let span: TimeAmount
        /// The bytes that move in each span.
        private let spanByteCount: Int
        /// The bytes that had moved at the last look.
        private var byteCount = 0

        init(_ spanByteCount: Int, in span: TimeAmount) {
            self.span = span
            self.spanByteCount = spanByteCount
        }

        /// Looks at a body that has not wholly moved yet, after a span.
        ///
        /// - Parameter byteCount: the bytes of it that have moved.
        /// - Returns: whether it goes on.
        mutating func isKept(by byteCount: Int) -> Bool {
            let growth = byteCount - self.byteCount
            self.byteCount = byteCount
            return growth >= spanByteCount
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOHTTP1
    import TresorCore
    import TresorCrypto

    /// One request and what it holds until it is answered. Lives on the event loop of its connection.
    final class HTTPExchange {
        /// `nil` while there is none, and after a head that was refused.
        let head: AcceptedHead?
        /// The source for limits.
        var source: [UInt8]
        /// The addresses of the service with the host that the client dialled.
        var audiences: [Audience] = []
        /// The room from which body and answer take theirs.
        private var budget: SharedBudget
        /// The bytes of room that it has.
        private var room = 0
        /// The account that its head has proved; `nil` for none.
        private var account: UserID?
        var isAnswered = false
        /// Whether it is over: its answer is written, or it was cut.
        var isDone = false
        /// The bytes of the answer that the system has taken.
        var sentByteCount = 0
        private var body: [UInt8] = []
        /// The bytes of the body that have come.
        private(set) var byteCount = 0
        /// Whether the end of the request has come.
        var isWhole = false
        private let start = ContinuousClock.now

        init(source: [UInt8], head: AcceptedHead? = nil, budget: SharedBudget) {
            self.source = source
            self.head = head
            self.budget = budget
        }

        /// The time since the head.
        var nanoseconds: Int64 {
            let time = (ContinuousClock.now - start).components
            return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
        }
        var milliseconds: Int64 { nanoseconds / 1_000_000 }

        /// Whether its head has proved who asks.
        var isProved: Bool { account != nil }

        /// Whether the body leaves room to small ones.
        private var isLarge: Bool { (head?.bodyByteCount ?? 0) > budget.smallByteCount }

        /// Whether the client waits for news.
        var isLongPoll: Bool { head?.endpoint == .operation(.news) }

        /// Whether its answer takes less than a millisecond beside the work of the database: a small append of a person whom
        /// the head has proved. Its work that is more runs apart (SPEC §18.3, *Work*).
        var isShort: Bool { isProved && head?.endpoint == .operation(.append) && byteCount <= Self.shortByteCount }

        private static let shortByteCount = 8 << 10

        /// Takes bytes of the body, and room for them: what a client only announces takes none.
        ///
        /// - Returns: `false` if there is too little.
        func append(_ bytes: ByteBuffer) -> Bool {
            let count = bytes.readableBytes
            guard let head, byteCount + count <= head.bodyByteCount else { return true }
            guard budget.take(count, for: source, by: account, isLarge: isLarge) else { return false }
            room += count
            body.append(contentsOf: bytes.readableBytesView)
            byteCount = body.count
            return true
        }

        /// Moves to the room that the judged head has, with what has come.
        ///
        /// - Returns: `false` if the body has no place there.
        func move(to verdict: Responder.Verdict) -> Bool {
            budget.giveBack(room, for: source, by: account)
            (budget, account, room) = (verdict.room, verdict.account, 0)
            guard let head, budget.hasRoom(for: head.bodyByteCount, of: source, by: account, isLarge: isLarge),
                budget.take(byteCount, for: source, by: account, isLarge: isLarge)
            else { return false }
            room = byteCount
            return true
        }

        /// Takes room for the answer, in place of the body.
        ///
        /// - Returns: `false` if there is too little.
        func takeRoom(_ byteCount: Int) -> Bool {
            giveBack()
            let isLarge = byteCount > ServiceHead.smallByteCount
            guard budget.take(byteCount, for: source, by: account, isLarge: isLarge) else { return false }
            room = byteCount
            return true
        }

        /// Lets go of the body, and gives the room back, once.
        func giveBack() {
            body = []
            budget.giveBack(room, for: source, by: account)
            room = 0
        }

        /// Whether head and body are whole.
        var isComplete: Bool { head.map { byteCount == $0.bodyByteCount } ?? false }

        /// The whole request of an operation; `nil` for any other one, and as long as its body is not whole.
        var call: ServiceCall? {
            guard isComplete, let head, case .operation(let operation) = head.endpoint else { return nil }
            return ServiceCall(
                operation: operation, body: body, authorization: head.authorization, source: source,
                audiences: audiences)
        }
    }

    extension ServiceReply {
        /// The service works.
        static let healthy = ServiceReply(status: 200, mediaType: nil)
        /// The service does not work.
        static let unavailable = ServiceReply(status: 503, mediaType: nil)

        /// There is no room for the answer.
        static let noRoom = ServiceReply(Refusal(.tooManyRequests, .busy), retryAfter: 1)

        /// The metrics.
        static func metrics(_ text: String) -> ServiceReply {
            ServiceReply(
                status: 200, mediaType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
        }

        /// The headers: the exact length, the time, and nothing that names this program.
        func headers(isLast: Bool) -> HTTPHeaders {
            var headers: HTTPHeaders = ["Date": CalendarTime.now.httpDate, "Content-Length": String(body.count)]
            if let mediaType { headers.add(name: "Content-Type", value: mediaType) }
            if status == 405 { headers.add(name: "Allow", value: "GET, POST") }
            if let retryAfter { headers.add(name: "Retry-After", value: String(retryAfter)) }
            if isLast { headers.add(name: "Connection", value: "close") }
            return headers
        }
    }
#endif

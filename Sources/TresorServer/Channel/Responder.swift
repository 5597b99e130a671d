// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore

    /// The parts that the connections of one address share: the rule of heads, the limits, and the target that answers.
    struct Responder: Sendable {
        /// The target of requests, which answers them.
        enum Target: Sendable {
            case service(any ServiceHandler)
            case metrics(PrometheusRegistry)
        }

        let target: Target
        let rule: HeadRule
        let limits: ServerLimits
        let report: Report
        /// The places for connections, or for requests behind a proxy.
        let places: Places
        /// The room for bodies and answers.
        let bodies: SharedBudget
        private let bodiesOfStrangers: SharedBudget
        /// Whether a proxy stands before the service and names the source of each request.
        let isBehindProxy: Bool
        /// Whether clients reach it over TLS, which may be that of a proxy.
        private let isSecure: Bool

        init(
            target: Target, rule: HeadRule, limits: ServerLimits, report: Report, isBehindProxy: Bool,
            isSecure: Bool = false
        ) {
            self.target = target
            self.rule = rule
            self.limits = limits
            self.report = report
            self.isBehindProxy = isBehindProxy
            self.isSecure = isSecure || isBehindProxy
            places = Places(limits)
            bodies = SharedBudget(maximum: limits.bodyByteCount, share: limits.bodyByteCountOfSource)
            bodiesOfStrangers = SharedBudget(
                maximum: limits.bodyByteCount / limits.partOfStrangers,
                share: limits.bodyByteCountOfSource / limits.partOfStrangers, partOf: bodies,
                smallByteCount: limits.smallByteCountOfStrangers)
        }

        /// The verdict on a head: the room for its body and answer, a small part for one that proves nothing.
        struct Verdict: Sendable {
            let room: SharedBudget
            /// The account that the head proves; `nil` for none.
            let account: UserID?
        }

        /// Judges the head of an operation.
        ///
        /// - Throws: the refusal of a request whose body is not read.
        func judge(
            _ head: AcceptedHead, from source: [UInt8], to audiences: [Audience]
        ) async throws(Refusal) -> Verdict {
            guard case .service(let handler) = target, case .operation(let operation) = head.endpoint else {
                return Verdict(room: bodies, account: nil)
            }
            let account = try await handler.proves(
                ServiceHead(
                    operation: operation, bodyByteCount: head.bodyByteCount, authorization: head.authorization,
                    source: source, audiences: audiences))
            return Verdict(room: account != nil ? bodies : bodiesOfStrangers, account: account)
        }

        /// The verdict on a head that is known, without a look at the database; `nil` where it has to be judged.
        func verdict(on head: AcceptedHead, from source: [UInt8], to audiences: [Audience]) -> Verdict? {
            guard case .service(let handler) = target, case .operation(let operation) = head.endpoint else {
                return nil
            }
            let known = handler.knows(
                ServiceHead(
                    operation: operation, bodyByteCount: head.bodyByteCount, authorization: head.authorization,
                    source: source, audiences: audiences))
            return known.map { Verdict(room: bodies, account: $0) }
        }

        /// Notes that a source sent something that proves nothing.
        func noteFailure(of source: [UInt8]) {
            if case .service(let handler) = target { handler.noteFailure(of: source) }
        }

        /// The addresses of the service with the host of a request.
        ///
        /// - Parameter port: the port to which the client has connected; `nil` for a socket of the file system.
        func audiences(of head: AcceptedHead, on port: Int?) -> [Audience] {
            let own = port.flatMap { UInt16(exactly: $0) } ?? 443
            return head.ports.map { Audience(isSecure: isSecure, host: head.host, port: $0 ?? own) }
        }

        /// The cause of a refusal for the operator: a proxy that does not keep the `Host` of its clients sends one of
        /// loopback, which is always a name of the service, and everybody's session then names another address.
        func cause(_ cause: Refusal.Cause?, of head: AcceptedHead?) -> Refusal.Cause? {
            let isOfLoopback = HostName.ofLoopback.contains { $0.host == head?.host }
            return cause == .address && isBehindProxy && isOfLoopback ? .proxyHost : cause
        }

        /// The source of a request, for limits.
        ///
        /// - Throws: the refusal of a request whose proxy names none.
        func source(of head: AcceptedHead, on connection: [UInt8]) throws(Refusal) -> [UInt8] {
            guard isBehindProxy, case .operation = head.endpoint else { return connection }
            guard let text = head.forwardedFor, let source = SourceAddress.bytes(text) else { throw .namelessProxy }
            return source
        }

        /// Answers a whole request.
        ///
        /// - Parameter call: the request of an operation; `nil` for any other one.
        func reply(to call: ServiceCall?, at endpoint: Endpoint) async -> ServiceReply {
            switch (target, endpoint, call) {
            case (.service(let handler), .operation, let call?): await handler.answer(call)
            case (.service(let handler), .health, _): await handler.isHealthy() ? .healthy : .unavailable
            case (.metrics(let registry), .metrics, _): .metrics(registry.text)
            default: .unavailable
            }
        }
    }
#endif

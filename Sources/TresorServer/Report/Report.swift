// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import TresorCore
    import TresorCrypto

    /// The view of the service that the operator has: the log and the metrics.
    struct Report: Sendable {
        let registry = PrometheusRegistry()
        /// Whether lines name the address of the client.
        private let logsSources: Bool
        private let write: @Sendable (LogLine) -> Void
        private let process = getpid()

        /// - Parameters:
        ///   - logsSources: whether lines name the address of the client.
        ///   - write: takes each line.
        init(logsSources: Bool, write: @escaping @Sendable (LogLine) -> Void) {
            self.logsSources = logsSources
            self.write = write
            connections(0)
        }

        /// Reports an answered request, and why it was refused, where status and error do not say it.
        func answered(_ exchange: HTTPExchange, _ reply: ServiceReply, _ cause: Refusal.Cause? = nil) {
            if exchange.head?.endpoint == .metrics { return }
            var line = LogLine(.request, reply.status >= 500 ? .error : .info, process: process)
            line.add(exchange, source: logsSources)
            line.add(reply)
            line.add(cause)
            write(line)
            let operation = ("operation", exchange.head?.endpoint.name ?? "none")
            registry.add(
                1, to: .requests,
                [operation, ("status", String(reply.status)), ("outcome", reply.error?.name ?? "done")]
                    + (cause.map { [("cause", $0.rawValue)] } ?? []))
            registry.add(Double(exchange.byteCount), to: .bytesIn, [operation])
            registry.add(Double(reply.body.count), to: .bytesOut, [operation])
            registry.add(Double(exchange.nanoseconds) / 1_000_000_000, to: .seconds, [operation])
        }

        /// Reports a request that ended without all of its answer.
        func cut(_ exchange: HTTPExchange, _ cause: Cut) {
            if exchange.head?.endpoint == .metrics { return }
            var line = LogLine(.cut, .warning, process: process)
            line.add(exchange, source: logsSources)
            line.add(cause)
            write(line)
            registry.add(
                1, to: .cut, [("operation", exchange.head?.endpoint.name ?? "none"), ("cause", cause.rawValue)])
        }

        /// Reports that connections opened or, with a negative number, closed.
        func connections(_ change: Int) { registry.add(Double(change), to: .connections) }

        /// Reports a connection that was closed, since there were too many.
        func turnedAway() {
            registry.add(1, to: .turnedAway)
            say(.turnedAway, .warning)
        }

        /// Reports an event of the service.
        ///
        /// - Parameter reason: why it came to it, in words for the operator.
        func say(
            _ event: LogLine.Event, _ level: LogLine.Level = .info, port: Int? = nil, reason: String? = nil
        ) {
            var line = LogLine(event, level, process: process)
            if let port { line.add(port: port) }
            if let reason { line.add(reason: reason) }
            write(line)
        }
    }

    extension Endpoint {
        /// The word of log and metrics.
        var name: String {
            switch self {
            case .operation(let operation): operation.rawValue
            case .health: "health"
            case .metrics: "metrics"
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif
    import CoreMetrics
    import TresorCore
    import TresorCrypto

    /// The view of the service that the operator has: the log and the metrics.
    struct Report: Sendable {
        /// The metrics, by their names. Labels are words of closed lists: an operation, a status, an error.
        enum Metric: String, CaseIterable, Sendable {
            case requests = "tresor_requests_total"
            case cut = "tresor_requests_cut_total"
            case seconds = "tresor_request_seconds"
            case bytesIn = "tresor_received_bytes_total"
            case bytesOut = "tresor_sent_bytes_total"
            case connections = "tresor_connections"
            case turnedAway = "tresor_connections_turned_away_total"

            /// The things that it counts.
            var help: String {
                switch self {
                case .requests: "Requests that were answered."
                case .cut: "Requests whose client left, or was too slow, before all of the answer was taken."
                case .seconds: "The time from the head of a request to its answer."
                case .bytesIn: "The bytes of bodies that were read."
                case .bytesOut: "The bytes of answers."
                case .connections: "Open connections."
                case .turnedAway: "Connections that were closed at once, since there were too many."
                }
            }
        }

        let registry: PrometheusRegistry
        /// Whether lines name the address of the client.
        private let logsSources: Bool
        private let write: @Sendable (String) -> Void
        private let process = getpid()
        private let open: Meter

        /// - Parameters:
        ///   - logsSources: whether lines name the address of the client.
        ///   - write: takes each line.
        init(logsSources: Bool, write: @escaping @Sendable (String) -> Void) {
            self.logsSources = logsSources
            self.write = write
            registry = PrometheusRegistry(help: Metric.allCases.map { ($0.rawValue, $0.help) })
            open = Meter(label: Metric.connections.rawValue, dimensions: [], factory: registry)
        }

        /// Reports an answered request.
        func answered(_ exchange: Exchange, _ reply: WireReply) {
            if exchange.head?.route == .metrics { return }
            let isFailure = reply.status >= 500
            var line = LogLine(.request, isFailure ? .error : .info, process: process)
            line.add(exchange, source: logsSources)
            line.add(reply)
            write(line.text)
            let operation = ("operation", exchange.head?.route.name ?? "none")
            count(
                .requests, 1,
                [operation, ("status", String(reply.status)), ("outcome", reply.error?.name ?? "done")])
            count(.bytesIn, exchange.byteCount, [operation])
            count(.bytesOut, reply.body.count, [operation])
            Timer(label: Metric.seconds.rawValue, dimensions: [operation], factory: registry)
                .recordNanoseconds(exchange.nanoseconds)
        }

        /// Reports a request that ended without all of its answer.
        func cut(_ exchange: Exchange, _ cause: Cut) {
            if exchange.head?.route == .metrics { return }
            var line = LogLine(.cut, .warning, process: process)
            line.add(exchange, source: logsSources)
            line.add(cause)
            write(line.text)
            count(.cut, 1, [("operation", exchange.head?.route.name ?? "none"), ("cause", cause.rawValue)])
        }

        /// Reports that connections opened or, with a negative number, closed.
        func connections(_ change: Int) {
            if change > 0 { open.increment(by: Double(change)) } else { open.decrement(by: Double(-change)) }
        }

        /// Reports a connection that was closed at once.
        func turnedAway() {
            count(.turnedAway, 1, [])
            say(.turnedAway, .warning)
        }

        /// Reports an event of the service.
        func say(_ event: LogLine.Event, _ level: LogLine.Level = .info, port: Int? = nil) {
            var line = LogLine(event, level, process: process)
            if let port { line.add(port: port) }
            write(line.text)
        }

        private func count(_ metric: Metric, _ amount: Int, _ labels: [(String, String)]) {
            Counter(label: metric.rawValue, dimensions: labels, factory: registry).increment(by: amount)
        }
    }

    extension Route {
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

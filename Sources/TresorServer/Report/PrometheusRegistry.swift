// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization

    /// The metrics of this process, in the text format of Prometheus.
    final class PrometheusRegistry: Sendable {
        /// The metrics, by their names. Labels are words of closed lists: an operation, a status, an error.
        enum Metric: String, Sendable {
            case requests = "tresor_requests_total"
            case cut = "tresor_requests_cut_total"
            case seconds = "tresor_request_seconds"
            case bytesIn = "tresor_received_bytes_total"
            case bytesOut = "tresor_sent_bytes_total"
            case connections = "tresor_connections"
            case turnedAway = "tresor_connections_turned_away_total"
            case certificateEnd = "tresor_certificate_end_timestamp_seconds"

            /// The things that it counts.
            var help: String {
                switch self {
                case .requests: "Requests that were answered."
                case .cut: "Requests that ended before the client had all of the answer."
                case .seconds: "The time from the head of a request to its answer."
                case .bytesIn: "The bytes of bodies that were read."
                case .bytesOut: "The bytes of answers."
                case .connections: "Open connections."
                case .turnedAway: "Connections that were closed, since there were too many."
                case .certificateEnd: "The time until which the certificate is good, in seconds since 1970."
                }
            }

            fileprivate var kind: Kind {
                switch self {
                case .requests, .cut, .bytesIn, .bytesOut, .turnedAway: .counter
                case .connections, .certificateEnd: .gauge
                case .seconds: .histogram
                }
            }
        }

        fileprivate enum Kind: String {
            case counter, gauge, histogram
        }

        /// A metric with its labels.
        private struct Series: Hashable {
            let metric: Metric
            /// The labels as they are written: `operation="append",status="200"`.
            let labels: String

            /// The beginning of a line of this series.
            func line(suffix: String = "", extra: String = "") -> String {
                let all = [labels, extra].filter { !$0.isEmpty }.joined(separator: ",")
                return metric.rawValue + suffix + (all.isEmpty ? "" : "{\(all)}") + " "
            }
        }

        /// The amounts that were added to a series.
        private struct Amounts {
            var sum = 0.0
            var count = 0
            /// The amounts up to each bound; those beyond all bounds are only in `count`.
            var buckets = [Int](repeating: 0, count: PrometheusRegistry.bounds.count)

            mutating func add(_ amount: Double) {
                sum += amount
                count += 1
                for (index, bound) in PrometheusRegistry.bounds.enumerated() where amount <= bound {
                    buckets[index] += 1
                }
            }
        }

        /// The upper bounds of a histogram, in seconds.
        private static let bounds: [Double] = [
            0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
        ]

        // A series stays for as long as the process runs: closed labels make few of them.
        private let series = Mutex<[Series: Amounts]>([:])

        /// Adds an amount to a counter or a gauge, or one observation to a histogram.
        func add(_ amount: Double, to metric: Metric, _ labels: [(String, String)] = []) {
            let key = Series(metric: metric, labels: labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ","))
            series.withLock { $0[key, default: Amounts()].add(amount) }
        }

        /// Sets a gauge without labels.
        func set(_ value: Double, _ metric: Metric) {
            series.withLock { series in
                var amounts = Amounts()
                amounts.add(value)
                series[Series(metric: metric, labels: "")] = amounts
            }
        }

        /// All metrics, in the order of their names.
        var text: String {
            let all = series.withLock { $0 }.sorted {
                ($0.key.metric.rawValue, $0.key.labels) < ($1.key.metric.rawValue, $1.key.labels)
            }
            var lines: [String] = []
            var last: Metric?
            for (series, amounts) in all {
                if series.metric != last {
                    last = series.metric
                    lines.append("# HELP \(series.metric.rawValue) \(series.metric.help)")
                    lines.append("# TYPE \(series.metric.rawValue) \(series.metric.kind.rawValue)")
                }
                lines += Self.lines(series, amounts)
            }
            return lines.map { $0 + "\n" }.joined()
        }

        private static func lines(_ series: Series, _ amounts: Amounts) -> [String] {
            guard series.metric.kind == .histogram else { return [series.line() + text(amounts.sum)] }
            let buckets = zip(bounds, amounts.buckets).map {
                series.line(suffix: "_bucket", extra: "le=\"\(text($0))\"") + String($1)
            }
            return buckets + [
                series.line(suffix: "_bucket", extra: "le=\"+Inf\"") + String(amounts.count),
                series.line(suffix: "_sum") + text(amounts.sum),
                series.line(suffix: "_count") + String(amounts.count),
            ]
        }

        private static func text(_ value: Double) -> String {
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        }
    }
#endif

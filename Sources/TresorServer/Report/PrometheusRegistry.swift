// SPDX-License-Identifier: Apache-2.0

#if Server
    import CoreMetrics
    import Synchronization

    /// The metrics of this process, in the text format of Prometheus.
    final class PrometheusRegistry: MetricsFactory {
        /// A metric with its labels.
        struct Series: Hashable, Comparable, Sendable {
            let name: String
            /// The labels as they are written: `operation="append",status="200"`.
            let labels: String

            init(_ name: String, _ dimensions: [(String, String)]) {
                self.name = name
                labels = dimensions.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
            }

            static func < (left: Series, right: Series) -> Bool {
                (left.name, left.labels) < (right.name, right.labels)
            }

            /// The beginning of a line of this series.
            func line(suffix: String = "", extra: String = "") -> String {
                let all = [labels, extra].filter { !$0.isEmpty }.joined(separator: ",")
                return name + suffix + (all.isEmpty ? "" : "{\(all)}") + " "
            }
        }

        private let help: [String: String]
        private let values = Mutex<[Series: PrometheusValue]>([:])

        /// - Parameter help: the sentences that explain the metrics, by their names.
        init(help: [(String, String)]) {
            self.help = Dictionary(uniqueKeysWithValues: help)
        }

        /// All metrics, in the order of their names.
        var text: String {
            let series = values.withLock { $0 }.sorted { $0.key < $1.key }
            var lines: [String] = []
            var name = ""
            for (series, value) in series {
                if series.name != name {
                    name = series.name
                    lines.append("# HELP \(name) \(help[name] ?? "")")
                    lines.append("# TYPE \(name) \(value.kind.rawValue)")
                }
                lines += value.lines(series)
            }
            return lines.map { $0 + "\n" }.joined()
        }

        private func value(_ kind: PrometheusValue.Kind, _ name: String, _ labels: [(String, String)])
            -> PrometheusValue
        {
            let series = Series(name, labels)
            return values.withLock { values in
                if let value = values[series] { return value }
                let value = PrometheusValue(kind)
                values[series] = value
                return value
            }
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            value(.counter, label, dimensions)
        }

        func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
            value(.gauge, label, dimensions)
        }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            value(aggregate ? .histogram : .gauge, label, dimensions)
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            value(.histogram, label, dimensions)
        }

        // A series stays for as long as the process runs: closed labels make few of them.
        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }

    /// The value of one series.
    final class PrometheusValue: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
        enum Kind: String, Sendable {
            case counter, gauge, histogram
        }

        private struct State {
            var value = 0.0
            /// The observations up to each bound; those of a histogram beyond all bounds are only in `count`.
            var buckets = [Int](repeating: 0, count: PrometheusValue.bounds.count)
            var count = 0
        }

        /// The upper bounds of a histogram, in seconds.
        static let bounds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]

        let kind: Kind
        private let state = Mutex(State())

        init(_ kind: Kind) { self.kind = kind }

        func increment(by amount: Int64) { state.withLock { $0.value += Double(amount) } }
        func increment(by amount: Double) { state.withLock { $0.value += amount } }
        func decrement(by amount: Double) { state.withLock { $0.value -= amount } }
        func set(_ value: Int64) { state.withLock { $0.value = Double(value) } }
        func set(_ value: Double) { state.withLock { $0.value = value } }
        func reset() { state.withLock { $0 = State() } }
        func record(_ value: Int64) { record(Double(value)) }
        func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }

        func record(_ value: Double) {
            state.withLock { state in
                guard kind == .histogram else { return state.value = value }
                state.value += value
                state.count += 1
                for index in Self.bounds.indices where value <= Self.bounds[index] { state.buckets[index] += 1 }
            }
        }

        /// The lines of the value.
        func lines(_ series: PrometheusRegistry.Series) -> [String] {
            let state = state.withLock { $0 }
            guard kind == .histogram else { return [series.line() + Self.text(state.value)] }
            let buckets = zip(Self.bounds, state.buckets).map {
                series.line(suffix: "_bucket", extra: "le=\"\(Self.text($0))\"") + String($1)
            }
            return buckets + [
                series.line(suffix: "_bucket", extra: "le=\"+Inf\"") + String(state.count),
                series.line(suffix: "_sum") + Self.text(state.value),
                series.line(suffix: "_count") + String(state.count),
            ]
        }

        private static func text(_ value: Double) -> String {
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        }
    }
#endif

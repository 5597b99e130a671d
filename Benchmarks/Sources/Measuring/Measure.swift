// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// A figure beside its baseline, both measured in this run.
struct Figure {
    let work: String
    /// Seconds, or bytes.
    let time: Double
    let baseline: String
    let baselineTime: Double
    /// The goal for the ratio; `nil` without a goal.
    var goal: Goal?
    /// Whether both figures are bytes of memory.
    var countsBytes = false

    enum Goal {
        /// Time over baseline, at most this.
        case atMost(Double)
        /// Baseline over time, at least this.
        case atLeast(Double)
    }

    var ratio: Double {
        if case .atLeast = goal { return baselineTime / time }
        return time / baselineTime
    }

    var isMet: Bool? {
        switch goal {
        case .atMost(let limit): ratio <= limit
        case .atLeast(let limit): ratio >= limit
        case nil: nil
        }
    }

    var row: String {
        let goalText =
            switch goal {
            case .atMost(let limit): "≤ \(Self.number(limit))"
            case .atLeast(let limit): "≥ \(Self.number(limit))"
            case nil: "—"
            }
        let verdict = isMet.map { $0 ? "yes" : "no" } ?? "—"
        return "| \(work) | \(shown(time)) | \(baseline) | \(shown(baselineTime)) "
            + "| \(Self.number(ratio)) | \(goalText) | \(verdict) |"
    }

    private func shown(_ value: Double) -> String {
        countsBytes ? "\(Self.number(value / 1_048_576)) MiB" : Self.seconds(value)
    }

    static func number(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    static func seconds(_ value: Double) -> String {
        switch value {
        case ..<1e-3: "\(number(value * 1e6)) µs"
        case ..<1: "\(number(value * 1e3)) ms"
        default: "\(number(value)) s"
        }
    }
}

/// Measures by turns, so that other load of the machine affects both.
enum Measure {
    /// Whether to measure the processor time of all cores and child processes instead of the time on the clock.
    static let countsProcessorTime = CommandLine.arguments.contains("--processor-time")

    static func time(_ body: () async throws -> Void) async rethrows -> Double {
        guard countsProcessorTime else {
            let start = ContinuousClock.now
            try await body()
            return seconds(ContinuousClock.now - start)
        }
        let start = processorTime
        try await body()
        return processorTime - start
    }

    private static var processorTime: Double {
        var time = 0.0
        // RUSAGE_SELF and RUSAGE_CHILDREN, which Glibc imports as another type than getrusage takes.
        for whose: Int32 in [0, -1] {
            var usage = rusage()
            getrusage(whose, &usage)
            for part in [usage.ru_utime, usage.ru_stime] { time += Double(part.tv_sec) + Double(part.tv_usec) * 1e-6 }
        }
        return time
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    /// The medians of `rounds` times of each.
    static func byTurns(
        _ rounds: Int, _ first: () async throws -> Void, _ second: () async throws -> Void
    ) async rethrows -> (first: Double, second: Double) {
        var times: (first: [Double], second: [Double]) = ([], [])
        for _ in 0..<rounds {
            times.first.append(try await time(first))
            times.second.append(try await time(second))
        }
        return (median(times.first), median(times.second))
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// Runs a baseline on every core at the same time, `rounds` in all.
    static func onAllCores(_ rounds: Int, _ body: @Sendable (Int) -> Int32) throws {
        let share = rounds / cores
        nonisolated(unsafe) var results = [Int32](repeating: 0, count: cores)
        results.withUnsafeMutableBufferPointer { results in
            nonisolated(unsafe) let results = results
            DispatchQueue.concurrentPerform(iterations: cores) { results[$0] = body(share) }
        }
        guard results.allSatisfy({ $0 == 0 }) else { throw BaselineFailure() }
    }
}

/// The failure of a plain library call.
struct BaselineFailure: Error {}

/// Throws unless a baseline succeeded.
func require(_ status: Int32) throws {
    guard status == 0 else { throw BaselineFailure() }
}

// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// A figure beside its baseline, both measured in this run.
package struct Figure {
    package let work: String
    /// Seconds, bytes, instructions, or a number.
    package let time: Double
    private let baseline: String
    private let baselineTime: Double
    private let goal: Goal?
    private let unit: Unit

    package enum Goal {
        /// Time over baseline, at most this.
        case atMost(Double)
        /// Baseline over time, at least this.
        case atLeast(Double)
        /// Time less baseline, at most these seconds.
        case later(Double)
    }

    /// What both figures count.
    package enum Unit {
        case seconds
        case bytes
        case number
        /// Shown in millions.
        case instructions
    }

    /// - Parameter goal: the goal for the ratio; `nil` without a goal.
    package init(
        work: String, time: Double, baseline: String, baselineTime: Double, goal: Goal? = nil, unit: Unit = .seconds
    ) {
        self.work = work
        self.time = time
        self.baseline = baseline
        self.baselineTime = baselineTime
        self.goal = goal
        self.unit = unit
    }

    private var ratio: Double {
        if case .atLeast = goal { return baselineTime / time }
        return time / baselineTime
    }

    private var isMet: Bool? {
        switch goal {
        case .atMost(let limit): ratio <= limit
        case .atLeast(let limit): ratio >= limit
        case .later(let limit): time - baselineTime <= limit
        case nil: nil
        }
    }

    private var goalText: String {
        switch goal {
        case .atMost(let limit): "≤ \(Self.number(limit))"
        case .atLeast(let limit): "≥ \(Self.number(limit))"
        case .later(let limit): "≤ + \(Self.seconds(limit))"
        case nil: "—"
        }
    }

    /// The row of the table.
    package var row: String {
        let verdict = isMet.map { $0 ? "yes" : "no" } ?? "—"
        return "| \(work) | \(shown(time)) | \(baseline) | \(shown(baselineTime)) "
            + "| \(Self.number(ratio)) | \(goalText) | \(verdict) |"
    }

    /// The line that says whether the goal is met; `nil` without a goal.
    package var verdict: String? {
        isMet.map {
            "\($0 ? "met" : "not met"): \(work), \(shown(time)) beside \(baseline), \(shown(baselineTime)); \(goalText)"
        }
    }

    private func shown(_ value: Double) -> String {
        switch unit {
        case .seconds: Self.seconds(value)
        case .bytes: "\(Self.number(value / 1_048_576)) MiB"
        case .number: "\(Int(value.rounded()))"
        case .instructions: "\(Self.number(value / 1e6)) million"
        }
    }

    private static func number(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    package static func seconds(_ value: Double) -> String {
        switch value {
        case ..<1e-3: "\(number(value * 1e6)) µs"
        case ..<1: "\(number(value * 1e3)) ms"
        default: "\(number(value)) s"
        }
    }
}

extension Figure {
    /// The head of a table.
    package static let head = """
        | work | time | beside | its time | ratio | goal | met |
        |---|---|---|---|---|---|---|
        """
}

/// Measures by turns, so that other load of the machine affects both.
package enum Measure {
    /// Whether to measure the processor time of all cores and child processes instead of the time on the clock.
    package static let countsProcessorTime = CommandLine.arguments.contains("--processor-time")

    package static func time(_ body: () async throws -> Void) async rethrows -> Double {
        guard countsProcessorTime else {
            let start = ContinuousClock.now
            try await body()
            return seconds(ContinuousClock.now - start)
        }
        let start = processorTime
        try await body()
        return processorTime - start
    }

    // RUSAGE_SELF and RUSAGE_CHILDREN, which Glibc imports as another type than getrusage takes.
    private static var processorTime: Double { ownProcessorTime + processorTime(of: -1) }

    /// The seconds of processor time of this process.
    package static var ownProcessorTime: Double { processorTime(of: 0) }

    private static func processorTime(of whose: Int32) -> Double {
        var usage = rusage()
        getrusage(whose, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) * 1e-6 }
    }

    package static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    /// The medians of `rounds` times of each.
    package static func byTurns(
        _ rounds: Int, _ first: () async throws -> Void, _ second: () async throws -> Void
    ) async rethrows -> (first: Double, second: Double) {
        var times: (first: [Double], second: [Double]) = ([], [])
        for _ in 0..<rounds {
            times.first.append(try await time(first))
            times.second.append(try await time(second))
        }
        return (median(times.first), median(times.second))
    }

    /// The medians of `rounds` times of each. What prepares a turn gets its number, from 0, and does not count. Every other
    /// turn begins with the second.
    package static func byTurns(
        _ rounds: Int, after prepare: (Int) async throws -> Void, _ first: () async throws -> Void,
        _ second: () async throws -> Void
    ) async rethrows -> (first: Double, second: Double) {
        var times: (first: [Double], second: [Double]) = ([], [])
        for round in 0..<rounds {
            try await prepare(round)
            if round.isMultiple(of: 2) { times.first.append(try await time(first)) }
            times.second.append(try await time(second))
            if !round.isMultiple(of: 2) { times.first.append(try await time(first)) }
        }
        return (median(times.first), median(times.second))
    }

    package static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// Runs a baseline on every core at the same time, `rounds` in all.
    package static func onAllCores(_ rounds: Int, _ body: @Sendable (Int) -> Int32) throws {
        let cores = ProcessInfo.processInfo.activeProcessorCount
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
package struct BaselineFailure: Error {
    package init() {}
}

/// Throws unless a baseline succeeded.
package func require(_ status: Int32) throws {
    guard status == 0 else { throw BaselineFailure() }
}

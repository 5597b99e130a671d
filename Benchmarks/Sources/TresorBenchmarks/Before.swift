// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// Whole commands on a store file, beside those of an earlier program: on the clock, and by the instructions that
/// valgrind counts.
struct Before {
    private static let rounds = 201
    private static let shareRounds = 61
    private static let countRounds = 3
    private static let memberCount = 10

    /// A command of this program, or of the earlier one.
    private struct Side {
        let home: CommandHome
        let content: String
        var doctor = 0

        /// Makes a tresor with ten members, and people who can be added.
        init(_ program: String, in folder: String) throws {
            home = try CommandHome(program, in: folder)
            content = try home.write(CareEvent.content(1, byteCount: 1024), to: "content")
            try home.run(["create", "plans"])
            let first = memberCount - 1
            for number in 0..<(first + shareRounds + countRounds) { try home.publish("doctor \(number)") }
            for number in 0..<first { try home.run(Self.sharing(number)) }
            doctor = first
            try home.run(["encrypt", "-t", "plans", "-o", "\(folder)/to-open", content])
        }

        private static func sharing(_ number: Int) -> [String] {
            ["share", "-t", "plans", "--accept-unverified", "doctor \(number)"]
        }

        /// The words of a command; the next person is added with each `share`.
        mutating func words(of work: String) -> [String] {
            let common = ["--batch", "--quiet"]
            switch work {
            case "--version": return [work]
            case "encrypt": return [work] + common + ["-t", "plans", "-o", "\(home.folder)/sealed", content]
            case "decrypt": return [work] + common + ["-o", "\(home.folder)/opened", "\(home.folder)/to-open"]
            case "share":
                defer { doctor += 1 }
                let words = Self.sharing(doctor)
                return words.prefix(1) + common + words.dropFirst()
            case "list": return [work] + common
            default: return [work] + common + ["-t", "plans"]
            }
        }
    }

    private static let works = ["--version", "encrypt", "decrypt", "list", "members", "log", "share"]

    private let now: Side
    private let before: Side
    private let log: String

    /// - Returns: `nil` unless `BENCHMARK_TRESOR_BEFORE` names an earlier program.
    init?(_ program: String, in directory: String) throws {
        let earlier = ProcessInfo.processInfo.environment["BENCHMARK_TRESOR_BEFORE"] ?? ""
        guard !earlier.isEmpty else {
            note("before: left out, BENCHMARK_TRESOR_BEFORE names no program")
            return nil
        }
        now = try Side(program, in: "\(directory)/now")
        before = try Side(earlier, in: "\(directory)/before")
        log = "\(directory)/valgrind"
    }

    func measure(for report: Report) async throws {
        var (now, before) = (now, before)
        for work in Self.works {
            report.add(try await clock(of: work, &now, &before))
            if let figure = try instructions(of: work, &now, &before) { report.add(figure) }
        }
    }

    private func clock(of work: String, _ now: inout Side, _ before: inout Side) async throws -> Figure {
        let programs = (now.home.program, before.home.program)
        var words: (now: [String], before: [String]) = ([], [])
        let times = try await Measure.byTurns(
            work == "share" ? Self.shareRounds : Self.rounds,
            after: { _ in words = (now.words(of: work), before.words(of: work)) }
        ) {
            try programs.0.run(words.now)
        } _: {
            try programs.1.run(words.before)
        }
        return Figure(
            work: "tresor \(work)", time: times.first, baseline: "before", baselineTime: times.second,
            goal: work == "--version" ? .later(0.001) : .atMost(1.02))
    }

    private func instructions(of work: String, _ now: inout Side, _ before: inout Side) throws -> Figure? {
        var counts: (now: [Double], before: [Double]) = ([], [])
        for _ in 0..<Self.countRounds {
            guard let first = try now.home.program.instructions(of: now.words(of: work), log: log),
                let second = try before.home.program.instructions(of: before.words(of: work), log: log)
            else { return nil }
            counts.now.append(first)
            counts.before.append(second)
        }
        return Figure(
            work: "tresor \(work), instructions", time: Measure.median(counts.now), baseline: "before",
            baselineTime: Measure.median(counts.before), goal: work == "--version" ? nil : .atMost(1.02),
            unit: .instructions)
    }
}

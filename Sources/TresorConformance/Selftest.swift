// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A source of vector files. This module opens no file itself.
package struct VectorSource: Sendable {
    /// Whether a readable file exists.
    let isPresent: @Sendable (String) -> Bool
    /// All bytes of a file.
    let read: @Sendable (String) throws -> [UInt8]

    package init(
        isPresent: @escaping @Sendable (String) -> Bool, read: @escaping @Sendable (String) throws -> [UInt8]
    ) {
        self.isPresent = isPresent
        self.read = read
    }
}

/// Runs every vector file and the published vectors of others.
package struct Selftest {
    /// The number of tests that passed.
    package struct Report: Sendable {
        package internal(set) var passed = 0
        package internal(set) var failed = 0
        /// Whether the counts are those of the index.
        package internal(set) var isComplete = true

        var count: Int { passed + failed }
        package var isSuccess: Bool { failed == 0 && isComplete }

        mutating func add(_ other: Report) {
            passed += other.passed
            failed += other.failed
            isComplete = isComplete && other.isComplete
        }
    }

    /// The order of the lines, each of which is one file, or one directory of files.
    static let order = [
        "encoding", "text", "tc1", "identity", "slots", "password", "device", "log", "epoch", "wrap", "approval",
        "act", "file", "pack", "records", "checkpoint", "accumulated", "labels", "service", "opaque", "scenario",
        "testkit",
    ]

    private let directory: String?
    private let external: String?
    private let isNightly: Bool
    private let source: VectorSource

    /// - Parameters:
    ///   - vectors: the directory of the vectors; `nil` to look for it.
    ///   - external: the directory of published vectors; `nil` to skip them.
    ///   - isNightly: whether to run the millions of cases too.
    ///   - source: reads the files.
    package init(vectors: String?, external: String?, isNightly: Bool = false, source: VectorSource) {
        directory = vectors ?? Self.found(source)
        self.external = external
        self.isNightly = isNightly
        self.source = source
    }

    /// `vectors/` beside the program, or in the current directory.
    private static func found(_ source: VectorSource) -> String? {
        let beside = CommandLine.arguments.first.map { program in
            program.contains("/")
                ? program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
                    + "/vectors" : "vectors"
        }
        return [beside, "vectors"].compactMap { $0 }.first { source.isPresent($0 + "/index.json") }
    }

    /// Runs all tests and prints a line for each file or directory of files.
    ///
    /// - Throws: ``VectorProblem`` for an invalid index, and the errors of `line` and of the source.
    package func run(_ line: (String) throws -> Void) async throws -> Report {
        var total = Report()
        if let directory {
            total = try await run(in: directory, line)
        } else {
            try line("no vectors found; the published answers that are compiled in:")
            total = try PublishedAnswers.run(line)
        }
        if let external { total.add(try PublishedVectors(directory: external, source: source).run(line)) }
        return try finish(total, line)
    }

    private func run(in directory: String, _ line: (String) throws -> Void) async throws -> Report {
        var total = Report()
        for suite in try Self.suites(try source.read(directory + "/index.json")) {
            total.add(try await run(suite, in: directory, line))
        }
        if isNightly {
            let millions = Suite(name: "nightly", section: "6", files: [.nightly])
            total.add(try await run(millions, in: directory, line))
        }
        return total
    }

    private func run(_ suite: Suite, in directory: String, _ line: (String) throws -> Void) async throws -> Report {
        var report = Report()
        var problems: [String] = []
        for file in suite.files {
            let before = report.count
            for problem in await results(file, in: directory) {
                if let problem {
                    report.failed += 1
                    problems.append("  \(file.name): \(problem)")
                } else {
                    report.passed += 1
                }
            }
            if report.count - before != file.count { report.isComplete = false }
        }
        try line(Self.row(suite.section, suite.name, report))
        for problem in problems.prefix(20) { try line(problem) }
        return report
    }

    /// Returns for each test of a file `nil` or the fault.
    private func results(_ file: IndexedFile, in directory: String) async -> [String?] {
        do {
            return try await VectorFile.results(file.name, try source.read(directory + "/" + file.name))
        } catch let problem as VectorProblem {
            return [problem.text]
        } catch {
            return ["cannot be read"]
        }
    }

    private func finish(_ report: Report, _ line: (String) throws -> Void) throws -> Report {
        if !report.isComplete { try line("the counts are not those of index.json") }
        try line("\(report.passed) passed, \(report.failed) failed")
        return report
    }

    private struct IndexedFile {
        let name: String
        let section: String
        let count: Int

        /// Every construction, a million times each; not part of the index.
        static let nightly = IndexedFile(name: "nightly.json", section: "6", count: 9)

        /// The file's name without its ending, or that of its directory.
        var suite: String {
            let name = name.split(separator: "/").first ?? ""
            return String(name.split(separator: ".").first ?? "")
        }
    }

    /// The files that share a line.
    private struct Suite {
        let name: String
        let section: String
        let files: [IndexedFile]
    }

    private static func suites(_ bytes: [UInt8]) throws(VectorProblem) -> [Suite] {
        guard let rows = (try? JSONReader.read(bytes))?["files"]?.members else {
            throw VectorProblem("index.json is not an index")
        }
        let files = rows.map { name, row in
            IndexedFile(
                name: name, section: row["spec"]?.text ?? "",
                count: (row["positives"]?.number ?? 0) + (row["negatives"]?.number ?? 0))
        }
        return Dictionary(grouping: files, by: \.suite).map { name, files in
            Suite(name: name, section: files.first?.section ?? "", files: files.sorted { $0.name < $1.name })
        }.sorted { (rank($0.name), $0.name) < (rank($1.name), $1.name) }
    }

    private static func rank(_ suite: String) -> Int { order.firstIndex(of: suite) ?? order.count }

    private static func row(_ section: String, _ name: String, _ report: Report) -> String {
        "SPEC \(padded(section, 5))\(padded(name, 14))\(report.passed) passed, \(report.failed) failed"
    }

    private static func padded(_ text: String, _ count: Int) -> String {
        text + String(repeating: " ", count: max(0, count - text.count))
    }
}

/// Files by their form.
enum VectorFile {
    /// Returns for each test `nil` or the fault.
    static func results(_ name: String, _ bytes: [UInt8]) async throws(VectorProblem) -> [String?] {
        guard !name.hasPrefix("testkit/") else { return [try TestkitFile(bytes).run(name)] }
        guard name.hasPrefix("scenario/") else {
            var results: [String?] = []
            for test in try VectorSuite(bytes).cases { results.append(await test.run()) }
            return results
        }
        guard let scenario = try? ScenarioRun(bytes) else { throw VectorProblem("not a scenario") }
        return await scenario.results()
    }
}

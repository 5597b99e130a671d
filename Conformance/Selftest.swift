// SPDX-License-Identifier: Apache-2.0

/// Runs every vector file and the published vectors of others.
struct Selftest {
    /// The number of tests that passed.
    struct Report {
        var passed = 0
        var failed = 0
        /// Whether the counts are those of the index.
        var isComplete = true

        var count: Int { passed + failed }
        var isSuccess: Bool { failed == 0 && isComplete }

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

    private let directory: String
    private let external: String?
    private let isNightly: Bool

    /// - Parameters:
    ///   - vectors: the directory of the vectors.
    ///   - external: the directory of published vectors; `nil` to skip them.
    ///   - isNightly: whether to run the millions of cases too.
    init(vectors: String, external: String? = nil, isNightly: Bool = false) {
        directory = vectors
        self.external = external
        self.isNightly = isNightly
    }

    /// Runs all tests and prints a line for each file or directory of files.
    ///
    /// - Throws: ``VectorProblem`` for a directory or an index that is absent or invalid, and the errors of `line`.
    func run(_ line: (String) throws -> Void) async throws -> Report {
        if let external, !VectorDirectory.has(external) { throw VectorProblem("there is no directory \(external)") }
        var total = Report()
        for suite in try Self.suites(VectorDirectory.read(directory + "/index.json")) {
            total.add(try await run(suite, line))
        }
        if isNightly {
            let millions = Suite(name: "nightly", section: "6", files: [.nightly])
            total.add(try await run(millions, line))
        }
        if let external { total.add(try PublishedVectors(directory: external).run(line)) }
        if !total.isComplete { try line("the counts are not those of index.json") }
        try line("\(total.passed) passed, \(total.failed) failed")
        return total
    }

    private func run(_ suite: Suite, _ line: (String) throws -> Void) async throws -> Report {
        var report = Report()
        var problems: [String] = []
        for file in suite.files {
            let before = report.count
            for problem in await results(file) {
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
    private func results(_ file: IndexedFile) async -> [String?] {
        do throws(VectorProblem) {
            return try await VectorFile.results(file.name, VectorDirectory.read(directory + "/" + file.name))
        } catch {
            return [error.text]
        }
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

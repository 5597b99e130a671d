// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs every vector file, and what others have published.
struct Selftest {
    struct Report {
        var passed = 0
        var failed = 0
        /// Whether the counts are those of the index.
        var isComplete = true

        var isSuccess: Bool { failed == 0 && isComplete }

        mutating func add(_ other: Report) {
            passed += other.passed
            failed += other.failed
        }
    }

    /// The order in which files are run: that of SPEC.
    static let order = [
        "encoding", "text", "tc1", "identity", "slots", "password", "log", "epoch", "wrap", "file", "scenario",
        "testkit",
        "accumulated", "labels",
    ]

    private let directory: String?
    private let external: String?

    init(vectors: String?, external: String?) {
        directory = vectors ?? Self.found()
        self.external = external
    }

    /// `vectors/` beside the program, or in the current directory.
    private static func found() -> String? {
        let beside = CommandLine.arguments.first.map { program in
            program.contains("/")
                ? program.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
                    + "/vectors" : "vectors"
        }
        return [beside, "vectors"].compactMap { $0 }.first { access($0 + "/index.json", R_OK) == 0 }
    }

    private func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        try InputFile(path, standardInput: StandardInput()).readAll(
            limit: 1 << 28, tooLarge: CommandFailure(.usage, "a vector file is too large"))
    }

    func run(_ line: (String) throws -> Void) async throws -> Report {
        guard let directory else {
            try line("no vectors found; the published answers that are compiled in:")
            return try finish(PublishedAnswers.run(line), line)
        }
        let index = try Self.index(try read(directory + "/index.json"))
        var total = Report()
        var kits = Report()
        for file in index {
            let isKit = file.name.hasPrefix("testkit/")
            let report = try await run(file, in: directory, isKit ? { if $0.hasPrefix("  ") { try line($0) } } : line)
            total.add(report)
            if isKit { kits.add(report) }
            if report.passed + report.failed != file.count { total.isComplete = false }
        }
        if kits.passed + kits.failed > 0 { try line(Self.row("10.5", "testkit", kits)) }
        if let external { total.add(try PublishedVectors(directory: external).run(line)) }
        return try finish(total, line)
    }

    private func finish(_ report: Report, _ line: (String) throws -> Void) throws -> Report {
        if !report.isComplete { try line("the counts are not those of index.json") }
        try line("\(report.passed) passed, \(report.failed) failed")
        return report
    }

    struct IndexedFile {
        let name: String
        let section: String
        let count: Int
    }

    private static func index(_ bytes: [UInt8]) throws(CommandFailure) -> [IndexedFile] {
        guard let files = (try? JSONReader.read(bytes))?["files"]?.members else {
            throw CommandFailure(.altered, "index.json is not an index")
        }
        return files.map { name, row in
            IndexedFile(
                name: name, section: row["spec"]?.text ?? "",
                count: (row["positives"]?.number ?? 0) + (row["negatives"]?.number ?? 0))
        }.sorted { (rank($0.name), $0.name) < (rank($1.name), $1.name) }
    }

    private static func rank(_ path: String) -> Int {
        let stem = path.split(separator: "/").first.map { $0.split(separator: ".").first.map(String.init) ?? "" } ?? ""
        return order.firstIndex(of: stem) ?? order.count
    }

    private func run(
        _ file: IndexedFile, in directory: String, _ line: (String) throws -> Void
    ) async throws -> Report {
        var report = Report()
        var problems: [String] = []
        do throws(VectorProblem) {
            let bytes: [UInt8]
            do throws(CommandFailure) { bytes = try read(directory + "/" + file.name) } catch {
                throw VectorProblem("cannot be read")
            }
            for problem in try await VectorFile.results(file.name, bytes) {
                if let problem {
                    report.failed += 1
                    problems.append(problem)
                } else {
                    report.passed += 1
                }
            }
        } catch {
            report.failed += 1
            problems.append(error.text)
        }
        let stem = file.name.hasSuffix(".json") ? String(file.name.dropLast(5)) : file.name
        try line(Self.row(file.section, stem, report))
        for problem in problems.prefix(20) { try line("  \(stem): \(problem)") }
        return report
    }

    private static func row(_ section: String, _ name: String, _ report: Report) -> String {
        "SPEC \(padded(section, 5)) \(padded(name, 26)) \(report.passed) passed, \(report.failed) failed"
    }

    private static func padded(_ text: String, _ count: Int) -> String {
        text + String(repeating: " ", count: max(0, count - text.count))
    }
}

/// Files by their form.
enum VectorFile {
    /// For each test `nil`, or what went wrong.
    static func results(_ name: String, _ bytes: [UInt8]) async throws(VectorProblem) -> [String?] {
        guard !name.hasPrefix("testkit/") else { return [try TestkitFile(bytes).run(name)] }
        guard name.hasPrefix("scenario/") else { return try VectorSuite(bytes).cases.map { $0.run() } }
        guard let scenario = try? ScenarioRun(bytes) else { throw VectorProblem("not a scenario") }
        return await scenario.results()
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorConformance

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

struct SelftestCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "selftest", group: .proof, abstract: "Run the test vectors of the specification.",
            usage: "tresor selftest [--vectors DIR] [--external DIR] [--nightly]",
            discussion: """
                Looks for vectors/ beside the program, then in the current directory. Without one, runs the \
                compiled-in published answers, and says so.
                """, examples: ["tresor selftest", "tresor selftest --external published"])
    }

    @Option(help: ArgumentHelp("The directory of the vectors.", valueName: "DIR"), completion: .directory)
    var vectors: String?

    @Option(
        help: ArgumentHelp("The directory of vectors published by others.", valueName: "DIR"), completion: .directory)
    var external: String?

    @Flag(help: "Run a million random cases of each construction too; takes some minutes.")
    var nightly = false

    @OptionGroup var options: GlobalOptions

    /// Vector files as the command reads every file.
    static let files = VectorSource(
        isPresent: { access($0, R_OK) == 0 },
        read: { path in
            try InputFile(path, standardInput: StandardInput()).readAll(
                limit: 1 << 28, tooLarge: CommandFailure(.usage, "a vector file is too large"))
        })

    private func report() async throws -> Selftest.Report {
        if let external, access(external, R_OK | X_OK) != 0 {
            throw CommandFailure(.notFound, "there is no directory \(DisplayText.quoted(external))", file: external)
        }
        let runner = Selftest(vectors: vectors, external: external, isNightly: nightly, source: Self.files)
        let isJSON = options.json
        do {
            return try await runner.run { line in
                if !isJSON { try Channel.output.write(line + "\n") }
            }
        } catch let problem as VectorProblem {
            throw CommandFailure(.altered, problem.text)
        }
    }

    func perform() async throws {
        let report = try await report()
        let isJSON = options.json
        if isJSON {
            let object: JSONObject = [
                "type": "tests", "passed": .integer(Int64(report.passed)), "failed": .integer(Int64(report.failed)),
                "complete": .bool(report.isComplete),
            ]
            try Channel.output.write(object.line)
        }
        guard report.isSuccess else { throw Exit(code: 1) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Foundation

/// A program that is run to its end, without input and output, as quickly as it starts.
package struct Program: Sendable {
    package let path: String
    /// All variables that it gets.
    package let environment: [String: String]

    package init(_ path: String, environment: [String: String] = ["PATH": "/usr/bin:/bin"]) {
        self.path = path
        self.environment = environment
    }

    /// Runs it with these arguments.
    ///
    /// - Parameter isWanted: whether to look at its memory every millisecond.
    /// - Returns: the most memory that it had in bytes, if `isWanted`.
    /// - Throws: ``ProgramFailure`` unless it ends with 0.
    @discardableResult package func run(_ words: [String], wantsPeak isWanted: Bool = false) throws -> Int {
        var arguments = ([path] + words).map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var peak = 0
        let code =
            isWanted ? baseline_run(&arguments, &variables, &peak) : baseline_run(&arguments, &variables, nil)
        guard code == 0 else { throw ProgramFailure(words: [path] + words, code: code) }
        return peak * 1024
    }

    /// Counts the instructions of a run; `nil` where valgrind is not installed.
    ///
    /// - Parameter log: the path of a file for what valgrind says.
    package func instructions(of words: [String], log: String) throws -> Double? {
        let valgrind = "/usr/bin/valgrind"
        guard FileManager.default.isExecutableFile(atPath: valgrind) else { return nil }
        try Program(valgrind, environment: environment).run(
            ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=\(log)", path] + words)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        guard let start = text.range(of: "Collected : ") else {
            throw ProgramFailure(words: [valgrind, path] + words, code: 0)
        }
        return Double(text[start.upperBound...].prefix { $0.isNumber })
    }
}

/// The failure of a program.
package struct ProgramFailure: Error, CustomStringConvertible {
    package let words: [String]
    /// Its exit code; -1 for a signal, and for a program that did not begin.
    package let code: Int32

    package var description: String { "\(words.prefix(12).joined(separator: " ")) ended with \(code)" }
}

/// Says on standard error what goes on.
package func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

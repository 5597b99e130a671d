// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Each place of the command that makes a hint is reached by a test: hints.txt says by which.
///
/// A row of hints.txt names the file in Sources/TresorCommand, the text there, and a file in Tests with a line that
/// expects the hint. `-` stands for a text that is no hint, and `none: REASON` for one that no test reaches yet.
/// `ScriptRunner` runs each hint that a script meets.
@Suite struct HintTests {
    /// A text in the sources that begins as hints do.
    private struct Place: Hashable, Comparable, CustomStringConvertible {
        let file: String
        let text: String

        var description: String { "\(file) | \(text)" }

        /// The parts that stay when values are filled in, and when the command and its places are.
        var pieces: [String] {
            let value = #/…|\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\{[^}]*\}/#
            return (text.hasPrefix("tresor ") ? text.dropFirst(7) : text[...]).split(separator: value)
                .map { $0.replacing("\\\"", with: "\"").trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }

        static func < (left: Place, right: Place) -> Bool { (left.file, left.text) < (right.file, right.text) }
    }

    private static let tests = ReadmeSession.root.appending(path: "Tests")
    private static let sources = ReadmeSession.root.appending(path: "Sources/TresorCommand")

    private static func rows() throws -> [(place: Place, test: String)] {
        try String(contentsOf: tests.appending(path: "CLITests/hints.txt"), encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { row in
                let cells = row.split(separator: " | ").map { $0.trimmingCharacters(in: .whitespaces) }
                try #require(cells.count == 3, "\(row)")
                return (Place(file: cells[0], text: cells[1]), cells[2])
            }
    }

    /// The texts in the sources that begin with a command, or with the words before one. The pages of the help have
    /// their examples tested elsewhere.
    private static func places() throws -> [Place] {
        let start = "tresor|ask|to leave it:|did you mean:|unset|chmod|chown|mv|mkdir|sudo"
        let text = try Regex(
            "\"((?:\(start)) (?:[^\"\\\\]|\\\\\\((?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*\\)|\\\\.)*)\"")
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path(percentEncoded: false))
        return try files.filter { $0.hasSuffix(".swift") }.flatMap { file in
            var code = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            code.replace(#/static var page: CommandPage \{(?s:.*?)\n    \}\n/#, with: "")
            code.replace(#/"""(?s:.*?)"""|(?:^|\s)//.*/#.anchorsMatchLineEndings(), with: "")
            let texts = code.matches(of: text).compactMap { $0.output[1].substring.map(String.init) }
            // The same command with another word needs no text.
            let bare = code.matches(of: #/(did you mean: \\\(|"\\\()?HintCompletion\.replacing\(/#).count {
                $0.output.1 == nil
            }
            return (texts + Array(repeating: "HintCompletion.replacing", count: bare)).map {
                Place(file: file, text: $0.trimmingCharacters(in: .whitespaces))
            }
        }
    }

    @Test func eachPlaceHasItsRow() throws {
        let (places, rows) = (try Self.places().sorted(), try Self.rows().map(\.place).sorted())
        for change in rows.difference(from: places) {
            switch change {
            case .insert(_, let place, _): Issue.record("no source has it any more: \(place)")
            case .remove(_, let place, _): Issue.record("no row of hints.txt names its test: \(place)")
            }
        }
    }

    @Test func eachRowNamesATestThatExpectsTheHint() throws {
        var lines: [String: [Substring]] = [:]
        for row in try Self.rows() where row.test != "-" && !row.test.hasPrefix("none: ") {
            if lines[row.test] == nil {
                let text = try String(contentsOf: Self.tests.appending(path: row.test), encoding: .utf8)
                lines[row.test] = text.replacing("\\\\", with: "").replacing("\\", with: "").split(separator: "\n")
                    .filter { row.test.hasSuffix(".swift") || $0.contains(#/^(?:stderr|stdout|json|grep) /#) }
            }
            let isExpected = lines[row.test]?.contains { Self.line($0, has: row.place.pieces) }
            #expect(isExpected == true, "\(row.place) | \(row.test)")
        }
    }

    /// Whether a line has these texts, one after the other.
    private static func line(_ line: Substring, has pieces: [String]) -> Bool {
        var rest = line
        for piece in pieces where piece != "HintCompletion.replacing" {
            guard let place = rest.firstRange(of: piece) else { return false }
            rest = rest[place.upperBound...]
        }
        return true
    }
}

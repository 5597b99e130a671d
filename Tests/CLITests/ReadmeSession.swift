// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The commands of one section of README, or of another page, with the lines that each prints.
struct ReadmeSession {
    struct Step {
        /// The command, after the prompt.
        let command: String
        let person: String
        /// The output that the reader sees after it.
        var output: [String] = []
    }

    let steps: [Step]

    /// Reads the lines `person$ command` and what follows each, in all blocks of a section.
    init(section: String, of page: String = "README.md") throws {
        let whole = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
        let text = whole.components(separatedBy: "\n## \(section)\n").dropFirst().first ?? ""
        let blocks = text.components(separatedBy: "\n## ")[0].components(separatedBy: "```")
        var steps: [Step] = []
        for line in blocks.enumerated().filter({ !$0.offset.isMultiple(of: 2) }).flatMap({ Self.lines($0.element) }) {
            if let found = line.wholeMatch(of: /([a-z]+)\$ (.*)/) {
                steps.append(Step(command: String(found.2), person: String(found.1)))
            } else if !steps.isEmpty {
                steps[steps.count - 1].output.append(line)
            }
        }
        self.steps = steps
    }

    /// The folder of the package.
    static var root: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter { !$0.isEmpty }
    }
}

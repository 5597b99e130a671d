// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The project's own sources as text, for rules about what they must not contain.
enum SourceCode {
    static func files(of folder: String) throws -> [(path: String, text: String)] {
        let root = Published.repository.appending(path: folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path(percentEncoded: false))
        return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            (name, try String(contentsOf: root.appending(path: name), encoding: .utf8))
        }
    }

    /// Every declaration that begins with `public`, up to its body, on one line each.
    static func publicDeclarations(of folder: String) throws -> [String] {
        try declarations(of: folder, with: ["public"])
    }

    /// The declarations that other modules of this package can use.
    static func sharedDeclarations(of folder: String) throws -> [String] {
        try declarations(of: folder, with: ["public", "package"])
    }

    private static func declarations(of folder: String, with levels: Set<Substring>) throws -> [String] {
        try files(of: folder).flatMap { file in
            let lines = file.text.split(separator: "\n").map { $0.drop { $0 == " " } }
            return lines.indices.filter { isVisible(lines[$0], levels) }.map { declaration(at: $0, in: lines) }
        }
    }

    private static func isVisible(_ line: Substring, _ levels: Set<Substring>) -> Bool {
        !line.hasPrefix("//") && !levels.isDisjoint(with: line.split(separator: " ").prefix(3))
    }

    private static func declaration(at start: Int, in lines: [Substring]) -> String {
        var text = String(lines[start])
        for line in lines[(start + 1)...] {
            let depth = text.reduce(0) { $1 == "(" ? $0 + 1 : $1 == ")" ? $0 - 1 : $0 }
            guard depth > 0 else { break }
            text += " " + line
        }
        return text.prefix { $0 != "{" }.split(separator: " ").joined(separator: " ")
    }
}

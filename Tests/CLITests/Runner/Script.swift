// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One behaviour of the command line: commands, then files that are written to disk before the first of them.
///
/// A command is one line of words, quoted as in a shell: '…' is literal; in "…" and outside quotes `$NAME` and
/// `${NAME}` stand for variables of the script, `$WORK` for its directory. `!` before a verb negates it, `#` at the
/// start of a line makes a comment. `-- NAME --` begins a file that ends before the next such line. A script whose first
/// line is `# long` is a part of the long run. One whose first line is `# service` needs `tresor-server`, which a build
/// without its trait does not have.
struct Script: CustomStringConvertible, Sendable {
    struct Command: Sendable {
        let line: Int
        let text: String
    }

    let name: String
    let isLong: Bool
    let needsService: Bool
    let commands: [Command]
    let files: [(name: String, content: String)]

    var description: String { name }

    init(name: String, text: String) {
        self.name = name
        isLong = text.hasPrefix("# long\n")
        needsService = text.hasPrefix("# service\n")
        var commands: [Command] = []
        var files: [(name: String, content: String)] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("-- "), line.hasSuffix(" --"), line.count > 6 {
                files.append((String(line.dropFirst(3).dropLast(3)), ""))
            } else if files.isEmpty {
                let text = line.trimmingCharacters(in: .whitespaces)
                if !text.isEmpty, !text.hasPrefix("#") { commands.append(Command(line: index + 1, text: text)) }
            } else if index < lines.count - 1 {
                files[files.count - 1].content += line + "\n"
            }
        }
        self.commands = commands
        self.files = files
    }

    /// The scripts beside this source, by name; those alone whose name begins with `TRESOR_SCRIPT`, where that is set.
    static func all() throws -> [Script] {
        let wanted = ProcessInfo.processInfo.environment["TRESOR_SCRIPT"] ?? ""
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("scripts")
        return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "txt" && $0.lastPathComponent.hasPrefix(wanted) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { file in
                Script(
                    name: file.deletingPathExtension().lastPathComponent,
                    text: try String(contentsOf: file, encoding: .utf8))
            }
    }

    /// The scripts of the gate, or those of the long run; with `TRESOR_SCRIPT_PART=2/3` the second of three parts.
    static func all(areLong: Bool) throws -> [Script] {
        let scripts = try all().filter { $0.isLong == areLong && (!$0.needsService || isServiceBuilt) }
        guard let text = ProcessInfo.processInfo.environment["TRESOR_SCRIPT_PART"] else { return scripts }
        let numbers = text.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, (1...max(1, numbers[1])).contains(numbers[0]) else {
            throw CocoaError(.formatting, userInfo: [NSDebugDescriptionErrorKey: "TRESOR_SCRIPT_PART is \(text)"])
        }
        // Neighbours begin alike and take equally long.
        return scripts.enumerated().filter { $0.offset % numbers[1] == numbers[0] - 1 }.map(\.element)
    }

    private static var isServiceBuilt: Bool {
        #if Server
            true
        #else
            false
        #endif
    }
}

/// Splits a command into words.
struct WordScanner {
    private var rest: Substring
    private let variables: [String: String]

    init(_ text: String, variables: [String: String]) {
        rest = text[...]
        self.variables = variables
    }

    mutating func words() throws -> [String] {
        var words: [String] = []
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard !rest.isEmpty else { return words }
            words.append(try word())
        }
    }

    private mutating func word() throws -> String {
        var word = ""
        while let character = rest.first, character != " ", character != "\t" {
            rest.removeFirst()
            switch character {
            case "'": word += try quoted()
            case "\"": word += try expanded()
            case "$": word += variable()
            default: word.append(character)
            }
        }
        return word
    }

    private mutating func quoted() throws -> String {
        guard let end = rest.firstIndex(of: "'") else { throw ScriptFailure("a quote is not closed") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private mutating func expanded() throws -> String {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "$": text += variable()
            case "\\": text.append(rest.popFirst() ?? "\\")
            default: text.append(character)
            }
        }
        throw ScriptFailure("a quote is not closed")
    }

    /// The variable after a `$`; a `$` before anything else stands for itself.
    private mutating func variable() -> String {
        let isBraced = rest.first == "{"
        let name = (isBraced ? rest.dropFirst() : rest).prefix {
            $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber))
        }
        guard !name.isEmpty, !isBraced || rest[name.endIndex...].first == "}" else { return "$" }
        rest = rest[name.endIndex...].dropFirst(isBraced ? 1 : 0)
        return variables[String(name)] ?? ""
    }
}

struct ScriptFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

/// The words after the program's name, with the common options that stand before the command moved behind it.
struct ArgumentList: Equatable, Sendable {
    /// The command's name, if there is one.
    let command: String?
    /// Everything else, in order.
    let rest: [String]

    /// The words as the parser takes them.
    var words: [String] { (command.map { [$0] } ?? []) + rest }

    /// The words of `rest` before `--`.
    var options: ArraySlice<String> { rest.prefix { $0 != "--" } }

    /// Whether a failure, of the parser even, is to be printed as JSON.
    var wantsJSON: Bool { options.contains("--json") }

    /// Whether the command's help is asked for.
    var wantsHelp: Bool { options.contains("-h") || options.contains("--help") }

    init(_ words: [String]) {
        var hoisted: [String] = []
        var index = 0
        while index < words.count, let length = GlobalOptions.length(of: words[index]) {
            hoisted += words[index..<min(index + length, words.count)]
            index += length
        }
        let tail = words.dropFirst(index)
        if let first = tail.first, !first.hasPrefix("-") {
            command = first
            rest = hoisted + Self.withDefaults(first, tail.dropFirst())
        } else {
            command = nil
            rest = hoisted + tail
        }
    }

    /// Gives `share --wait` its default: the parser knows no option whose value may be left out.
    private static func withDefaults(_ command: String, _ words: ArraySlice<String>) -> [String] {
        guard command == "share" else { return Array(words) }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words.indices.map { words[$0] == "--wait" && $0 < end ? "--wait=300" : words[$0] }
    }

    /// The words for the parser, and the last words, which can only be operands. The parser's work grows with the
    /// square of their number, so it gets only a few, unless an option follows them.
    var withOperandsApart: (words: [String], operands: [String]) {
        // The first words behind options may be their values.
        let last = rest.firstIndex(of: "--") ?? rest.lastIndex { $0.hasPrefix("-") && $0 != "-" } ?? -1
        let end = last + 1 + Self.parsedOperandCount
        guard rest.count > end else { return (rest, []) }
        return (Array(rest[..<end]), Array(rest[end...]))
    }

    private static let parsedOperandCount = 64

    /// The process's arguments, which must be valid UTF-8: a repaired name would be another name.
    static func current() throws(CommandFailure) -> [String] {
        var words: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[index] else { break }
            guard let word = String(validatingCString: bytes) else {
                throw .usage(
                    "argument \(index) is not valid UTF-8: rename that file, or give it on standard input")
            }
            words.append(word)
        }
        return words
    }
}

/// Refuses a recovery kit in argv, which every user of the machine can read.
struct KitGuard: Sendable {
    static let wordCount = 12
    /// As many of them are words of the list: a kit may hold typing errors, and twelve short words be none.
    static let listedCount = 9

    /// Whether a word could be one of the kit's list, in whichever case it was typed.
    var isKitWord: @Sendable (Substring) -> Bool = { word in
        (3...8).contains(word.utf8.count)
            && word.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
    }

    func check(_ words: [String]) throws(CommandFailure) {
        guard !looksLikeKit(words) else {
            throw .usage(
                "the arguments look like a recovery kit, and everybody on this machine can read them",
                hints: ["tresor recover", "tresor recover --kit FILE"])
        }
    }

    func looksLikeKit(_ words: [String]) -> Bool {
        var run: [Bool] = []
        for word in words {
            for part in word.split(omittingEmptySubsequences: true, whereSeparator: { $0.isWhitespace || $0 == "," }) {
                // The numbers of a kit on paper do not hide it.
                if part.utf8.count <= 3, part.utf8.allSatisfy({ $0 == 0x2e || (0x30...0x39).contains($0) }) { continue }
                guard isKitWord(part) else {
                    run = []
                    continue
                }
                run = run.suffix(Self.wordCount - 1) + [RecoveryKit.isWord(part.lowercased())]
                if run.count == Self.wordCount, run.count(where: \.self) >= Self.listedCount { return true }
            }
        }
        return false
    }
}

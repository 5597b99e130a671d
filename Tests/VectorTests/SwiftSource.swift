// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The types that a Swift file declares and mentions, outside of comments and string literals. Code inside an interpolation counts.
struct SwiftSource {
    /// Types, protocols and functions that the file declares outside of any other, unless they are its own.
    let declarations: Set<String>
    /// Every word that is no member of something else.
    let words: Set<String>
    /// Types and protocols that the file declares or extends, each with the types around it: `Tower.Room`.
    let types: Set<String>

    init(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.scanCode(untilParenthesis: false)
        let code = String(decoding: scanner.code, as: UTF8.self)
        let declaration =
            #/
            ^(?:@\w+(?:\([^)]*\))?\ )*
            (?:(?:public|package|internal|open|final|indirect|nonisolated)\ )*
            (?:struct|class|enum|actor|protocol|typealias|func)\ (\w+)
            /#
        declarations = Set(code.matches(of: declaration.anchorsMatchLineEndings()).map { String($0.1) })
        words = Self.words(in: scanner.code)
        types = Self.types(in: code)
    }

    private static func types(in code: String) -> Set<String> {
        let token =
            #/
            [{}]
            |^\ *(?:@\w+(?:\([^)]*\))?\ )*
            (?:(?:public|package|internal|private|fileprivate|open|final|indirect|nonisolated)\ )*
            (?:struct|class|enum|actor|protocol|extension)\ (?!func\b|var\b)([\w.]+)
            /#
        var types: Set<String> = []
        var name: Substring?
        var around: [Substring?] = []
        for match in code.matches(of: token.anchorsMatchLineEndings()) {
            switch match.0 {
            case "{":
                around.append(name)
                name = nil
            case "}": _ = around.popLast()
            default:
                name = match.1
                types.insert((around + [name]).compactMap(\.self).joined(separator: "."))
            }
        }
        return types
    }

    private static func words(in code: [UInt8]) -> Set<String> {
        func isPartOfWord(_ byte: UInt8) -> Bool {
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "_": true
            default: false
            }
        }
        let words = code.split { !isPartOfWord($0) }
        return Set(
            words.filter { $0.startIndex == 0 || code[$0.startIndex - 1] != UInt8(ascii: ".") }
                .map { String(decoding: $0, as: UTF8.self) })
    }
}

private struct Scanner {
    let bytes: [UInt8]
    private(set) var code: [UInt8] = []
    private var place = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The bytes at which a comment, a literal or the end of an interpolation can begin.
    private static let marks = Array("/#\"()".utf8)

    private func stands(_ text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

    mutating func scanCode(untilParenthesis isInterpolation: Bool) {
        var depth = 0
        while place < bytes.count {
            if !Self.marks.contains(bytes[place]) {
                code.append(bytes[place])
                place += 1
            } else if stands("//") {
                while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
            } else if stands("/*") {
                skipBlockComment()
            } else if let literal = literalStart() {
                code.append(UInt8(ascii: " "))
                scanString(literal)
            } else {
                if stands("(") { depth += 1 }
                if stands(")") {
                    if isInterpolation, depth == 0 { return }
                    depth -= 1
                }
                code.append(bytes[place])
                place += 1
            }
        }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            if stands("/*") {
                depth += 1
                place += 2
            } else if stands("*/") {
                depth -= 1
                place += 2
            } else {
                place += 1
            }
        } while depth > 0 && place < bytes.count
        code.append(UInt8(ascii: " "))
    }

    /// The quotes that end a literal that starts here, and what begins an escape in it.
    private func literalStart() -> (start: String, end: String, escape: String)? {
        let marks = String(repeating: "#", count: bytes[place...].prefix { $0 == UInt8(ascii: "#") }.count)
        for quotes in ["\"\"\"", "\""] where stands(marks + quotes) {
            return (marks + quotes, quotes + marks, "\\" + marks)
        }
        return nil
    }

    private mutating func scanString(_ literal: (start: String, end: String, escape: String)) {
        place += literal.start.utf8.count
        while place < bytes.count, !stands(literal.end) {
            if stands(literal.escape + "(") {
                place += literal.escape.utf8.count + 1
                scanCode(untilParenthesis: true)
                code.append(UInt8(ascii: " "))
                place += 1
            } else {
                place += stands(literal.escape) ? literal.escape.utf8.count + 1 : 1
            }
        }
        place += literal.end.utf8.count
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The one block of armour in a text that a person hands over: a mail, a paste, what a shell redirected (SPEC §4.6). Its
/// lines are not touched, and the strict form is asked of it.
enum PastedArmour {
    /// More text than this behind a block is not read.
    static let greatestRest = 1 << 16

    private static let mark = Array("-----BEGIN TRESOR ".utf8)
    private static let endMark = Array("-----END TRESOR ".utf8)

    /// Where a block begins, at the beginning of a line or behind blanks and a byte-order mark; `nil` for bytes without
    /// one, and for every binary form.
    static func begin(in text: [UInt8]) -> Int? {
        guard !text.starts(with: "tresor".utf8) else { return nil }
        var line = text.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        while true {
            guard let start = text[line...].firstIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return nil }
            if text[start...].starts(with: mark) { return start }
            guard let end = text[start...].firstIndex(of: 0x0a) else { return nil }
            line = end + 1
        }
    }

    /// The line that ends a block: no other line of a block has its first character.
    ///
    /// - Parameter start: a place in the block, behind its first line.
    static func endLine(in text: [UInt8], from start: Int) -> Range<Int>? {
        guard let end = text[start...].firstIndex(of: UInt8(ascii: "-")), text[end...].starts(with: endMark) else {
            return nil
        }
        return end..<(text[end...].firstIndex(of: 0x0a).map { $0 + 1 } ?? text.endIndex)
    }

    /// A text in three parts. The block ends in a line end, and is all the rest where its end is missing or a second
    /// block follows.
    static func parts(of text: [UInt8]) -> (before: [UInt8], block: [UInt8], after: [UInt8])? {
        guard let begin = begin(in: text) else { return nil }
        let before = Array(text[..<begin])
        guard let newline = text[begin...].firstIndex(of: 0x0a), let end = endLine(in: text, from: newline),
            let last = text[..<end.upperBound].lastIndex(where: { !isBlank($0) }),
            self.begin(in: Array(text[end.upperBound...])) == nil
        else { return (before, Array(text[begin...]), []) }
        let lineEnd: [UInt8] = text[newline - 1] == 0x0d ? [0x0d, 0x0a] : [0x0a]
        return (before, text[begin...last] + lineEnd, Array(text[end.upperBound...]))
    }

    /// - Returns: `nil` for input that holds no armour.
    static func block(of text: [UInt8]) -> [UInt8]? { parts(of: text)?.block }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
}

/// The damage that mail programs, editors and shells do to armour. It is told apart from bytes that somebody forged:
/// those are armoured well.
enum TransportDamage: String {
    case wide = "it has become UTF-16"
    case quoted = "its lines are quoted or indented"
    case blanks = "blanks stand at the ends of its lines"
    case encoded = "it is still encoded as quoted-printable"
    case broken = "its lines were broken or joined"
    case short = "its end is missing"
    case several = "more than one block is in it"
    case lines = "its lines were changed"
    case dashes = "its hyphens have become dashes"

    /// - Returns: `nil` for well-formed armour, and for what never was armour.
    init?(of text: [UInt8]) {
        if text.starts(with: [0xff, 0xfe]) || text.starts(with: [0xfe, 0xff]) || text.prefix(2).contains(0) {
            let narrow = text.filter { $0 != 0 }
            guard Self.contains("BEGIN TRESOR ", narrow) || Self.contains("tresor", Array(narrow.prefix(16))) else {
                return nil
            }
            self = .wide
            return
        }
        guard !text.starts(with: "tresor".utf8) else { return nil }
        guard let begin = PastedArmour.begin(in: text) else {
            if Self.contains("-----BEGIN TRESOR ", text) {
                self = .quoted
                return
            }
            // A phone makes one dash of two hyphens.
            let hasDashes = ["\u{2013}", "\u{2014}"].contains { Self.contains($0, text) }
            guard hasDashes, Self.contains("BEGIN TRESOR ", text) else { return nil }
            self = .dashes
            return
        }
        let block = PastedArmour.block(of: text) ?? []
        let kinds: [Armour] = [.file, .card, .export]
        guard !kinds.contains(where: { (try? $0.dearmour(block)) != nil }) else { return nil }
        self = Self.kind(of: text[begin...].split(separator: 0x0a, omittingEmptySubsequences: false).map { Array($0) })
    }

    private static func kind(of lines: [[UInt8]]) -> TransportDamage {
        let lines = lines.map { $0.last == 0x0d ? Array($0.dropLast()) : $0 }
        guard let end = lines.firstIndex(where: { contains("-----END TRESOR ", $0) }) else { return .short }
        if lines[(end + 1)...].contains(where: { contains("-----BEGIN TRESOR ", $0) }) { return .several }
        let inside = lines[1..<max(1, end)]
        if let first = (inside + [lines[end]]).first?.first, [0x20, 0x09, UInt8(ascii: ">")].contains(first) {
            return .quoted
        }
        let isPadded = lines[...end].contains { $0.last == 0x20 || $0.last == 0x09 || $0.suffix(2) == [0xc2, 0xa0] }
        if isPadded { return .blanks }
        if inside.contains(where: { contains("=3D", $0) }) || inside.dropLast().contains(where: { $0.last == 0x3d }) {
            return .encoded
        }
        return inside.dropLast().contains { $0.count != 64 } || (inside.last?.count ?? 0) > 64 ? .broken : .lines
    }

    private static func contains(_ word: String, _ text: [UInt8]) -> Bool {
        let word = Array(word.utf8)
        guard let first = word.first else { return true }
        var rest = text[...]
        while let start = rest.firstIndex(of: first) {
            if rest[start...].starts(with: word) { return true }
            rest = rest[(start + 1)...]
        }
        return false
    }

    /// The failure of an input, told apart from that of a forged one.
    func failure(_ input: InputFile) -> CommandFailure {
        CommandFailure(
            .altered,
            "\(input.shownName) was changed on its way: \(rawValue); that is no forgery: have it sent as an attachment",
            file: input.path)
    }
}

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

/// The damage that mail programs, editors, shells and typists do to armour. It is told apart from bytes that somebody
/// forged: those are armoured well.
enum TransportDamage: Hashable {
    case wide
    case quoted
    case blanks
    case encoded
    case broken
    case short
    case several
    /// The first line that is not as armour is, counted from 1, where it is known.
    case lines(Int?)
    case dashes

    private var words: String {
        switch self {
        case .wide: "it has become UTF-16"
        case .quoted: "its lines are quoted or indented"
        case .blanks: "blanks stand at the ends of its lines"
        case .encoded: "it is still encoded as quoted-printable"
        case .broken: "its lines were broken or joined"
        case .short: "its end is missing"
        case .several: "more than one block is in it"
        case .lines(let line): line.map { "line \($0) is mistyped or damaged" } ?? "its lines were changed"
        case .dashes: "its hyphens have become dashes"
        }
    }

    private static let kinds: [Armour] = [.file, .card, .export]

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
            if hasDashes, Self.contains("BEGIN TRESOR ", text) {
                self = .dashes
                return
            }
            let first = Self.lines(of: text).firstIndex { line in
                Self.kinds.contains { Self.isNear(line, "BEGIN", $0) }
            }
            guard let first else { return nil }
            self = .lines(first + 1)
            return
        }
        let block = PastedArmour.block(of: text) ?? []
        guard !Self.kinds.contains(where: { (try? $0.dearmour(block)) != nil }) else { return nil }
        self = Self.kind(of: Self.lines(of: Array(text[begin...])), behind: text[..<begin].count(where: { $0 == 0x0a }))
    }

    private static func lines(of text: [UInt8]) -> [[UInt8]] {
        text.split(separator: 0x0a, omittingEmptySubsequences: false).map { line in
            Array(line.last == 0x0d ? line.dropLast() : line)
        }
    }

    /// - Parameter before: the number of lines in front of these.
    private static func kind(of lines: [[UInt8]], behind before: Int) -> TransportDamage {
        let found = lines.firstIndex { line in
            (contains("-----END TRESOR ", line) || kinds.contains { isNear(line, "END", $0) })
                && !kinds.contains { isCut(line, self.line("END", $0)) }
        }
        guard let end = found else { return endless(lines, behind: before) }
        if lines[(end + 1)...].contains(where: { contains("-----BEGIN TRESOR ", $0) }) { return .several }
        let inside = lines[1..<max(1, end)]
        if let first = (inside + [lines[end]]).first?.first, [0x20, 0x09, UInt8(ascii: ">")].contains(first) {
            return .quoted
        }
        let padded = lines[...end].indices.filter { index in
            lines[index].last == 0x20 || lines[index].last == 0x09 || lines[index].suffix(2) == [0xc2, 0xa0]
        }
        if padded.count > 1 { return .blanks }
        if inside.contains(where: { contains("=3D", $0) }) || inside.dropLast().contains(where: { $0.last == 0x3d }) {
            return .encoded
        }
        let misfits = inside.dropLast().filter { $0.count != 64 } + inside.suffix(1).filter { $0.count > 64 }
        let isOneSlip = misfits.count == 1 && misfits.allSatisfy { (62...66).contains($0.count) }
        if !misfits.isEmpty, !isOneSlip { return .broken }
        if let line = changed(in: lines, before: end) { return .lines(before + line + 1) }
        return .lines(kinds.contains { lines[end] == line("END", $0) } ? nil : before + end + 1)
    }

    /// The kind where the end is missing, or was not read. The last line may be cut, or belong to the mail around it; a line
    /// in front of a whole one does neither.
    private static func endless(_ lines: [[UInt8]], behind before: Int) -> TransportDamage {
        let last = lines.lastIndex { !$0.isEmpty } ?? 0
        if lines[1..<max(1, last)].contains(where: { contains("=3D", $0) }) { return .encoded }
        let whole = lines[..<last].lastIndex { $0.count == 64 } ?? 0
        guard let line = changed(in: lines, before: whole + 1), line < whole else { return .short }
        return .lines(before + line + 1)
    }

    private static func isCut(_ line: [UInt8], _ whole: [UInt8]) -> Bool {
        line.count < whole.count && whole.starts(with: line)
    }

    /// The first line before the end that is not as armour is.
    private static func changed(in lines: [[UInt8]], before end: Int) -> Int? {
        guard let kind = kinds.first(where: { lines[0] == line("BEGIN", $0) }) else { return 0 }
        return (1..<max(1, end)).first { index in
            let isLast = index == end - 1
            guard isLast || lines[index].count == 64 && !lines[index].contains(0x3d) else { return true }
            let alone = [lines[0], lines[index], line("END", kind), []]
            return (try? kind.dearmour(Array(alone.joined(separator: [0x0a])))) == nil
        }
    }

    private static func line(_ word: String, _ kind: Armour) -> [UInt8] {
        Array("-----\(word) \(kind.rawValue)-----".utf8)
    }

    /// Whether a line has one or two other characters than the first or last one of a kind of armour.
    private static func isNear(_ line: [UInt8], _ word: String, _ kind: Armour) -> Bool {
        let right = Self.line(word, kind)
        return line.count == right.count && (1...2).contains(zip(line, right).count(where: { $0 != $1 }))
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
            "\(input.shownName) was changed on its way: \(words); that is no forgery: have it sent as an attachment",
            file: input.path)
    }
}

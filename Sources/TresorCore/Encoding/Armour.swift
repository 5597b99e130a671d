// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Binary objects as text (SPEC §4.2): one block between a begin and an end line, base64 in lines of 64 characters.
///
/// Strict in both directions: no text around the block, no header lines, no loose base64, and either LF or CRLF at the
/// end of every line, including the last.
package enum Armour: String, Sendable {
    /// A card chain.
    case card = "TRESOR CARD"
    /// A sealed file.
    case file = "TRESOR FILE"
    /// The export of a tresor.
    case export = "TRESOR EXPORT"

    private static let lineCharacterCount = 64
    /// The number of bytes that a whole line encodes.
    static let lineByteCount = 48
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private var begin: [UInt8] { Array("-----BEGIN \(rawValue)-----".utf8) }
    private var end: [UInt8] { Array("-----END \(rawValue)-----".utf8) }

    /// Whether the bytes begin like an armoured object of any kind.
    package static func isArmoured(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: Array("-----BEGIN ".utf8))
    }

    /// The armoured form, with LF line ends.
    package func armour(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + bytes.count / 48 + 128)
        var encoder = Encoder(self)
        encoder.append(bytes.span, to: &text)
        encoder.finish(to: &text)
        return text
    }

    /// Encodes bytes as they arrive.
    struct Encoder: Sendable {
        private let armour: Armour
        /// The bytes that do not fill a line yet.
        private var line: [UInt8] = []
        private var hasBegun = false

        package init(_ armour: Armour) { self.armour = armour }

        package mutating func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
            begin(&text)
            var start = 0
            if !line.isEmpty {
                start = min(Armour.lineByteCount - line.count, bytes.count)
                for index in 0..<start { line.append(bytes[index]) }
                guard line.count == Armour.lineByteCount else { return }
                Armour.appendLine(line.span, to: &text)
                line.removeAll(keepingCapacity: true)
            }
            while bytes.count - start >= Armour.lineByteCount {
                Armour.appendLine(bytes.extracting(start..<(start + Armour.lineByteCount)), to: &text)
                start += Armour.lineByteCount
            }
            for index in start..<bytes.count { line.append(bytes[index]) }
        }

        package mutating func finish(to text: inout [UInt8]) {
            begin(&text)
            if !line.isEmpty { Armour.appendLine(line.span, to: &text) }
            text += armour.end + [0x0a]
        }

        private mutating func begin(_ text: inout [UInt8]) {
            if !hasBegun { text += armour.begin + [0x0a] }
            hasBegun = true
        }
    }

    /// The binary form.
    ///
    /// - Throws: ``TresorError/altered`` for any text that ``armour(_:)`` does not produce, except CRLF in place of
    ///   every LF.
    package func dearmour(_ text: [UInt8]) throws(TresorError) -> [UInt8] {
        let layout = try Layout(self, start: Array(text.prefix(Layout.startByteCount)), textByteCount: text.count)
        try layout.checkEnd(text.suffix(layout.endByteCount))
        return try layout.decode(text[layout.place(of: 0..<layout.lineCount)], lines: 0..<layout.lineCount)
    }

    /// Decodes the whole lines of a text whose end has not been read.
    ///
    /// - Throws: ``TresorError/altered`` if no armoured text begins this way.
    package func beginning(of text: [UInt8]) throws(TresorError) -> [UInt8] {
        var lines = Lines(self)
        return try lines.append(text)
    }

    /// Decodes a text line by line as it arrives. Its end may never arrive.
    package struct Lines: Sendable {
        private let armour: Armour
        /// The line end of the first line; `nil` before that.
        private var ending: [UInt8] = []
        /// The bytes that may belong to the last line.
        private var pending: [UInt8] = []

        package init(_ armour: Armour) { self.armour = armour }

        /// Takes the next bytes; the first time the whole first line.
        ///
        /// - Returns: the decoded bytes of the lines that are complete and not the last.
        /// - Throws: ``TresorError/altered`` if no armoured text begins this way.
        package mutating func append(_ part: [UInt8]) throws(TresorError) -> [UInt8] {
            pending += part
            var cursor = 0
            if ending.isEmpty { cursor = try begin() }
            let line = Armour.lineCharacterCount + ending.count
            var bytes: [UInt8] = []
            // A line followed by more than the end line is not the last.
            while pending.count - cursor > line + armour.end.count + ending.count {
                try Armour.decodeLine(
                    pending[cursor..<(cursor + Armour.lineCharacterCount)], isLast: false, into: &bytes)
                cursor += line
                guard pending[(cursor - ending.count)..<cursor].elementsEqual(ending) else { throw .altered }
            }
            pending.removeFirst(cursor)
            return bytes
        }

        private mutating func begin() throws(TresorError) -> Int {
            guard let first = pending.prefix(Layout.startByteCount).firstIndex(of: 0x0a), first > 0 else {
                throw .altered
            }
            ending = pending[first - 1] == 0x0d ? [0x0d, 0x0a] : [0x0a]
            guard pending.starts(with: armour.begin + ending) else { throw .altered }
            return armour.begin.count + ending.count
        }
    }

    /// The places of the lines of an armoured text, known from its size and its first line.
    struct Layout: Sendable {
        /// The beginning of the text that suffices to find the lines.
        static let startByteCount = 80

        /// The number of lines between begin and end.
        let lineCount: Int
        private let armour: Armour
        private let ending: [UInt8]
        private let textByteCount: Int

        /// - Throws: ``TresorError/altered`` if no armour of this kind begins this way or has this size.
        package init(_ armour: Armour, start: [UInt8], textByteCount: Int) throws(TresorError) {
            guard let first = start.firstIndex(of: 0x0a), first > 0 else { throw .altered }
            ending = start[first - 1] == 0x0d ? [0x0d, 0x0a] : [0x0a]
            let begin = armour.begin + ending
            let body = textByteCount - begin.count - armour.end.count - ending.count
            let line = Armour.lineCharacterCount + ending.count
            guard start.starts(with: begin), body >= 0, body % line == 0 || body % line > ending.count else {
                throw .altered
            }
            lineCount = (body + line - 1) / line
            self.armour = armour
            self.textByteCount = textByteCount
        }

        /// The size of the text after the lines.
        var endByteCount: Int { armour.end.count + ending.count }

        /// - Throws: ``TresorError/altered`` unless these are the last bytes of the text.
        func checkEnd(_ bytes: some Collection<UInt8>) throws(TresorError) {
            guard bytes.elementsEqual(armour.end + ending) else { throw .altered }
        }

        /// The place of lines in the text.
        package func place(of lines: Range<Int>) -> Range<Int> {
            let start = armour.begin.count + ending.count
            let line = Armour.lineCharacterCount + ending.count
            let end = lines.upperBound == lineCount ? textByteCount - endByteCount : start + lines.upperBound * line
            return (start + lines.lowerBound * line)..<end
        }

        /// Decodes lines: 48 bytes in each but the last.
        ///
        /// - Parameter text: the bytes at ``place(of:)``.
        /// - Throws: ``TresorError/altered``.
        func decode(_ text: ArraySlice<UInt8>, lines: Range<Int>) throws(TresorError) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(lines.count * Armour.lineByteCount)
            var cursor = text.startIndex
            for line in lines {
                let isLast = line == lineCount - 1
                let count = isLast ? text.endIndex - cursor - ending.count : Armour.lineCharacterCount
                try Armour.decodeLine(text[cursor..<(cursor + count)], isLast: isLast, into: &bytes)
                cursor += count + ending.count
                guard text[(cursor - ending.count)..<cursor].elementsEqual(ending) else { throw .altered }
            }
            return bytes
        }
    }

    private static func appendLine(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        for index in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[index + offset]) : 0) }
            for offset in 0..<4 {
                text.append(offset <= count ? alphabet[Int(group >> UInt32(18 - 6 * offset)) & 63] : 0x3d)
            }
        }
        text.append(0x0a)
    }

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xff, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// Only the last group may be padded, and its unused bits are zero.
    private static func decodeLine(
        _ line: ArraySlice<UInt8>, isLast: Bool, into bytes: inout [UInt8]
    ) throws(TresorError) {
        guard line.count.isMultiple(of: 4), isLast || line.count == lineCharacterCount else { throw .altered }
        var index = line.startIndex
        while index < line.endIndex {
            let padding = isLast && index + 4 == line.endIndex ? line.suffix(2).filter { $0 == 0x3d }.count : 0
            var group: UInt32 = 0
            for offset in 0..<(4 - padding) {
                let value = values[Int(line[index + offset])]
                guard value != 0xff else { throw .altered }
                group = group << 6 | UInt32(value)
            }
            group <<= UInt32(6 * padding)
            guard line[(index + 4 - padding)..<(index + 4)].allSatisfy({ $0 == 0x3d }),
                group & ((1 << UInt32(8 * padding)) - 1) == 0
            else { throw .altered }
            for offset in 0..<(3 - padding) {
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * offset)))
            }
            index += 4
        }
    }
}

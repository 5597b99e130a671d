// SPDX-License-Identifier: Apache-2.0

/// Binary objects as text (SPEC §4.2): one block between a begin and an end line, base64 in lines of 64 characters.
///
/// Strict in both directions: nothing around the block, no header lines, no loose base64, and either LF or CRLF at the end of
/// every line, the last one included.
public enum Armour: String, Sendable {
    /// A card chain.
    case card = "TRESOR CARD"
    /// A sealed file.
    case file = "TRESOR FILE"

    private static let lineCount = 64
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private var begin: [UInt8] { Array("-----BEGIN \(rawValue)-----".utf8) }
    private var end: [UInt8] { Array("-----END \(rawValue)-----".utf8) }

    /// Whether the bytes begin like an armoured object of any kind.
    public static func isArmoured(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: Array("-----BEGIN ".utf8))
    }

    /// The armoured form, with LF line ends.
    public func armour(_ bytes: [UInt8]) -> [UInt8] {
        var text = begin + [0x0a]
        text.reserveCapacity(bytes.count / 3 * 4 + bytes.count / 48 + 128)
        for start in stride(from: 0, to: bytes.count, by: 48) {
            Self.appendBase64(bytes[start..<min(start + 48, bytes.count)], to: &text)
            text.append(0x0a)
        }
        return text + end + [0x0a]
    }

    /// The binary form.
    ///
    /// - Throws: ``TresorError/altered`` for anything that ``armour(_:)`` does not give, CRLF in place of every LF excepted.
    public func dearmour(_ text: [UInt8]) throws(TresorError) -> [UInt8] {
        let ending = try Self.lineEnding(text)
        var cursor = 0
        try Self.expect(begin + ending, in: text, at: &cursor)
        let tail = end + ending
        guard text.count - cursor >= tail.count, text.suffix(tail.count).elementsEqual(tail) else { throw .altered }
        let bodyEnd = text.count - tail.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity((bodyEnd - cursor) / 4 * 3)
        while cursor < bodyEnd {
            let left = bodyEnd - cursor - ending.count
            let count = min(Self.lineCount, left)
            guard count > 0 else { throw .altered }
            let isLast = left <= Self.lineCount
            try Self.decodeLine(text[cursor..<(cursor + count)], isLast: isLast, into: &bytes)
            cursor += count
            try Self.expect(ending, in: text, at: &cursor)
        }
        return bytes
    }

    private static func lineEnding(_ text: [UInt8]) throws(TresorError) -> [UInt8] {
        guard let first = text.prefix(80).firstIndex(of: 0x0a), first > 0 else { throw .altered }
        return text[first - 1] == 0x0d ? [0x0d, 0x0a] : [0x0a]
    }

    private static func expect(_ wanted: [UInt8], in text: [UInt8], at cursor: inout Int) throws(TresorError) {
        guard text.count - cursor >= wanted.count, text[cursor..<(cursor + wanted.count)].elementsEqual(wanted) else {
            throw .altered
        }
        cursor += wanted.count
    }

    private static func appendBase64(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let count = min(3, bytes.endIndex - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[index + offset]) : 0) }
            for offset in 0..<4 {
                text.append(offset <= count ? alphabet[Int(group >> UInt32(18 - 6 * offset)) & 63] : 0x3d)
            }
            index += count
        }
    }

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xff, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// Only the very last group may be padded, and its unused bits are zero.
    private static func decodeLine(
        _ line: ArraySlice<UInt8>, isLast: Bool, into bytes: inout [UInt8]
    ) throws(TresorError) {
        guard line.count.isMultiple(of: 4), isLast || line.count == lineCount else { throw .altered }
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

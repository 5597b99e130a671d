// SPDX-License-Identifier: Apache-2.0

/// Ids as text: Crockford base32 in lower case, most significant bits first (SPEC §4.3).
package enum Base32 {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    /// The minimum number of characters that name an id.
    package static let minimumPrefixCount = 6

    /// Encodes `bytes`. The missing bits of the last character are zero.
    package static func text(_ bytes: [UInt8]) -> String {
        String(decoding: BitGroups.split(bytes, width: 5).map { digits[Int($0)] }, as: UTF8.self)
    }

    /// Reads the five-bit values of typed text. Ignores case and reads `i` and `l` as `1` and `o` as `0`. Returns `nil`
    /// for any other character.
    package static func values(_ typed: String) -> [UInt8]? {
        var values: [UInt8] = []
        for character in typed.utf8 {
            guard let value = value(of: character) else { return nil }
            values.append(value)
        }
        return values
    }

    /// Reads one typed character; `nil` for one that is no digit.
    package static func value(of character: UInt8) -> UInt8? {
        let lower = (0x41...0x5a).contains(character) ? character + 0x20 : character
        let digit: UInt8 =
            switch lower {
            case UInt8(ascii: "i"), UInt8(ascii: "l"): UInt8(ascii: "1")
            case UInt8(ascii: "o"): UInt8(ascii: "0")
            default: lower
            }
        return digits.firstIndex(of: digit).map { UInt8($0) }
    }

    /// The digit of a five-bit value; its higher bits are ignored.
    package static func digit(of value: UInt8) -> UInt8 { digits[Int(value & 31)] }

    /// Decodes what ``text(_:)`` has encoded; `nil` for any other text.
    package static func bytes(_ encoded: String) -> [UInt8]? {
        guard let bytes = prefixBytes(encoded), text(bytes).utf8.elementsEqual(encoded.utf8) else { return nil }
        return bytes
    }

    /// A typed prefix of an id, to compare with many ids.
    package struct Prefix: Sendable {
        private let values: [UInt8]

        /// Reads a prefix; `nil` for fewer than six characters or an invalid character.
        package init?(_ typed: String) {
            guard typed.utf8.count >= minimumPrefixCount, let values = Base32.values(typed) else { return nil }
            self.values = values
        }

        /// Whether the text of `bytes` begins with this prefix.
        package func begins(_ bytes: [UInt8]) -> Bool {
            guard values.count <= (bytes.count * 8 + 4) / 5 else { return false }
            for (index, value) in values.enumerated() {
                let (byte, bit) = (index * 5).quotientAndRemainder(dividingBy: 8)
                let next = byte + 1 < bytes.count ? bytes[byte + 1] : 0
                let window = UInt16(bytes[byte]) << 8 | UInt16(next)
                guard UInt8(truncatingIfNeeded: window >> UInt16(11 - bit)) & 31 == value else { return false }
            }
            return true
        }

        /// Whether the prefix is the whole text of `count` bytes.
        package func isWhole(of byteCount: Int) -> Bool { values.count == (byteCount * 8 + 4) / 5 }
    }

    /// Whether a typed prefix of at least six characters names `bytes`.
    package static func namedBy(_ typed: String, _ bytes: [UInt8]) -> Bool {
        Prefix(typed)?.begins(bytes) ?? false
    }

    /// The whole bytes that the prefix determines, for a search in a store.
    package static func prefixBytes(_ typed: String) -> [UInt8]? {
        guard let values = values(typed), values.count >= minimumPrefixCount else { return nil }
        return BitGroups.join(values, width: 5).bytes
    }
}

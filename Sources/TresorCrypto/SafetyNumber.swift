// SPDX-License-Identifier: Apache-2.0

/// A safety number: 30 digits that two people compare once (SPEC §7.4), about 99.7 bits.
public struct SafetyNumber: Hashable, Sendable, CustomStringConvertible {
    /// Thirty ASCII digits.
    package let digits: String

    /// Reduces a 32-byte hash, read as a big-endian integer, modulo 10^30.
    package init(_ hash: Hash256) {
        var remainder = [UInt8](repeating: 0, count: 30)
        for byte in hash.bytes {
            var carry = UInt32(byte)
            for index in remainder.indices.reversed() {
                let value = UInt32(remainder[index]) * 256 + carry
                remainder[index] = UInt8(value % 10)
                carry = value / 10
            }
        }
        digits = String(decoding: remainder.map { $0 + 0x30 }, as: UTF8.self)
    }

    /// Reads a typed number: exactly 30 ASCII digits. Spaces are ignored.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `safetyNumber` for anything else.
    package init(typed text: String) throws(TresorError) {
        let digits = text.utf8.filter { $0 != 0x20 }
        guard digits.count == 30, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .usage(.safetyNumber) }
        self.digits = String(decoding: digits, as: UTF8.self)
    }

    /// Six groups of five digits.
    public var description: String { grouped }

    /// Six groups of five digits.
    public var grouped: String {
        let digits = Array(self.digits.utf8)
        return stride(from: 0, to: digits.count, by: 5)
            .map { String(decoding: digits[$0..<min($0 + 5, digits.count)], as: UTF8.self) }
            .joined(separator: " ")
    }
}

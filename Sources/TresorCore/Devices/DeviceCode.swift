// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The use of the key that a code yields.
package enum DeviceCodeUse: KeyUse {}

/// The code by which two machines of one person know each other: 80 random bits, typed once (SPEC §8.6).
package struct DeviceCode: ~Copyable, Sendable {
    /// The size in bytes: 10.
    package static let byteCount = 10
    /// The time in which a code is good, in seconds: ten minutes.
    package static let duration: UInt64 = 600
    /// The number of digits: 16.
    private static let digitCount = 16
    /// The number of digits between two hyphens.
    private static let groupCount = 4
    /// The most bytes that are read as a code: blanks and hyphens included.
    private static let maximumTypedByteCount = 1024

    /// The 10 bytes.
    package let bytes: SecretBytes

    /// Draws a code.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package init() throws(TresorError) { bytes = try SecretBytes(randomCount: Self.byteCount) }

    /// Takes over the bytes of a code.
    ///
    /// - Throws: ``TresorError/altered`` unless there are exactly 10.
    package init(_ bytes: consuming SecretBytes) throws(TresorError) {
        guard bytes.count == Self.byteCount else { throw .altered }
        self.bytes = bytes
    }

    /// Reads a typed code: 16 digits in either case, `i` and `l` as `1`, `o` as `0`. Blanks and hyphens do not count.
    ///
    /// - Throws: ``TresorError/notFound`` for any other text.
    package init(typed: borrowing SecretBytes) throws(TresorError) {
        let text = typed.span
        guard text.count <= Self.maximumTypedByteCount else { throw .notFound }
        bytes = try SecretBytes(count: Self.byteCount) { (output) throws(TresorError) in
            var count = 0
            for index in 0..<text.count where !Self.isGap(text[index]) {
                guard count < Self.digitCount, let value = Base32.value(of: text[index]) else { throw .notFound }
                for bit in 0..<5 where value >> UInt8(4 - bit) & 1 == 1 {
                    let place = count * 5 + bit
                    output[place / 8] |= 0x80 >> UInt8(place % 8)
                }
                count += 1
            }
            guard count == Self.digitCount else { throw .notFound }
        }
    }

    /// A character that may stand anywhere in a typed code.
    private static func isGap(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: " "), UInt8(ascii: "-"), 0x09, 0x0a, 0x0d: true
        default: false
        }
    }

    /// The code as it is shown, such as `7k3m-9qxa-c2vt-w8ne`: 19 bytes.
    package func text() throws(TresorError) -> SecretBytes {
        let code = bytes.span
        let byteCount = Self.digitCount + Self.digitCount / Self.groupCount - 1
        return try SecretBytes(count: byteCount) { (output) throws(TresorError) in
            for index in 0..<Self.digitCount {
                let (byte, bit) = (index * 5).quotientAndRemainder(dividingBy: 8)
                let next = byte + 1 < code.count ? code[byte + 1] : 0
                let window = UInt16(code[byte]) << 8 | UInt16(next)
                let group = index / Self.groupCount
                output[index + group] = Base32.digit(of: UInt8(truncatingIfNeeded: window >> UInt16(11 - bit)))
                if group > 0 { output[group * (Self.groupCount + 1) - 1] = UInt8(ascii: "-") }
            }
        }
    }

    /// The key of all that both machines say: `H("tresor/v1/device-code", code)`.
    package func key() throws(TresorError) -> DeviceKey {
        let key = try SecretBytes(count: 32)
        var hash = try BLAKE2b(outputCount: 32)
        try hash.updatePrefixed(.deviceCode)
        try hash.update(bytes.span)
        try hash.finalize(into: key)
        return DeviceKey(try SecretKey<DeviceCodeUse>(key))
    }
}

/// The key that a code yields. It tags the offer, the answer and the receipt, and names their mailbox (SPEC §8.6).
package struct DeviceKey: ~Copyable, Sendable {
    private let key: SecretKey<DeviceCodeUse>

    fileprivate init(_ key: consuming SecretKey<DeviceCodeUse>) { self.key = key }

    /// The locator of the mailbox, 32 bytes. It says nothing about the code to anybody who cannot try 2^80 of them.
    package func locator() throws(TresorError) -> Hash256 {
        let empty: [UInt8] = []
        return try key.deriveDigest(.deviceLocator, context: empty.span)
    }

    /// The tag of an offer, over the bytes before it.
    func tag(ofOffer fields: [UInt8]) throws(TresorError) -> Hash256 {
        try key.deriveDigest(.deviceTag, context: fields.span)
    }

    /// The number of an offer, which both machines show: 20 digits in four groups.
    func number(ofOffer bytes: [UInt8]) throws(TresorError) -> String {
        let digest = try key.deriveDigest(.deviceNumber, context: bytes.span).bytes
        let groups = (0..<4).map { group in
            let value = digest[(group * 8)..<(group * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let digits = String(value % 100_000)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }
        return groups.joined(separator: " ")
    }

    /// The receipt of the machine that has taken an answer to an offer, 32 bytes.
    package func receipt(of answer: [UInt8], to offer: [UInt8]) throws(TresorError) -> Hash256 {
        let context = offer + answer
        return try key.deriveDigest(.deviceReceipt, context: context.span)
    }

    /// The tag of an answer to an offer, over the offer and the bytes before the tag.
    func tag(ofAnswer fields: [UInt8], to offer: DeviceOffer) throws(TresorError) -> Hash256 {
        let context = offer.bytes + fields
        return try key.deriveDigest(.deviceAnswer, context: context.span)
    }
}

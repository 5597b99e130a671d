// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

@_spi(_Unicode) import Swift

/// A password prepared by the OpaqueString profile (RFC 8265) as SPEC §8.1 states it: blanks unified, NFC, no code
/// points that cannot be typed again.
///
/// It is prepared in guarded memory. Characters outside ASCII pass through the normalization tables of the standard
/// library one or two at a time, never as a whole.
public struct Password: ~Copyable, Sendable {
    /// The maximum size in bytes as typed: 1024.
    package static let maximumByteCount = 1024
    /// The minimum number of code points of a new password, as prepared: 8. Opening has no such rule.
    package static let shortestNew = 8

    package let bytes: SecretBytes

    /// The number of code points.
    package let count: Int

    /// Prepares a password that a program holds as text, such as that of a text field.
    ///
    /// Nobody wipes the text. Where you can read the bytes yourself, use ``init(typed:)``.
    ///
    /// - Throws: the errors of ``init(typed:)``.
    public init(_ text: String) throws(TresorError) {
        let utf8 = text.utf8
        let bytes = try SecretBytes(copying: utf8.span)
        try self.init(typed: bytes)
    }

    /// Prepares a typed password.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a password that is empty, longer than 1024 bytes, not UTF-8, or contains
    ///   a control, unassigned, private-use or ignorable code point; ``TresorError/failed(_:)`` when memory is not
    ///   available.
    public init(typed: borrowing SecretBytes) throws(TresorError) {
        guard typed.count > 0 else { throw .usage(.passwordTooShort) }
        guard typed.count <= Self.maximumByteCount else { throw .usage(.passwordTooLong) }
        var scalars = try ScalarBuffer(capacity: typed.count * ScalarBuffer.greatestExpansion)
        try scalars.decode(typed.span)
        try scalars.decompose()
        scalars.reorder()
        scalars.compose()
        try scalars.checkFreeform()
        let encoded = try scalars.encode()
        count = scalars.count
        bytes = encoded
    }

    /// Copies a password, for work on another thread.
    package init(copying other: borrowing Password) throws(TresorError) {
        count = other.count
        bytes = try SecretBytes(copying: other.bytes.span)
    }
}

/// Code points in guarded memory, and the canonical algorithms of UAX #15 over them.
private struct ScalarBuffer: ~Copyable {
    /// No code point decomposes canonically into more than four, and no UTF-8 sequence is shorter than its code point.
    static let greatestExpansion = 4

    private var memory: SecretBytes
    private(set) var count = 0

    package init(capacity: Int) throws(TresorError) {
        memory = try SecretBytes(count: capacity * 4)
    }

    private subscript(index: Int) -> Unicode.Scalar {
        get {
            let span = memory.span
            var value: UInt32 = 0
            for offset in 0..<4 { value = value << 8 | UInt32(span[index * 4 + offset]) }
            return Unicode.Scalar(value) ?? "\u{fffd}"
        }
        set {
            var span = memory.mutableSpan
            for offset in 0..<4 {
                span[index * 4 + offset] = UInt8(truncatingIfNeeded: newValue.value >> UInt32(24 - 8 * offset))
            }
        }
    }

    private mutating func append(_ scalar: Unicode.Scalar) throws(TresorError) {
        guard (count + 1) * 4 <= memory.count else { throw .usage(.passwordTooLong) }
        self[count] = scalar
        count += 1
    }

    mutating func decode(_ utf8: Span<UInt8>) throws(TresorError) {
        var index = 0
        while index < utf8.count {
            let lead = utf8[index]
            let length: Int
            var value: UInt32
            switch lead {
            case 0x00...0x7f: (length, value) = (1, UInt32(lead))
            case 0xc2...0xdf: (length, value) = (2, UInt32(lead & 0x1f))
            case 0xe0...0xef: (length, value) = (3, UInt32(lead & 0x0f))
            case 0xf0...0xf4: (length, value) = (4, UInt32(lead & 0x07))
            default: throw .usage(.passwordCharacters)
            }
            guard index + length <= utf8.count else { throw .usage(.passwordCharacters) }
            for offset in 1..<max(length, 1) where offset < length {
                let byte = utf8[index + offset]
                guard byte & 0xc0 == 0x80 else { throw .usage(.passwordCharacters) }
                value = value << 6 | UInt32(byte & 0x3f)
            }
            let least: [UInt32] = [0, 0, 0x80, 0x800, 0x10000]
            guard value >= least[length], let scalar = Unicode.Scalar(value), Self.isAssigned(scalar) else {
                throw .usage(.passwordCharacters)
            }
            try append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
            index += length
        }
    }

    /// Whether Unicode 15.0 assigns the code point. A valid password must not depend on the Unicode version of a
    /// program.
    private static func isAssigned(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.age.map { ($0.major, $0.minor) <= (15, 0) } ?? false
    }

    mutating func decompose() throws(TresorError) {
        var decomposed = try ScalarBuffer(capacity: memory.count / 4)
        for index in 0..<count {
            let scalar = self[index]
            if scalar.isASCII {
                try decomposed.append(scalar)
            } else {
                for part in String(Character(scalar))._nfd { try decomposed.append(part) }
            }
        }
        self = decomposed
    }

    mutating func reorder() {
        for end in 0..<count {
            let scalar = self[end]
            let rank = scalar.properties.canonicalCombiningClass
            guard rank != .notReordered else { continue }
            var index = end
            while index > 0, self[index - 1].properties.canonicalCombiningClass > rank {
                self[index] = self[index - 1]
                index -= 1
            }
            self[index] = scalar
        }
    }

    package mutating func compose() {
        var written = 0
        var starter: Int?
        var last: Unicode.CanonicalCombiningClass?
        for index in 0..<count {
            let scalar = self[index]
            let rank = scalar.properties.canonicalCombiningClass
            let isBlocked = last.map { $0 >= rank } ?? false
            if let starter, !isBlocked, let composed = Self.composed(self[starter], scalar) {
                self[starter] = composed
                continue
            }
            self[written] = scalar
            if rank == .notReordered {
                starter = written
                last = nil
            } else {
                last = rank
            }
            written += 1
        }
        count = written
    }

    private static func composed(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        guard !first.isASCII || !second.isASCII else { return nil }
        var pair = String(Character(first))
        pair.unicodeScalars.append(second)
        var scalars = pair._nfc.makeIterator()
        guard let composed = scalars.next(), scalars.next() == nil else { return nil }
        return composed
    }

    func checkFreeform() throws(TresorError) {
        for index in 0..<count {
            let properties = self[index].properties
            let isTypeable =
                switch properties.generalCategory {
                case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
                default: !properties.isDefaultIgnorableCodePoint && !properties.isNoncharacterCodePoint
                }
            guard isTypeable else { throw .usage(.passwordCharacters) }
        }
    }

    package func encode() throws(TresorError) -> SecretBytes {
        var total = 0
        for index in 0..<count { total += UTF8.width(self[index]) }
        var written = 0
        return try SecretBytes(count: total) { (output) throws(TresorError) in
            for index in 0..<count {
                for byte in UTF8.encode(self[index]) ?? UTF8.encodedReplacementCharacter {
                    output[written] = byte
                    written += 1
                }
            }
        }
    }
}

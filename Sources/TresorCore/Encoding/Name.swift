// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

@_spi(_Unicode) import Swift

/// A handle, a tresor name, a record name or a content type: at most 256 bytes of UTF-8 without control characters
/// (SPEC §4.4). Compared and ordered as bytes, never as text.
public struct Name: Hashable, Comparable, Sendable {
    /// The maximum size in bytes: 256.
    package static let maximumByteCount = 256
    /// The empty name.
    package static let empty = Name(unchecked: [])

    /// The UTF-8 bytes.
    package let bytes: [UInt8]

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a received name.
    ///
    /// - Throws: ``TresorError/altered`` for a name that is too long, not UTF-8, or contains a code point of the fixed
    ///   list.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        guard Self.isAcceptable(bytes) else { throw .altered }
        self.bytes = bytes
    }

    /// Reads a typed name and normalizes it to NFC.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a name that is empty, too long, begins with `-`, or contains a control
    ///   character, a code point of the fixed list, or one that no known Unicode version assigns.
    public init(typed text: String) throws(TresorError) {
        try self.init(text: text)
        guard let first = bytes.first else { throw .usage(.nameEmpty) }
        guard first != UInt8(ascii: "-") else { throw .usage(.nameCharacters) }
    }

    /// Reads a record name or content type of a writer and normalizes it to NFC. It may be empty.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a name that is too long, or contains a control character, a code point
    ///   of the fixed list, or one that no known Unicode version assigns.
    package init(text: String) throws(TresorError) {
        let plain = Array(text.utf8)
        // Printable ASCII is composed and assigned. A commit may have thousands of names.
        guard !Self.isPlain(plain) else {
            self.bytes = plain
            return
        }
        let composed = text._nfc.reduce(into: String.UnicodeScalarView()) { $0.append($1) }
        let bytes = Array(String(composed).utf8)
        guard bytes.count <= Self.maximumByteCount else { throw .usage(.nameTooLong) }
        guard Self.isAcceptable(bytes), Self.isAssigned(composed) else { throw .usage(.nameCharacters) }
        self.bytes = bytes
    }

    /// The name as text, for display. Two different names can be equal as text, so never compare it.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether the name has no bytes.
    package var isEmpty: Bool { bytes.isEmpty }

    private static let reservedPrefix = Array("tresor/".utf8)

    /// A name of this format's own, which begins with `tresor/`. `rest` is ASCII.
    package static func reserved(_ rest: StaticString) -> Name {
        Name(unchecked: reservedPrefix + rest.description.utf8)
    }

    /// Whether the name begins with `tresor/`, as only types and records of this format itself do.
    package var isReserved: Bool { bytes.starts(with: Self.reservedPrefix) }

    /// Refuses a content type of this format itself where a person gives one, or would be given its content (SPEC
    /// §10.4, §10.5).
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `nameCharacters`.
    package func checkIsOfContents() throws(TresorError) {
        guard !isReserved else { throw .usage(.nameCharacters) }
    }

    /// All bytes at once: large tables are looked up by name.
    public func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(UInt8(0))
    }

    /// Byte order.
    public static func < (left: Name, right: Name) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    /// The rule for readers, independent of any version of Unicode.
    private static func isAcceptable(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumByteCount else { return false }
        if isPlain(bytes) { return true }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { !isRefused($0.value) }
    }

    /// Whether a name is short enough and has printable ASCII alone.
    private static func isPlain(_ bytes: [UInt8]) -> Bool {
        bytes.count <= maximumByteCount && bytes.allSatisfy { (0x20...0x7e).contains($0) }
    }

    /// The additional rule for writers, by the Unicode version known here.
    private static func isAssigned(_ text: String.UnicodeScalarView) -> Bool {
        !text.contains { $0.properties.generalCategory == .unassigned }
    }

    /// The fixed list of SPEC §4.4: code points that can forge a line, reverse text or hide.
    package static func isRefused(_ codePoint: UInt32) -> Bool {
        switch codePoint {
        case 0x0000...0x001f, 0x007f...0x009f: true
        case 0x00ad, 0x061c, 0x180e, 0xfeff: true
        case 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f: true
        case 0xfff9...0xfffb, 0xe0000...0xe007f: true
        default: codePoint & 0xfffe == 0xfffe || (0xfdd0...0xfdef).contains(codePoint)
        }
    }
}

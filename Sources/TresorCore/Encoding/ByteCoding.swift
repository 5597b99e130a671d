// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An encoder of the canonical form (SPEC §4.1): big-endian integers, and vectors after a length of fixed width.
package struct ByteEncoder {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Makes an encoder that holds `capacity` bytes before it grows.
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Appends bytes unchanged.
    package mutating func raw(_ value: some Sequence<UInt8>) { bytes.append(contentsOf: value) }

    /// A big-endian integer.
    package mutating func integer(_ value: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// 32 bytes.
    package mutating func digest(_ value: Hash256) { value.append(to: &bytes) }

    /// `opaque<0..2^8-1>`. Callers enforce their own, lower limits.
    package mutating func vector8(_ value: some Collection<UInt8>) {
        integer(UInt8(truncatingIfNeeded: value.count))
        raw(value)
    }

    /// `opaque<0..2^16-1>`. Callers enforce their own, lower limits.
    package mutating func vector16(_ value: some Collection<UInt8>) {
        integer(UInt16(truncatingIfNeeded: value.count))
        raw(value)
    }

    /// `opaque<0..2^32-1>`. Callers enforce their own, lower limits.
    package mutating func vector32(_ value: some Collection<UInt8>) {
        integer(UInt32(truncatingIfNeeded: value.count))
        raw(value)
    }

    /// A count, a `u32` unless another type is given, and that many elements. Callers enforce their own, lower limits.
    package mutating func list<Element, Count: FixedWidthInteger & UnsignedInteger>(
        _ elements: some Collection<Element>, counted: Count.Type = UInt32.self,
        _ encode: (inout ByteEncoder, Element) -> Void
    ) {
        integer(Count(truncatingIfNeeded: elements.count))
        for element in elements { encode(&self, element) }
    }

    /// A byte: 1 for `true`, 0 for `false`.
    package mutating func flag(_ value: Bool) { integer(UInt8(value ? 1 : 0)) }

    /// Magic, version and suite: the first bytes of every signed or sealed object.
    package mutating func preamble(_ magic: Magic) {
        raw(magic.bytes)
        integer(Format.version)
        integer(Format.suite)
    }
}

/// A decoder of the canonical form. Every read returns a value or throws, and copies no more than the input holds.
package struct ByteDecoder {
    private let bytes: [UInt8]
    package private(set) var offset = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes left.
    package var remaining: Int { bytes.count - offset }

    /// Exactly `count` bytes.
    package mutating func raw(_ count: Int) throws(TresorError) -> [UInt8] {
        guard count >= 0, count <= remaining else { throw .altered }
        defer { offset += count }
        return Array(bytes[offset..<(offset + count)])
    }

    /// Reads over `count` bytes, and returns their places.
    @discardableResult mutating func skip(_ count: Int) throws(TresorError) -> Range<Int> {
        guard count >= 0, count <= remaining else { throw .altered }
        defer { offset += count }
        return offset..<(offset + count)
    }

    /// A big-endian integer.
    package mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(
        _ type: Value.Type = Value.self
    ) throws(TresorError) -> Value {
        let count = Value.bitWidth / 8
        guard count <= remaining else { throw .altered }
        var value: Value = 0
        for index in 0..<count { value = value << 8 | Value(bytes[offset + index]) }
        offset += count
        return value
    }

    /// 32 bytes.
    package mutating func digest() throws(TresorError) -> Hash256 {
        Hash256(try integer(), try integer(), try integer(), try integer())
    }

    /// `opaque<bounds>` after a `u8`.
    package mutating func vector8(_ bounds: ClosedRange<Int>) throws(TresorError) -> [UInt8] {
        let count = Int(try integer(UInt8.self))
        guard bounds.contains(count) else { throw .altered }
        return try raw(count)
    }

    /// `opaque<bounds>` after a `u16`.
    package mutating func vector16(_ bounds: ClosedRange<Int>) throws(TresorError) -> [UInt8] {
        let count = Int(try integer(UInt16.self))
        guard bounds.contains(count) else { throw .altered }
        return try raw(count)
    }

    /// `opaque<bounds>` after a `u32`.
    package mutating func vector32(_ bounds: ClosedRange<Int>) throws(TresorError) -> [UInt8] {
        let count = Int(try integer(UInt32.self))
        guard bounds.contains(count) else { throw .altered }
        return try raw(count)
    }

    /// A count from `least` to `most`, a `u32` unless another type is given, and that many elements. No element takes
    /// fewer than `byteCount` bytes.
    package mutating func list<Element, Count: FixedWidthInteger & UnsignedInteger>(
        of least: Int, to most: Int = .max, counted: Count.Type = UInt32.self, byteCount: Int,
        _ decode: (inout ByteDecoder) throws(TresorError) -> Element
    ) throws(TresorError) -> [Element] {
        let count = Int(try integer(Count.self))
        guard count >= least, count <= most, count <= remaining / byteCount else { throw .altered }
        var elements: [Element] = []
        // A count proves nothing: no more is reserved than the input has bytes.
        elements.reserveCapacity(min(count, remaining / max(1, MemoryLayout<Element>.stride)))
        for _ in 0..<count { elements.append(try decode(&self)) }
        return elements
    }

    /// A list of 32 bytes each: hashes and ids.
    package mutating func digests<Count: FixedWidthInteger & UnsignedInteger>(
        of least: Int = 0, to most: Int = .max, counted: Count.Type = UInt32.self
    ) throws(TresorError) -> [Hash256] {
        try list(of: least, to: most, counted: counted, byteCount: Hash256.byteCount) {
            (decoder) throws(TresorError) in try decoder.digest()
        }
    }

    /// A byte: 1 for `true`, 0 for `false`.
    package mutating func flag() throws(TresorError) -> Bool {
        switch try integer(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .altered
        }
    }

    /// `opaque8` of exactly `count` bytes, or empty.
    mutating func emptyOr(_ count: Int) throws(TresorError) -> [UInt8] {
        let bytes = try vector8(0...count)
        guard bytes.isEmpty || bytes.count == count else { throw .altered }
        return bytes
    }

    /// Refuses digests that do not rise strictly in byte order.
    ///
    /// - Throws: ``TresorError/altered``.
    static func checkRising(_ digests: [Hash256]) throws(TresorError) {
        for (lower, upper) in zip(digests, digests.dropFirst()) {
            guard lower < upper else { throw .altered }
        }
    }

    /// A time: seconds since 1970, up to the end of the year 9999.
    package mutating func time() throws(TresorError) -> UInt64 {
        let time = try integer(UInt64.self)
        guard time <= Format.latestTime else { throw .altered }
        return time
    }

    /// The magic alone. Bytes that are no tresor object are `altered`; another object or release is `unsupported`.
    package mutating func magic(_ magic: Magic) throws(TresorError) {
        let found = try raw(Magic.byteCount)
        guard found.starts(with: Magic.prefix) else { throw .altered }
        guard found == magic.bytes else { throw .unsupported }
    }

    /// The suite.
    package mutating func suite() throws(TresorError) {
        guard try integer(UInt8.self) == Format.suite else { throw .unsupported }
    }

    /// Magic, version and suite.
    package mutating func preamble(_ magic: Magic) throws(TresorError) {
        try self.magic(magic)
        let version = try integer(UInt8.self)
        guard version == Format.version else { throw .unsupported }
        try suite()
    }

    /// Refuses trailing bytes.
    package func end() throws(TresorError) {
        guard remaining == 0 else { throw .altered }
    }
}

// The tables of a home with one row for each tresor (SPEC §8.5, §9.8).

extension ByteEncoder {
    /// Rows of a tresor id and a value, by rising id.
    package mutating func rows<Value>(_ rows: [TresorID: Value], _ encode: (inout ByteEncoder, Value) -> Void) {
        for (tresor, value) in rows.sorted(by: { $0.key < $1.key }) {
            digest(tresor.digest)
            encode(&self, value)
        }
    }
}

extension ByteDecoder {
    /// All remaining bytes, as rows of a tresor id and a value.
    ///
    /// - Throws: ``TresorError/altered`` for ids that do not rise strictly; the errors of `decode`.
    package mutating func rows<Value>(
        _ decode: (inout ByteDecoder) throws(TresorError) -> Value
    ) throws(TresorError) -> [TresorID: Value] {
        var rows: [TresorID: Value] = [:]
        var last: TresorID?
        while remaining > 0 {
            let tresor = TresorID(try digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            rows[tresor] = try decode(&self)
        }
        return rows
    }
}

/// The first 8 bytes of a stand-alone object, which name its type and version (SPEC §4.1).
package enum Magic: String, CaseIterable, Sendable {
    case card = "tresorC1"
    case identity = "tresorI1"
    case entry = "tresorE1"
    case wrap = "tresorW1"
    case file = "tresorF1"
    case pins = "tresorP2"
    case heads = "tresorH2"
    case log = "tresorL1"
    case evidence = "tresorV1"
    case approvalEvidence = "tresorB1"
    case device = "tresorD1"
    case cleanupJournal = "tresorO1"
    case deviceMailbox = "tresorb1"
    case deviceOffer = "tresord1"
    case deviceAnswer = "tresorw1"
    case deviceBundle = "tresori1"
    case keptWraps = "tresorK1"
    case marks = "tresorY1"
    case state = "tresorS2"
    case export = "tresorx1"
    case notedStores = "tresorn1"
    case knownServices = "tresora1"
    case records = "tresorR1"
    case outbox = "tresorG1"
    case server = "tresorN1"
    case session = "tresorT1"
    case loginStatement = "tresorQ1"
    case knownLogins = "tresorU1"
    case refusal = "tresorX1"
    case serverKey = "tresorZ1"

    package static let byteCount = 8
    package static let prefix = Array("tresor".utf8)
    package var bytes: [UInt8] { Array(rawValue.utf8) }
}

/// Fixed numbers of the format.
package enum Format {
    /// The version of every object.
    package static let version: UInt8 = 1
    /// Suite 1, the only one.
    package static let suite: UInt8 = 1
    /// 9999-12-31T23:59:59Z in seconds since 1970.
    package static let latestTime: UInt64 = 253_402_300_799
}

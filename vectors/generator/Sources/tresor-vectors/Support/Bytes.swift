// SPDX-License-Identifier: Apache-2.0

typealias Bytes = [UInt8]

func u8(_ value: UInt8) -> Bytes { [value] }
func u16(_ value: Int) -> Bytes { bigEndianBytes(UInt16(truncatingIfNeeded: value)) }
func u32(_ value: Int) -> Bytes { bigEndianBytes(UInt32(truncatingIfNeeded: value)) }
func u64(_ value: UInt64) -> Bytes { bigEndianBytes(value) }

/// The bytes of an integer, the highest one first.
func bigEndianBytes(_ value: some FixedWidthInteger) -> Bytes { withUnsafeBytes(of: value.bigEndian) { Bytes($0) } }

/// `LP(x)` of SPEC §2.
func prefixed(_ bytes: Bytes) -> Bytes { u32(bytes.count) + bytes }

func ascii(_ text: String) -> Bytes { Bytes(text.utf8) }

func zeros(_ count: Int) -> Bytes { Bytes(repeating: 0, count: count) }

/// Magic, version 1, suite 1.
func preamble(_ magic: String) -> Bytes { ascii(magic) + [1, 1] }

extension Bytes {
    /// Flips one bit of one byte.
    func flipped(at index: Int, bit: UInt8 = 1) -> Bytes {
        replacing(at: index, with: [self[index] ^ bit])
    }

    /// Replaces the bytes from `index` on.
    func replacing(at index: Int, with other: Bytes) -> Bytes {
        join(Bytes(self[..<index]), other, Bytes(self[(index + other.count)...]))
    }

    func at(_ offset: Int, _ count: Int) -> Bytes { Bytes(self[offset..<(offset + count)]) }
}

/// The random values of the vectors. Each has a name, so a new value changes no other.
struct Draw: Sendable {
    let file: String
    let id: Int

    func callAsFunction(_ name: String, _ count: Int) -> Bytes {
        var drawn: Bytes = []
        var index = 0
        while drawn.count < count {
            drawn += blake2b(
                64,
                join(
                    prefixed(ascii("tresor vectors v1")), prefixed(ascii(file)), u32(id), prefixed(ascii(name)),
                    u32(index)))
            index += 1
        }
        return Bytes(drawn.prefix(count))
    }
}

/// Concatenates the parts.
func join(_ parts: Bytes...) -> Bytes { join(parts) }

func join(_ parts: [Bytes]) -> Bytes { parts.reduce(into: []) { $0 += $1 } }

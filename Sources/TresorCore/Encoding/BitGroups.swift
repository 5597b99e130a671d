// SPDX-License-Identifier: Apache-2.0

/// Bytes as groups of fewer than 8 bits, the most significant bits first: the digits of base32 and base64url.
enum BitGroups {
    /// Splits bytes into groups of `width` bits. The missing bits of the last group are zero.
    static func split(_ bytes: [UInt8], width: Int) -> [UInt8] {
        var groups: [UInt8] = []
        groups.reserveCapacity((bytes.count * 8 + width - 1) / width)
        var buffer: UInt16 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt16(byte)
            bits += 8
            while bits >= width {
                bits -= width
                groups.append(UInt8(truncatingIfNeeded: buffer >> bits) & (1 << width - 1))
            }
        }
        if bits > 0 { groups.append(UInt8(truncatingIfNeeded: buffer << (width - bits)) & (1 << width - 1)) }
        return groups
    }

    /// Joins groups of `width` bits into the bytes that they fill.
    ///
    /// - Returns: the bytes, and whether the groups are those that ``split(_:width:)`` makes of them: fewer bits are left
    ///   than a group has, and all of them are zero.
    static func join(_ groups: some Collection<UInt8>, width: Int) -> (bytes: [UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(groups.count * width / 8)
        var buffer: UInt16 = 0
        var bits = 0
        for group in groups {
            buffer = buffer << width | UInt16(group)
            bits += width
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
        }
        return (bytes, bits < width && buffer & (1 << bits - 1) == 0)
    }
}

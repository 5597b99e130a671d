// SPDX-License-Identifier: Apache-2.0

/// The padded size of a payload, chosen so that it reveals little (SPEC §10.3).
package enum Padding {
    /// The smallest payload in bytes.
    static let minimumByteCount = 512

    /// Padmé of `count`, at least 512: with E = ⌊log2 L⌋ and S = ⌊log2 E⌋ + 1, `L` rounded up to a multiple of 2^(E−S).
    ///
    /// - Parameter count: at most 2^41.
    package static func paddedByteCount(_ count: Int) -> Int {
        let length = max(count, minimumByteCount)
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let significant = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << (exponent - significant)) - 1
        return (length + mask) & ~mask
    }
}

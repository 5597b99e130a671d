// SPDX-License-Identifier: Apache-2.0

/// The integers modulo 2^130 − 5, in which Poly1305 computes: five limbs of 26 bits. For public test values only.
struct Field1305: Equatable {
    private var limbs: [UInt64]

    static let one = Field1305(low: 1, high: 0)
    /// 2^128: the bit that Poly1305 sets above every full block.
    static let blockBit = Field1305(low: 0, high: 0, top: 1)

    /// `low + high · 2^64 + top · 2^128`.
    init(low: UInt64, high: UInt64, top: UInt64 = 0) {
        let mask: UInt64 = (1 << 26) - 1
        limbs = [
            low & mask, (low >> 26) & mask, (low >> 52 | high << 12) & mask, (high >> 14) & mask,
            high >> 40 | top << 24,
        ]
        reduce()
    }

    /// Sixteen bytes, least significant first.
    init(_ bytes: some Collection<UInt8>) {
        let words = bytes.reversed().reduce((low: UInt64(0), high: UInt64(0))) { words, byte in
            (words.low << 8 | UInt64(byte), words.high << 8 | words.low >> 56)
        }
        self.init(low: words.low, high: words.high)
    }

    /// The sixteen bytes of a value below 2^128; `nil` for a greater one.
    var block: [UInt8]? {
        guard limbs[4] < 1 << 24 else { return nil }
        let low = limbs[0] | limbs[1] << 26 | limbs[2] << 52
        let high = limbs[2] >> 12 | limbs[3] << 14 | limbs[4] << 40
        return (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> UInt64(8 * ($0 % 8))) }
    }

    private mutating func reduce() {
        let mask: UInt64 = (1 << 26) - 1
        for _ in 0..<3 {
            var carry: UInt64 = 0
            for index in 0..<5 {
                let value = limbs[index] + carry
                limbs[index] = value & mask
                carry = value >> 26
            }
            limbs[0] += carry * 5
        }
        let isAboveModulus = limbs[0] >= mask - 4 && limbs[1...].allSatisfy { $0 == mask }
        if isAboveModulus { limbs = [limbs[0] - (mask - 4), 0, 0, 0, 0] }
    }

    static func + (left: Field1305, right: Field1305) -> Field1305 {
        var sum = left
        for index in 0..<5 { sum.limbs[index] += right.limbs[index] }
        sum.reduce()
        return sum
    }

    static func - (left: Field1305, right: Field1305) -> Field1305 {
        let mask: UInt64 = (1 << 26) - 1
        let twiceModulus = [2 * (mask - 4)] + [UInt64](repeating: 2 * mask, count: 4)
        var difference = left
        for index in 0..<5 { difference.limbs[index] += twiceModulus[index] - right.limbs[index] }
        difference.reduce()
        return difference
    }

    static func * (left: Field1305, right: Field1305) -> Field1305 {
        var product = left
        for index in 0..<5 {
            product.limbs[index] = (0..<5).reduce(0) { sum, other in
                let partner = (index - other + 5) % 5
                let factor: UInt64 = other <= index ? 1 : 5
                return sum + factor * left.limbs[other] * right.limbs[partner]
            }
        }
        product.reduce()
        return product
    }

    /// By Fermat: the power 2^130 − 7, whose bits are all set but the second and the third.
    var inverse: Field1305 {
        (0..<130).reversed().reduce(Field1305.one) { power, bit in
            let square = power * power
            return bit == 1 || bit == 2 ? square : square * self
        }
    }
}

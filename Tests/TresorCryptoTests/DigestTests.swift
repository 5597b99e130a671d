// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct DigestTests {
    @Test func keepsItsBytes() throws {
        let bytes = pattern(32)
        #expect(try #require(Hash256(bytes)).bytes == bytes)
        #expect(Hash256.zero.bytes == [UInt8](repeating: 0, count: 32))
    }

    @Test(arguments: [0, 1, 31, 33, 64])
    func refusesAnotherSize(count: Int) {
        #expect(Hash256([UInt8](repeating: 0, count: count)) == nil)
    }

    @Test func everyBitCounts() throws {
        let bytes = pattern(32)
        let digest = try #require(Hash256(bytes))
        #expect(constantTimeEqual(digest, try #require(Hash256(bytes))))
        for bit in 0..<256 {
            var other = bytes
            other[bit / 8] ^= 0x80 >> UInt8(bit % 8)
            let changed = try #require(Hash256(other))
            #expect(!constantTimeEqual(digest, changed))
            #expect(digest != changed)
            #expect((changed < digest) == other.lexicographicallyPrecedes(bytes))
        }
    }

    @Test func hexadecimalGoesBothWays() {
        let bytes = [UInt8](0...255)
        #expect(Hex.bytes(Hex.text(bytes)) == bytes)
        #expect(Hex.bytes("") == [])
        for text in ["0", "0g", "AA", "aA", " 0", "0x00", "٠٠", "a\u{301}0"] { #expect(Hex.bytes(text) == nil) }
    }
}

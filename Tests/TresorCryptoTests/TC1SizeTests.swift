// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct TC1SizeTests {
    @Test(arguments: [
        (0, 72), (1, 73), (65535, 65607), (65536, 65608), (65537, 65625), (131_072, 131_160), (131_073, 131_177),
        (1 << 40, 56 + (1 << 40) + (1 << 24) * 16),
    ])
    func sizesOfThePublicTable(opened: Int, sealed: Int) {
        #expect(TC1.sealedByteCount(opened) == sealed)
        #expect(TC1.openedByteCount(sealed) == opened)
    }

    @Test func openedIsTheInverseOfSealed() {
        let boundaries = [0, 1, 2, 3, 1000, 1 << 20, 1 << 24].flatMap { chunks in
            (-20...20).map { chunks * TC1.chunkByteCount + $0 }
        }
        for count in boundaries where (0...TC1.maximumByteCount).contains(count) {
            #expect(TC1.openedByteCount(TC1.sealedByteCount(count)) == count)
        }
    }

    /// Every sealed size either has exactly one opened size, which seals to it, or has none.
    @Test func everySealedSizeHasOneMeaning() {
        let whole = TC1.chunkByteCount + 16
        let sizes = Array(-100...200) + (1...3).flatMap { chunk in (-100...100).map { 56 + chunk * whole + $0 } }
        for size in sizes {
            guard let opened = TC1.openedByteCount(size) else { continue }
            #expect(opened >= 0)
            #expect(TC1.sealedByteCount(opened) == size)
        }
        let orphans = sizes.filter { TC1.openedByteCount($0) == nil }
        let expected = sizes.filter { size in
            size < 72 || (1...3).contains { (1...16).contains(size - 56 - $0 * whole) }
        }
        #expect(orphans == expected)
    }

    @Test(arguments: [
        Int.min, Int.min + 55, Int.min + 56, -1, 0, 71, 56 + (1 << 40) + (1 << 28) + 1, Int.max - 1, Int.max,
    ])
    func A19_hugeAndNegativeSealedSizes(count: Int) {
        #expect(TC1.openedByteCount(count) == nil)
    }

    @Test func A19_hugeAndNegativePlaintextSizes() {
        for count in [Int.min, -65536, -1] { #expect(TC1.sealedByteCount(count) == TC1.sealedByteCount(0)) }
        for count in [(1 << 40) + 1, Int.max - 65536, Int.max] {
            #expect(TC1.sealedByteCount(count) == TC1.sealedByteCount(1 << 40))
        }
    }

    @Test(arguments: 0..<72)
    func A19_shortInputs(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let error = openingError([UInt8](repeating: 0, count: count), with: key)
        #expect(error == .altered)
    }
}

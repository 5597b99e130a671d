// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCore
@testable import TresorCrypto

/// The hashes of a log, in pages.
@Suite struct EntryHashesTests {
    private func hashes(_ count: Int) throws -> [Hash256] {
        try (0..<count).map { number in
            try #require(Hash256((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }))
        }
    }

    @Test(arguments: [0, 1, 1023, 1024, 1025, 2048, 5000])
    func theyAreThoseOfAnArray(count: Int) throws {
        let array = try hashes(count)
        var pages = EntryHashes(array)
        #expect(pages.count == count && pages.elementsEqual(array) && pages.last == array.last)
        #expect(pages.dropFirst(count / 2).elementsEqual(array.dropFirst(count / 2)))
        for index in array.indices where pages[index] != array[index] { Issue.record("\(index)") }
        pages.append(.zero)
        #expect(pages.elementsEqual(array + [.zero]))
        guard count > 0 else { return }
        pages[count - 1] = .zero
        #expect(pages.elementsEqual(array.dropLast() + [.zero, .zero]))
    }

    /// A service keeps the state before an entry, and makes the one after it.
    @Test func aCopyThatGrowsMovesTheLastPageAlone() throws {
        let before = EntryHashes(try hashes(5000))
        var after = before
        after.append(.zero)
        func places(_ hashes: EntryHashes) -> [UInt] {
            hashes.pages.map { $0.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
        }
        #expect(places(before).count == 5 && places(before).dropLast() == places(after).dropLast())
        #expect(places(before).last != places(after).last)
        #expect(before.count == 5000 && before.last != .zero && after.count == 5001)
    }
}

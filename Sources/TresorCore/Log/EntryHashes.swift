// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The hashes of the entries of a log, by sequence number.
///
/// They lie in pages of 1024. A copy shares all pages with its original. When one of the two grows, it copies the last
/// page alone, so that the next state of a long log costs as little as that of a short one.
package struct EntryHashes: Hashable, Sendable {
    private static let pageCount = 1024

    /// All but the last are full; the last is not empty.
    private(set) var pages: [[Hash256]] = []

    /// Takes hashes in order.
    package init(_ hashes: some Sequence<Hash256>) {
        for hash in hashes { append(hash) }
    }

    /// Adds the hash of the next entry.
    package mutating func append(_ hash: Hash256) {
        // No name for the last page: a second reference would make the change copy it.
        guard (pages.last?.count ?? Self.pageCount) < Self.pageCount else { return pages.append([hash]) }
        pages[pages.count - 1].append(hash)
    }
}

extension EntryHashes: RandomAccessCollection, MutableCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int {
        guard let last = pages.last else { return 0 }
        return (pages.count - 1) * Self.pageCount + last.count
    }

    package subscript(sequence: Int) -> Hash256 {
        get { pages[sequence / Self.pageCount][sequence % Self.pageCount] }
        set { pages[sequence / Self.pageCount][sequence % Self.pageCount] = newValue }
    }
}

extension EntryHashes: ExpressibleByArrayLiteral {
    package init(arrayLiteral hashes: Hash256...) { self.init(hashes) }
}

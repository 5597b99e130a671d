// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An item of a pack without its content: what tells it from every other (SPEC §19.5).
package struct PackItem: Hashable, Sendable {
    /// The name of the record.
    let record: Name
    /// The revisions that the item replaces.
    private let replaces: [UInt64]
    /// The hash of the encoded item.
    private let digest: Hash256

    /// - Throws: ``TresorError/failed(_:)``.
    init(_ item: Item) throws(TresorError) {
        var hash = try BLAKE2b(outputCount: Hash256.byteCount)
        let bytes = item.bytes
        try hash.update(bytes.span)
        guard let digest = Hash256(try hash.finalize()) else { throw .failed(.library) }
        (record, replaces, self.digest) = (item.record, item.replaces, digest)
    }

    /// Takes the items of a pack.
    ///
    /// - Throws: ``TresorError/failed(_:)``.
    package static func all(_ items: [Item]) throws(TresorError) -> [PackItem] {
        var all: [PackItem] = []
        for item in items { all.append(try PackItem(item)) }
        return all
    }

    /// An item that replaces the same, whatever its content.
    var version: Item { Item(record: record, replaces: replaces, time: 0, content: .deleted) }
}

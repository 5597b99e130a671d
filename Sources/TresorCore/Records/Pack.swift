// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The changes of one commit (SPEC §19.1): items of different records, by rising name. It happens wholly or not at all.
package struct Pack: Hashable, Sendable {
    /// The maximum size in bytes: 1 MiB.
    package static let maximumByteCount = 1 << 20

    /// The items, by rising record name; at least one.
    package let items: [Item]

    /// Makes a pack of the changes that a person wants.
    ///
    /// - Parameter takesReserved: whether record names may begin with `tresor/`, as those of own tresors do.
    /// - Throws: ``TresorError/usage(_:)`` for no items, a record twice, an empty record name, a reserved one,
    ///   a content or a list of revisions over its limit, and items of more than 1 MiB together.
    package init(of items: [Item], takesReserved: Bool = false) throws(TresorError) {
        guard !items.isEmpty else { throw .usage(.outOfBounds) }
        for item in items {
            guard !item.record.isEmpty else { throw .usage(.nameEmpty) }
            guard takesReserved || !item.record.isReserved else { throw .usage(.nameCharacters) }
            guard item.replaces.count <= Item.maximumReplacedCount,
                zip(item.replaces, item.replaces.dropFirst()).allSatisfy({ $0 < $1 })
            else { throw .usage(.outOfBounds) }
            guard item.time <= Format.latestTime else { throw .usage(.time) }
            if case .bytes(let bytes, _) = item.content, bytes.count > Item.maximumContentByteCount {
                throw .usage(.contentTooLong)
            }
        }
        self.items = items.sorted { $0.record < $1.record }
        guard zip(self.items, self.items.dropFirst()).allSatisfy({ $0.record < $1.record }) else {
            throw .usage(.namedTwice)
        }
        guard items.count <= Int(UInt16.max), bytes.count <= Self.maximumByteCount else {
            throw .usage(.contentTooLong)
        }
    }

    /// Reads a pack.
    ///
    /// - Parameters:
    ///   - head: the sequence number of the head that its author knew.
    ///   - blobCount: the number of blobs of the commit.
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for parts of a later release.
    package init(_ bytes: [UInt8], head: UInt64, blobCount: Int) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(bytes)
        guard try decoder.integer(UInt8.self) == 0 else { throw .unsupported }
        items = try decoder.list(of: 1, counted: UInt16.self, byteCount: Item.leastByteCount) {
            (decoder) throws(TresorError) in
            try Item(from: &decoder, replacingUpTo: head, blobCount: blobCount)
        }
        guard zip(items, items.dropFirst()).allSatisfy({ $0.record < $1.record }) else { throw .altered }
        try decoder.end()
    }

    /// The encoded pack.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.integer(UInt8(0))
        encoder.list(items, counted: UInt16.self) { $1.encode(into: &$0) }
        return encoder.bytes
    }

    /// Seals changes for the members of a tresor, as the content of a file of type `tresor/pack` (SPEC §19.4).
    ///
    /// - Parameters:
    ///   - items: the changes, of different records.
    ///   - keys: those of the current epoch.
    ///   - state: the state before the commit.
    ///   - author: the author of the commit.
    ///   - time: now, in seconds since 1970.
    ///   - takesReserved: whether record names may begin with `tresor/`.
    /// - Throws: the errors of ``init(of:takesReserved:)``, also for the replacement of a revision above the head.
    package static func sealPack(
        _ items: [Item], with keys: EpochKeys, at state: LogState, by author: Identity, time: UInt64,
        takesReserved: Bool = false
    ) throws(TresorError) -> SealedFile {
        guard items.allSatisfy({ $0.replaces.last ?? 0 <= state.head.sequence }) else { throw .usage(.outOfBounds) }
        return try FileSealer.sealFile(
            Pack(of: items, takesReserved: takesReserved).bytes, type: .pack, record: .empty, keys: keys, state: state,
            author: author, time: time)
    }
}

extension Name {
    /// The content type of a pack: `tresor/pack`.
    package static let pack = reserved("pack")
    /// The content type of a volume: `tresor/volume`.
    package static let volume = reserved("volume")
    /// The name and the kind of an own tresor (SPEC §19.8): `tresor/own`.
    package static let own = reserved("own")
}

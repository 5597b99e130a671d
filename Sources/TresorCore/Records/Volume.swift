// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An item that a checkpoint keeps, and the commit that it is from (SPEC §19.5).
package struct KeptItem: Hashable, Sendable {
    /// The sequence number of the commit.
    package let sequence: UInt64
    /// The item, as the pack of that commit had it.
    package let item: Item

    /// Takes an item of a pack.
    package init(sequence: UInt64, item: Item) {
        self.sequence = sequence
        self.item = item
    }

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        sequence = try decoder.integer()
        guard sequence > 0 else { throw .altered }
        item = try Item(from: &decoder, replacingUpTo: sequence - 1, blobCount: nil)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(sequence)
        item.encode(into: &encoder)
    }

    /// The size of the encoding in bytes.
    package var byteCount: Int { Self.byteCount(ofItem: item.byteCount) }

    /// The size of the encoding with an item of a size, both in bytes.
    package static func byteCount(ofItem byteCount: Int) -> Int { 8 + byteCount }

    /// Whether this stands before another in the volumes of a checkpoint.
    func precedes(_ other: KeptItem) -> Bool { (sequence, item.record) < (other.sequence, other.item.record) }
}

/// A part of what a checkpoint keeps, sealed for members with full history (SPEC §19.5).
package struct Volume: Hashable, Sendable {
    /// The maximum size in bytes: 1 MiB.
    package static let maximumByteCount = 1 << 20
    /// The size of a volume that keeps nothing in bytes.
    package static let leastByteCount = 4

    /// The kept items, by rising sequence and record name.
    package let kept: [KeptItem]

    /// Takes items in their order.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for another order, and for more than 1 MiB.
    package init(of kept: [KeptItem]) throws(TresorError) {
        self.kept = kept
        guard Self.areRising(kept) else { throw .usage(.outOfOrder) }
        guard bytes.count <= Self.maximumByteCount else { throw .usage(.contentTooLong) }
    }

    /// Reads the content of a volume.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for parts of a later release.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(bytes)
        kept = try decoder.list(of: 0, byteCount: 8 + Item.leastByteCount) { (decoder) throws(TresorError) in
            try KeptItem(from: &decoder)
        }
        guard Self.areRising(kept) else { throw .altered }
        try decoder.end()
    }

    /// Whether items stand in the order of the volumes of a checkpoint.
    static func areRising(_ kept: [KeptItem]) -> Bool {
        zip(kept, kept.dropFirst()).allSatisfy { $0.precedes($1) }
    }

    /// The encoded content.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.list(kept) { $1.encode(into: &$0) }
        return encoder.bytes
    }

    /// Seals the volume under the history key of the current epoch.
    ///
    /// - Parameters:
    ///   - keys: those of the current epoch.
    ///   - state: the state before the checkpoint.
    ///   - author: the author of the checkpoint.
    ///   - time: now, in seconds since 1970.
    /// - Throws: ``TresorError/noAccess`` without the history key.
    package func seal(
        with keys: EpochKeys, at state: LogState, by author: Identity, time: UInt64
    ) throws(TresorError) -> SealedFile {
        let fields = FileFields(
            type: .volume, record: .empty, origin: nil, epoch: keys.epoch, state: state, author: author, time: time)
        let key = try keys.volumeKey(of: state.tresor)
        return try FileSealer.sealFile(bytes, fields, with: key, label: .volumeSeal, author: author)
    }

    /// Opens a volume of a checkpoint (SPEC §19.5).
    ///
    /// - Parameters:
    ///   - bytes: what the store has as the volume; `nil` for nothing.
    ///   - index: the place of the volume in the checkpoint.
    ///   - entry: the checkpoint, an entry of this log that is not void.
    ///   - state: the newest verified state.
    ///   - keys: those of the checkpoint's epoch, checked against the log.
    /// - Throws: ``TresorError/noAccess`` without the history key; ``TresorError/store(_:)`` for no bytes;
    ///   ``TresorError/altered`` for other bytes and for a volume that breaks a rule; ``TresorError/unsupported``.
    package static func openVolume(
        _ bytes: [UInt8]?, at index: Int, of entry: Entry, in state: LogState, with keys: EpochKeys
    ) throws(TresorError) -> Volume {
        guard case .checkpoint(let checkpoint) = try entry.body, checkpoint.volumes.indices.contains(index) else {
            throw .altered
        }
        let object = NamedObject(
            entry: entry, blob: checkpoint.volumes[index], epoch: checkpoint.epoch, type: .volume)
        let key = try keys.volumeKey(of: state.tresor)
        let named = try object.named(bytes)
        do throws(TresorError) {
            let volume = try Volume(try object.open(named, with: key, label: .volumeSeal, in: state).content)
            guard volume.kept.last?.sequence ?? 0 <= checkpoint.upto else { throw .altered }
            return volume
        } catch {
            throw error == .noAccess || error == .forked ? .altered : error
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The bytes of a table from which nothing is missing, as the index of a home has them (SPEC §8.5). No other program reads
/// them.
extension RecordTable {
    /// Encodes the versions that no later one replaces, and the void commits.
    package func encode(into encoder: inout ByteEncoder) {
        encoder.list(void) { $0.integer($1) }
        encoder.list(all.sorted { $0.key < $1.key }) { encoder, row in
            encoder.vector16(row.key.bytes)
            encoder.list(row.value.heads) { $1.encode(into: &$0) }
        }
    }

    /// Reads a table, which are the last bytes.
    ///
    /// - Parameter last: the entry up to which it stands for all commits.
    /// - Throws: ``TresorError/altered``.
    package init(from decoder: inout ByteDecoder, upto last: UInt64) throws(TresorError) {
        let void = try decoder.list(of: 0, byteCount: 8) { (decoder) throws(TresorError) in
            try decoder.integer(UInt64.self)
        }
        let count = Int(try decoder.integer(UInt32.self))
        let rows = try IndexedRows(try decoder.raw(decoder.remaining), count: count, upto: last)
        self.init(rows, void: void, upto: last)
    }
}

extension RecordTable.Versions {
    /// Reads one row.
    ///
    /// - Parameter type: a content type that is probably the same.
    static func row(
        from decoder: inout ByteDecoder, sharing type: Name = .empty
    ) throws(TresorError) -> (record: Name, versions: RecordTable.Versions) {
        let record = try Name(try decoder.vector16(1...Name.maximumByteCount))
        let heads = try decoder.list(of: 0, byteCount: RecordTable.Head.leastByteCount) {
            (decoder) throws(TresorError) in try RecordTable.Head(from: &decoder, sharing: type)
        }
        return (record, RecordTable.Versions(heads: heads))
    }
}

extension RecordTable.Head {
    /// The size of the smallest head in bytes.
    static let leastByteCount = 8 + 8 + 4 + 1

    fileprivate func encode(into encoder: inout ByteEncoder) {
        encoder.integer(revision)
        encoder.integer(time)
        encoder.integer(UInt32(itemByteCount))
        encoder.integer(UInt8(isDeletion ? 0 : attachment == nil ? 1 : 2))
        guard !isDeletion else { return }
        encoder.vector16(type.bytes)
        if let attachment { return encoder.integer(attachment) }
        encoder.integer(UInt32(byteCount ?? 0))
        encoder.flag(content != nil)
        if let content { encoder.digest(content) }
    }

    /// - Parameter known: a type that is probably the same.
    fileprivate init(from decoder: inout ByteDecoder, sharing known: Name) throws(TresorError) {
        revision = try decoder.integer()
        time = try decoder.time()
        itemByteCount = Int(try decoder.integer(UInt32.self))
        // Nothing in an index is by a volume.
        isVouched = false
        let kind = try decoder.integer(UInt8.self)
        guard kind <= 2 else { throw .altered }
        isDeletion = kind == 0
        let read = kind == 0 ? Name.empty : try Name(try decoder.vector16(0...Name.maximumByteCount))
        type = read == known ? known : read
        byteCount = kind == 1 ? Int(try decoder.integer(UInt32.self)) : nil
        let hasContent = kind == 1 ? try decoder.flag() : false
        content = hasContent ? try decoder.digest() : nil
        attachment = kind == 2 ? try decoder.integer(UInt16.self) : nil
    }
}

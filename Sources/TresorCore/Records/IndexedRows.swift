// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// The rows of an index of records, by rising name. All of them are checked, and none is read before somebody asks for it.
struct IndexedRows: Sendable {
    private let bytes: [UInt8]
    /// Where each row begins.
    private let starts: [Int]

    /// - Parameters:
    ///   - bytes: the rows, and nothing else.
    ///   - last: the entry up to which they stand for all commits.
    /// - Throws: ``TresorError/altered``.
    init(_ bytes: [UInt8], count: Int, upto last: UInt64) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        var starts: [Int] = []
        starts.reserveCapacity(min(count, bytes.count / RecordTable.Head.leastByteCount))
        var name = 0..<0
        for _ in 0..<count {
            starts.append(decoder.offset)
            let next = try Self.skipName(&decoder, in: bytes)
            guard bytes[name].lexicographicallyPrecedes(bytes[next]) else { throw .altered }
            name = next
            let headCount = try decoder.integer(UInt32.self)
            guard headCount > 0 else { throw .altered }
            var newest: UInt64?
            for _ in 0..<headCount {
                let revision = try Self.skipHead(&decoder, in: bytes, upto: last)
                guard newest.map({ $0 < revision }) ?? true else { throw .altered }
                newest = revision
            }
        }
        try decoder.end()
        (self.bytes, self.starts) = (bytes, starts)
    }

    /// Checks a name, and reads over it.
    private static func skipName(
        _ decoder: inout ByteDecoder, in bytes: [UInt8]
    ) throws(TresorError) -> Range<Int> {
        let name = try decoder.skip(Int(try decoder.integer(UInt16.self)))
        guard name.count <= Name.maximumByteCount else { throw .altered }
        // Few names have anything else.
        if !bytes[name].allSatisfy({ (0x20...0x7e).contains($0) }) { _ = try Name(Array(bytes[name])) }
        return name
    }

    /// Does what the decoder of a head does, and makes none.
    ///
    /// - Returns: the revision.
    private static func skipHead(
        _ decoder: inout ByteDecoder, in bytes: [UInt8], upto last: UInt64
    ) throws(TresorError) -> UInt64 {
        let revision = try decoder.integer(UInt64.self)
        guard revision <= last else { throw .altered }
        _ = try decoder.time()
        _ = try decoder.integer(UInt32.self)
        let kind = try decoder.integer(UInt8.self)
        guard kind <= 2 else { throw .altered }
        if kind > 0 { _ = try skipName(&decoder, in: bytes) }
        if kind == 2 { _ = try decoder.integer(UInt16.self) }
        guard kind == 1 else { return revision }
        _ = try decoder.integer(UInt32.self)
        if try decoder.flag() { _ = try decoder.digest() }
        return revision
    }

    /// The versions of a record; `nil` for none.
    func versions(of record: Name) -> RecordTable.Versions? {
        let place = starts.partitioningIndex { !bytes[name(at: $0)].lexicographicallyPrecedes(record.bytes) }
        guard starts.indices.contains(place), bytes[name(at: starts[place])].elementsEqual(record.bytes) else {
            return nil
        }
        var decoder = ByteDecoder(bytes)
        guard (try? decoder.skip(starts[place])) != nil else { return nil }
        return (try? RecordTable.Versions.row(from: &decoder))?.versions
    }

    private func name(at start: Int) -> Range<Int> {
        let count = Int(bytes[start]) << 8 | Int(bytes[start + 1])
        return (start + 2)..<(start + 2 + count)
    }

    /// All versions, by record.
    var all: [Name: RecordTable.Versions] {
        var decoder = ByteDecoder(bytes)
        var all: [Name: RecordTable.Versions] = [:]
        all.reserveCapacity(starts.count)
        // Many records have one type, which is held once.
        var type = Name.empty
        for _ in starts {
            guard let row = try? RecordTable.Versions.row(from: &decoder, sharing: type) else { break }
            type = row.versions.heads.last?.type ?? type
            all[row.record] = row.versions
        }
        return all
    }
}

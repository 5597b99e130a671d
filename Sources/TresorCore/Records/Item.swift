// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// One revision of a record (SPEC §19.1).
package struct Item: Hashable, Sendable {
    /// The maximum number of revisions that an item replaces: 16.
    package static let maximumReplacedCount = 16
    /// The maximum size of a content in a pack in bytes: 65 536.
    package static let maximumContentByteCount = 65_536
    /// The size of the smallest item in bytes.
    package static let leastByteCount = 2 + 1 + 1 + 8 + 1

    /// The content of a record.
    package enum Content: Hashable, Sendable {
        /// There is no such record.
        case deleted
        /// These bytes, of this content type.
        case bytes([UInt8], type: Name)
        /// The content of a sealed file of this content type: the blob at a place of the commit, from 1.
        case attachment(blob: UInt16, type: Name)

        /// Whether it is an attachment.
        package var isAttachment: Bool { if case .attachment = self { true } else { false } }
    }

    /// The name of the record; not empty.
    package let record: Name
    /// The revisions that the author saw and that this one replaces, rising.
    package let replaces: [UInt64]
    /// The time of the change by the author's account, in seconds since 1970.
    package let time: UInt64
    /// The content of the record from then on.
    package let content: Content

    /// Takes the fields. ``Pack`` checks them.
    package init(record: Name, replaces: [UInt64], time: UInt64, content: Content) {
        self.record = record
        self.replaces = replaces
        self.time = time
        self.content = content
    }

    /// Whether the item deletes its record.
    package var isDeletion: Bool { content == .deleted }

    /// - Parameters:
    ///   - limit: the greatest revision that can be replaced.
    ///   - blobCount: the number of blobs of the commit; `nil` where only the log knows it.
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for a kind of a later release.
    package init(from decoder: inout ByteDecoder, replacingUpTo limit: UInt64, blobCount: Int?) throws(TresorError) {
        record = try Name(try decoder.vector16(1...Name.maximumByteCount))
        replaces = try decoder.list(of: 0, to: Self.maximumReplacedCount, counted: UInt8.self, byteCount: 8) {
            (decoder) throws(TresorError) in try decoder.integer(UInt64.self)
        }
        guard zip(replaces, replaces.dropFirst()).allSatisfy({ $0 < $1 }), replaces.last ?? 0 <= limit else {
            throw .altered
        }
        time = try decoder.time()
        switch try decoder.integer(UInt8.self) {
        case 0: content = .deleted
        case 1:
            let type = try Name(try decoder.vector16(0...Name.maximumByteCount))
            content = .bytes(try decoder.vector32(0...Self.maximumContentByteCount), type: type)
        case 2:
            let type = try Name(try decoder.vector16(0...Name.maximumByteCount))
            content = .attachment(blob: try decoder.integer(), type: type)
            guard names(blobOf: blobCount) else { throw .altered }
        default: throw .unsupported
        }
    }

    /// Whether the attachment is one of the commit's blobs besides the pack.
    ///
    /// - Parameter count: the number of blobs; `nil` for an unknown one.
    func names(blobOf count: Int?) -> Bool {
        guard case .attachment(let blob, _) = content else { return true }
        return blob >= 1 && count.map { Int(blob) < $0 } ?? true
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.vector16(record.bytes)
        encoder.list(replaces, counted: UInt8.self) { $0.integer($1) }
        encoder.integer(time)
        switch content {
        case .deleted: encoder.integer(UInt8(0))
        case .bytes(let bytes, let type):
            encoder.integer(UInt8(1))
            encoder.vector16(type.bytes)
            encoder.vector32(bytes)
        case .attachment(let blob, let type):
            encoder.integer(UInt8(2))
            encoder.vector16(type.bytes)
            encoder.integer(blob)
        }
    }

    /// The size of the encoding in bytes.
    package var byteCount: Int {
        // The shortest item has a name of one byte.
        let frame = Self.leastByteCount - 1 + record.bytes.count + 8 * replaces.count
        return switch content {
        case .deleted: frame
        case .bytes(let bytes, let type): frame + 2 + type.bytes.count + 4 + bytes.count
        case .attachment(_, let type): frame + 2 + type.bytes.count + 2
        }
    }

    /// The encoded item.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}

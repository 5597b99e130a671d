// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Puts one part of a blob.
package struct PutBlobRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.putBlob

    package let tresor: TresorID
    package let hash: Hash256
    /// The number of the part, from 0.
    package let part: UInt32
    /// 1 to 262 144 bytes.
    package let bytes: [UInt8]

    package init(tresor: TresorID, hash: Hash256, part: UInt32, bytes: [UInt8]) {
        self.tresor = tresor
        self.hash = hash
        self.part = part
        self.bytes = bytes
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.digest(hash)
        encoder.integer(part)
        encoder.vector32(bytes)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        hash = try decoder.digest()
        part = try decoder.integer()
        bytes = try decoder.vector32(1...StoredBlob.partByteCount)
    }
}

/// Asks for one part of a blob.
package struct BlobRequest: ServiceRequest {
    package typealias Answer = BlobAnswer
    package static let operation = ServiceOperation.blob

    package let tresor: TresorID
    package let hash: Hash256
    package let part: UInt32

    package init(tresor: TresorID, hash: Hash256, part: UInt32) {
        self.tresor = tresor
        self.hash = hash
        self.part = part
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.digest(hash)
        encoder.integer(part)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        hash = try decoder.digest()
        part = try decoder.integer()
    }
}

/// One part of a blob; no bytes for none.
package struct BlobAnswer: ServiceMessage {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector32(bytes) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        bytes = try decoder.vector32(0...StoredBlob.partByteCount)
    }
}

/// Asks for whole blobs.
package struct BlobsRequest: ServiceRequest {
    package typealias Answer = BlobsAnswer
    package static let operation = ServiceOperation.blobs
    /// The maximum number of blobs: 1024.
    package static let maximumCount = 1024

    package let tresor: TresorID
    package let hashes: [Hash256]

    package init(tresor: TresorID, hashes: [Hash256]) {
        self.tresor = tresor
        self.hashes = hashes
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.list(hashes) { $0.digest($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        hashes = try decoder.digests(of: 1, to: Self.maximumCount)
    }
}

/// The first blobs of a request: at most 4 MiB together, and at least one. No bytes for one that is not there, or that
/// has more than 4 MiB.
package struct BlobsAnswer: ServiceMessage {
    package let blobs: [[UInt8]]

    package init(blobs: [[UInt8]]) { self.blobs = blobs }

    package func encode(to encoder: inout ByteEncoder) { encoder.list(blobs) { $0.vector32($1) } }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        blobs = try decoder.list(of: 1, to: BlobsRequest.maximumCount, byteCount: 4) { (decoder) throws(TresorError) in
            try decoder.vector32(0...StoredBlob.answerByteCount)
        }
    }
}

/// Deletes blobs.
package struct DeleteBlobsRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.deleteBlobs

    package let tresor: TresorID
    package let hashes: [Hash256]

    package init(tresor: TresorID, hashes: [Hash256]) {
        self.tresor = tresor
        self.hashes = hashes
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.list(hashes) { $0.digest($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        hashes = try decoder.digests(of: 1, to: BlobsRequest.maximumCount)
    }
}

extension StoredBlob {
    /// A blob of an entry in a request: its hash and size, and its bytes unless it was put before.
    func encode(to encoder: inout ByteEncoder) {
        Blob(hash: hash, size: size).encode(into: &encoder)
        encoder.vector32(bytes ?? [])
    }

    /// The size in bytes of a blob without bytes in a request: 44.
    static let leastByteCount = Blob.byteCount + 4

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        let blob = try Blob(from: &decoder)
        let bytes = try decoder.vector32(0...Int(Blob.greatestPackSize))
        guard bytes.isEmpty || UInt64(bytes.count) == blob.size else { throw .altered }
        self.init(hash: blob.hash, size: blob.size, bytes: bytes.isEmpty ? nil : bytes)
    }
}

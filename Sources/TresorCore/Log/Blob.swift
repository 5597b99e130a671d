// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The hash and the size of a sealed object in the store (SPEC §9.2).
package struct Blob: Hashable, Sendable {
    /// The size of the encoding in bytes: 40.
    package static let byteCount = Hash256.byteCount + 8
    /// The smallest sealed object: 674 bytes.
    package static let leastSize: UInt64 = 674
    /// The largest sealed object: 2^40 bytes.
    package static let greatestSize: UInt64 = 1 << 40
    /// The largest pack and the largest volume: a content of 1 MiB, sealed, in bytes.
    package static let greatestPackSize: UInt64 = 1_081_762

    /// `H("tresor/v1/blob-hash", the whole object)`.
    package let hash: Hash256
    /// The size of the object in bytes.
    package let size: UInt64

    /// Takes hash and size as they stand in an entry.
    package init(hash: Hash256, size: UInt64) {
        self.hash = hash
        self.size = size
    }

    /// Names these bytes.
    package init(of bytes: [UInt8]) throws(TresorError) {
        hash = try BLAKE2b.hash(.blobHash, bytes)
        size = UInt64(bytes.count)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        hash = try decoder.digest()
        size = try decoder.integer()
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.digest(hash)
        encoder.integer(size)
    }
}

/// Names a blob whose bytes come one after another.
package final class BlobHash {
    private var hash: BLAKE2b?
    private var byteCount: UInt64 = 0

    /// Begins with no bytes.
    package init() throws(TresorError) {
        var hash = try BLAKE2b(outputCount: Hash256.byteCount)
        try hash.updatePrefixed(.blobHash)
        self.hash = consume hash
    }

    /// Adds the next bytes.
    package func update(_ bytes: Span<UInt8>) throws(TresorError) {
        guard var hash = hash.take() else { throw .usage(.outOfOrder) }
        try hash.update(bytes)
        self.hash = consume hash
        byteCount += UInt64(bytes.count)
    }

    /// Returns the name of the bytes so far. More may come.
    package func soFar() throws(TresorError) -> Blob {
        guard let hash = hash.take() else { throw .usage(.outOfOrder) }
        let copy = BLAKE2b(copying: hash)
        self.hash = consume hash
        guard let digest = Hash256(try copy.finalize()) else { throw .failed(.library) }
        return Blob(hash: digest, size: byteCount)
    }

    /// Returns the name of all bytes. To be called once.
    package func finish() throws(TresorError) -> Blob {
        guard let hash = hash.take() else { throw .usage(.outOfOrder) }
        guard let digest = Hash256(try hash.finalize()) else { throw .failed(.library) }
        return Blob(hash: digest, size: byteCount)
    }
}

/// The rules that *commit* and *checkpoint* share (SPEC §9.3). In these bodies a broken rule makes the body void.
extension EntryValidator {
    /// R38: the number of blobs and their sizes.
    ///
    /// - Parameter limit: the greatest size of the blob at each place.
    func requireBlobs(_ blobs: [Blob], atMost count: Int, limit: (Int) -> UInt64) throws(Violation) {
        let areSized = blobs.enumerated().allSatisfy { (Blob.leastSize...limit($0.offset)).contains($0.element.size) }
        try require(.r38, (1...count).contains(blobs.count) && areSized)
    }

    /// R39, R40: what an entry names was sealed under the current epoch, while no rekey was pending.
    func requireCurrent(_ epoch: UInt64, in state: LogState) throws(Violation) {
        try require(.r39, epoch == state.epoch(at: before))
        try require(.r40, !state.isRekeyPending(at: before))
    }
}

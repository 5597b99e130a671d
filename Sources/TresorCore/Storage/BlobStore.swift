// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// Sealed objects that entries name by their hash: packs, attachments and volumes (SPEC §11). A part of a ``Store``.
///
/// A blob lies in parts of ``StoredBlob/partByteCount`` bytes; the last one may be shorter. Two tresors share no blob.
/// A store may forget a blob that no entry names after 7 days.
public protocol BlobStore: Sendable {
    /// Stores one part of a blob. Replaces a part that is there.
    ///
    /// - Parameters:
    ///   - part: the number of the part, from 0.
    ///   - bytes: at least one byte.
    ///   - hash: the hash of the whole blob, by which its bytes are judged when they are read.
    ///   - tresor: the tresor of the blob.
    func putBlob(_ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID) async throws(TresorError)

    /// Returns one part of a blob, or `nil`.
    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]?

    /// Returns whole blobs, in the order of `hashes`; `nil` for one that is not there, or that has more than 4 MiB.
    ///
    /// - Returns: as many of the first as fit into 4 MiB together; at least one, if one was asked for.
    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?]

    /// Deletes blobs and overwrites their bytes; succeeds for one that is not there.
    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError)
}

/// A blob that an entry names.
public struct StoredBlob: Hashable, Sendable {
    /// The size of each part but the last in bytes: 256 KiB.
    public static let partByteCount = 1 << 18
    /// The most bytes of the blobs that one answer has: 4 MiB.
    package static let answerByteCount = 1 << 22

    /// The hash of its bytes.
    public let hash: Hash256
    /// The number of its bytes.
    public let size: UInt64
    /// The bytes, to be stored with the entry; `nil` for a blob that was put before.
    public let bytes: [UInt8]?

    /// Makes a blob.
    public init(hash: Hash256, size: UInt64, bytes: [UInt8]?) {
        self.hash = hash
        self.size = size
        self.bytes = bytes
    }

    /// The bytes in parts.
    package static func parts(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: partByteCount).map { bytes[$0..<min($0 + partByteCount, bytes.count)] }
    }
}

/// A store that has no blobs: it gives none and takes none. An entry with blobs must not be appended to it.
package protocol BloblessStore: BlobStore {}

extension BloblessStore {
    package func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) { throw .unsupported }

    package func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? { nil }

    package func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        hashes.map { _ in nil }
    }

    package func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        guard hashes.isEmpty else { throw .unsupported }
    }
}

// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

extension HTTPStore: BlobStore {
    /// The most bytes of blobs that go with an entry: 8 MiB.
    private static let sentByteCount = 8 << 20

    /// Stores one part of a blob. A part of a blob that an entry names is replaced for an owner alone.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        _ = try await service.call(PutBlobRequest(tresor: tresor, hash: hash, part: part, bytes: bytes))
    }

    /// Returns one part of a blob, or `nil`.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        let bytes = try await service.call(BlobRequest(tresor: tresor, hash: hash, part: part)).bytes
        return bytes.isEmpty ? nil : bytes
    }

    /// Returns whole blobs, as many of the first as fit into 4 MiB, from one request of at most 1024.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        let asked = Array(hashes.prefix(BlobsRequest.maximumCount))
        guard !asked.isEmpty else { return [] }
        let answer = try await service.call(BlobsRequest(tresor: tresor, hashes: asked)).blobs
        guard answer.count <= asked.count else { throw .store(.foreign) }
        return answer.map { $0.isEmpty ? nil : $0 }
    }

    /// Deletes blobs of a tresor of which the person who speaks is an owner.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        var rest = hashes[...]
        while !rest.isEmpty {
            let next = rest.prefix(BlobsRequest.maximumCount)
            _ = try await service.call(DeleteBlobsRequest(tresor: tresor, hashes: Array(next)))
            rest = rest.dropFirst(next.count)
        }
    }

    /// Puts the blobs that do not fit into one request with their entry.
    ///
    /// - Returns: the blobs as the request names them: without their bytes where they were put.
    func putLarge(_ blobs: [StoredBlob], in tresor: TresorID) async throws(TresorError) -> [StoredBlob] {
        var left = Self.sentByteCount
        var named: [StoredBlob] = []
        for blob in blobs {
            guard let bytes = blob.bytes, bytes.count > min(left, Int(Blob.greatestPackSize)) else {
                left -= blob.bytes?.count ?? 0
                named.append(blob)
                continue
            }
            for (part, bytes) in StoredBlob.parts(of: bytes).enumerated() {
                try await putBlob(UInt32(part), Array(bytes), of: blob.hash, in: tresor)
            }
            named.append(StoredBlob(hash: blob.hash, size: blob.size, bytes: nil))
        }
        return named
    }
}

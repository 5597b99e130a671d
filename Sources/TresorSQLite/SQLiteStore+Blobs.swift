// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TresorCore
public import TresorCrypto

/// Blobs.
extension SQLiteStore {
    /// Stores one part of a blob. Replaces a part that is there.
    ///
    /// - Throws: `TresorError.store(_:)` with `full` for a part after which the disk had too little room to delete it.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await connection.write(putting: bytes.count) { database in
            guard try !LogTables(database: database).isDeleted(tresor) else { return }
            try BlobTable(database: database, tresor: tresor).put(part, Data(bytes), of: hash)
        }
    }

    /// Returns one part of a blob, or `nil`.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await connection.read { try BlobTable(database: $0, tresor: tresor).bytes(of: hash, part: part) }
    }

    /// Returns whole blobs, as many of the first as fit into 4 MiB, from one read transaction.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await connection.read { try BlobTable(database: $0, tresor: tresor).whole(hashes) }
    }

    /// Deletes blobs, overwrites their bytes, and gives their room back to the disk. On a disk with little room this takes
    /// several transactions: what was deleted by an error is gone.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        guard !hashes.isEmpty else { return }
        try await deleteParts(of: hashes, in: tresor)
    }

    /// Deletes blobs part by part where there is no room for more: the write-ahead log takes about what is overwritten.
    ///
    /// - Parameters:
    ///   - hashes: the blobs; `nil` for all of the tresor.
    ///   - head: the entry hash of the entry with which the log has to end; `nil` for any.
    func deleteParts(
        of hashes: [Hash256]?, in tresor: TresorID, while head: Hash256? = nil
    ) async throws(TresorError) {
        var (isDone, limit) = (false, Int.max)
        while !isDone {
            let room = connection.room ?? .max
            let most = min(limit, Int(clamping: max(1, room / 2 / UInt64(StoredBlob.partByteCount))))
            do throws(TresorError) {
                isDone = try await connection.write(leaving: .nothing) { database in
                    if let head, try LogTables(database: database).head(of: tresor) != head { throw TresorError.busy }
                    return try BlobTable(database: database, tresor: tresor).delete(hashes, atMost: most)
                }
            } catch {
                // A quota of this user counts less than the disk.
                guard error == .store(.full), most > 1 else { throw error }
                limit = 1
            }
            await connection.shrink()
        }
    }
}

extension SQLiteStore: UnnamedBlobStore {
    package func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) async throws(TresorError) {
        let unnamed = try await connection.read { database in
            try BlobTable(database: database, tresor: tresor).hashes().filter { !named.contains($0) }
        }
        if !unnamed.isEmpty { try await deleteBlobs(unnamed, in: tresor, while: head) }
    }

    package func deleteBlobs(
        _ hashes: [Hash256], in tresor: TresorID, while head: Hash256
    ) async throws(TresorError) { try await deleteParts(of: hashes, in: tresor, while: head) }
}

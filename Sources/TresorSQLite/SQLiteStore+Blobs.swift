// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TresorCore
public import TresorCrypto

/// Blobs.
extension SQLiteStore {
    /// Stores one part of a blob. Replaces a part that is there.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await connection.write { database in
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

    /// Deletes blobs and overwrites their bytes.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        guard !hashes.isEmpty else { return }
        try await connection.write(leaving: .nothing) {
            try BlobTable(database: $0, tresor: tresor).delete(hashes)
        }
    }
}

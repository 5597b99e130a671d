// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore
import TresorCrypto

/// The table of the parts of blobs, for one tresor in one transaction.
struct BlobTable {
    let database: Database
    let tresor: TresorID

    /// Stores the blobs of an entry that come with it.
    ///
    /// - Returns: whether the others are there. If not, nothing is stored.
    func take(_ blobs: [StoredBlob]) throws -> Bool {
        for blob in blobs where blob.bytes == nil {
            guard try has(blob) else { return false }
        }
        for blob in blobs {
            guard let bytes = blob.bytes else { continue }
            for (part, bytes) in StoredBlob.parts(of: bytes).enumerated() {
                try put(UInt32(part), Data(bytes), of: blob.hash)
            }
        }
        return true
    }

    /// Whether all bytes of a blob are there. Their number tells it; only who reads them can judge them.
    private func has(_ blob: StoredBlob) throws -> Bool {
        let row = try Row.fetchOne(
            database,
            sql: "SELECT COUNT(*), MAX(part), SUM(LENGTH(bytes)) FROM blobs WHERE tresor = ? AND hash = ?",
            arguments: [tresor.digest.data, blob.hash.data])
        let values = row.map { Array($0.databaseValues) } ?? []
        guard values.count == 3, case .int64(let count) = values[0].storage, count > 0,
            case .int64(let size) = values[2].storage
        else { return false }
        return try values[1].blob() == Array(UInt64(count - 1).data) && size == Int64(exactly: blob.size)
    }

    func put(_ part: UInt32, _ bytes: Data, of hash: Hash256) throws {
        try database.execute(
            sql: "INSERT INTO blobs (tresor, hash, part, bytes) VALUES (?, ?, ?, ?) "
                + "ON CONFLICT (tresor, hash, part) DO UPDATE SET bytes = excluded.bytes",
            arguments: [tresor.digest.data, hash.data, UInt64(part).data, bytes])
    }

    func bytes(of hash: Hash256, part: UInt32) throws -> [UInt8]? {
        try database.blob(
            "SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? AND part = ?",
            [tresor.digest.data, hash.data, UInt64(part).data])
    }

    /// Whole blobs, as many of the first as fit into 4 MiB together.
    func whole(_ hashes: [Hash256]) throws -> [[UInt8]?] {
        let sizes = try database.makeStatement(
            sql: "SELECT SUM(LENGTH(bytes)) FROM blobs WHERE tresor = ? AND hash = ?")
        let parts = try database.makeStatement(
            sql: "SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? ORDER BY part")
        var (found, left): ([[UInt8]?], Int64) = ([], Int64(StoredBlob.answerByteCount))
        for hash in hashes {
            let arguments: StatementArguments = [tresor.digest.data, hash.data]
            let size = try DatabaseValue.fetchOne(sizes, arguments: arguments)
            guard case .int64(let size)? = size?.storage, size <= Int64(StoredBlob.answerByteCount) else {
                found.append(nil)
                continue
            }
            guard size <= left else { break }
            left -= size
            found.append(try DatabaseValue.fetchAll(parts, arguments: arguments).flatMap { try $0.blob() })
        }
        return found
    }

    /// All blobs, in byte order.
    func hashes() throws -> [Hash256] {
        try DatabaseValue.fetchAll(
            database, sql: "SELECT DISTINCT hash FROM blobs WHERE tresor = ? ORDER BY hash",
            arguments: [tresor.digest.data]
        ).map { try $0.digest() }
    }

    /// Deletes parts of blobs, of each the last one first: what is left looks like a blob that is being put.
    ///
    /// - Parameters:
    ///   - hashes: the blobs; `nil` for all of the tresor.
    ///   - most: the most parts that are deleted.
    /// - Returns: whether fewer parts were there, so that none is left.
    func delete(_ hashes: [Hash256]?, atMost most: Int) throws -> Bool {
        let parts = "SELECT rowid FROM blobs WHERE tresor = ?"
        guard let hashes else {
            try database.execute(
                sql: "DELETE FROM blobs WHERE rowid IN (\(parts) ORDER BY hash, part DESC LIMIT ?)",
                arguments: [tresor.digest.data, most])
            return database.changesCount < most
        }
        let statement = try database.makeStatement(
            sql: "DELETE FROM blobs WHERE rowid IN (\(parts) AND hash = ? ORDER BY part DESC LIMIT ?)")
        var left = most
        for hash in hashes {
            try statement.execute(arguments: [tresor.digest.data, hash.data, left])
            left -= database.changesCount
            guard left > 0 else { return false }
        }
        return true
    }
}

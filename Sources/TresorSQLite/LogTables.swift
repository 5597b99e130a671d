// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore
import TresorCrypto

/// The tables of entries and of wraps, in one transaction.
struct LogTables {
    let database: Database

    /// The entries of a log from `first` on, in order, at most `limit`.
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) throws -> [[UInt8]] {
        try database.blobs(
            "SELECT entry FROM entries WHERE tresor = ? AND sequence >= ? ORDER BY sequence LIMIT ?",
            [tresor.digest.data, first.data, max(0, limit)])
    }

    /// The entry hash of the last entry of a log; `nil` for none.
    func head(of tresor: TresorID) throws -> Hash256? {
        try database.blob(
            "SELECT entry FROM entries WHERE tresor = ? ORDER BY sequence DESC LIMIT 1", [tresor.digest.data]
        ).map { try BLAKE2b.hash(.entryHash, $0) }
    }

    /// Appends one entry and changes its wraps, if the log still ends as `change` expects.
    func append(_ change: LogChange) throws -> StoreOutcome {
        let blobs = BlobTable(database: database, tresor: change.tresor)
        guard try ends(asExpectedBy: change), try blobs.take(change.blobs) else { return .conflict }
        try insert(change.entry, at: change.sequence, of: change.tresor)
        for user in change.removingWrapsOf {
            try database.execute(
                sql: "DELETE FROM wraps WHERE user = ? AND tresor = ?",
                arguments: [user.digest.data, change.tresor.digest.data])
        }
        try put(change.putting, in: change.tresor)
        return .done
    }

    /// Whether the log ends as the author of `change` expects.
    private func ends(asExpectedBy change: LogChange) throws -> Bool {
        let last = try Row.fetchOne(
            database, sql: "SELECT sequence, entry FROM entries WHERE tresor = ? ORDER BY sequence DESC LIMIT 1",
            arguments: [change.tresor.digest.data])
        guard let last else { return try change.sequence == 0 && change.follows(nil) && !isDeleted(change.tresor) }
        let values = Array(last.databaseValues)
        guard change.sequence > 0 else { return false }
        return try values[0].blob() == Array((change.sequence - 1).data) && change.follows(values[1].blob())
    }

    /// Whether a tresor was deleted: its id stays taken.
    func isDeleted(_ tresor: TresorID) throws -> Bool {
        try DatabaseValue.fetchOne(
            database, sql: "SELECT tresor FROM deleted WHERE tresor = ?", arguments: [tresor.digest.data]) != nil
    }

    /// Deletes a tresor: its entries, wraps and blobs.
    func delete(_ tresor: TresorID) throws {
        for sql in [
            "INSERT INTO deleted (tresor) VALUES (?) ON CONFLICT (tresor) DO NOTHING",
            "DELETE FROM entries WHERE tresor = ?", "DELETE FROM wraps WHERE tresor = ?",
            "DELETE FROM blobs WHERE tresor = ?",
        ] {
            try database.execute(sql: sql, arguments: [tresor.digest.data])
        }
    }

    /// Restores an entry of a log that has later entries.
    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) throws -> StoreOutcome {
        let present = try DatabaseValue.fetchOne(
            database, sql: "SELECT entry FROM entries WHERE tresor = ? AND sequence = ?",
            arguments: [tresor.digest.data, sequence.data])
        if let present { return try present.blob() == entry ? .done : .conflict }
        let next = try DatabaseValue.fetchOne(
            database, sql: "SELECT sequence FROM entries WHERE tresor = ? AND sequence > ? LIMIT 1",
            arguments: [tresor.digest.data, sequence.data])
        guard next != nil else { return .conflict }
        try insert(entry, at: sequence, of: tresor)
        return .done
    }

    private func insert(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) throws {
        try database.execute(
            sql: "INSERT INTO entries (tresor, sequence, entry) VALUES (?, ?, ?)",
            arguments: [tresor.digest.data, sequence.data, Data(entry)])
    }

    /// The wraps of one member of one tresor, by rising epoch; only that of `epoch` if given.
    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) throws -> [[UInt8]] {
        guard let epoch else {
            return try database.blobs(
                "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? ORDER BY epoch",
                [user.digest.data, tresor.digest.data])
        }
        return try database.blobs(
            "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? AND epoch = ?",
            [user.digest.data, tresor.digest.data, epoch.data])
    }

    /// Stores wraps. Each replaces the wrap of the same user and epoch.
    func put(_ wraps: [StoredWrap], in tresor: TresorID) throws {
        guard !wraps.isEmpty else { return }
        let statement = try database.makeStatement(
            sql: "INSERT INTO wraps (user, tresor, epoch, wrap) VALUES (?, ?, ?, ?) "
                + "ON CONFLICT (user, tresor, epoch) DO UPDATE SET wrap = excluded.wrap")
        for wrap in wraps {
            try statement.execute(
                arguments: [wrap.user.digest.data, tresor.digest.data, wrap.epoch.data, Data(wrap.bytes)])
        }
    }

    /// The tresors in which a user id has a wrap, in byte order.
    func tresors(of user: UserID) throws -> [TresorID] {
        try DatabaseValue.fetchAll(
            database, sql: "SELECT DISTINCT tresor FROM wraps WHERE user = ? ORDER BY tresor",
            arguments: [user.digest.data]
        ).map { TresorID(try $0.digest()) }
    }
}

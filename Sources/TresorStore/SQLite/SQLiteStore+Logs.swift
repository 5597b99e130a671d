// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
public import TresorCore

extension SQLiteStore {
    /// Returns the entries of a log from `first` on, in order, at most `limit`.
    public func entries(
        of tresor: TresorID, from first: UInt64, limit: Int
    ) async throws(TresorError) -> [[UInt8]] {
        try await read { database in
            try database.blobs(
                "SELECT entry FROM entries WHERE tresor = ? AND sequence >= ? ORDER BY sequence LIMIT ?",
                [tresor.digest.data, first.data, max(0, limit)])
        }
    }

    /// Appends one entry and changes its wraps, if the log still ends as `change` expects.
    public func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await write(leaving: change.removingWrapsOf.isEmpty ? .all : .nothingIfPossible) { database in
            guard try Self.ends(change, database) else { return .conflict }
            let tresor = change.tresor.digest.data
            try database.execute(
                sql: "INSERT INTO entries (tresor, sequence, entry) VALUES (?, ?, ?)",
                arguments: [tresor, change.sequence.data, Data(change.entry)])
            for user in change.removingWrapsOf {
                try database.execute(
                    sql: "DELETE FROM wraps WHERE user = ? AND tresor = ?", arguments: [user.digest.data, tresor])
            }
            try Self.put(change.putting, in: change.tresor, database)
            return .done
        }
    }

    /// Whether the log ends as the author of `change` expects.
    private static func ends(_ change: LogChange, _ database: Database) throws -> Bool {
        let last = try Row.fetchOne(
            database, sql: "SELECT sequence, entry FROM entries WHERE tresor = ? ORDER BY sequence DESC LIMIT 1",
            arguments: [change.tresor.digest.data])
        guard let last else { return change.sequence == 0 && change.previous == nil }
        let values = Array(last.databaseValues)
        guard change.sequence > 0, let previous = change.previous else { return false }
        return try values[0].blob() == Array((change.sequence - 1).data) && values[1].blob() == previous
    }

    /// Restores an entry of a log that has later entries.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await write { database in
            let tresor = tresor.digest.data
            let present = try DatabaseValue.fetchOne(
                database, sql: "SELECT entry FROM entries WHERE tresor = ? AND sequence = ?",
                arguments: [tresor, sequence.data])
            if let present { return try present.blob() == entry ? .done : .conflict }
            let next = try DatabaseValue.fetchOne(
                database, sql: "SELECT sequence FROM entries WHERE tresor = ? AND sequence > ? LIMIT 1",
                arguments: [tresor, sequence.data])
            guard next != nil else { return .conflict }
            try database.execute(
                sql: "INSERT INTO entries (tresor, sequence, entry) VALUES (?, ?, ?)",
                arguments: [tresor, sequence.data, Data(entry)])
            return .done
        }
    }

    /// Returns the wraps of one member of one tresor, by rising epoch.
    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await read { database in
            guard let epoch else {
                return try database.blobs(
                    "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? ORDER BY epoch",
                    [user.digest.data, tresor.digest.data])
            }
            return try database.blobs(
                "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? AND epoch = ?",
                [user.digest.data, tresor.digest.data, epoch.data])
        }
    }

    /// Returns the wraps of many members under one epoch, in the order of `users`, from one read transaction; `nil` for
    /// a member without one.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64
    ) async throws(TresorError) -> [[UInt8]?] {
        try await read { database in
            let statement = try database.makeStatement(
                sql: "SELECT wrap FROM wraps WHERE user = ? AND tresor = ? AND epoch = ?")
            return try users.map { user in
                try DatabaseValue.fetchOne(
                    statement, arguments: [user.digest.data, tresor.digest.data, epoch.data])?.blob()
            }
        }
    }

    /// Stores wraps. Each replaces the wrap of the same user and epoch.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await write { database in try Self.put(wraps, in: tresor, database) }
    }

    private static func put(_ wraps: [StoredWrap], in tresor: TresorID, _ database: Database) throws {
        guard !wraps.isEmpty else { return }
        let statement = try database.makeStatement(
            sql: "INSERT INTO wraps (user, tresor, epoch, wrap) VALUES (?, ?, ?, ?) "
                + "ON CONFLICT (user, tresor, epoch) DO UPDATE SET wrap = excluded.wrap")
        for wrap in wraps {
            try statement.execute(
                arguments: [wrap.user.digest.data, tresor.digest.data, wrap.epoch.data, Data(wrap.bytes)])
        }
    }

    /// Returns the tresors in which a user id has a wrap, in byte order.
    public func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await read { database in
            try DatabaseValue.fetchAll(
                database, sql: "SELECT DISTINCT tresor FROM wraps WHERE user = ? ORDER BY tresor",
                arguments: [user.digest.data]
            ).map { TresorID(try $0.digest()) }
        }
    }
}

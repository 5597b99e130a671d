// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
public import TresorCore

extension SQLiteStore {
    /// The maximum number of chains read under one handle. An honest file has one.
    private static let mostCardsOfAHandle = 64

    /// Stores a card chain under its user id, if the stored chain is `replacing` and no other user id has the handle.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await write { database in
            let rival = try database.blob(
                "SELECT user FROM cards WHERE handle = ? AND user <> ? LIMIT 1", [Data(handle), user.digest.data])
            guard rival == nil else { return .conflict }
            let present = try database.blob("SELECT chain FROM cards WHERE user = ?", [user.digest.data])
            if present == chain { return .done }
            guard present == replacing else { return .conflict }
            try database.execute(
                sql: "INSERT INTO cards (user, handle, chain) VALUES (?, ?, ?) "
                    + "ON CONFLICT (user) DO UPDATE SET handle = excluded.handle, chain = excluded.chain",
                arguments: [user.digest.data, Data(handle), Data(chain)])
            return .done
        }
    }

    /// Returns the card chain of a user id, or `nil`.
    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob("SELECT chain FROM cards WHERE user = ?", [user.digest.data])
        }
    }

    /// Returns the card chains under a handle, compared as bytes, by rising user id. At most 64: an honest file has
    /// one.
    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await read { database in
            try database.blobs(
                "SELECT chain FROM cards WHERE handle = ? ORDER BY user LIMIT ?",
                [Data(handle), Self.mostCardsOfAHandle])
        }
    }

    /// Returns the user ids with a card that begin with `prefix`, in byte order, at most `limit`.
    public func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await read { database in
            var sql = "SELECT user FROM cards WHERE user >= ?"
            var arguments: StatementArguments = [Data(prefix)]
            if let end = Self.end(ofPrefix: prefix) {
                sql += " AND user < ?"
                arguments += [Data(end)]
            }
            return try DatabaseValue.fetchAll(
                database, sql: sql + " ORDER BY user LIMIT ?", arguments: arguments + [max(0, limit)]
            ).map { UserID(try $0.digest()) }
        }
    }

    /// The first bytes after all that begin with `prefix`; `nil` if nothing comes after.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.lastIndex(where: { $0 < .max }) else { return nil }
        return prefix[..<last] + [prefix[last] + 1]
    }
}

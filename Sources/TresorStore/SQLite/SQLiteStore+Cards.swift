// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
public import Tresor

extension SQLiteStore {
    /// More chains under one handle than this are not read: an honest file has one.
    private static let mostCardsOfAHandle = 64

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

    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob("SELECT chain FROM cards WHERE user = ?", [user.digest.data])
        }
    }

    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await read { database in
            try database.blobs(
                "SELECT chain FROM cards WHERE handle = ? ORDER BY user LIMIT ?",
                [Data(handle), Self.mostCardsOfAHandle])
        }
    }

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

    /// The first bytes after everything that begins with `prefix`; `nil` when nothing comes after.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.lastIndex(where: { $0 < .max }) else { return nil }
        return prefix[..<last] + [prefix[last] + 1]
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore

/// The table of card chains, in one transaction.
struct CardTable {
    /// The maximum number of chains read under one handle. An honest file has one.
    private static let mostCardsOfAHandle = 64

    let database: Database

    /// Stores a chain under its user id, if the stored chain is `replacing` and no other user id has the handle.
    func put(_ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?) throws -> StoreOutcome {
        let rival = try database.blob(
            "SELECT user FROM cards WHERE handle = ? AND user <> ? LIMIT 1", [Data(handle), user.digest.data])
        guard rival == nil else { return .conflict }
        let present = try self.chain(of: user)
        if present == chain { return .done }
        guard present == replacing else { return .conflict }
        try database.execute(
            sql: "INSERT INTO cards (user, handle, chain) VALUES (?, ?, ?) "
                + "ON CONFLICT (user) DO UPDATE SET handle = excluded.handle, chain = excluded.chain",
            arguments: [user.digest.data, Data(handle), Data(chain)])
        return .done
    }

    func chain(of user: UserID) throws -> [UInt8]? {
        try database.blob("SELECT chain FROM cards WHERE user = ?", [user.digest.data])
    }

    /// The chains under a handle, by rising user id.
    func chains(handle: [UInt8]) throws -> [[UInt8]] {
        try database.blobs(
            "SELECT chain FROM cards WHERE handle = ? ORDER BY user LIMIT ?", [Data(handle), Self.mostCardsOfAHandle])
    }

    /// The user ids that begin with `prefix`, in byte order, at most `limit`.
    func users(prefix: [UInt8], limit: Int) throws -> [UserID] {
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

    /// The first bytes after all that begin with `prefix`; `nil` if nothing comes after.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.lastIndex(where: { $0 < .max }) else { return nil }
        return prefix[..<last] + [prefix[last] + 1]
    }
}

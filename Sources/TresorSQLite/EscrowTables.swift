// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore
import TresorCrypto

/// The tables of server shares and of kit copies, in one transaction.
struct EscrowTables {
    let database: Database

    func put(serverShare share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) throws {
        try database.execute(
            sql: "INSERT INTO server_shares (user, device, share, key) VALUES (?, ?, ?, ?) "
                + "ON CONFLICT (user, device) DO UPDATE SET share = excluded.share, key = excluded.key",
            arguments: [user.digest.data, Data(device.bytes), Data(share), deviceKey.data])
    }

    func serverShare(user: UserID, device: DeviceID) throws -> [UInt8]? {
        try database.blob(
            "SELECT share FROM server_shares WHERE user = ? AND device = ?", [user.digest.data, Data(device.bytes)])
    }

    /// Deletes the server shares of these devices, or of all devices of the user id.
    func deleteServerShares(user: UserID, devices: [DeviceID]?) throws {
        guard let devices else {
            try database.execute(sql: "DELETE FROM server_shares WHERE user = ?", arguments: [user.digest.data])
            return
        }
        for device in devices {
            try database.execute(
                sql: "DELETE FROM server_shares WHERE user = ? AND device = ?",
                arguments: [user.digest.data, Data(device.bytes)])
        }
    }

    func put(kitCopy copy: [UInt8], locator: Hash256) throws {
        try database.execute(
            sql: "INSERT INTO kit_copies (locator, copy) VALUES (?, ?) "
                + "ON CONFLICT (locator) DO UPDATE SET copy = excluded.copy",
            arguments: [locator.data, Data(copy)])
    }

    /// Replaces a copy that is still there; `false` for another one and for none.
    func replace(kitCopy present: [UInt8], with copy: [UInt8], locator: Hash256) throws -> Bool {
        try database.execute(
            sql: "UPDATE kit_copies SET copy = ? WHERE locator = ? AND copy = ?",
            arguments: [Data(copy), locator.data, Data(present)])
        return database.changesCount == 1
    }

    func kitCopy(locator: Hash256) throws -> [UInt8]? {
        try database.blob("SELECT copy FROM kit_copies WHERE locator = ?", [locator.data])
    }

    /// Returns the locators after one, in byte order.
    func kitCopyLocators(after locator: Hash256?, limit: Int) throws -> [Hash256] {
        try Row.fetchAll(
            database, sql: "SELECT locator FROM kit_copies WHERE locator > ? ORDER BY locator LIMIT ?",
            arguments: [locator?.data ?? Data(), limit]
        ).compactMap { row in (row[0] as Data?).flatMap { Hash256(Array($0)) } }
    }

    func deleteKitCopy(locator: Hash256) throws {
        try database.execute(sql: "DELETE FROM kit_copies WHERE locator = ?", arguments: [locator.data])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
public import TresorCore

extension SQLiteStore {
    /// Stores the server share of a device slot. Overwrites the bytes of a replaced share.
    public func putServerShare(_ share: [UInt8], user: UserID, device: DeviceID) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(
                sql: "INSERT INTO halves (user, device, half) VALUES (?, ?, ?) "
                    + "ON CONFLICT (user, device) DO UPDATE SET half = excluded.half",
                arguments: [user.digest.data, Data(device.bytes), Data(share)])
        }
    }

    /// Returns the server share of a device slot, or `nil`.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob(
                "SELECT half FROM halves WHERE user = ? AND device = ?", [user.digest.data, Data(device.bytes)])
        }
    }

    /// Deletes the server shares of these devices, or of all devices of the user id. Overwrites their bytes.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            guard let devices else {
                try database.execute(sql: "DELETE FROM halves WHERE user = ?", arguments: [user.digest.data])
                return
            }
            for device in devices {
                try database.execute(
                    sql: "DELETE FROM halves WHERE user = ? AND device = ?",
                    arguments: [user.digest.data, Data(device.bytes)])
            }
        }
    }

    /// Stores a sealed identity copy. Overwrites the bytes of a replaced copy under the locator.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(
                sql: "INSERT INTO kit_copies (locator, copy) VALUES (?, ?) "
                    + "ON CONFLICT (locator) DO UPDATE SET copy = excluded.copy",
                arguments: [locator.data, Data(copy)])
        }
    }

    /// Returns the sealed identity copy under a locator, or `nil`.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob("SELECT copy FROM kit_copies WHERE locator = ?", [locator.data])
        }
    }

    /// Deletes a sealed identity copy and overwrites its bytes.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(sql: "DELETE FROM kit_copies WHERE locator = ?", arguments: [locator.data])
        }
    }
}

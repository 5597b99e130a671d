// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
public import TresorCore

extension SQLiteStore {
    /// Puts the half of a device slot. One it replaces is overwritten.
    public func putServerShare(_ share: [UInt8], user: UserID, device: DeviceID) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(
                sql: "INSERT INTO halves (user, device, half) VALUES (?, ?, ?) "
                    + "ON CONFLICT (user, device) DO UPDATE SET half = excluded.half",
                arguments: [user.digest.data, Data(device.bytes), Data(share)])
        }
    }

    /// The half of a device slot, or `nil`.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob(
                "SELECT half FROM halves WHERE user = ? AND device = ?", [user.digest.data, Data(device.bytes)])
        }
    }

    /// Deletes the halves of these devices, or of all devices of the user id. Their bytes are overwritten.
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

    /// Puts a sealed identity copy; what lies under the locator is replaced. Its bytes are overwritten.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(
                sql: "INSERT INTO kit_copies (locator, copy) VALUES (?, ?) "
                    + "ON CONFLICT (locator) DO UPDATE SET copy = excluded.copy",
                arguments: [locator.data, Data(copy)])
        }
    }

    /// The sealed identity copy under a locator, or `nil`.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await read { database in
            try database.blob("SELECT copy FROM kit_copies WHERE locator = ?", [locator.data])
        }
    }

    /// Deletes a sealed identity copy. Its bytes are overwritten.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await write(leaving: .nothing) { database in
            try database.execute(sql: "DELETE FROM kit_copies WHERE locator = ?", arguments: [locator.data])
        }
    }
}

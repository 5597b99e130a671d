// SPDX-License-Identifier: Apache-2.0

import TresorCore

/// The checks of server shares and kit copies.
enum EscrowChecks {
    static func serverShares(in store: any Store) async throws {
        let shares = (0..<4).map { Sample.secret($0, byteCount: 32) }
        let other = Sample.secret(4, byteCount: 32)
        let devices = try (0..<3).map { try Sample.device($0) }
        let (first, second) = (Sample.user(0), Sample.user(1))
        for (index, share) in shares.enumerated() {
            try await store.putServerShare(
                share, deviceKey: Sample.hash(UInt8(index)), user: index < 3 ? first : second,
                device: devices[index % 3])
        }
        func expectShare(_ share: [UInt8]?, _ user: UserID, _ device: Int, _ sentence: String) async throws {
            let stored = try await store.serverShare(user: user, device: devices[device])
            try expect(stored == share, or: sentence)
        }
        try await expectShare(shares[2], first, 2, "it does not give the share of a device")
        try await expectShare(shares[3], second, 0, "it takes the share of one user id for that of another")
        try await expectShare(nil, second, 1, "it gives a share of a device that has none")
        try await store.putServerShare(other, deviceKey: Sample.hash(7), user: first, device: devices[2])
        try await expectShare(other, first, 2, "it does not replace the share of a device")
        try await store.deleteServerShares(user: first, devices: [devices[1], Sample.device(9)])
        try await expectShare(nil, first, 1, "it keeps the share of a device that it should delete")
        try await store.deleteServerShares(user: first, devices: [])
        try await expectShare(shares[0], first, 0, "it deletes shares although no device was named")
        try await store.deleteServerShares(user: first, devices: nil)
        try await expectShare(nil, first, 0, "it keeps a share although all of the user id should go")
        try await expectShare(shares[3], second, 0, "it deletes the shares of another user id")
    }

    static func kitCopies(in store: any Store) async throws {
        let (first, second) = (Sample.hash(1), Sample.hash(2))
        try await store.putKitCopy([1], locator: first)
        try await store.putKitCopy([2], locator: first)
        try await store.putKitCopy([], locator: second)
        try await expect(store.kitCopy(locator: first) == [2], or: "it does not replace the copy of a locator")
        try await expect(store.kitCopy(locator: second) == [], or: "it takes an empty copy for none")
        try await store.deleteKitCopy(locator: first)
        try await expect(store.kitCopy(locator: first) == nil, or: "it keeps a copy that it should delete")
        try await expect(store.kitCopy(locator: second) == [], or: "it deletes the copy of another locator")
    }
}

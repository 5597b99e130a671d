// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A store that stands before another.
protocol LayeredStore: Store {
    var truth: any Store { get }
}

/// A store that passes on every call that it does not answer itself. What has a default goes through its other calls.
protocol FrontStore: LayeredStore {}

/// Blobs.
extension FrontStore {
    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await truth.putBlob(part, bytes, of: hash, in: tresor)
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await truth.blob(hash, part: part, in: tresor)
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await truth.blobs(hashes, in: tresor)
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await truth.deleteBlobs(hashes, in: tresor)
    }
}

/// Cards.
extension FrontStore {
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await truth.putCard(chain, user: user, handle: handle, replacing: replacing)
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? { try await truth.card(of: user) }
    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] { try await truth.cards(handle: handle) }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await truth.users(prefix: prefix, limit: limit)
    }
}

/// Logs and wraps.
extension FrontStore {
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await truth.entries(of: tresor, from: first, limit: limit)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome { try await truth.append(change) }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await truth.wraps(of: user, in: tresor, epoch: epoch)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await truth.putWraps(wraps, in: tresor)
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] { try await truth.tresors(of: user) }
    func deleteTresor(_ tresor: TresorID) async throws(TresorError) { try await truth.deleteTresor(tresor) }
}

/// The parts of key slots.
extension FrontStore {
    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        try await truth.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await truth.serverShare(user: user, device: device)
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await truth.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await truth.putKitCopy(copy, locator: locator)
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? { try await truth.kitCopy(locator: locator) }
    func deleteKitCopy(locator: Hash256) async throws(TresorError) { try await truth.deleteKitCopy(locator: locator) }
}

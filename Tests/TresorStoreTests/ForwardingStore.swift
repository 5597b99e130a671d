// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A store in front of another one. It forwards every call that a conforming type does not implement itself.
protocol ForwardingStore: CardStore, LogStore, EscrowStore, BlobStore {
    /// The store that answers.
    var base: any Store { get }
}

/// Cards.
extension ForwardingStore {
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await base.putCard(chain, user: user, handle: handle, replacing: replacing)
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await base.card(of: user)
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await base.cards(handle: handle)
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await base.users(prefix: prefix, limit: limit)
    }
}

/// Logs and wraps.
extension ForwardingStore {
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await base.entries(of: tresor, from: first, limit: limit)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await base.append(change)
    }

    func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await base.restore(entry, at: sequence, of: tresor)
    }

    func wraps(
        of user: UserID, in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[UInt8]] {
        try await base.wraps(of: user, in: tresor, epoch: epoch)
    }

    func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64
    ) async throws(TresorError) -> [[UInt8]?] {
        try await base.wraps(of: users, in: tresor, epoch: epoch)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await base.putWraps(wraps, in: tresor)
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await base.tresors(of: user)
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        try await base.deleteTresor(tresor)
    }
}

/// Server shares and kit copies.
extension ForwardingStore {
    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {
        try await base.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await base.serverShare(user: user, device: device)
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await base.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await base.putKitCopy(copy, locator: locator)
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await base.kitCopy(locator: locator)
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await base.deleteKitCopy(locator: locator)
    }
}

/// Blobs.
extension ForwardingStore {
    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await base.putBlob(part, bytes, of: hash, in: tresor)
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await base.blob(hash, part: part, in: tresor)
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await base.blobs(hashes, in: tresor)
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await base.deleteBlobs(hashes, in: tresor)
    }
}

// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Cards.
extension FaultyStore {
    /// Forwards the call.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await passing(.putCard, acknowledging: .done) { () async throws(TresorError) in
            try await base.putCard(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    /// Forwards the call.
    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await passing(.card, acknowledging: nil) { () async throws(TresorError) in
            try await base.card(of: user)
        }
    }

    /// Forwards the call.
    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await passing(.cards, acknowledging: nil) { () async throws(TresorError) in
            try await base.cards(handle: handle)
        }
    }

    /// Forwards the call.
    public func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await passing(.users, acknowledging: nil) { () async throws(TresorError) in
            try await base.users(prefix: prefix, limit: limit)
        }
    }
}

/// Logs and wraps.
extension FaultyStore {
    /// Forwards the call.
    public func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await passing(.entries, acknowledging: nil) { () async throws(TresorError) in
            try await base.entries(of: tresor, from: first, limit: limit)
        }
    }

    /// Forwards the call.
    public func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await passing(.append, acknowledging: .done) { () async throws(TresorError) in
            try await base.append(change)
        }
    }

    /// Forwards the call.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await passing(.restore, acknowledging: .done) { () async throws(TresorError) in
            try await base.restore(entry, at: sequence, of: tresor)
        }
    }

    /// Forwards the call.
    public func wraps(
        of user: UserID, in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[UInt8]] {
        try await passing(.wraps, acknowledging: nil) { () async throws(TresorError) in
            try await base.wraps(of: user, in: tresor, epoch: epoch)
        }
    }

    /// Forwards the call.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        try await passing(.wrapsOfMany, acknowledging: nil) { () async throws(TresorError) in
            try await base.wraps(of: users, in: tresor, epoch: epoch)
        }
    }

    /// Forwards the call.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await passing(.putWraps, acknowledging: ()) { () async throws(TresorError) in
            try await base.putWraps(wraps, in: tresor)
        }
    }

    /// Forwards the call.
    public func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await passing(.tresors, acknowledging: nil) { () async throws(TresorError) in
            try await base.tresors(of: user)
        }
    }

    /// Forwards the call.
    public func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        try await passing(.deleteTresor, acknowledging: ()) { () async throws(TresorError) in
            try await base.deleteTresor(tresor)
        }
    }
}

/// Server shares and kit copies.
extension FaultyStore {
    /// Forwards the call.
    public func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID)
        async throws(TresorError)
    {
        try await passing(.putServerShare, acknowledging: ()) { () async throws(TresorError) in
            try await base.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    /// Forwards the call.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await passing(.serverShare, acknowledging: nil) { () async throws(TresorError) in
            try await base.serverShare(user: user, device: device)
        }
    }

    /// Forwards the call.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await passing(.deleteServerShares, acknowledging: ()) { () async throws(TresorError) in
            try await base.deleteServerShares(user: user, devices: devices)
        }
    }

    /// Forwards the call.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await passing(.putKitCopy, acknowledging: ()) { () async throws(TresorError) in
            try await base.putKitCopy(copy, locator: locator)
        }
    }

    /// Forwards the call.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await passing(.kitCopy, acknowledging: nil) { () async throws(TresorError) in
            try await base.kitCopy(locator: locator)
        }
    }

    /// Forwards the call.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await passing(.deleteKitCopy, acknowledging: ()) { () async throws(TresorError) in
            try await base.deleteKitCopy(locator: locator)
        }
    }
}

/// Blobs.
extension FaultyStore {
    /// Forwards the call.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await passing(.putBlob, acknowledging: ()) { () async throws(TresorError) in
            try await base.putBlob(part, bytes, of: hash, in: tresor)
        }
    }

    /// Forwards the call.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await passing(.blob, acknowledging: nil) { () async throws(TresorError) in
            try await base.blob(hash, part: part, in: tresor)
        }
    }

    /// Forwards the call.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await passing(.blobs, acknowledging: nil) { () async throws(TresorError) in
            try await base.blobs(hashes, in: tresor)
        }
    }

    /// Forwards the call.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await passing(.deleteBlobs, acknowledging: ()) { () async throws(TresorError) in
            try await base.deleteBlobs(hashes, in: tresor)
        }
    }
}

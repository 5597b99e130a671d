// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// An export as a store that may lie, and that keeps nothing.
struct ExportedStore: Store, BloblessStore {
    let export: TresorExport

    private static let keepsNothing = TresorError.store(.readOnly)

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome { throw Self.keepsNothing }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        export.cards.first { $0.user == user }?.bytes
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        export.cards.filter { $0.handle.bytes == handle }.map(\.bytes)
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        Array(export.cards.map(\.user).filter { $0.digest.bytes.starts(with: prefix) }.prefix(max(0, limit)))
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        guard tresor == export.tresor, let first = Int(exactly: first), first < export.entries.count else { return [] }
        return Array(export.entries[first...].prefix(max(0, limit)))
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome { throw Self.keepsNothing }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        guard tresor == export.tresor else { return [] }
        return export.wraps.filter { $0.user == user && (epoch == nil || $0.epoch == epoch) }.map(\.bytes)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) { throw Self.keepsNothing }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        export.wraps.contains { $0.user == user } ? [export.tresor] : []
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) { throw Self.keepsNothing }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        throw Self.keepsNothing
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? { nil }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) { throw Self.keepsNothing }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) { throw Self.keepsNothing }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? { nil }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) { throw Self.keepsNothing }
}

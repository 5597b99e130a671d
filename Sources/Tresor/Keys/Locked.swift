// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
import TresorCore

/// The home of a locked session. Every call throws ``TresorError/usage(_:)`` with `locked`.
struct LockedHome: Home {
    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? { throw .usage(.locked) }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) { throw .usage(.locked) }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? { throw .usage(.locked) }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        throw .usage(.locked)
    }

    func delete(_ object: HomeObject) throws(TresorError) { throw .usage(.locked) }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        throw .usage(.locked)
    }
}

/// The store of a locked session. Every call throws ``TresorError/usage(_:)`` with `locked`.
struct LockedStore: Store {
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome { throw .usage(.locked) }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? { throw .usage(.locked) }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] { throw .usage(.locked) }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] { throw .usage(.locked) }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        throw .usage(.locked)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome { throw .usage(.locked) }

    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) async throws(TresorError) -> StoreOutcome {
        throw .usage(.locked)
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        throw .usage(.locked)
    }

    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64) async throws(TresorError) -> [[UInt8]?] {
        throw .usage(.locked)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) { throw .usage(.locked) }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] { throw .usage(.locked) }

    func putServerShare(_ share: [UInt8], user: UserID, device: DeviceID) async throws(TresorError) {
        throw .usage(.locked)
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? { throw .usage(.locked) }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) { throw .usage(.locked) }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) { throw .usage(.locked) }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? { throw .usage(.locked) }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) { throw .usage(.locked) }
}

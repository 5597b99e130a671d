// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto

/// How often each kind of thing was asked for.
final class CallCounts: Sendable {
    private let values = Mutex<[String: Int]>([:])

    var counts: [String: Int] { values.withLock { $0 } }

    func count(_ what: String) { values.withLock { $0[what, default: 0] += 1 } }

    func reset() { values.withLock { $0 = [:] } }
}

/// A home whose reads are counted, by kind of object.
struct CountingHome: Home {
    let home: any Home
    let tally = CallCounts()

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        tally.count("home \(Self.kind(object))")
        return try home.read(object)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        tally.count("home writes")
        try home.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        tally.count("home \(Self.kind(object))")
        return try home.readSecret(object)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        tally.count("home writes")
        try home.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        tally.count("home deletions")
        try home.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        if HomePatience.isNone { tally.count("home locks at once") }
        tally.count("home locks")
        return try home.exclusively(body)
    }

    func slotLock() throws(TresorError) -> SlotLock? { try home.slotLock() }

    private static func kind(_ object: HomeObject) -> String {
        switch object.kind {
        case .log: "log"
        case .state: "state"
        case .records: "records"
        case .volume: "volume"
        case .evidence: "evidence"
        case .outbox: "outbox"
        default: "\(object.kind)"
        }
    }
}

/// A store whose calls are counted, by operation.
struct CountingStore: FrontStore {
    let store: any Store
    var truth: any Store { store }
    let tally = CallCounts()

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await store.putCard(chain, user: user, handle: handle, replacing: replacing)
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        tally.count("card")
        return try await store.card(of: user)
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        tally.count("cards")
        return try await store.cards(handle: handle)
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        tally.count("users")
        return try await store.users(prefix: prefix, limit: limit)
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        tally.count("entries")
        return try await store.entries(of: tresor, from: first, limit: limit)
    }

    func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await store.restore(entry, at: sequence, of: tresor)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome { try await store.append(change) }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        tally.count("wraps")
        return try await store.wraps(of: user, in: tresor, epoch: epoch)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await store.putWraps(wraps, in: tresor)
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        tally.count("tresors")
        return try await store.tresors(of: user)
    }

    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {
        try await store.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        tally.count("serverShare")
        return try await store.serverShare(user: user, device: device)
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await store.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await store.putKitCopy(copy, locator: locator)
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? { try await store.kitCopy(locator: locator) }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) { try await store.deleteKitCopy(locator: locator) }
}

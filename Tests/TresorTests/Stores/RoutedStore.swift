// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

/// A store that passes each call on.
protocol RoutedStore: Store {
    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer
}

extension RoutedStore {
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await pass { (store) async throws(TresorError) in
            try await store.putCard(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await pass { (store) async throws(TresorError) in try await store.card(of: user) }
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await pass { (store) async throws(TresorError) in try await store.cards(handle: handle) }
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await pass { (store) async throws(TresorError) in try await store.users(prefix: prefix, limit: limit) }
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await pass { (store) async throws(TresorError) in
            try await store.entries(of: tresor, from: first, limit: limit)
        }
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await pass { (store) async throws(TresorError) in try await store.append(change) }
    }

    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) async throws(TresorError) -> StoreOutcome {
        try await pass { (store) async throws(TresorError) in
            try await store.restore(entry, at: sequence, of: tresor)
        }
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await pass { (store) async throws(TresorError) in
            try await store.wraps(of: user, in: tresor, epoch: epoch)
        }
    }

    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[[UInt8]]] {
        try await pass { (store) async throws(TresorError) in
            try await store.wraps(of: users, in: tresor, epoch: epoch)
        }
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in try await store.putWraps(wraps, in: tresor) }
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await pass { (store) async throws(TresorError) in try await store.tresors(of: user) }
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in try await store.deleteTresor(tresor) }
    }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in
            try await store.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await pass { (store) async throws(TresorError) in
            try await store.serverShare(user: user, device: device)
        }
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in
            try await store.deleteServerShares(user: user, devices: devices)
        }
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in try await store.putKitCopy(copy, locator: locator) }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await pass { (store) async throws(TresorError) in try await store.kitCopy(locator: locator) }
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in try await store.deleteKitCopy(locator: locator) }
    }
}

/// Blobs.
extension RoutedStore {
    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in
            try await store.putBlob(part, bytes, of: hash, in: tresor)
        }
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await pass { (store) async throws(TresorError) in try await store.blob(hash, part: part, in: tresor) }
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await pass { (store) async throws(TresorError) in try await store.blobs(hashes, in: tresor) }
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await pass { (store) async throws(TresorError) in try await store.deleteBlobs(hashes, in: tresor) }
    }
}

/// A value that the first who asks for it makes.
final class Lazily<Value: Sendable>: Sendable {
    private let making: Mutex<Task<Value, any Error>?> = Mutex(nil)
    private let make: @Sendable () async throws -> Value

    init(_ make: @escaping @Sendable () async throws -> Value) { self.make = make }

    /// - Throws: ``TresorError/failed(_:)`` where it cannot be made.
    var value: Value {
        get async throws(TresorError) {
            let task = making.withLock { making in
                let task = making ?? Task.detached { [make] in try await make() }
                making = task
                return task
            }
            do {
                return try await task.value
            } catch {
                throw error as? TresorError ?? .failed(.other)
            }
        }
    }
}

/// A store that its first call opens.
final class LazyStore: RoutedStore {
    private let store: Lazily<any Store>

    init(_ open: @escaping @Sendable () async throws -> any Store) { store = Lazily(open) }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(store.value) }
}

/// Whether a call comes from a client, and not from the hand of a test.
enum ClientSide {
    @TaskLocal static var isHere = false

    static func call<Answer>(
        _ value: Bool, _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let result = await $isHere.withValue(value) { () async -> Result<Answer, TresorError> in
            do throws(TresorError) { return .success(try await calls()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// A store in the hand of a test, also where a client calls it: the operator of a service helps that client.
struct HandStore: LayeredStore, RoutedStore {
    let truth: any Store

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await ClientSide.call(false) { () async throws(TresorError) in try await call(truth) }
    }
}

/// A store that a client without an identity asks in the name of a person.
struct AskedStore: RoutedStore {
    let base: any Store
    let person: Identity

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        guard Speaker.current == nil else { return try await call(base) }
        return try await Speaker.person(person).call(from: nil) { () async throws(TresorError) in try await call(base) }
    }
}

/// A store whose calls come from a client, whatever stands between the two.
struct SeenStore: RoutedStore {
    let base: any Store

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await ClientSide.call(true) { () async throws(TresorError) in try await call(base) }
    }
}

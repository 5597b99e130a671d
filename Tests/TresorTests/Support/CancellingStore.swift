// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// A store that cancels a task at one of the calls that it gets, and counts the writes. It loses its connection in a task
/// that was cancelled, as a network does.
final class CancellingStore: FrontStore {
    private struct Script: Sendable {
        var calls = 0
        var writes = 0
        var place: Int?
        var cancel: (@Sendable () -> Void)?
    }

    private let store: any Store
    var truth: any Store { store }
    private let script = Mutex(Script())

    init(_ store: any Store = StageStores.make()) { self.store = store }

    /// How many writes it was asked for.
    var writes: Int { script.withLock { $0.writes } }

    /// Whether the call at which it cancels has come.
    var hasCancelled: Bool { script.withLock { $0.place != nil && $0.cancel == nil } }

    /// Calls `cancel` at a call from now on; the next one is 0.
    func cancel(at place: Int, _ cancel: @escaping @Sendable () -> Void) {
        script.withLock { ($0.calls, $0.place, $0.cancel) = (0, place, cancel) }
    }

    private func look(isWrite: Bool = false) throws(TresorError) {
        let cancel = script.withLock { script -> (@Sendable () -> Void)? in
            if isWrite { script.writes += 1 }
            defer { script.calls += 1 }
            guard script.calls == script.place else { return nil }
            return script.cancel.take()
        }
        cancel?()
        guard !Task.isCancelled else { throw .store(.inputOutput) }
    }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try look(isWrite: true)
        return try await store.putCard(chain, user: user, handle: handle, replacing: replacing)
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try look()
        return try await store.card(of: user)
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try look()
        return try await store.cards(handle: handle)
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try look()
        return try await store.users(prefix: prefix, limit: limit)
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try look()
        return try await store.entries(of: tresor, from: first, limit: limit)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try look(isWrite: true)
        return try await store.append(change)
    }

    func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try look(isWrite: true)
        return try await store.restore(entry, at: sequence, of: tresor)
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try look()
        return try await store.wraps(of: user, in: tresor, epoch: epoch)
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try look(isWrite: true)
        try await store.putWraps(wraps, in: tresor)
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try look()
        return try await store.tresors(of: user)
    }

    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {
        try look(isWrite: true)
        try await store.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try look()
        return try await store.serverShare(user: user, device: device)
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try look(isWrite: true)
        try await store.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try look(isWrite: true)
        try await store.putKitCopy(copy, locator: locator)
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try look()
        return try await store.kitCopy(locator: locator)
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try look(isWrite: true)
        try await store.deleteKitCopy(locator: locator)
    }
}

/// A store that cancels the task of one of the calls that it gets; not inside of steps that no cancellation ends.
struct CallCancellation {
    let store: FaultyStore
    private let calls: CallCounts
    private let place: Int

    /// - Parameter place: the number of calls that come before it.
    init(of store: any Store, at place: Int) {
        let calls = CallCounts()
        self.store = FaultyStore(store) { _ in
            guard !Cancellation.isIgnored else { return nil }
            calls.count("call")
            if calls.counts["call"] == place + 1 { withUnsafeCurrentTask { $0?.cancel() } }
            return nil
        }
        (self.calls, self.place) = (calls, place)
    }

    /// Whether the call has come.
    var hasCome: Bool { calls.counts["call", default: 0] > place }
}

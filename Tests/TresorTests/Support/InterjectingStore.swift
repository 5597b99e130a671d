// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto

@testable import TresorCore

/// One person's way to a store, on which somebody else acts before or behind one of the calls on cards and key slots.
final class InterjectingStore: FrontStore {
    /// The objects that were ever put into the store, by whatever way.
    final class Record: Sendable {
        private let state = Mutex<(locators: Set<Hash256>, devices: Set<DeviceID>)>(([], []))

        var locators: Set<Hash256> { state.withLock { $0.locators } }
        var devices: Set<DeviceID> { state.withLock { $0.devices } }

        fileprivate func note(_ locator: Hash256) { state.withLock { _ = $0.locators.insert(locator) } }
        fileprivate func note(_ device: DeviceID) { state.withLock { _ = $0.devices.insert(device) } }
    }

    private struct Plan {
        var passed = 0
        var acts: [Int: @Sendable () async -> Void] = [:]
    }

    let truth: any Store
    private let record: Record
    private let plan = Mutex(Plan())

    init(_ truth: any Store, _ record: Record) { (self.truth, self.record) = (truth, record) }

    /// Counts from now on; lets `acts` act at their places, two for each call.
    func interject(_ acts: [Int: @Sendable () async -> Void]) { plan.withLock { $0 = Plan(acts: acts) } }

    /// The places since the last plan.
    var placeCount: Int { plan.withLock { $0.passed } }

    private func around<Value>(_ call: () async throws(TresorError) -> Value) async throws(TresorError) -> Value {
        await pass()
        let value = try await call()
        await pass()
        return value
    }

    private func pass() async {
        let act = plan.withLock { plan in
            defer { plan.passed += 1 }
            return plan.acts[plan.passed]
        }
        await act?()
    }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await around { () async throws(TresorError) in
            try await truth.putCard(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await around { () async throws(TresorError) in try await truth.card(of: user) }
    }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        record.note(device)
        try await around { () async throws(TresorError) in
            try await truth.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await around { () async throws(TresorError) in try await truth.serverShare(user: user, device: device) }
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await around { () async throws(TresorError) in
            try await truth.deleteServerShares(user: user, devices: devices)
        }
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        record.note(locator)
        try await around { () async throws(TresorError) in try await truth.putKitCopy(copy, locator: locator) }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await around { () async throws(TresorError) in try await truth.kitCopy(locator: locator) }
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await around { () async throws(TresorError) in try await truth.deleteKitCopy(locator: locator) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto
import TresorStore

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

    private func turn() async {
        let act = plan.withLock { plan in
            defer { plan.passed += 1 }
            return plan.acts[plan.passed]
        }
        await act?()
    }

    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        switch function {
        case .putCard, .card, .putServerShare, .serverShare, .deleteServerShares, .putKitCopy, .kitCopy, .deleteKitCopy:
            await turn()
            let answer = try await call(truth)
            await turn()
            return answer
        default: return try await call(truth)
        }
    }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        record.note(device)
        try await pass(.putServerShare, confirming: ()) { (store) async throws(TresorError) in
            try await store.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        record.note(locator)
        try await pass(.putKitCopy, confirming: ()) { (store) async throws(TresorError) in
            try await store.putKitCopy(copy, locator: locator)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A store that shows the objects of a scenario.
actor ScriptedStore: Store, BloblessStore {
    private struct Place: Hashable {
        let user: UserID
        let epoch: UInt64
    }

    private let tresor: TresorID
    private var log: [[UInt8]] = []
    private var wraps: [Place: [UInt8]] = [:]
    /// Additional wraps of a place, in the order of their addition. No honest store has them.
    private var surplus: [Place: [[UInt8]]] = [:]

    private var isFailing = false

    init(tresor: TresorID) { self.tresor = tresor }

    func show(_ entries: [[UInt8]]) { log = entries }

    /// Withholds all wraps from now on.
    func fail() { isFailing = true }

    func put(_ wrap: [UInt8]?, user: UserID, epoch: UInt64) { wraps[Place(user: user, epoch: epoch)] = wrap }

    /// Adds a wrap after the existing ones.
    func add(_ wrap: [UInt8], user: UserID, epoch: UInt64) {
        let place = Place(user: user, epoch: epoch)
        if wraps[place] == nil { wraps[place] = wrap } else { surplus[place, default: []].append(wrap) }
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) -> [[UInt8]] {
        guard tresor == self.tresor, let start = Int(exactly: first), start < log.count else { return [] }
        return Array(log[start...].prefix(limit))
    }

    func append(_ change: LogChange) throws(TresorError) -> StoreOutcome {
        guard UInt64(log.count) == change.sequence, try change.follows(log.last) else { return .conflict }
        log.append(change.entry)
        wraps = wraps.filter { !change.removingWrapsOf.contains($0.key.user) }
        for wrap in change.putting { wraps[Place(user: wrap.user, epoch: wrap.epoch)] = wrap.bytes }
        return .done
    }

    /// Appends an entry at the place that it names.
    func append(
        _ entry: [UInt8], sequence: UInt64, previous: Hash256, putting: [StoredWrap], removing: [UserID]
    ) throws(TresorError) -> StoreOutcome {
        try append(
            LogChange(
                tresor: tresor, sequence: sequence, previous: previous, entry: entry, putting: putting,
                removingWrapsOf: removing))
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) throws(TresorError) -> [[UInt8]] {
        guard !isFailing else { throw .store(.other) }
        guard tresor == self.tresor else { return [] }
        return wraps.filter { $0.key.user == user && epoch ?? $0.key.epoch == $0.key.epoch }
            .sorted { $0.key.epoch < $1.key.epoch }.flatMap { [$0.value] + surplus[$0.key, default: []] }
    }

    func putCard(_ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?) -> StoreOutcome { .conflict }
    func card(of user: UserID) -> [UInt8]? { nil }
    func cards(handle: [UInt8]) -> [[UInt8]] { [] }
    func users(prefix: [UInt8], limit: Int) -> [UserID] { [] }
    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) {}
    func tresors(of user: UserID) -> [TresorID] { [] }
    func deleteTresor(_ tresor: TresorID) {}
    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) {}
    func serverShare(user: UserID, device: DeviceID) -> [UInt8]? { nil }
    func deleteServerShares(user: UserID, devices: [DeviceID]?) {}
    func putKitCopy(_ copy: [UInt8], locator: Hash256) {}
    func kitCopy(locator: Hash256) -> [UInt8]? { nil }
    func deleteKitCopy(locator: Hash256) {}
}

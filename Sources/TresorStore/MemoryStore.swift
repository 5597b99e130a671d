// SPDX-License-Identifier: Apache-2.0

public import Tresor

/// A store that lasts as long as the process: for tests, and for trying the library.
public actor MemoryStore: Store {
    private struct Card {
        let handle: [UInt8]
        let chain: [UInt8]
    }

    private struct Membership: Hashable {
        let user: UserID
        let tresor: TresorID
    }

    private var cards: [UserID: Card] = [:]
    private var logs: [TresorID: [[UInt8]]] = [:]
    private var wraps: [Membership: [UInt64: [UInt8]]] = [:]
    private var halves: [UserID: [DeviceID: [UInt8]]] = [:]
    private var kitCopies: [Digest: [UInt8]] = [:]

    /// An empty store.
    public init() {}

    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) -> StoreOutcome {
        guard !cards.contains(where: { $0.key != user && $0.value.handle == handle }) else { return .conflict }
        let present = cards[user]?.chain
        if present == chain { return .done }
        guard present == replacing else { return .conflict }
        cards[user] = Card(handle: handle, chain: chain)
        return .done
    }

    public func card(of user: UserID) -> [UInt8]? { cards[user]?.chain }

    public func cards(handle: [UInt8]) -> [[UInt8]] {
        cards.filter { $0.value.handle == handle }.sorted { $0.key < $1.key }.map(\.value.chain)
    }

    public func users(prefix: [UInt8], limit: Int) -> [UserID] {
        Array(cards.keys.filter { $0.digest.bytes.starts(with: prefix) }.sorted().prefix(max(0, limit)))
    }

    public func entries(of tresor: TresorID, from first: UInt64, limit: Int) -> [[UInt8]] {
        guard let log = logs[tresor], let start = Int(exactly: first), start < log.count else { return [] }
        return Array(log[start...].prefix(max(0, limit)))
    }

    public func append(_ change: LogChange) -> StoreOutcome {
        var log = logs[change.tresor] ?? []
        guard UInt64(log.count) == change.sequence, log.last == change.previous else { return .conflict }
        log.append(change.entry)
        logs[change.tresor] = log
        for user in change.removingWrapsOf { wraps[Membership(user: user, tresor: change.tresor)] = nil }
        put(change.putting, in: change.tresor)
        return .done
    }

    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) -> [[UInt8]] {
        let byEpoch = wraps[Membership(user: user, tresor: tresor)] ?? [:]
        guard let epoch else { return byEpoch.sorted { $0.key < $1.key }.map(\.value) }
        return byEpoch[epoch].map { [$0] } ?? []
    }

    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) { put(wraps, in: tresor) }

    private func put(_ new: [StoredWrap], in tresor: TresorID) {
        for wrap in new { wraps[Membership(user: wrap.user, tresor: tresor), default: [:]][wrap.epoch] = wrap.bytes }
    }

    public func tresors(of user: UserID) -> [TresorID] {
        wraps.keys.filter { $0.user == user }.map(\.tresor).sorted()
    }

    public func putHalf(_ half: [UInt8], user: UserID, device: DeviceID) { halves[user, default: [:]][device] = half }

    public func half(user: UserID, device: DeviceID) -> [UInt8]? { halves[user]?[device] }

    public func deleteHalves(user: UserID, devices: [DeviceID]?) {
        guard let devices else {
            halves[user] = nil
            return
        }
        for device in devices { halves[user]?[device] = nil }
    }

    public func putKitCopy(_ copy: [UInt8], locator: Digest) { kitCopies[locator] = copy }

    public func kitCopy(locator: Digest) -> [UInt8]? { kitCopies[locator] }

    public func deleteKitCopy(locator: Digest) { kitCopies[locator] = nil }
}

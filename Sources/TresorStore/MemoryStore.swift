// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// A store in memory, for tests and for trying the library.
public actor MemoryStore: Store {
    private struct Card {
        let handle: [UInt8]
        let chain: [UInt8]
    }

    private struct Membership: Hashable {
        let user: UserID
        let tresor: TresorID
    }

    /// The place of a blob.
    private struct Place: Hashable {
        let tresor: TresorID
        let hash: Hash256
    }

    private var cards: [UserID: Card] = [:]
    private var logs: [TresorID: [[UInt8]]] = [:]
    private var deleted: Set<TresorID> = []
    private var wraps: [Membership: [UInt64: [UInt8]]] = [:]
    private var blobs: [Place: [UInt32: [UInt8]]] = [:]
    private var serverShares: [UserID: [DeviceID: [UInt8]]] = [:]
    private var kitCopies: [Hash256: [UInt8]] = [:]

    /// Makes an empty store.
    public init() {}

    /// Stores a card chain under its user id, if the stored chain is `replacing` and no other user id has the handle.
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

    /// Returns the card chain of a user id, or `nil`.
    public func card(of user: UserID) -> [UInt8]? { cards[user]?.chain }

    /// Returns the card chains under a handle, compared as bytes, by rising user id.
    public func cards(handle: [UInt8]) -> [[UInt8]] {
        cards.filter { $0.value.handle == handle }.sorted { $0.key < $1.key }.map(\.value.chain)
    }

    /// Returns the user ids with a card that begin with `prefix`, in byte order, at most `limit`.
    public func users(prefix: [UInt8], limit: Int) -> [UserID] {
        Array(cards.keys.filter { $0.digest.bytes.starts(with: prefix) }.sorted().prefix(max(0, limit)))
    }

    /// Returns the entries of a log from `first` on, in order, at most `limit`.
    public func entries(of tresor: TresorID, from first: UInt64, limit: Int) -> [[UInt8]] {
        guard let log = logs[tresor], let start = Int(exactly: first), start < log.count else { return [] }
        return Array(log[start...].prefix(max(0, limit)))
    }

    /// Appends one entry and changes its wraps, if the log still ends as `change` expects.
    public func append(_ change: LogChange) throws(TresorError) -> StoreOutcome {
        var log = logs[change.tresor] ?? []
        guard !deleted.contains(change.tresor), UInt64(log.count) == change.sequence, try change.follows(log.last),
            change.blobs.allSatisfy({ $0.bytes != nil || has($0, in: change.tresor) })
        else { return .conflict }
        for blob in change.blobs {
            guard let bytes = blob.bytes else { continue }
            let parts = StoredBlob.parts(of: bytes).enumerated().map { (UInt32($0), Array($1)) }
            blobs[Place(tresor: change.tresor, hash: blob.hash)] = Dictionary(uniqueKeysWithValues: parts)
        }
        log.append(change.entry)
        logs[change.tresor] = log
        for user in change.removingWrapsOf { wraps[Membership(user: user, tresor: change.tresor)] = nil }
        put(change.putting, in: change.tresor)
        return .done
    }

    /// Returns the wraps of one member of one tresor, by rising epoch.
    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) -> [[UInt8]] {
        let byEpoch = wraps[Membership(user: user, tresor: tresor)] ?? [:]
        guard let epoch else { return byEpoch.sorted { $0.key < $1.key }.map(\.value) }
        return byEpoch[epoch].map { [$0] } ?? []
    }

    /// Stores wraps. Each replaces the wrap of the same user and epoch.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) { put(wraps, in: tresor) }

    private func put(_ new: [StoredWrap], in tresor: TresorID) {
        guard !deleted.contains(tresor) else { return }
        for wrap in new { wraps[Membership(user: wrap.user, tresor: tresor), default: [:]][wrap.epoch] = wrap.bytes }
    }

    /// Returns the tresors in which a user id has a wrap, in byte order.
    public func tresors(of user: UserID) -> [TresorID] {
        wraps.keys.filter { $0.user == user }.map(\.tresor).sorted()
    }

    /// Deletes a tresor. Its id stays taken.
    public func deleteTresor(_ tresor: TresorID) {
        deleted.insert(tresor)
        logs[tresor] = nil
        wraps = wraps.filter { $0.key.tresor != tresor }
        blobs = blobs.filter { $0.key.tresor != tresor }
    }

    private func has(_ blob: StoredBlob, in tresor: TresorID) -> Bool {
        let parts = blobs[Place(tresor: tresor, hash: blob.hash)] ?? [:]
        return parts.count == Int(parts.keys.max() ?? 0) + 1
            && parts.values.reduce(0) { $0 + UInt64($1.count) } == blob.size
    }

    /// Stores one part of a blob. Replaces a part that is there.
    public func putBlob(_ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID) {
        guard !deleted.contains(tresor) else { return }
        blobs[Place(tresor: tresor, hash: hash), default: [:]][part] = bytes
    }

    /// Returns one part of a blob, or `nil`.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) -> [UInt8]? {
        blobs[Place(tresor: tresor, hash: hash)]?[part]
    }

    /// Returns whole blobs, as many of the first as fit into 4 MiB.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) -> [[UInt8]?] {
        var (found, left): ([[UInt8]?], Int) = ([], StoredBlob.answerByteCount)
        for hash in hashes {
            let parts = blobs[Place(tresor: tresor, hash: hash)] ?? [:]
            let size = parts.values.reduce(0) { $0 + $1.count }
            guard !parts.isEmpty, size <= StoredBlob.answerByteCount else {
                found.append(nil)
                continue
            }
            guard size <= left else { break }
            left -= size
            found.append(parts.sorted { $0.key < $1.key }.flatMap(\.value))
        }
        return found
    }

    /// Deletes blobs.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) {
        for hash in hashes { blobs[Place(tresor: tresor, hash: hash)] = nil }
    }

    /// Stores the server share of a device slot.
    public func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) {
        serverShares[user, default: [:]][device] = share
    }

    /// Returns the server share of a device slot, or `nil`.
    public func serverShare(user: UserID, device: DeviceID) -> [UInt8]? { serverShares[user]?[device] }

    /// Deletes the server shares of these devices, or of all devices of the user id.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) {
        guard let devices else {
            serverShares[user] = nil
            return
        }
        for device in devices { serverShares[user]?[device] = nil }
    }

    /// Stores a sealed identity copy. Replaces an existing copy under the locator.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) { kitCopies[locator] = copy }

    /// Returns the sealed identity copy under a locator, or `nil`.
    public func kitCopy(locator: Hash256) -> [UInt8]? { kitCopies[locator] }

    /// Deletes a sealed identity copy.
    public func deleteKitCopy(locator: Hash256) { kitCopies[locator] = nil }
}

extension MemoryStore: ReplacingStore {
    package func replaceKitCopy(_ present: [UInt8], with copy: [UInt8], locator: Hash256) -> Bool {
        guard kitCopies[locator] == present else { return false }
        kitCopies[locator] = copy
        return true
    }
}

extension MemoryStore: KitCopyList {
    package func kitCopyLocators(after locator: Hash256?, limit: Int) -> [Hash256] {
        let later = kitCopies.keys.filter { other in locator.map { $0 < other } ?? true }
        return Array(later.sorted().prefix(max(0, limit)))
    }
}

extension MemoryStore: UnnamedBlobStore {
    package func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) throws(TresorError) {
        try check(head, of: tresor)
        blobs = blobs.filter { place, _ in place.tresor != tresor || named.contains(place.hash) }
    }

    package func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) throws(TresorError) {
        try check(head, of: tresor)
        deleteBlobs(hashes, in: tresor)
    }

    /// - Throws: ``TresorError/busy`` for a log that ends with another entry.
    private func check(_ head: Hash256, of tresor: TresorID) throws(TresorError) {
        guard let last = logs[tresor]?.last, try BLAKE2b.hash(.entryHash, last) == head else { throw .busy }
    }
}

// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// The shared storage of opaque objects (SPEC §11). It is trusted only for availability: clients verify every answer.
///
/// Reads return the last write; the writes of one call happen together or not at all. An implementation throws
/// ``TresorError/store(_:)`` if it is unreachable or fails, ``TresorError/busy`` if another process holds it for too
/// long, and no other error unless stated below. It reads nothing in the objects except the keys given here.
public typealias Store = CardStore & LogStore & EscrowStore & BlobStore

/// The public faces of people, by user id and by handle (SPEC §11). A part of a ``Store``.
public protocol CardStore: Sendable {
    /// Stores a card chain under its user id.
    ///
    /// - Parameters:
    ///   - chain: the whole card chain, generation 0 to the newest.
    ///   - user: the user id that the chain proves.
    ///   - handle: the handle, at most 256 bytes.
    ///   - replacing: the chain to replace; `nil` for a user id without a chain.
    /// - Returns: ``StoreOutcome/conflict`` if the stored chain is not `replacing`, or if the handle belongs to another
    ///   user id. Storing the same chain again is ``StoreOutcome/done``.
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome

    /// Returns the card chain of a user id, or `nil`.
    func card(of user: UserID) async throws(TresorError) -> [UInt8]?

    /// Returns all card chains under a handle, compared as bytes. An honest store has at most one.
    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]]

    /// Returns the user ids that have a card and begin with `prefix`, in byte order, at most `limit`. None for a limit
    /// of 0 or less.
    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID]
}

/// Logs, and the wraps that change with their entries in one transaction (SPEC §11). A part of a ``Store``.
public protocol LogStore: Sendable {
    /// Returns the entries of a log from sequence number `first` on, in order, at most `limit`. Empty if there are
    /// none, and for a limit of 0 or less.
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]]

    /// Appends one entry if the log still ends where the author expects, and stores its blobs, and stores and deletes
    /// wraps in the same transaction.
    ///
    /// - Returns: ``StoreOutcome/conflict`` if the log has another length, `change` does not follow its last entry, or a
    ///   blob of `change` is neither sent with it nor there in all its bytes; then nothing is written.
    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome

    /// Restores a lost entry at its place before the last entry of a log.
    ///
    /// - Returns: ``StoreOutcome/done`` also if this entry is present; ``StoreOutcome/conflict`` if another one is, or
    ///   if the log ends before it: use ``append(_:)`` then.
    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) async throws(TresorError) -> StoreOutcome

    /// Returns the wraps of one member of one tresor, by rising epoch; only those of `epoch` if given.
    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]]

    /// Returns the wraps of many members of one tresor, in the order of `users`, each member's by rising epoch; only those
    /// of `epoch` if given. An implementation that can answer in one step does; the default reads one at a time.
    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[[UInt8]]]

    /// Restores missing or damaged wraps, without an entry.
    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError)

    /// Returns the tresors in which this user id has a wrap, in byte order.
    func tresors(of user: UserID) async throws(TresorError) -> [TresorID]

    /// Deletes the entries, wraps and blobs of a tresor, and overwrites their bytes. Succeeds for one that is not there.
    ///
    /// Its id stays taken: ``append(_:)`` is a conflict from then on, and what is put for it is dropped.
    func deleteTresor(_ tresor: TresorID) async throws(TresorError)
}

/// The parts of key slots that are useless alone: server shares and kit copies (SPEC §8.2, §8.3, §11). A part of a ``Store``.
public protocol EscrowStore: Sendable {
    /// Stores the server share of a device slot.
    ///
    /// - Parameters:
    ///   - share: 32 bytes.
    ///   - deviceKey: the public key of the device, by which a service knows the device. A store that everybody may use
    ///     keeps it for such a service, or ignores it.
    ///   - user: the person of the slot.
    ///   - device: the id of the slot.
    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)

    /// Returns the server share of a device slot, or `nil`.
    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]?

    /// Deletes the server shares of these devices, or of all devices of the user id if `nil`, and overwrites their
    /// bytes.
    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError)

    /// Stores a sealed identity copy under a locator (32 bytes) that only the kit yields. Replaces an existing copy.
    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError)

    /// Returns the sealed identity copy under a locator, or `nil`.
    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]?

    /// Deletes a sealed identity copy and overwrites its bytes.
    func deleteKitCopy(locator: Hash256) async throws(TresorError)
}

extension LogStore {
    /// Defaults for a store that cannot lose an earlier entry of a log.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome { .conflict }

    /// Reads the wraps of one member at a time.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        var found: [[[UInt8]]] = []
        for user in users { found.append(try await wraps(of: user, in: tresor, epoch: epoch)) }
        return found
    }
}

/// The outcome of a conditional write.
public enum StoreOutcome: Hashable, Sendable {
    /// The object is stored.
    case done
    /// Another object is stored; nothing was written.
    case conflict
}

/// A wrap and its place in the store.
public struct StoredWrap: Hashable, Sendable {
    /// The member that the wrap is for.
    public let user: UserID
    /// The epoch of the wrapped keys.
    public let epoch: UInt64
    /// The bytes of the wrap (SPEC §9.6).
    public let bytes: [UInt8]

    /// Makes a wrap with its place.
    public init(user: UserID, epoch: UInt64, bytes: [UInt8]) {
        self.user = user
        self.epoch = epoch
        self.bytes = bytes
    }
}

/// One entry and the changes of wraps with it.
public struct LogChange: Hashable, Sendable {
    /// The tresor of the log.
    public let tresor: TresorID
    /// The sequence number of the entry; the log must have exactly this many entries.
    public let sequence: UInt64
    /// The entry hash of the last entry of the log; 32 zero bytes for sequence number 0.
    public let previous: Hash256
    /// The entry.
    public let entry: [UInt8]
    /// The wraps to store; each replaces the wrap of the same user and epoch.
    public let putting: [StoredWrap]
    /// Members whose wraps in this tresor are all deleted and overwritten, before any are stored.
    public let removingWrapsOf: [UserID]
    /// The blobs that the entry names. The store has each of them when the entry is appended.
    public let blobs: [StoredBlob]

    /// Makes a change of one log.
    public init(
        tresor: TresorID, sequence: UInt64, previous: Hash256, entry: [UInt8], putting: [StoredWrap] = [],
        removingWrapsOf: [UserID] = [], blobs: [StoredBlob] = []
    ) {
        self.tresor = tresor
        self.sequence = sequence
        self.previous = previous
        self.entry = entry
        self.putting = putting
        self.removingWrapsOf = removingWrapsOf
        self.blobs = blobs
    }

    /// Whether the author of the entry expects it behind this last entry of the log.
    ///
    /// - Parameter last: the bytes of the last entry; `nil` for a log without entries.
    public func follows(_ last: [UInt8]?) throws(TresorError) -> Bool {
        guard let last else { return previous == .zero }
        return try BLAKE2b.hash(.entryHash, last) == previous
    }
}

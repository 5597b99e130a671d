// SPDX-License-Identifier: Apache-2.0

/// What keeps and hands out opaque objects (SPEC §11). It is not trusted for anything except availability: every answer is
/// verified by whoever asked.
///
/// Reads give what was last written; writes of one call happen together or not at all. An implementation throws
/// ``TresorError/store(_:)`` when it cannot be reached or fails, ``TresorError/busy`` when somebody else holds it for too
/// long, and nothing else unless said below. It never looks inside the objects for anything but the keys given here.
public protocol Store: Sendable {
    // MARK: Cards

    /// Puts a card chain under its user id.
    ///
    /// - Parameters:
    ///   - chain: the whole card chain, generation 0 to the newest.
    ///   - user: the user id the chain proves.
    ///   - handle: the handle, at most 256 bytes.
    ///   - replacing: the chain that is replaced; `nil` for a user id that has none yet.
    /// - Returns: ``StoreOutcome/conflict`` if what lies there is not `replacing`, or if the handle belongs to another user id.
    ///   Putting what lies there already is ``StoreOutcome/done``.
    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome

    /// The card chain of a user id, or `nil`.
    func card(of user: UserID) async throws(TresorError) -> [UInt8]?

    /// All card chains under a handle, compared as bytes. An honest store has at most one.
    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]]

    /// The user ids that have a card and whose bytes begin with `prefix`, in byte order, at most `limit`.
    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID]

    // MARK: Logs

    /// The entries of a log from sequence number `first` on, in order, at most `limit` of them. Empty when there are none.
    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]]

    /// Appends one entry if the log still ends where the author thinks it does, and in the same transaction puts and deletes wraps.
    ///
    /// - Returns: ``StoreOutcome/conflict`` if the log has another length or its last entry is not `change.previous`; nothing is
    ///   written then.
    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome

    /// Puts an entry that the store has lost back into its place before the last entry of a log.
    ///
    /// - Returns: ``StoreOutcome/done`` also if this very entry lies there; ``StoreOutcome/conflict`` if another one
    ///   does, or the log does not go on behind it: that is for ``append(_:)``.
    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) async throws(TresorError) -> StoreOutcome

    // MARK: Wraps

    /// The wraps of one member of one tresor, by rising epoch; those of `epoch` alone if given.
    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]]

    /// The wraps of many members under one epoch, in the order of `users`; `nil` for who has none. An implementation that can answer in one
    /// step does; the default asks for one at a time.
    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64) async throws(TresorError) -> [[UInt8]?]

    /// Puts wraps back that are missing or spoiled; no entry goes with them.
    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError)

    /// The tresors in which this user id has a wrap, in byte order.
    func tresors(of user: UserID) async throws(TresorError) -> [TresorID]

    // MARK: Device halves and kit copies

    /// Puts the store's half (32 bytes) of a device slot.
    func putServerShare(_ share: [UInt8], user: UserID, device: DeviceID) async throws(TresorError)

    /// The store's share of a device slot, or `nil`.
    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]?

    /// Deletes the halves of these devices, or of all devices of the user id if `nil`, and overwrites their bytes.
    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError)

    /// Puts a sealed identity copy under a locator (32 bytes) that only the kit yields; what lies there is replaced.
    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError)

    /// The sealed identity copy under a locator, or `nil`.
    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]?

    /// Deletes a sealed identity copy and overwrites its bytes.
    func deleteKitCopy(locator: Hash256) async throws(TresorError)
}

extension Store {
    /// For a store that cannot lose an entry in the midst of a log.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome { .conflict }

    /// Asks for one member at a time.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64
    ) async throws(TresorError) -> [[UInt8]?] {
        var found: [[UInt8]?] = []
        for user in users { found.append(try await wraps(of: user, in: tresor, epoch: epoch).first) }
        return found
    }
}

/// What became of a conditional write.
public enum StoreOutcome: Hashable, Sendable {
    /// It is stored.
    case done
    /// Something else lies there; nothing was written.
    case conflict
}

/// A wrap and the keys it is stored under.
public struct StoredWrap: Hashable, Sendable {
    /// Whom it is for.
    public let user: UserID
    /// The epoch whose keys it wraps.
    public let epoch: UInt64
    /// The wrap's bytes (SPEC §9.6).
    public let bytes: [UInt8]

    /// A wrap under its keys.
    public init(user: UserID, epoch: UInt64, bytes: [UInt8]) {
        self.user = user
        self.epoch = epoch
        self.bytes = bytes
    }
}

/// One entry and the wraps that change with it.
public struct LogChange: Hashable, Sendable {
    /// Which log.
    public let tresor: TresorID
    /// The entry's sequence number; the log must have exactly this many entries.
    public let sequence: UInt64
    /// The bytes of the entry before it, `nil` for sequence number 0. The log's last entry must be equal to it.
    public let previous: [UInt8]?
    /// The entry.
    public let entry: [UInt8]
    /// Wraps to put; one that lies under the same user and epoch is replaced.
    public let putting: [StoredWrap]
    /// Members all of whose wraps in this tresor are deleted, before any are put, and their bytes overwritten.
    public let removingWrapsOf: [UserID]

    /// One change of one log.
    public init(
        tresor: TresorID, sequence: UInt64, previous: [UInt8]?, entry: [UInt8], putting: [StoredWrap] = [],
        removingWrapsOf: [UserID] = []
    ) {
        self.tresor = tresor
        self.sequence = sequence
        self.previous = previous
        self.entry = entry
        self.putting = putting
        self.removingWrapsOf = removingWrapsOf
    }
}

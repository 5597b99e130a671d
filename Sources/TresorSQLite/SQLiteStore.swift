// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import TresorCore
public import TresorCrypto

/// The embedded store: one SQLite file for several processes and people at the same time.
///
/// The file is as untrusted as any other store. The schema is not trusted, the layout must match exactly, and every
/// other fault is `TresorError.store(_:)`. Writes are durable when a call returns. A call that waits 5 seconds for
/// another write throws `TresorError.busy`.
///
/// Calls that delete overwrite the bytes in the file and empty its write-ahead log. The log cannot be emptied while
/// another process reads, or without space. The deletion of server shares and kit copies then throws
/// `TresorError.busy` after 5 seconds, or `TresorError.store(_:)`. The deletion itself is done; repeat it to empty
/// the log. Deleted wraps and tresors may stay in the log until the next such call, because they hold nothing that their
/// receivers did not have.
///
/// Reading needs no write access: this process reads a file or directory in place if it may not write to it, and every
/// write throws `TresorError.store(_:)` with `readOnly`. A read throws `TresorError.busy` if another process writes
/// to such a file at the same time.
public final class SQLiteStore: Store {
    let connection: StoreConnection

    private init(_ connection: StoreConnection) { self.connection = connection }

    /// Opens a store file.
    ///
    /// - Parameters:
    ///   - path: the file. A new file gets its mode from the umask, because people share a store.
    ///   - creating: whether to create a missing file, complete or not at all, and to fill an empty one.
    /// - Throws: `TresorError.notFound` for a missing file that is not created; `TresorError.store(_:)` with
    ///   `damaged` for a file that is not a store, `readOnly` or `inputOutput` for one that cannot be opened, and another
    ///   fault for one of another layout; `TresorError.busy`.
    public static func open(at path: String, creating: Bool) async throws(TresorError) -> SQLiteStore {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async {
                continuation.resume(returning: Result { try openBlocking(at: path, creating: creating) })
            }
        }
        do { return try result.get() } catch { throw TresorError(store: error) }
    }

    static func openBlocking(
        at path: String, creating: Bool, patience: Double = StoreConnection.patience,
        room: @escaping @Sendable (String) -> UInt64? = StoreFile.room
    ) throws -> SQLiteStore {
        SQLiteStore(try StoreConnection.open(at: path, creating: creating, patience: patience, room: room))
    }
}

/// Cards.
extension SQLiteStore {
    /// Stores a card chain under its user id, if the stored chain is `replacing` and no other user id has the handle.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await connection.write {
            try CardTable(database: $0).put(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    /// Returns the card chain of a user id, or `nil`.
    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await connection.read { try CardTable(database: $0).chain(of: user) }
    }

    /// Returns the card chains under a handle, compared as bytes, by rising user id. At most 64: an honest file has
    /// one.
    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await connection.read { try CardTable(database: $0).chains(handle: handle) }
    }

    /// Returns the user ids with a card that begin with `prefix`, in byte order, at most `limit`.
    public func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await connection.read { try CardTable(database: $0).users(prefix: prefix, limit: limit) }
    }
}

/// Logs and wraps.
extension SQLiteStore {
    /// Returns the entries of a log from `first` on, in order, at most `limit`.
    public func entries(
        of tresor: TresorID, from first: UInt64, limit: Int
    ) async throws(TresorError) -> [[UInt8]] {
        try await connection.read { try LogTables(database: $0).entries(of: tresor, from: first, limit: limit) }
    }

    /// Appends one entry and changes its wraps, if the log still ends as `change` expects.
    public func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let byteCount = change.blobs.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
        return try await connection.write(
            leaving: change.removingWrapsOf.isEmpty ? .all : .nothingIfPossible, putting: byteCount
        ) {
            try LogTables(database: $0).append(change)
        }
    }

    /// Restores an entry of a log that has later entries.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await connection.write { try LogTables(database: $0).restore(entry, at: sequence, of: tresor) }
    }

    /// Returns the wraps of one member of one tresor, by rising epoch.
    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await connection.read { try LogTables(database: $0).wraps(of: user, in: tresor, epoch: epoch) }
    }

    /// Returns the wraps of many members of one tresor, in the order of `users`, from one read transaction.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        try await connection.read { database in
            let tables = LogTables(database: database)
            return try users.map { try tables.wraps(of: $0, in: tresor, epoch: epoch) }
        }
    }

    /// Stores wraps. Each replaces the wrap of the same user and epoch.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await connection.write { database in
            let tables = LogTables(database: database)
            if try !tables.isDeleted(tresor) { try tables.put(wraps, in: tresor) }
        }
    }

    /// Returns the tresors in which a user id has a wrap, in byte order.
    public func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await connection.read { try LogTables(database: $0).tresors(of: user) }
    }

    /// Deletes a tresor, overwrites its bytes, and gives their room back to the disk. Its id stays taken. Where the disk has
    /// no room to do it at once, the blobs go before the rest, so that it can be repeated.
    public func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        do throws(TresorError) {
            try await deleteAtOnce(tresor)
        } catch {
            guard error == .store(.full) else { throw error }
            try await deleteParts(of: nil, in: tresor)
            try await deleteAtOnce(tresor)
        }
        await connection.shrink()
    }

    private func deleteAtOnce(_ tresor: TresorID) async throws(TresorError) {
        try await connection.write(leaving: .nothingIfPossible) { try LogTables(database: $0).delete(tresor) }
    }
}

/// Server shares and kit copies. They are useless alone, and no deleted one stays readable.
extension SQLiteStore {
    /// Stores the server share of a device slot. Overwrites the bytes of a replaced share.
    public func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID)
        async throws(TresorError)
    {
        try await connection.write(leaving: .nothing) {
            try EscrowTables(database: $0).put(serverShare: share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    /// Returns the server share of a device slot, or `nil`.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await connection.read { try EscrowTables(database: $0).serverShare(user: user, device: device) }
    }

    /// Deletes the server shares of these devices, or of all devices of the user id. Overwrites their bytes.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await connection.write(leaving: .nothing) {
            try EscrowTables(database: $0).deleteServerShares(user: user, devices: devices)
        }
    }

    /// Stores a sealed identity copy. Overwrites the bytes of a replaced copy under the locator.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await connection.write(leaving: .nothing) {
            try EscrowTables(database: $0).put(kitCopy: copy, locator: locator)
        }
    }

    /// Returns the sealed identity copy under a locator, or `nil`.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await connection.read { try EscrowTables(database: $0).kitCopy(locator: locator) }
    }

    /// Deletes a sealed identity copy and overwrites its bytes.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await connection.write(leaving: .nothing) { try EscrowTables(database: $0).deleteKitCopy(locator: locator) }
    }
}

extension SQLiteStore: ReplacingStore {
    /// Replaces the bytes under a locator in one transaction, if they are still `present`. Overwrites those before.
    package func replaceKitCopy(
        _ present: [UInt8], with copy: [UInt8], locator: Hash256
    ) async throws(TresorError) -> Bool {
        try await connection.write(leaving: .nothing) {
            try EscrowTables(database: $0).replace(kitCopy: present, with: copy, locator: locator)
        }
    }
}

extension SQLiteStore: KitCopyList {
    package func kitCopyLocators(after locator: Hash256?, limit: Int) async throws(TresorError) -> [Hash256] {
        try await connection.read {
            try EscrowTables(database: $0).kitCopyLocators(after: locator, limit: max(0, limit))
        }
    }
}

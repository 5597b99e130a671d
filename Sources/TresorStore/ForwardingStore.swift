// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A store in front of another one. All its calls go through one function, which may note, delay or refuse them.
package protocol ForwardingStore: CalledStore {
    /// Makes a call at the store behind this one.
    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer

    /// Passes a call of one function on. By default it is only made.
    ///
    /// - Parameter done: the answer to a write that succeeds; `nil` for a read.
    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer
}

/// A function of a ``Store``.
package enum StoreFunction: String, CaseIterable, Sendable {
    case putCard, card, cards, users
    case entries, append, restore, wraps, wrapsOfMany, putWraps, tresors, deleteTresor
    case putServerShare, serverShare, deleteServerShares, putKitCopy, kitCopy, deleteKitCopy
    case putBlob, blob, blobs, deleteBlobs

    /// Whether it changes the store.
    package var isWrite: Bool {
        switch self {
        case .card, .cards, .users, .entries, .wraps, .wrapsOfMany, .tresors, .serverShare, .kitCopy, .blob, .blobs:
            false
        case .putCard, .append, .restore, .putWraps, .deleteTresor, .putServerShare, .deleteServerShares,
            .putKitCopy, .deleteKitCopy, .putBlob, .deleteBlobs:
            true
        }
    }
}

extension ForwardingStore {
    package func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await pass(call) }

    package func called<Answer>(
        by caller: Caller, _ calls: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await calls(SpokenStore(front: self, caller: caller)) }
}

/// A store in front of another one, whose calls reach that one in the name of somebody.
private struct SpokenStore: ForwardingStore {
    let front: any ForwardingStore
    let caller: Caller

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await front.pass { (store) async throws(TresorError) in try await speak(to: store, call) }
    }

    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await front.pass(function, confirming: done) { (store) async throws(TresorError) in
            try await speak(to: store, call)
        }
    }

    private func speak<Answer>(
        to store: any Store, _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        guard let store = store as? any CalledStore else { return try await call(store) }
        return try await store.called(by: caller, call)
    }
}

/// Cards.
extension ForwardingStore {
    /// Forwards the call.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await pass(.putCard, confirming: .done) { (store) async throws(TresorError) in
            try await store.putCard(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    /// Forwards the call.
    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await pass(.card, confirming: nil) { (store) async throws(TresorError) in
            try await store.card(of: user)
        }
    }

    /// Forwards the call.
    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await pass(.cards, confirming: nil) { (store) async throws(TresorError) in
            try await store.cards(handle: handle)
        }
    }

    /// Forwards the call.
    public func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await pass(.users, confirming: nil) { (store) async throws(TresorError) in
            try await store.users(prefix: prefix, limit: limit)
        }
    }
}

/// Logs and wraps.
extension ForwardingStore {
    /// Forwards the call.
    public func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await pass(.entries, confirming: nil) { (store) async throws(TresorError) in
            try await store.entries(of: tresor, from: first, limit: limit)
        }
    }

    /// Forwards the call.
    public func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await pass(.append, confirming: .done) { (store) async throws(TresorError) in
            try await store.append(change)
        }
    }

    /// Forwards the call.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await pass(.restore, confirming: .done) { (store) async throws(TresorError) in
            try await store.restore(entry, at: sequence, of: tresor)
        }
    }

    /// Forwards the call.
    public func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await pass(.wraps, confirming: nil) { (store) async throws(TresorError) in
            try await store.wraps(of: user, in: tresor, epoch: epoch)
        }
    }

    /// Forwards the call.
    public func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        try await pass(.wrapsOfMany, confirming: nil) { (store) async throws(TresorError) in
            try await store.wraps(of: users, in: tresor, epoch: epoch)
        }
    }

    /// Forwards the call.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await pass(.putWraps, confirming: ()) { (store) async throws(TresorError) in
            try await store.putWraps(wraps, in: tresor)
        }
    }

    /// Forwards the call.
    public func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await pass(.tresors, confirming: nil) { (store) async throws(TresorError) in
            try await store.tresors(of: user)
        }
    }

    /// Forwards the call.
    public func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        try await pass(.deleteTresor, confirming: ()) { (store) async throws(TresorError) in
            try await store.deleteTresor(tresor)
        }
    }
}

/// Server shares and kit copies.
extension ForwardingStore {
    /// Forwards the call.
    public func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        try await pass(.putServerShare, confirming: ()) { (store) async throws(TresorError) in
            try await store.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    /// Forwards the call.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await pass(.serverShare, confirming: nil) { (store) async throws(TresorError) in
            try await store.serverShare(user: user, device: device)
        }
    }

    /// Forwards the call.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await pass(.deleteServerShares, confirming: ()) { (store) async throws(TresorError) in
            try await store.deleteServerShares(user: user, devices: devices)
        }
    }

    /// Forwards the call.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await pass(.putKitCopy, confirming: ()) { (store) async throws(TresorError) in
            try await store.putKitCopy(copy, locator: locator)
        }
    }

    /// Forwards the call.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await pass(.kitCopy, confirming: nil) { (store) async throws(TresorError) in
            try await store.kitCopy(locator: locator)
        }
    }

    /// Forwards the call.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await pass(.deleteKitCopy, confirming: ()) { (store) async throws(TresorError) in
            try await store.deleteKitCopy(locator: locator)
        }
    }
}

/// Blobs.
extension ForwardingStore {
    /// Forwards the call.
    public func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await pass(.putBlob, confirming: ()) { (store) async throws(TresorError) in
            try await store.putBlob(part, bytes, of: hash, in: tresor)
        }
    }

    /// Forwards the call.
    public func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await pass(.blob, confirming: nil) { (store) async throws(TresorError) in
            try await store.blob(hash, part: part, in: tresor)
        }
    }

    /// Forwards the call.
    public func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await pass(.blobs, confirming: nil) { (store) async throws(TresorError) in
            try await store.blobs(hashes, in: tresor)
        }
    }

    /// Forwards the call.
    public func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await pass(.deleteBlobs, confirming: ()) { (store) async throws(TresorError) in
            try await store.deleteBlobs(hashes, in: tresor)
        }
    }
}

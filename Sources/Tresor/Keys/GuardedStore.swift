// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The store of a client. Each call throws ``TresorError/usage(_:)`` with `locked` once the session is locked.
///
/// It names the person of the session as the ``Speaker``. A call that fails in a cancelled task throws
/// ``TresorError/cancelled``: a connection that ends with its task is no failure of the store.
struct GuardedStore: Store {
    let base: any Store
    /// The identity of the session; `nil` for a client without one.
    let identity: Identity?
    /// The home of the client, which knows the services that it has met.
    let home: any Home
    /// Names the trusted device that the home is on.
    let device: @Sendable () -> DeviceID?

    private func guarded<Answer>(_ call: () async throws(TresorError) -> Answer) async throws(TresorError) -> Answer {
        if !Cancellation.isIgnored { try identity?.checkUnlocked() }
        do throws(TresorError) {
            guard let identity else { return try await call() }
            return try await Speaker.person(identity, device: device).call(from: home, call)
        } catch {
            throw Task.isCancelled ? .cancelled : error
        }
    }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await guarded { () async throws(TresorError) in
            try await base.putCard(chain, user: user, handle: handle, replacing: replacing)
        }
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        try await guarded { () async throws(TresorError) in try await base.card(of: user) }
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await guarded { () async throws(TresorError) in try await base.cards(handle: handle) }
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        try await guarded { () async throws(TresorError) in try await base.users(prefix: prefix, limit: limit) }
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await guarded { () async throws(TresorError) in
            try await base.entries(of: tresor, from: first, limit: limit)
        }
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        try await guarded { () async throws(TresorError) in try await base.append(change) }
    }

    func restore(_ entry: [UInt8], at sequence: UInt64, of tresor: TresorID) async throws(TresorError) -> StoreOutcome {
        try await guarded { () async throws(TresorError) in try await base.restore(entry, at: sequence, of: tresor) }
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        try await guarded { () async throws(TresorError) in try await base.wraps(of: user, in: tresor, epoch: epoch) }
    }

    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[[UInt8]]] {
        try await guarded { () async throws(TresorError) in try await base.wraps(of: users, in: tresor, epoch: epoch) }
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in try await base.putWraps(wraps, in: tresor) }
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try await guarded { () async throws(TresorError) in try await base.tresors(of: user) }
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in try await base.deleteTresor(tresor) }
    }

    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in
            try await base.putBlob(part, bytes, of: hash, in: tresor)
        }
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        try await guarded { () async throws(TresorError) in try await base.blob(hash, part: part, in: tresor) }
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        try await guarded { () async throws(TresorError) in try await base.blobs(hashes, in: tresor) }
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in try await base.deleteBlobs(hashes, in: tresor) }
    }

    func putServerShare(_ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID) async throws(TresorError)
    {
        try await guarded { () async throws(TresorError) in
            try await base.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
        }
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try await guarded { () async throws(TresorError) in try await base.serverShare(user: user, device: device) }
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in
            try await base.deleteServerShares(user: user, devices: devices)
        }
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in try await base.putKitCopy(copy, locator: locator) }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await guarded { () async throws(TresorError) in try await base.kitCopy(locator: locator) }
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        try await guarded { () async throws(TresorError) in try await base.deleteKitCopy(locator: locator) }
    }
}

extension GuardedStore {
    /// The service that the store is; `nil` for any other store.
    var remote: (any RemoteStore)? { base as? any RemoteStore }

    /// Asks the service for what no ``Store`` has; `nil` for a store that is none.
    func ask<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer? {
        guard let service = remote?.caller else { return nil }
        return try await guarded { () async throws(TresorError) in try await service.call(request) }
    }

    /// Puts the offer of a new machine into a mailbox (SPEC §8.6), in nobody's name.
    ///
    /// - Returns: ``StoreOutcome/conflict`` for a mailbox that has another offer; `nil` where there is no mailbox, or its
    ///   time is over.
    func putOffer(
        _ offer: [UInt8], at locator: Hash256, now: UInt64
    ) async throws(TresorError) -> StoreOutcome? {
        if let answer = try await ask(PutOfferRequest(locator: locator, offer: offer)) { return answer.outcome }
        // Another machine may write between two steps; no store can have a client try for ever.
        for _ in 0..<3 {
            guard let bytes = try await kitCopy(locator: locator) else { return nil }
            let present = try DeviceMailbox(bytes)
            guard !present.isOver(at: now) else { return nil }
            guard let mailbox = present.taking(offer) else { return .conflict }
            if mailbox == present { return .done }
            if try await replaceKitCopy(bytes, with: mailbox.bytes, locator: locator) { return .done }
        }
        return .conflict
    }

    /// Replaces the bytes under a locator, if they are still `present`: in one step where the store can do that. A
    /// service lets the person alone replace them, and is not asked twice.
    ///
    /// - Returns: `false` for other bytes and for none.
    func replaceKitCopy(
        _ present: [UInt8], with copy: [UInt8], locator: Hash256
    ) async throws(TresorError) -> Bool {
        if let replacing = base as? any ReplacingStore {
            return try await guarded { () async throws(TresorError) in
                try await replacing.replaceKitCopy(present, with: copy, locator: locator)
            }
        }
        if remote == nil {
            guard try await kitCopy(locator: locator) == present else { return false }
        }
        try await putKitCopy(copy, locator: locator)
        return true
    }
}

extension GuardedStore: UnnamedBlobStore {
    func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) async throws(TresorError) {
        guard let base = base as? any UnnamedBlobStore else { return }
        try await guarded { () async throws(TresorError) in
            try await base.deleteBlobs(besides: named, in: tresor, while: head)
        }
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) async throws(TresorError) {
        guard let base = base as? any UnnamedBlobStore else { return }
        try await guarded { () async throws(TresorError) in
            try await base.deleteBlobs(hashes, in: tresor, while: head)
        }
    }
}

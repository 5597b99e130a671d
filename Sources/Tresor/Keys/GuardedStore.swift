// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
import TresorStore

/// The store of a client. Each call throws ``TresorError/usage(_:)`` with `locked` once the session is locked.
///
/// It calls in the name of the person of the session. A call that fails in a cancelled task throws
/// ``TresorError/cancelled``: a connection that ends with its task is no failure of the store.
struct GuardedStore: ForwardingStore {
    let base: any Store
    /// The identity of the session; `nil` for a client without one.
    let identity: Identity?
    /// The person or device that calls; `nil` for nobody.
    let caller: Caller?

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        if !Cancellation.isIgnored { try identity?.checkUnlocked() }
        do throws(TresorError) {
            guard let caller, let store = base as? any CalledStore else { return try await call(base) }
            return try await store.called(by: caller, call)
        } catch {
            throw Task.isCancelled ? .cancelled : error
        }
    }
}

extension GuardedStore {
    /// The service that the store is; `nil` for any other store.
    var remote: (any RemoteStore)? { base as? any RemoteStore }

    /// Asks the service for what no ``Store`` has; `nil` for a store that is none.
    func ask<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer? {
        guard let service = remote?.serviceCaller else { return nil }
        let asked = caller.map { service.speaking(as: $0) } ?? service
        return try await pass { (_) async throws(TresorError) in try await asked.call(request) }
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
            return try await pass { (_) async throws(TresorError) in
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
        try await pass { (_) async throws(TresorError) in
            try await base.deleteBlobs(besides: named, in: tresor, while: head)
        }
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) async throws(TresorError) {
        guard let base = base as? any UnnamedBlobStore else { return }
        try await pass { (_) async throws(TresorError) in
            try await base.deleteBlobs(hashes, in: tresor, while: head)
        }
    }
}

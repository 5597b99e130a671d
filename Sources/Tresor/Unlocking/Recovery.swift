// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Opens an identity with its recovery kit (SPEC §8.7).
package struct Recovery: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Opens the identity with the 24 words and gives it a new password, as ``Client/recover(kit:newPassword:)``
    /// does, and says whether the identity came from the store.
    ///
    /// - Parameters:
    ///   - given: the copy that the kit opens, for an empty home; `nil` for the store's. A service that does not know the
    ///     person's keys, or for which the person waits, deletes no server share beside it.
    ///   - noting: runs under the home's lock, in one step with the writing of an empty home's identity and before it.
    ///     Returns what takes back what it did, for an identity that is not written.
    @concurrent package func recover(
        kit: borrowing RecoveryKit, from given: IdentityFile? = nil, newPassword: borrowing Password,
        cost: Argon2id.Cost, noting: @escaping @Sendable () -> @Sendable () -> Void = { {} }
    ) async throws(TresorError) -> RecoveredSession {
        if try home.read(.identity) != nil {
            let session = Session(client: client, identity: try client.identityFileBlocking().open(withKit: kit))
            try await session.unlocking.changePassword(to: newPassword, cost: cost)
            return RecoveredSession(session: session, isFromStore: false, refusal: nil)
        }
        let locator = try kit.locator()
        let copy = if let given { given } else { try await storedCopy(at: locator) }
        guard copy.isKitCopy else { throw .altered }
        let identity = try copy.open(withKit: kit)
        let slot = try await Slot.setPasswordApart(
            of: identity, password: newPassword, cost: cost, time: clock())
        let file = try copy.settingPassword(slot, identity: identity)
        let refusal = try await client.changingSlots { () async throws(TresorError) -> TresorError? in
            let asked = Recovery(client: client.speaking(as: .person(identity, from: home)))
            var refusal: TresorError?
            if given == nil {
                try await asked.deleteServerShares(of: identity)
            } else {
                refusal = try await asked.deleteKnownServerShares(of: identity)
            }
            try home.exclusively { () throws(TresorError) in
                try Self.fill(home, with: file, noting: noting)
                // Without the note, each store is asked for the copy.
                if given == nil { try? client.archive.noteStore(of: TresorID(locator)) }
            }
            return refusal
        }
        return RecoveredSession(
            session: Session(client: client, identity: identity), isFromStore: true, refusal: refusal)
    }

    /// Writes the identity of an empty home; call it under the home's lock.
    ///
    /// - Parameter noting: runs before. Returns what takes back what it did, for an identity that is not written.
    /// - Throws: ``TresorError/busy`` for a home that has an identity by now; the errors of the home.
    static func fill(
        _ home: any Home, with file: IdentityFile, noting: () -> @Sendable () -> Void
    ) throws(TresorError) {
        guard try home.read(.identity) == nil else { throw .busy }
        let takeBack = noting()
        do throws(TresorError) {
            try home.replace(.identity, with: file.bytes)
        } catch {
            // An identity that was written after all keeps what was noted.
            if (try? home.read(.identity)) != file.bytes { takeBack() }
            throw error
        }
    }

    private func storedCopy(at locator: Hash256) async throws(TresorError) -> IdentityFile {
        guard let bytes = try await store.kitCopy(locator: locator) else { throw .wrongPassword }
        return try IdentityFile(bytes)
    }

    /// Deletes the server shares of all devices. A service may not have seen the newest generation: a renewal was
    /// interrupted, and its home was lost. Then the card is published first.
    private func deleteServerShares(of identity: Identity) async throws(TresorError) {
        do throws(TresorError) {
            try await store.deleteServerShares(user: identity.user, devices: nil)
        } catch {
            guard error == .noAccess, identity.generation > 0 else { throw error }
            try client.cleanup.note(generations: [identity.generation])
            try await client.people.publish(identity.chain)
            try await store.deleteServerShares(user: identity.user, devices: nil)
        }
    }

    /// Deletes the server shares of all devices beside a given copy. Nothing is recorded or published: what the cleanup
    /// journal notes would make the next renewal a resumed one, and no new keys would be made.
    ///
    /// - Returns: the refusal of a service that does not know the person's keys, or for which they wait.
    private func deleteKnownServerShares(of identity: Identity) async throws(TresorError) -> TresorError? {
        do throws(TresorError) {
            try await store.deleteServerShares(user: identity.user, devices: nil)
            return nil
        } catch {
            guard error == .noAccess || error == .waiting else { throw error }
            return error
        }
    }

    /// Whether a kit was prepared here and its change was interrupted. Repeating the change then resumes it.
    package func isPreparedBlocking(_ kit: borrowing RecoveryKit) throws(TresorError) -> Bool {
        try isPreparedBlocking(at: kit.locator())
    }

    /// Does what ``isPreparedBlocking(_:)`` does, for the kit with a locator.
    package func isPreparedBlocking(at locator: Hash256) throws(TresorError) -> Bool {
        if try client.cleanup.journal().kits.contains(where: { $0.locator == locator }) { return true }
        guard try client.cleanup.isIntroducingBlocking() else { return false }
        return try client.identityFileBlocking().kitLocator == locator
    }

    /// Records a kit in the cleanup journal; call it before its words are shown or written.
    ///
    /// If the change is interrupted, no copy that the words open stays in the store. If it is repeated, it can resume
    /// with the same words.
    @concurrent package func prepare(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let locator = try kit.locator()
        try await Cores.apart { () throws(TresorError) in try note(locator) }
    }

    /// Does what ``prepare(_:)`` does, on the calling thread.
    package func prepareBlocking(_ kit: borrowing RecoveryKit) throws(TresorError) {
        try note(try kit.locator())
    }

    private func note(_ locator: Hash256) throws(TresorError) {
        try client.cleanup.note(kits: [
            CleanupJournal.Kit(user: try client.identityFileBlocking().chain.user, locator: locator)
        ])
    }
}

/// A session that was opened with a recovery kit.
package struct RecoveredSession: Sendable {
    /// The session.
    package let session: Session
    /// Whether the identity came from the store, or from a copy that was given. The home then has no pins and no pinned heads.
    package let isFromStore: Bool
    /// The refusal of a service to delete server shares beside a given copy; `nil` where they are deleted.
    package let refusal: TresorError?
}

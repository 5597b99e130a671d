// SPDX-License-Identifier: Apache-2.0

/// Opens an identity with its recovery kit (SPEC §8.2).
public struct Recovery: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Opens the identity with the 24 words and gives it a new password. Takes about a second.
    ///
    /// The identity comes from this home or, if the home is empty, from the copy in the store. Recovery into an empty
    /// home deletes all server shares of this person from the store.
    ///
    /// - Returns: the session, and whether the identity came from the store. The home then has no pins and no pinned
    ///   heads.
    /// - Throws: ``TresorError/wrongPassword`` when the words open nothing; ``TresorError/altered``;
    ///   ``TresorError/usage(_:)`` with `passwordTooShort` for a password of fewer than 8 code points;
    ///   ``TresorError/cancelled`` for a task that was cancelled before anything was changed.
    @concurrent public func recover(
        kit: borrowing RecoveryKit, newPassword: borrowing Password, cost: Argon2id.Cost = .standard
    ) async throws(TresorError) -> (session: Session, fromStore: Bool) {
        if try home.read(.identity) != nil {
            let session = Session(client: client, identity: try client.identityFileBlocking().open(withKit: kit))
            try await session.unlocking.changePassword(to: newPassword, cost: cost)
            return (session, false)
        }
        guard let bytes = try await store.kitCopy(locator: try kit.locator()) else { throw .wrongPassword }
        let copy = try IdentityFile(bytes)
        guard copy.isKitCopy else { throw .altered }
        let identity = try copy.open(withKit: kit)
        let slot = try await HeldPassword.slot(
            of: identity, password: newPassword, cost: cost, time: clock())
        let file = try copy.settingPassword(slot, identity: identity)
        try await Cancellation.ignored { () async throws(TresorError) in
            try await store.deleteServerShares(user: identity.user, devices: nil)
            try home.exclusively { () throws(TresorError) in
                guard try home.read(.identity) == nil else { throw .busy }
                try home.replace(.identity, with: file.bytes)
            }
        }
        return (Session(client: client, identity: identity), true)
    }

    /// Whether a kit was prepared here and its change was interrupted. Repeating the change then resumes it.
    @concurrent public func isPrepared(_ kit: borrowing RecoveryKit) async throws(TresorError) -> Bool {
        try isPreparedBlocking(kit)
    }

    /// Does what ``isPrepared(_:)`` does, on the calling thread.
    package func isPreparedBlocking(_ kit: borrowing RecoveryKit) throws(TresorError) -> Bool {
        let locator = try kit.locator()
        if try client.cleanup.journal().kits.contains(where: { $0.locator == locator }) { return true }
        guard try client.cleanup.isIntroducingBlocking() else { return false }
        return try client.identityFileBlocking().kitLocator == locator
    }

    /// Records a kit in the cleanup journal; call it before its words are shown or written.
    ///
    /// If the change is interrupted, no copy that the words open stays in the store. If it is repeated, it can resume
    /// with the same words.
    @concurrent public func prepare(_ kit: borrowing RecoveryKit) async throws(TresorError) {
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

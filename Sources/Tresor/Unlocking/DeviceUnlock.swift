// SPDX-License-Identifier: Apache-2.0

package import TresorCore
public import TresorCrypto

/// Unlocks this home's identity with this device instead of the password (SPEC §8.3).
public struct DeviceUnlock: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Whether this device is trusted: the home has its device share.
    @concurrent public func isRemembered() async throws(TresorError) -> Bool { try isRememberedBlocking() }

    /// Does what ``isRemembered()`` does, on the calling thread.
    package func isRememberedBlocking() throws(TresorError) -> Bool {
        switch try home.readSecret(.deviceShare) {
        case .some: true
        case .none: false
        }
    }

    /// Reads the id of this device; `nil` if it is not trusted.
    @concurrent package func id() async throws(TresorError) -> DeviceID? { try idBlocking() }

    /// Does what ``id()`` does, on the calling thread.
    package func idBlocking() throws(TresorError) -> DeviceID? {
        try share()?.id
    }

    /// Reads the id of this device, if a slot of the identity file is its own; otherwise the device is not trusted.
    func trustedBlocking() -> DeviceID? {
        guard let share = try? share(), let file = try? client.identityFileBlocking(), share.user == file.chain.user,
            file.devices.contains(where: { $0.id == share.id })
        else { return nil }
        return share.id
    }

    /// Opens this home's identity with the device share here and the server share of 32 bytes in the store.
    ///
    /// - Throws: ``TresorError/notFound`` when the device is not trusted, or its removal was interrupted.
    ///   ``TresorError/noAccess`` when the store has no server share, or the slot is gone or expired.
    ///   ``TresorError/altered`` when the two shares do not belong together. ``TresorError/busy`` when other processes
    ///   keep replacing the device share.
    @concurrent public func unlock() async throws(TresorError) -> Session {
        for _ in 0..<Self.attemptCount {
            // A slot is written before its device share, so the share is read first.
            guard let share = try share() else { throw .notFound }
            do throws(TresorError) {
                return try await unlock(with: share)
            } catch {
                // Another process may have ended this share meanwhile, or put a new one in its place.
                guard error == .noAccess, try self.share()?.id != share.id else { throw error }
            }
        }
        throw .busy
    }

    /// The number of shares that other processes may put here while one is tried.
    private static let attemptCount = 8

    private func unlock(with share: DeviceShare) async throws(TresorError) -> Session {
        let file = try client.identityFileBlocking()
        if !file.devices.contains(where: { $0.id == share.id }),
            try client.cleanup.endingDevicesBlocking().contains(share.id),
            try client.cleanup.destroyShare(ofEndingDevice: share.id)
        {
            throw .notFound
        }
        let kept = try await Speaker.device(share).call { () async throws(TresorError) in
            try await store.serverShare(user: share.user, device: share.id)
        }
        guard let bytes = kept else { throw .noAccess }
        try Cancellation.check()
        guard bytes.count == 32 else { throw .altered }
        let serverShare = try SecretBytes(copying: bytes.span)
        let session = Session(
            client: client, identity: try file.open(withDevice: share, serverShare: serverShare, now: clock()))
        let end = file.devices.first { $0.id == share.id }?.until ?? 0
        // A clock that was set back does not lengthen an expiry.
        if end != Format.latestTime {
            guard try client.heads().ownTime <= end else { throw .noAccess }
        }
        return session
    }

    /// Destroys this device's share, then the server share. Needs no password and may be repeated.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the server share could not be deleted. The device share is gone
    ///   nevertheless; repeat the call to delete the server share.
    @concurrent public func forget() async throws(TresorError) {
        try Cancellation.check()
        try await client.uninterrupted { () async throws(TresorError) in
            try await client.cleanup.finish(as: try destroyShareBlocking())
        }
    }

    /// Does what ``forget()`` does, for a change of the key slots that has the turn.
    func forgetInTurn() async throws(TresorError) {
        try await client.cleanup.finishInTurn(as: try destroyShareBlocking())
    }

    /// Destroys only this device's share, and records in the cleanup journal that the server share must follow. For a
    /// store that cannot be reached.
    ///
    /// Both happen in one step: another process sees both or neither.
    @concurrent package func destroyShare() async throws(TresorError) {
        try await Cores.apart { () throws(TresorError) in _ = try destroyShareBlocking() }
    }

    /// Does what ``destroyShare()`` does, on the calling thread.
    ///
    /// - Returns: the share that was destroyed, with which a service lets the device delete its server share; `nil` if
    ///   there was none that decodes.
    @discardableResult package func destroyShareBlocking() throws(TresorError) -> DeviceShare? {
        // A home that does not exist is not created for this.
        do throws(TresorError) { guard try isRememberedBlocking() else { return nil } } catch {}
        return try home.exclusively { () throws(TresorError) in
            let destroyed = try? share()
            if let share = destroyed {
                var left = CleanupJournal()
                left.devices = [CleanupJournal.Device(user: share.user, id: share.id)]
                left.slots = [share.id]
                try client.cleanup.add(left)
            }
            try home.delete(.deviceShare)
            return destroyed
        }
    }

    func share() throws(TresorError) -> DeviceShare? {
        guard let bytes = try home.readSecret(.deviceShare) else { return nil }
        return try DeviceShare(bytes)
    }
}

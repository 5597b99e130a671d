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

    /// Whether the trust in this device has ended by its date: by the clock, or by what this person signed later.
    package func isExpiredBlocking() throws(TresorError) -> Bool {
        let id = try idBlocking()
        guard let device = try client.identityFileBlocking().devices.first(where: { $0.id == id }) else { return false }
        return max(clock(), try client.heads().ownTime) > device.until
    }

    /// Opens this home's identity with the device share here and the server share of 32 bytes in the store.
    ///
    /// - Throws: ``TresorError/notFound`` when the device is not trusted, or its removal was interrupted.
    ///   ``TresorError/noAccess`` when the store has no server share, or the slot is gone or expired.
    ///   ``TresorError/altered`` when the two shares do not belong together.
    @concurrent public func unlock() async throws(TresorError) -> Session {
        // The slot is written before the device share, so the share is read first.
        guard let share = try share() else { throw .notFound }
        do throws(TresorError) {
            return try await unlock(with: share)
        } catch {
            guard error == .noAccess || error == .notFound else { throw error }
            // Another process may have ended this device in between, or remembered it anew.
            guard let present = try self.share() else { throw .notFound }
            guard present.id != share.id else { throw error }
            return try await unlock(with: present)
        }
    }

    private func unlock(with share: DeviceShare) async throws(TresorError) -> Session {
        let file = try client.identityFileBlocking()
        if !file.devices.contains(where: { $0.id == share.id }),
            try client.cleanup.endingDevicesBlocking().contains(share.id)
        {
            if let lock = try home.slotLock() {
                if try client.cleanup.orphanedShareID() == share.id { try home.delete(.deviceShare) }
                _ = consume lock
            }
            throw .notFound
        }
        let asked = client.speaking(as: .device(share, from: home))
        let kept = try await asked.store.serverShare(user: share.user, device: share.id)
        guard let bytes = kept else { throw .noAccess }
        try Cancellation.check()
        guard bytes.count == 32 else { throw .altered }
        let serverShare = try SecretBytes(copying: bytes.span)
        let session = Session(
            client: client, identity: try file.open(withDevice: share, serverShare: serverShare, now: clock()))
        let device = file.devices.first { $0.id == share.id }
        let (since, end) = (device?.since ?? 0, device?.until ?? 0)
        // A clock that was set back does not lengthen an expiry. What was signed before the trust says nothing of that.
        if end != Format.latestTime, try client.heads().ownTime > since {
            guard try client.heads().ownTime <= end else { throw .noAccess }
        }
        return session
    }

    /// Destroys this device's share, then the server share. Needs no password and may be repeated.
    ///
    /// The device share is destroyed at once, also while another change of the key slots goes on. The rest waits for that.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the server share could not be deleted; ``TresorError/busy`` while another
    ///   change of the key slots goes on for longer than a minute. The device share is gone nevertheless; repeat the call
    ///   to delete the server share.
    @concurrent public func forget() async throws(TresorError) {
        try Cancellation.check()
        guard try isForgettable() else { return }
        try await finishForgetting(try await destroyShare())
    }

    /// Deletes the server share of a device whose share was destroyed, when no other change of the key slots goes on.
    ///
    /// - Throws: as ``forget()``.
    @concurrent package func finishForgetting(_ share: DeviceShare?) async throws(TresorError) {
        try await client.changingSlots { () async throws(TresorError) in
            try await client.cleanup.finishLocked(as: share)
        }
    }

    /// Does what ``forget()`` does, for a change that has the slot lock.
    func forgetLocked() async throws(TresorError) {
        try await client.cleanup.finishLocked(as: try destroyShareBlocking())
    }

    /// Destroys only this device's share, and records in the cleanup journal that the server share must follow. For a
    /// store that cannot be reached.
    ///
    /// Both happen in one step: a process that is killed leaves both or neither. It needs no slot lock: whatever change
    /// goes on keeps what others record, and none writes the share but in the step that also removes its record.
    ///
    /// - Returns: the share that was destroyed, with which a service lets the device delete its server share; `nil` if
    ///   there was none that decodes.
    /// - Throws: ``TresorError/busy`` when the home stays locked for a single write.
    @discardableResult @concurrent package func destroyShare() async throws(TresorError) -> DeviceShare? {
        guard try isForgettable() else { return nil }
        return try await client.uninterrupted { () async throws(TresorError) in try destroyShareBlocking() }
    }

    /// Whether there is a device share, or something to finish. A home that does not exist is not made for this.
    private func isForgettable() throws(TresorError) -> Bool {
        if (try? isRememberedBlocking()) ?? true { return true }
        return try client.cleanup.isNeeded()
    }

    private func destroyShareBlocking() throws(TresorError) -> DeviceShare? {
        try home.exclusively { () throws(TresorError) in
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

// SPDX-License-Identifier: Apache-2.0

/// Remembered devices (SPEC §8.3).
extension Client {
    /// Whether this device was remembered: its half is in the home.
    public func isRemembered() throws(TresorError) -> Bool {
        switch try home.readSecret(.deviceShare) {
        case .some: true
        case .none: false
        }
    }

    /// The id of this device, if it is remembered.
    public func deviceID() throws(TresorError) -> DeviceID? {
        try deviceShare()?.id
    }

    /// Opens this home's identity with this device's half and the store's.
    ///
    /// - Throws: ``TresorError/notFound`` when the device is not remembered, or was being ended when that was interrupted; ``TresorError/noAccess`` when the
    ///   store has no half, or the slot is gone or expired; ``TresorError/altered`` when the halves do not belong together.
    public func unlockWithDevice() async throws(TresorError) -> Session {
        // A slot comes before its half, so the half is looked at first.
        guard let half = try deviceShare() else { throw .notFound }
        let file = try identityFile()
        if !file.devices.contains(where: { $0.id == half.id }), try endingDevices().contains(half.id) {
            try destroyDeviceHalf(of: half.id)
            throw .notFound
        }
        guard let bytes = try await store.serverShare(user: half.user, device: half.id) else { throw .noAccess }
        guard bytes.count == 32 else { throw .altered }
        let serverShare = try SecretBytes(copying: bytes.span)
        let session = Session(
            client: self, identity: try file.open(device: half, serverShare: serverShare, now: clock()))
        let end = file.devices.first { $0.id == half.id }?.until ?? 0
        // A clock that was set back does not lengthen an expiry.
        if end != Format.latestTime {
            guard try heads().ownTime <= end else { throw .noAccess }
        }
        return session
    }

    /// Destroys this device's half, then the store's. Needs no password and is repeatable.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store's half could not be deleted; the half here is gone all the same, and repeating this
    ///   deletes the store's.
    public func forgetDevice() async throws(TresorError) {
        try destroyDeviceHalf()
        try await settleWaysIn()
    }

    /// Destroys this device's half alone, and notes that the store's has to follow: for when the store cannot be reached. Both in one step: whoever
    /// settles sees both or none.
    public func destroyDeviceHalf() throws(TresorError) {
        // A home that is not there is not made for this.
        do throws(TresorError) { guard try isRemembered() else { return } } catch {}
        try home.exclusively { () throws(TresorError) in
            if let half = try? deviceShare() {
                var left = CleanupJournal()
                left.devices = [CleanupJournal.Device(user: half.user, id: half.id)]
                left.slots = [half.id]
                try add(left)
            }
            try home.delete(.deviceShare)
        }
    }

    func deviceShare() throws(TresorError) -> DeviceShare? {
        guard let bytes = try home.readSecret(.deviceShare) else { return nil }
        return try DeviceShare(bytes)
    }
}

/// Getting back in (SPEC §8.2).
extension Client {
    /// Opens the identity with the 24 words: from this home, or in an empty home from the copy in the store, and gives it a new password.
    /// Recovery into an empty home deletes all device halves of this person from the store. Blocks for about a second.
    ///
    /// - Returns: the session, and whether the identity came from the store. Pins and heads then start anew.
    /// - Throws: ``TresorError/wrongPassword`` when the words open nothing; ``TresorError/altered``; ``TresorError/usage`` for a password of fewer than 8
    ///   code points.
    public func recover(
        kit: borrowing RecoveryKit, newPassword: borrowing Password, cost: Argon2id.Cost = .standard
    ) async throws(TresorError) -> (session: Session, fromStore: Bool) {
        if try home.read(.identity) != nil {
            let session = Session(client: self, identity: try identityFile().open(kit: kit))
            try session.unlocking.changePassword(to: newPassword, cost: cost)
            return (session, false)
        }
        guard let bytes = try await store.kitCopy(locator: try kit.locator()) else { throw .wrongPassword }
        let copy = try IdentityFile(bytes)
        guard copy.isKitCopy else { throw .altered }
        let identity = try copy.open(kit: kit)
        let slot = try Slot.password(of: identity, password: newPassword, cost: cost, time: clock())
        try await store.deleteServerShares(user: identity.user, devices: nil)
        let file = try copy.settingPassword(slot, identity: identity)
        try home.exclusively { () throws(TresorError) in
            guard try home.read(.identity) == nil else { throw .busy }
            try home.replace(.identity, with: file.bytes)
        }
        return (Session(client: self, identity: identity), true)
    }

    /// Replaces the identity file if it is still `present`, and notes in the same step what that leaves behind: a change
    /// that is not made ends no device and leaves no note.
    ///
    /// - Throws: ``TresorError/busy`` when somebody else has replaced it meanwhile.
    func replaceIdentity(
        _ present: [UInt8], with file: IdentityFile, noting left: CleanupJournal = CleanupJournal()
    ) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            guard try home.read(.identity) == present else { throw .busy }
            let noted = try leftovers()
            try add(left)
            do throws(TresorError) {
                try home.replace(.identity, with: file.bytes)
            } catch {
                // What was replaced after all must still be cleaned up after.
                if (try? home.read(.identity)) == present { try? replaceLeftovers(with: noted) }
                throw error
            }
        }
    }
}

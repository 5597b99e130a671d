// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Changes the key slots of an identity: the password, the kit and the devices (SPEC §8.4).
///
/// Each change replaces the identity file in one step. The cleanup journal first records what the change must delete
/// afterwards.
///
/// A task that is cancelled before a change begins gets ``TresorError/cancelled``, and nothing is changed. A change
/// that has begun goes on to its end.
public struct SlotChanges: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// Replaces the present identity file by the result of `change`. Slots that are recorded as dead are removed too.
    private func rewrite(
        _ change: (IdentityFile) throws(TresorError) -> IdentityFile
    ) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in try rewriteLocked(change) }
    }

    /// Does what ``rewrite(_:)`` does, under the home's lock.
    private func rewriteLocked(
        _ change: (IdentityFile) throws(TresorError) -> IdentityFile
    ) throws(TresorError) {
        let file = try client.identityFileBlocking()
        guard file.chain == identity.chain else { throw .busy }
        try file.prove(with: identity)
        let present = try client.device.share()?.id
        let dead = try client.cleanup.journal().slots.filter { $0 != present }
        let changed = try change(try file.removing(Array(dead), identity: identity))
        guard changed.bytes != file.bytes else { return }
        try client.home.replace(.identity, with: changed.bytes)
    }

    /// Sets another password (SPEC §8.1). Only the password's slot is rewritten. Takes about a second.
    ///
    /// A log-in at a service keeps the former password (SPEC §20.5): call
    /// ``Client/register(_:password:invitation:)`` with the new one afterwards.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `passwordTooShort` for fewer than 8 code points; ``TresorError/busy``
    ///   when another process renewed the identity; ``TresorError/altered`` when the identity file is not what its
    ///   owner wrote.
    @concurrent public func changePassword(to password: borrowing Password) async throws(TresorError) {
        try await changePassword(to: password, cost: .standard)
    }

    /// Does what ``changePassword(to:)`` does, with another cost of one guess.
    @concurrent package func changePassword(
        to password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) {
        let slot = try await Slot.setPasswordApart(of: identity, password: password, cost: cost, time: client.clock())
        try await client.changingSlots { () async throws(TresorError) in
            try rewrite { (file) throws(TresorError) in try file.settingPassword(slot, identity: identity) }
        }
    }

    /// Sets another password and removes all trusted devices, in one step. Takes about a second.
    ///
    /// - Throws: the errors of ``changePassword(to:)``; ``TresorError/store(_:)`` when the server shares could not
    ///   be deleted, and then nothing is changed.
    @concurrent package func changePasswordEndingDevices(
        to password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) {
        let slot = try await Slot.setPasswordApart(of: identity, password: password, cost: cost, time: client.clock())
        try await client.changingSlots { () async throws(TresorError) in
            try note(ending: try client.identityFileBlocking().devices.map(\.id))
            try await client.store.deleteServerShares(user: identity.user, devices: nil)
            try rewrite { (file) throws(TresorError) in
                try file.removing(file.devices.map(\.id), identity: identity).settingPassword(slot, identity: identity)
            }
            try await client.cleanup.finishLocked()
        }
    }

    /// Records a kit in the home; call it before its words are shown or written.
    ///
    /// If the change is interrupted, no copy that the words open stays in the store. If it is repeated, it can resume
    /// with the same words.
    @concurrent public func prepare(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let locator = try kit.locator()
        try await Cores.apart { () throws(TresorError) in try note(kits: [locator]) }
    }

    /// Gives this identity a kit that the caller has made and whose words were shown (SPEC §8.2). May be repeated with
    /// the same kit.
    ///
    /// First make a ``RecoveryKit``, pass it to ``prepare(_:)`` and show its words. Call this when they are
    /// written down; until then the old kit stays valid. The copy is stored before the identity file names it, and the
    /// old copy is deleted after.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store does not accept the copy; the old kit then stays valid.
    @concurrent public func setKit(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let locator = try kit.locator()
        let slot = try Slot.kit(of: identity, kit: kit, time: client.clock())
        try Cancellation.check()
        try await client.changingSlots { () async throws(TresorError) in
            let file = try client.identityFileBlocking()
            guard file.chain == identity.chain else { throw .busy }
            if file.kitLocator != locator {
                try note(kits: [locator, file.kitLocator])
                try await put(try file.copy(for: slot, identity: identity), at: locator)
                try rewrite { (file) throws(TresorError) in try file.settingKit(slot, identity: identity) }
            }
            try await client.cleanup.finishLocked()
        }
    }

    /// Gives this identity a kit whose copy is not sent yet: a service takes it with the registration (SPEC §18.6). May be
    /// repeated with the same kit.
    @concurrent package func setUnsentKit(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let locator = try kit.locator()
        let slot = try Slot.kit(of: identity, kit: kit, time: client.clock())
        try await client.changingSlots { () async throws(TresorError) in
            try rewrite { (file) throws(TresorError) in
                file.kitLocator == locator ? file : try file.settingKit(slot, identity: identity)
            }
            var noted = CleanupJournal()
            noted.kits = [CleanupJournal.Kit(user: identity.user, locator: locator)]
            try client.cleanup.unnote(noted)
        }
    }

    /// Returns the copy of the identity that the kit opens, with its locator; `nil` without a kit.
    package func kitCopyBlocking() throws(TresorError) -> (locator: Hash256, copy: IdentityFile)? {
        let file = try client.identityFileBlocking()
        guard let locator = file.kitLocator, let slot = file.slots.first(where: { $0.kind == .kit(locator: locator) })
        else { return nil }
        return (locator, try file.copy(for: slot, identity: identity))
    }

    /// Notes that this store is to have the copy that the kit opens: a service takes it once the person is admitted (SPEC
    /// §18.6). Does nothing without a kit.
    package func awaitKitCopy() throws(TresorError) {
        guard let locator = try client.identityFileBlocking().kitLocator else { return }
        try client.archive.awaitStore(ofKit: locator)
    }

    /// Whether this home has noted that this store is to have the copy that the kit opens, and has not put it there. Any
    /// other store, and one that had it, may have deleted it for a later kit.
    package func isKitCopyDue() throws(TresorError) -> Bool {
        guard let locator = try client.identityFileBlocking().kitLocator else { return false }
        return client.archive.isAwaitedStore(ofKit: locator)
    }

    /// Restores the copy that the kit opens from the identity file, as a store may have lost it.
    @concurrent package func restoreKitCopy() async throws(TresorError) {
        guard try kitCopyBlocking() != nil else { return }
        try await client.changingSlots { () async throws(TresorError) in
            guard let (locator, copy) = try kitCopyBlocking() else { return }
            try await put(copy, at: locator)
        }
    }

    func note(kits: [Hash256?]) throws(TresorError) {
        let present = kits.compactMap(\.self).map { CleanupJournal.Kit(user: identity.user, locator: $0) }
        try client.cleanup.note(kits: Set(present))
    }

    /// Puts a kit's copy, reads it back, and notes the store: the old kit must not be replaced by one that opens nothing.
    func put(_ copy: IdentityFile, at locator: Hash256) async throws(TresorError) {
        let bytes = copy.bytes
        if try await client.store.kitCopy(locator: locator) != bytes {
            try await client.store.putKitCopy(bytes, locator: locator)
            guard try await client.store.kitCopy(locator: locator) == bytes else { throw .store(.notStored) }
        }
        try client.archive.noteStore(ofKit: locator)
    }

    /// The latest time that an entry of this person carries in a log that this home has verified, in seconds since 1970.
    package func ownTime() throws(TresorError) -> UInt64 { try client.heads().ownTime }

    /// Makes this device a trusted device, with a device share here and a server share of 32 bytes in the store (SPEC
    /// §8.8). An earlier trust of this device ends.
    ///
    /// - Parameters:
    ///   - name: the name in lists; may be empty.
    ///   - until: the last second, since 1970, in which it opens; at most the end of the year 9999.
    /// - Throws: ``TresorError/usage(_:)`` with `time` for a later time, or with `tooManySlots` when no more slots fit;
    ///   ``TresorError/store(_:)`` when the store does not keep the server share.
    @concurrent package func rememberDevice(name: Name, until: UInt64) async throws(TresorError) -> TrustedDevice {
        guard until <= Format.latestTime else { throw .usage(.time) }
        try Cancellation.check()
        return try await client.changingSlots { () async throws(TresorError) in
            try await remember(name: name, until: until)
        }
    }

    private func remember(name: Name, until: UInt64) async throws(TresorError) -> TrustedDevice {
        try await client.device.forgetLocked()
        let device = try DeviceShare(user: identity.user)
        let id = device.id
        var noted = CleanupJournal()
        noted.devices = [CleanupJournal.Device(user: identity.user, id: id)]
        noted.slots = [id]
        let serverShare = try SecretKey<DeviceUse>()
        // An entry that was signed until now, under any clock, does not end the trust.
        let since = max(client.clock(), try ownTime())
        try client.home.exclusively { () throws(TresorError) in try client.cleanup.add(noted) }
        try await put(serverShare, of: device)
        let encoded = try device.encoded()
        // In one step: nobody finds the share without its slot, or destroys it before the journal is done with it.
        try client.home.exclusively { () throws(TresorError) in
            try rewriteLocked { (file) throws(TresorError) in
                try file.adding(
                    device, serverShare: try SecretBytes(copying: serverShare.span), name: name, since: since,
                    until: until, identity: identity)
            }
            try client.home.replace(.deviceShare, withSecret: encoded)
            // A command that forgets the device from now on records it again.
            try client.cleanup.subtract(noted)
        }
        return TrustedDevice(id: id, name: name, since: since, until: until)
    }

    /// Puts the server share of a device, with the public key of the device, and reads it back.
    private func put(
        _ share: borrowing SecretKey<DeviceUse>, of device: DeviceShare
    ) async throws(TresorError) {
        let id = device.id
        let share = try SecretBytes(copying: share.span)
        if let kept = try await client.store.serverShare(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(share)
        {
            return
        }
        try await client.store.putServerShare(
            share.span.publicBytes, deviceKey: try device.publicKey(), user: identity.user, device: id)
        guard let kept = try await client.store.serverShare(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(share)
        else { throw .store(.notStored) }
    }

    /// Reads the trusted devices of this identity, in the order in which they were added.
    ///
    /// - Throws: the errors of reading the home; ``TresorError/altered`` for an identity file that does not decode.
    @concurrent public func devices() async throws(TresorError) -> [TrustedDevice] {
        try client.identityFileBlocking().devices
    }

    /// Removes trusted devices (SPEC §8.8): first the server shares, then the slots, then the device share here if it
    /// is one of them.
    ///
    /// - Throws: ``TresorError/notFound`` for a device that is neither in the file nor among
    ///   those whose removal was interrupted.
    @concurrent public func revokeDevices(_ devices: [DeviceID]) async throws(TresorError) {
        let known = Set(try client.identityFileBlocking().devices.map(\.id)).union(
            try client.cleanup.endingDevicesBlocking())
        guard known.isSuperset(of: devices) else { throw .notFound }
        try Cancellation.check()
        try await client.changingSlots { () async throws(TresorError) in
            try note(ending: devices)
            try await client.store.deleteServerShares(user: identity.user, devices: devices)
            try rewrite { (file) throws(TresorError) in try file.removing(devices, identity: identity) }
            try await client.cleanup.finishLocked()
        }
    }

    private func note(ending devices: [DeviceID]) throws(TresorError) {
        let user = identity.user
        try client.cleanup.note(devices: Set(devices.map { CleanupJournal.Device(user: user, id: $0) }))
    }
}

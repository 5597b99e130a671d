// SPDX-License-Identifier: Apache-2.0

/// Changes of key slots (SPEC §8.4): the password, the kit and the devices. Each replaces the identity file in one step; what it must take away
/// afterwards is in the cleanup journal before.
public struct SlotChanges: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// Changes the identity file, as it is at that moment, to what `change` makes of it. Slots known to be dead go with it.
    private func rewrite(
        _ change: (IdentityFile) throws(TresorError) -> IdentityFile
    ) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            let file = try client.identityFile()
            guard file.chain == identity.chain else { throw .busy }
            try file.prove(with: identity)
            let half = try client.device.share()?.id
            let dead = try client.cleanup.journal().slots.filter { $0 != half }
            let changed = try change(try file.removing(Array(dead), identity: identity))
            guard changed.bytes != file.bytes else { return }
            try client.home.replace(.identity, with: changed.bytes)
        }
    }

    /// Sets another password. Only the password's slot is rewritten. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/usage`` for fewer than 8 code points; ``TresorError/busy`` when the identity was renewed meanwhile;
    ///   ``TresorError/altered`` when the identity file is not what its owner wrote.
    public func changePassword(
        to password: borrowing Password, cost: Argon2id.Cost
    ) throws(TresorError) {
        let slot = try Slot.password(of: identity, password: password, cost: cost, time: client.clock())
        try rewrite { (file) throws(TresorError) in try file.settingPassword(slot, identity: identity) }
    }

    /// Sets another password and ends all remembered devices, in one step. Blocks for about a second.
    ///
    /// - Throws: what ``changePassword(to:cost:)`` throws; ``TresorError/store(_:)`` when the halves could not be deleted: nothing is changed then.
    @concurrent public func changePasswordEndingDevices(
        to password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) {
        let slot = try Slot.password(of: identity, password: password, cost: cost, time: client.clock())
        try note(ending: try client.identityFile().devices.map(\.id))
        try await client.store.deleteServerShares(user: identity.user, devices: nil)
        try rewrite { (file) throws(TresorError) in
            try file.removing(file.devices.map(\.id), identity: identity).settingPassword(slot, identity: identity)
        }
        try await client.cleanup.finish()
    }

    /// Gives this identity a new kit. The copy is stored before the identity file names it, and the old copy is deleted after.
    ///
    /// - Returns: the kit, to be shown once.
    /// - Throws: ``TresorError/store(_:)`` when the store does not take the copy; the old kit then still holds.
    @concurrent public func makeKit() async throws(TresorError) -> RecoveryKit {
        let kit = try RecoveryKit()
        try await setKit(kit)
        return kit
    }

    /// Sets a kit that the caller has made and kept safe already: whoever shows the words before they count loses nobody's way in. May be repeated
    /// with the same kit.
    @concurrent public func setKit(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let file = try client.identityFile()
        guard file.chain == identity.chain else { throw .busy }
        let locator = try kit.locator()
        guard file.kitLocator != locator else { return try await client.cleanup.finish() }
        try note(kits: [locator, file.kitLocator])
        let slot = try Slot.kit(of: identity, kit: kit, time: client.clock())
        let copy = try file.copy(for: slot, identity: identity)
        try await put(copy, at: locator)
        var replaced: Hash256?
        try rewrite { (file) throws(TresorError) in
            replaced = file.kitLocator
            return try file.settingKit(slot, identity: identity)
        }
        try note(kits: [replaced])
        try await put(copy, at: locator)
        try await client.cleanup.finish()
    }

    func note(kits: [Hash256?]) throws(TresorError) {
        let present = kits.compactMap(\.self).map { CleanupJournal.Kit(user: identity.user, locator: $0) }
        try client.cleanup.note(kits: Set(present))
    }

    /// Puts a kit's copy and reads it back: the old kit must not give way to one that opens nothing.
    func put(_ copy: IdentityFile, at locator: Hash256) async throws(TresorError) {
        let bytes = copy.bytes
        guard try await client.store.kitCopy(locator: locator) != bytes else { return }
        try await client.store.putKitCopy(bytes, locator: locator)
        guard try await client.store.kitCopy(locator: locator) == bytes else { throw .store(.notStored) }
    }

    /// Remembers this device: one half of a key here, one in the store. A device that was remembered before is forgotten.
    ///
    /// - Parameters:
    ///   - name: for the list; may be empty.
    ///   - until: the last second, since 1970, in which it opens; at most the end of the year 9999.
    /// - Throws: ``TresorError/usage`` for a later time, or when no more slots fit; ``TresorError/store(_:)`` when the store does not keep its half.
    @concurrent public func rememberDevice(name: Name, until: UInt64) async throws(TresorError) -> IdentityFile.Device {
        guard until <= Format.latestTime else { throw .usage }
        try await client.device.forget()
        let device = try DeviceShare(user: identity.user)
        let id = device.id
        var noted = CleanupJournal()
        noted.devices = [CleanupJournal.Device(user: identity.user, id: id)]
        noted.slots = [id]
        let serverShare = try SecretKey<DeviceUse>()
        let since = client.clock()
        try client.cleanup.note(devices: noted.devices)
        func addSlot() throws(TresorError) {
            try rewrite { (file) throws(TresorError) in
                guard !file.devices.contains(where: { $0.id == id }) else { return file }
                return try file.adding(
                    device, serverShare: try SecretBytes(copying: serverShare.span), name: name, since: since,
                    until: until,
                    identity: identity)
            }
        }
        try await put(serverShare, of: id)
        try addSlot()
        let encoded = try device.encoded()
        try client.home.exclusively { () throws(TresorError) in
            try client.home.replace(.deviceShare, withSecret: encoded)
        }
        // Whoever settled between the steps took this device for one that was interrupted.
        try await put(serverShare, of: id)
        try addSlot()
        try client.cleanup.unnote(noted)
        return IdentityFile.Device(id: id, name: name, since: since, until: until)
    }

    /// Puts the store's half of a device and reads it back.
    private func put(_ half: borrowing SecretKey<DeviceUse>, of id: DeviceID) async throws(TresorError) {
        let half = try SecretBytes(copying: half.span)
        if let kept = try await client.store.serverShare(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(half)
        {
            return
        }
        try await client.store.putServerShare(half.span.publicBytes, user: identity.user, device: id)
        guard let kept = try await client.store.serverShare(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(half)
        else { throw .store(.notStored) }
    }

    /// Ends remembered devices: the store's halves first, then the slots, then the half here if it is one of them.
    ///
    /// - Throws: ``TresorError/notFound`` for a device that is neither in the file nor being ended (``Cleanup/endingDevices()``).
    @concurrent public func revokeDevices(_ devices: [DeviceID]) async throws(TresorError) {
        let known = Set(try client.identityFile().devices.map(\.id)).union(try client.cleanup.endingDevices())
        guard known.isSuperset(of: devices) else { throw .notFound }
        try note(ending: devices)
        try await client.store.deleteServerShares(user: identity.user, devices: devices)
        try rewrite { (file) throws(TresorError) in try file.removing(devices, identity: identity) }
        try await client.cleanup.finish()
    }

    private func note(ending devices: [DeviceID]) throws(TresorError) {
        let user = identity.user
        try client.cleanup.note(devices: Set(devices.map { CleanupJournal.Device(user: user, id: $0) }))
    }
}

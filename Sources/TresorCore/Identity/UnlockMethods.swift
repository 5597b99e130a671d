// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The password (SPEC §8.1).
extension IdentityFile {
    /// Opens the file with the password. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/wrongPassword`` if the slot does not open or is missing; ``TresorError/altered`` if it
    ///   opens but the owner did not write the file.
    package func open(withPassword password: borrowing Password) throws(TresorError) -> Identity {
        for slot in slots {
            guard case .password(let cost, let salt) = slot.kind else { continue }
            let key: SecretKey<SlotUse> = try Argon2id.key(
                password: password.bytes, salt: salt, cost: cost)
            return try open(orWrongPassword: slot, with: key)
        }
        throw .wrongPassword
    }

    /// The cost of a guess at the password slot; `nil` without one.
    package var passwordCost: Argon2id.Cost? {
        for case .password(let cost, _) in slots.map(\.kind) { return cost }
        return nil
    }

    /// Opens a slot. A failure means a wrong password or kit; any failure after that is `altered`.
    private func open(
        orWrongPassword slot: Slot, with key: borrowing SecretKey<SlotUse>
    ) throws(TresorError) -> Identity {
        let seed: SecretKey<SeedUse>
        do throws(TresorError) {
            seed = try slot.open(with: key, user: chain.user, generation: chain.newest.generation)
        } catch {
            throw error == .altered ? .wrongPassword : error
        }
        return try open(with: seed)
    }

    /// Replaces the password slot. Every other slot stays the same, byte for byte.
    package func settingPassword(_ slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try replacing(identity: identity, slot) { if case .password = $0 { true } else { false } }
    }

    /// Replaces the first matching slot by `slot` and drops the other matching slots.
    package func replacing(
        identity: Identity, _ slot: Slot, where matches: (Slot.Kind) -> Bool
    ) throws(TresorError) -> IdentityFile {
        var replaced: [Slot] = []
        var isPlaced = false
        for present in slots {
            if !matches(present.kind) {
                replaced.append(present)
            } else if !isPlaced {
                replaced.append(slot)
                isPlaced = true
            }
        }
        if !isPlaced { replaced.append(slot) }
        return try IdentityFile(of: identity, previous: previous, slots: replaced)
    }
}

/// The recovery kit (SPEC §8.2).
extension IdentityFile {
    /// Opens the file with the kit.
    ///
    /// - Throws: ``TresorError/wrongPassword`` if the slot does not open or is missing; ``TresorError/altered`` if it
    ///   opens but the owner did not write the file.
    package func open(withKit kit: borrowing RecoveryKit) throws(TresorError) -> Identity {
        for slot in slots {
            guard case .kit = slot.kind else { continue }
            return try open(orWrongPassword: slot, with: try kit.slotKey())
        }
        throw .wrongPassword
    }

    /// The locator of the copy in the store that the kit opens; `nil` without a kit.
    package var kitLocator: Hash256? {
        for case .kit(let locator) in slots.map(\.kind) { return locator }
        return nil
    }

    /// Whether the file has the form of the copy in the store: one slot, a kit's.
    package var isKitCopy: Bool { slots.count == 1 && kitLocator != nil }

    /// Replaces the slot of the kit.
    package func settingKit(_ slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try replacing(identity: identity, slot) { if case .kit = $0 { true } else { false } }
    }

    /// Makes the copy for the store: an identity file whose only slot is the kit's.
    package func copy(for slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try IdentityFile(of: identity, previous: previous, slots: [slot])
    }
}

extension RecoveryKit {
    package func slotKey() throws(TresorError) -> SecretKey<SlotUse> {
        let empty: [UInt8] = []
        return try key.derive(.kitSlot, context: empty.span)
    }

    /// Derives the locator of the sealed copy in the store.
    package borrowing func locator() throws(TresorError) -> Hash256 {
        let empty: [UInt8] = []
        return try key.deriveDigest(.kitLocator, context: empty.span)
    }
}

/// The login copy (SPEC §20.5).
extension IdentityFile {
    /// The service and the revision of a login copy, which has this slot alone; `nil` for another file.
    package var login: (server: Hash256, revision: UInt64)? {
        guard case .login(let server, let revision)? = slots.first?.kind else { return nil }
        return (server, revision)
    }

    /// Makes the login copy: an identity file whose only slot opens with the export key of a log-in.
    ///
    /// - Parameter exportKey: 64 bytes.
    package func loginCopy(
        of identity: Identity, exportKey: borrowing SecretBytes, server: Hash256, revision: UInt64, time: UInt64
    ) throws(TresorError) -> IdentityFile {
        let slot = try identity.seal(
            under: try Self.loginKey(exportKey, server), id: try DeviceID.random(),
            kind: .login(server: server, revision: revision), since: time)
        return try copy(for: slot, identity: identity)
    }

    /// The most bytes that a service takes as a login copy of a chain: it needs 297 fewer.
    package static func maximumLoginCopyByteCount(of chain: CardChain) -> Int {
        chain.bytes.count + Int(chain.newest.generation) * Slot.sealedByteCount + 512
    }

    /// Opens a login copy with the export key of a log-in.
    ///
    /// - Throws: ``TresorError/altered``: who has the export key knows the password.
    package func open(withExportKey exportKey: borrowing SecretBytes) throws(TresorError) -> Identity {
        guard let login, let slot = slots.first else { throw .altered }
        return try openSlot(slot, with: try Self.loginKey(exportKey, login.server))
    }

    private static func loginKey(
        _ exportKey: borrowing SecretBytes, _ server: Hash256
    ) throws(TresorError) -> SecretKey<SlotUse> {
        let key = try SecretKey<LoginUse>(SecretBytes(copying: exportKey.span.extracting(first: Hash256.byteCount)))
        return try key.derive(.slotLogin, context: server.bytes.span)
    }
}

/// Trusted devices (SPEC §8.3).
extension IdentityFile {
    /// The trusted devices, in the order of the file.
    package var devices: [TrustedDevice] {
        slots.compactMap { slot in
            guard case .device(let name, let until) = slot.kind else { return nil }
            return TrustedDevice(id: slot.id, name: name, since: slot.since, until: until)
        }
    }

    /// Opens the file with the device share and the server share.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    /// - Throws: ``TresorError/noAccess`` for a device that is not in the file or has expired; ``TresorError/altered``
    ///   for shares that do not belong together.
    package func open(
        withDevice device: DeviceShare, serverShare: borrowing SecretBytes, now: UInt64
    ) throws(TresorError) -> Identity {
        guard let slot = slots.first(where: { $0.id == device.id }),
            case .device(_, let until) = slot.kind,
            device.user == chain.user, now <= until
        else { throw .noAccess }
        return try openSlot(slot, with: try device.slotKey(serverShare: serverShare))
    }

    /// Adds a trusted device.
    package func adding(
        _ device: DeviceShare, serverShare: borrowing SecretBytes, name: Name, since: UInt64,
        until: UInt64,
        identity: Identity
    ) throws(TresorError) -> IdentityFile {
        let slot = try identity.seal(
            under: try device.slotKey(serverShare: serverShare), id: device.id,
            kind: .device(name: name, until: until),
            since: since)
        return try IdentityFile(of: identity, previous: previous, slots: slots + [slot])
    }

    /// Removes these devices.
    package func removing(_ devices: [DeviceID], identity: Identity) throws(TresorError)
        -> IdentityFile
    {
        guard slots.contains(where: { devices.contains($0.id) }) else { return self }
        return try IdentityFile(
            of: identity, previous: previous, slots: slots.filter { !devices.contains($0.id) })
    }
}

extension Slot {
    package static func kit(of identity: Identity, kit: borrowing RecoveryKit, time: UInt64)
        throws(TresorError) -> Slot
    {
        try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: time)
    }

    /// - Throws: ``TresorError/usage(_:)`` with `passwordTooShort` for a new password that is too short (SPEC §8.1).
    package static func setPassword(
        of identity: Identity, password: borrowing Password, cost: Argon2id.Cost, time: UInt64
    ) throws(TresorError) -> Slot {
        guard password.count >= Password.shortestNew else { throw .usage(.passwordTooShort) }
        let salt = try randomBytes(Argon2id.saltByteCount)
        let key: SecretKey<SlotUse> = try Argon2id.key(password: password.bytes, salt: salt, cost: cost)
        return try identity.seal(
            under: key, id: try DeviceID.random(), kind: .password(cost: cost, salt: salt), since: time)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The password (SPEC §8.1).
extension IdentityFile {
    /// Opens the file with the password. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/wrongPassword`` when the slot does not open or there is none; ``TresorError/altered`` when it opens but the
    ///   file is not what its owner wrote.
    public func open(password: borrowing Password) throws(TresorError) -> Identity {
        for slot in slots {
            guard case .password(let cost, let salt) = slot.kind else { continue }
            let key: SecretKey<SlotUse> = try Argon2id.key(
                password: password.bytes, salt: salt, cost: cost)
            return try open(orWrongPassword: slot, with: key)
        }
        throw .wrongPassword
    }

    /// What the password slot costs a guesser; `nil` when there is none.
    public var passwordCost: Argon2id.Cost? {
        for case .password(let cost, _) in slots.map(\.kind) { return cost }
        return nil
    }

    /// A slot that does not open says that the password or kit was wrong; what is wrong behind it is `altered`.
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

    /// The same file with another password's slot; every other slot stays as it is, byte for byte.
    package func settingPassword(_ slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try replacing(identity: identity, slot) { if case .password = $0 { true } else { false } }
    }

    /// Puts `slot` in the place of the first slot that matches, and drops the others that do.
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
    /// - Throws: ``TresorError/wrongPassword`` when the slot does not open or there is none; ``TresorError/altered`` when it opens but the
    ///   file is not what its owner wrote.
    public func open(kit: borrowing RecoveryKit) throws(TresorError) -> Identity {
        for slot in slots {
            guard case .kit = slot.kind else { continue }
            return try open(orWrongPassword: slot, with: try kit.slotKey())
        }
        throw .wrongPassword
    }

    /// Where the store keeps the copy that the kit opens; `nil` without a kit.
    public var kitLocator: Hash256? {
        for case .kit(let locator) in slots.map(\.kind) { return locator }
        return nil
    }

    /// Whether it has the form of the copy in the store: a kit's slot and no other.
    package var isKitCopy: Bool { slots.count == 1 && kitLocator != nil }

    /// The same file with a kit's slot in place of the old kit's.
    package func settingKit(_ slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try replacing(identity: identity, slot) { if case .kit = $0 { true } else { false } }
    }

    /// The copy for the store: an identity file with the kit's slot alone.
    package func copy(for slot: Slot, identity: Identity) throws(TresorError) -> IdentityFile {
        try IdentityFile(of: identity, previous: previous, slots: [slot])
    }
}

extension RecoveryKit {
    func slotKey() throws(TresorError) -> SecretKey<SlotUse> {
        let empty: [UInt8] = []
        return try key.derive(.kitSlot, context: empty.span)
    }

    /// Under what the store keeps the sealed copy.
    package borrowing func locator() throws(TresorError) -> Hash256 {
        let empty: [UInt8] = []
        return try key.deriveDigest(.kitLocator, context: empty.span)
    }
}

/// Remembered devices (SPEC §8.3).
extension IdentityFile {
    /// A remembered device.
    public struct Device: Hashable, Sendable {
        /// Tells devices apart.
        public let id: DeviceID
        /// What its owner called it; may be empty.
        public let name: Name
        /// When it was remembered, in seconds since 1970.
        public let since: UInt64
        /// Until when it opens, in seconds since 1970.
        public let until: UInt64

        package init(id: DeviceID, name: Name, since: UInt64, until: UInt64) {
            self.id = id
            self.name = name
            self.since = since
            self.until = until
        }
    }

    /// The remembered devices, in the order of the file.
    public var devices: [Device] {
        slots.compactMap { slot in
            guard case .device(let name, let until) = slot.kind else { return nil }
            return Device(id: slot.id, name: name, since: slot.since, until: until)
        }
    }

    /// Opens the file with both halves of a device's key.
    ///
    /// - Parameter now: the clock, in seconds since 1970.
    /// - Throws: ``TresorError/noAccess`` for a device that is not in the file or has expired; ``TresorError/altered`` when the halves do not
    ///   belong together.
    package func open(
        device: DeviceShare, serverShare: borrowing SecretBytes, now: UInt64
    ) throws(TresorError) -> Identity {
        guard let slot = slots.first(where: { $0.id == device.id }),
            case .device(_, let until) = slot.kind,
            device.user == chain.user, now <= until
        else { throw .noAccess }
        return try open(slot, with: try device.slotKey(serverShare: serverShare))
    }

    /// The same file with one more remembered device.
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

    /// The same file without these devices.
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

    /// - Throws: ``TresorError/usage`` for a password that is too short to be set (SPEC §8.1).
    package static func password(
        of identity: Identity, password: borrowing Password, cost: Argon2id.Cost, time: UInt64
    ) throws(TresorError) -> Slot {
        guard password.count >= Password.shortestNew else { throw .usage }
        let salt = try randomBytes(Argon2id.saltByteCount)
        let key: SecretKey<SlotUse> = try Argon2id.key(password: password.bytes, salt: salt, cost: cost)
        return try identity.seal(
            under: key, id: try DeviceID.random(), kind: .password(cost: cost, salt: salt), since: time)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Changing the ways in (SPEC §8.4). Each change replaces the identity file in one step; what it must take away afterwards is noted before.
extension Session {
    /// Changes the identity file, as it is at that moment, to what `change` makes of it. Slots known to be dead go with it.
    private nonisolated func rewrite(
        _ change: (IdentityFile) throws(TresorError) -> IdentityFile
    ) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            let file = try client.identityFile()
            guard file.chain == identity.chain else { throw .busy }
            try file.prove(with: identity)
            let half = try client.deviceShare()?.id
            let dead = try client.leftovers().slots.filter { $0 != half }
            let changed = try change(try file.removing(Array(dead), identity: identity))
            guard changed.bytes != file.bytes else { return }
            try client.home.replace(.identity, with: changed.bytes)
        }
    }

    /// Sets another password. Only the password's slot is rewritten. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/usage`` for fewer than 8 code points; ``TresorError/busy`` when the identity was renewed meanwhile;
    ///   ``TresorError/altered`` when the identity file is not what its owner wrote.
    public nonisolated func changePassword(
        to password: borrowing Password, cost: Argon2id.Cost
    ) throws(TresorError) {
        let slot = try Slot.password(of: identity, password: password, cost: cost, time: client.clock())
        try rewrite { (file) throws(TresorError) in try file.settingPassword(slot, identity: identity) }
    }

    /// Sets another password and ends all remembered devices, in one step. Blocks for about a second.
    ///
    /// - Throws: what ``changePassword(to:cost:)`` throws; ``TresorError/store(_:)`` when the halves could not be deleted: nothing is changed then.
    public func changePasswordEndingDevices(
        to password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) {
        let slot = try Slot.password(of: identity, password: password, cost: cost, time: client.clock())
        try note(ending: try client.identityFile().devices.map(\.id))
        try await client.store.deleteHalves(user: identity.user, devices: nil)
        try rewrite { (file) throws(TresorError) in
            try file.removing(file.devices.map(\.id), identity: identity).settingPassword(slot, identity: identity)
        }
        try await client.settleWaysIn()
    }

    /// Gives this identity a new kit. The copy is stored before the identity file names it, and the old copy is deleted after.
    ///
    /// - Returns: the kit, to be shown once.
    /// - Throws: ``TresorError/store(_:)`` when the store does not take the copy; the old kit then still holds.
    public func makeKit() async throws(TresorError) -> RecoveryKit {
        let kit = try RecoveryKit()
        try await setKit(kit)
        return kit
    }

    /// Sets a kit that the caller has made and kept safe already: whoever shows the words before they count loses nobody's way in. May be repeated
    /// with the same kit.
    public func setKit(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        let file = try client.identityFile()
        guard file.chain == identity.chain else { throw .busy }
        let locator = try kit.locator()
        guard file.kitLocator != locator else { return try await client.settleWaysIn() }
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
        try await client.settleWaysIn()
    }

    private nonisolated func note(kits: [Hash256?]) throws(TresorError) {
        let present = kits.compactMap(\.self).map { CleanupJournal.Kit(user: identity.user, locator: $0) }
        try client.note(kits: Set(present))
    }

    /// Puts a kit's copy and reads it back: the old kit must not give way to one that opens nothing.
    private func put(_ copy: IdentityFile, at locator: Hash256) async throws(TresorError) {
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
    public func rememberDevice(name: Name, until: UInt64) async throws(TresorError) -> IdentityFile.Device {
        guard until <= Format.latestTime else { throw .usage }
        try await client.forgetDevice()
        let device = try DeviceShare(user: identity.user)
        let id = device.id
        var noted = CleanupJournal()
        noted.devices = [CleanupJournal.Device(user: identity.user, id: id)]
        noted.slots = [id]
        let serverShare = try SecretKey<DeviceUse>()
        let since = client.clock()
        try client.note(devices: noted.devices)
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
        try client.unnote(noted)
        return IdentityFile.Device(id: id, name: name, since: since, until: until)
    }

    /// Puts the store's half of a device and reads it back.
    private func put(_ half: borrowing SecretKey<DeviceUse>, of id: DeviceID) async throws(TresorError) {
        let half = try SecretBytes(copying: half.span)
        if let kept = try await client.store.half(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(half)
        {
            return
        }
        try await client.store.putHalf(half.span.publicBytes, user: identity.user, device: id)
        guard let kept = try await client.store.half(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(half)
        else { throw .store(.notStored) }
    }

    /// Ends remembered devices: the store's halves first, then the slots, then the half here if it is one of them.
    ///
    /// - Throws: ``TresorError/notFound`` for a device that is neither in the file nor being ended (``Client/endingDevices()``).
    public func revokeDevices(_ devices: [DeviceID]) async throws(TresorError) {
        let known = Set(try client.identityFile().devices.map(\.id)).union(try client.endingDevices())
        guard known.isSuperset(of: devices) else { throw .notFound }
        try note(ending: devices)
        try await client.store.deleteHalves(user: identity.user, devices: devices)
        try rewrite { (file) throws(TresorError) in try file.removing(devices, identity: identity) }
        try await client.settleWaysIn()
    }

    private nonisolated func note(ending devices: [DeviceID]) throws(TresorError) {
        let user = identity.user
        try client.note(devices: Set(devices.map { CleanupJournal.Device(user: user, id: $0) }))
    }
}

/// New keys for oneself (SPEC §8.4).
extension Session {
    /// What became of one tresor when the identity was renewed.
    public struct Renewal: Hashable, Sendable {
        /// Which tresor.
        public let tresor: TresorID
        /// Whether this person changed its key too; otherwise another owner or writer has to.
        public let isRotated: Bool
        /// What went wrong; repeating the command goes on from there.
        public let error: TresorError?
    }

    /// Whether a renewal was interrupted, by the home's own note: what a store shows does not keep anybody from making
    /// new keys.
    public func renewalIsUnfinished() throws(TresorError) -> Bool {
        guard identity.generation > 0 else { return false }
        return try client.isIntroducing()
    }

    /// Whether the store lets new keys be made: before anything is changed, it must not show other keys of this person,
    /// or newer ones.
    ///
    /// - Throws: ``TresorError/forked`` for a chain that this person's does not extend; ``TresorError/altered`` or
    ///   ``TresorError/unsupported`` for what is no card; ``TresorError/store(_:)`` when it cannot be asked.
    public func checkRenewal() async throws(TresorError) {
        guard let present = try await client.store.card(of: identity.user) else { return }
        let isMine = identity.chain.extends(try CardChain(present))
        guard isMine else { throw .forked }
    }

    /// Makes the next generation, keeps it, and gives it a new password slot and a kit; all devices are forgotten. The identity file is replaced in one
    /// step. The store and the tresors follow with ``finishRenewal()``.
    ///
    /// - Parameter kit: made and kept safe by the caller; `nil` for none.
    /// - Returns: the session of the new generation.
    /// - Throws: what ``checkRenewal()`` throws, and then nothing is changed; ``TresorError/busy`` when the identity
    ///   changed meanwhile.
    public func renew(
        password: borrowing Password, cost: Argon2id.Cost, kit: consuming RecoveryKit?
    ) async throws(TresorError) -> Session {
        guard let present = try client.home.read(.identity) else { throw .notFound }
        let file = try IdentityFile(present)
        guard file.chain == identity.chain else { throw .busy }
        try await checkRenewal()
        let time = client.clock()
        let (next, sealed) = try identity.renewed(time: time)
        let slot = try Slot.password(of: next, password: password, cost: cost, time: time)
        var renewed = try IdentityFile(of: next, previous: [sealed] + file.previous, slots: [slot])
        var left = CleanupJournal()
        left.kits = Set(file.kitLocator.map { [CleanupJournal.Kit(user: identity.user, locator: $0)] } ?? [])
        left.devices = Set(file.devices.map { CleanupJournal.Device(user: identity.user, id: $0.id) })
        left.generations = [next.generation]
        if let kit {
            let locator = try kit.locator()
            let slot = try Slot.kit(of: next, kit: kit, time: time)
            try note(kits: [locator])
            try await put(try renewed.copy(for: slot, identity: next), at: locator)
            renewed = try renewed.settingKit(slot, identity: next)
        }
        try client.replaceIdentity(present, with: renewed, noting: left)
        try client.home.delete(.deviceShare)
        try await client.store.deleteHalves(user: identity.user, devices: nil)
        try await client.settleWaysIn()
        return Session(client: client, identity: next)
    }

    /// Publishes the newest card, and in every tresor this person is in replaces the older generation; where they own it, the key too. Repeatable.
    public func finishRenewal() async throws(TresorError) -> [Renewal] {
        try await client.settleWaysIn()
        try await putKitCopyBack()
        try await client.publishCard()
        var renewals: [Renewal] = []
        for summary in try await tresors() {
            guard let state = summary.state else {
                renewals.append(Renewal(tresor: summary.tresor, isRotated: false, error: summary.error))
                continue
            }
            guard state.members[identity.user] != nil else { continue }
            do throws(TresorError) {
                renewals.append(try await renew(in: state))
            } catch {
                renewals.append(Renewal(tresor: summary.tresor, isRotated: false, error: error))
            }
        }
        let isDone = renewals.allSatisfy { $0.error.map(Self.holdsUpNothing) ?? true }
        if isDone { try client.unnoteIntroduction(of: identity.generation) }
        return renewals
    }

    /// Whether an error of a tresor's log will not pass: that tresor must not keep somebody from making new keys once more.
    private static func holdsUpNothing(_ error: TresorError) -> Bool {
        switch error {
        case .forked, .altered, .unsupported, .noAccess, .unverified: true
        default: false
        }
    }

    /// The copy that the kit opens, as the identity file has it: a store may have lost it since.
    private func putKitCopyBack() async throws(TresorError) {
        let file = try client.identityFile()
        guard let locator = file.kitLocator, let slot = file.slots.first(where: { $0.kind == .kit(locator: locator) })
        else { return }
        try await put(try file.copy(for: slot, identity: identity), at: locator)
    }

    /// Puts this person's newest card into one tresor that has not learnt of it, because its log could not be verified
    /// when the identity was renewed.
    ///
    /// - Throws: what ``perform(_:on:expecting:acceptingUnverified:)`` throws.
    public func renew(in tresor: TresorID) async throws(TresorError) -> Renewal {
        try await renew(in: try await client.state(of: tresor))
    }

    private func renew(in state: LogState) async throws(TresorError) -> Renewal {
        var state = state
        while state.chain(of: identity.user)?.newest != identity.chain.newest {
            state = try await perform(.renew, on: state.tresor).state
        }
        let isOwner = state.members[identity.user]?.role == .owner
        // Somebody else may have put the card in. Only what its keys sign proves the tresor to those who never saw it.
        let isUnproved = state.founder == identity.user && state.founderGeneration != identity.generation
        if state.rotateFirst || isUnproved, isOwner { state = try await perform(.rotate, on: state.tresor).state }
        return Renewal(tresor: state.tresor, isRotated: !state.rotateFirst, error: nil)
    }
}

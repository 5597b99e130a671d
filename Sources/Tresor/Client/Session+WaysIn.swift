// SPDX-License-Identifier: Apache-2.0

/// Changing the ways in (SPEC §8.4). Each change replaces the identity file in one step.
extension Session {
    /// Changes the identity file to what `change` makes of it.
    private nonisolated func rewrite(
        _ change: (IdentityFile) throws(TresorError) -> IdentityFile
    ) throws(TresorError) {
        guard let present = try client.home.read(.identity) else { throw .notFound }
        let file = try IdentityFile(present)
        guard file.chain == identity.chain else { throw .busy }
        try client.replaceIdentity(present, with: try change(file))
    }

    /// Sets another password. Only the password's slot is rewritten. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/busy`` when the identity file changed meanwhile.
    public nonisolated func changePassword(
        to password: borrowing Password, cost: Argon2id.Cost
    ) throws(TresorError) {
        let slot = try Slot.password(of: identity, password: password, cost: cost, time: client.clock())
        try rewrite { (file) throws(TresorError) in
            try file.replacing(identity: identity, slot) { if case .password = $0 { true } else { false } }
        }
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

    /// Sets a kit that the caller has made and kept safe already: whoever shows the words before they count loses nobody's way in.
    public func setKit(_ kit: borrowing RecoveryKit) async throws(TresorError) {
        guard let present = try client.home.read(.identity) else { throw .notFound }
        let file = try IdentityFile(present)
        guard file.chain == identity.chain else { throw .busy }
        let (next, copy) = try file.settingKit(kit, time: client.clock(), identity: identity)
        try await put(copy, for: kit)
        try client.replaceIdentity(present, with: next)
        if let old = file.kitLocator { try await client.store.deleteKitCopy(locator: old) }
    }

    /// Puts a kit's copy and reads it back: the old kit must not give way to one that opens nothing.
    private func put(_ copy: IdentityFile, for kit: borrowing RecoveryKit) async throws(TresorError) {
        let locator = try kit.locator()
        try await client.store.putKitCopy(copy.bytes, locator: locator)
        guard try await client.store.kitCopy(locator: locator) == copy.bytes else { throw .store(.notStored) }
    }

    /// Remembers this device: one half of a key here, one in the store. A device that was remembered before is forgotten.
    ///
    /// - Parameters:
    ///   - name: for the list; may be empty.
    ///   - until: the last second, since 1970, in which it opens; at most the end of the year 9999.
    /// - Throws: ``TresorError/usage`` for a later time; ``TresorError/store(_:)`` when the store does not keep its half.
    public func rememberDevice(name: Name, until: UInt64) async throws(TresorError) -> IdentityFile.Device {
        guard until <= Format.latestTime else { throw .usage }
        try await client.forgetDevice()
        let device = try DeviceHalf(user: identity.user)
        let id = device.id
        let storeHalf = try SecretKey<DeviceUse>()
        try await client.store.putHalf(storeHalf.span.publicBytes, user: identity.user, device: id)
        guard let kept = try await client.store.half(user: identity.user, device: id),
            try SecretBytes(copying: kept.span).matches(SecretBytes(copying: storeHalf.span))
        else { throw .store(.notStored) }
        let encoded = try device.encoded()
        try client.home.replace(.deviceHalf, with: encoded.span.publicBytes)
        let since = client.clock()
        try rewrite { (file) throws(TresorError) in
            try file.adding(
                device, storeHalf: try SecretBytes(copying: storeHalf.span), name: name, since: since, until: until,
                identity: identity)
        }
        return IdentityFile.Device(id: id, name: name, since: since, until: until)
    }

    /// Ends remembered devices: the store's halves first, then the slots.
    ///
    /// - Throws: ``TresorError/notFound`` for a device that is not in the file.
    public func revokeDevices(_ devices: [DeviceID]) async throws(TresorError) {
        let known = Set(try client.identityFile().devices.map(\.id))
        guard known.isSuperset(of: devices) else { throw .notFound }
        try await client.store.deleteHalves(user: identity.user, devices: devices)
        try rewrite { (file) throws(TresorError) in try file.removing(devices, identity: identity) }
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

    /// Whether the store or a log still shows an older generation of this person: a renewal that was interrupted.
    public func renewalIsUnfinished() async throws(TresorError) -> Bool {
        guard let stored = try await client.store.card(of: identity.user) else { return true }
        guard try CardChain(stored) == identity.chain else { return true }
        for summary in try await tresors() {
            guard let state = summary.state, state.members[identity.user] != nil else { continue }
            if state.chain(of: identity.user)?.newest != identity.chain.newest { return true }
        }
        return false
    }

    /// Makes the next generation, keeps it, and gives it a new password slot and a kit; all devices are forgotten. The identity file is replaced in one
    /// step. The store and the tresors follow with ``finishRenewal()``.
    ///
    /// - Parameter kit: made and kept safe by the caller; `nil` for none.
    /// - Returns: the session of the new generation.
    public func renew(
        password: borrowing Password, cost: Argon2id.Cost, kit: consuming RecoveryKit?
    ) async throws(TresorError) -> Session {
        guard let present = try client.home.read(.identity) else { throw .notFound }
        let file = try IdentityFile(present)
        guard file.chain == identity.chain else { throw .busy }
        let time = client.clock()
        let (next, sealed) = try identity.renewed(time: time)
        let slot = try Slot.password(of: next, password: password, cost: cost, time: time)
        var renewed = try IdentityFile(of: next, previous: [sealed] + file.previous, slots: [slot])
        if let kit {
            let (withKit, copy) = try renewed.settingKit(kit, time: time, identity: next)
            try await put(copy, for: kit)
            renewed = withKit
        }
        try client.replaceIdentity(present, with: renewed)
        if let old = file.kitLocator { try await client.store.deleteKitCopy(locator: old) }
        try client.home.delete(.deviceHalf)
        try await client.store.deleteHalves(user: identity.user, devices: nil)
        return Session(client: client, identity: next)
    }

    /// Publishes the newest card, and in every tresor this person is in replaces the older generation; where they own it, the key too. Repeatable.
    public func finishRenewal() async throws(TresorError) -> [Renewal] {
        try await client.publishCard()
        var renewals: [Renewal] = []
        for summary in try await tresors() {
            guard let state = summary.state, state.members[identity.user] != nil else { continue }
            do throws(TresorError) {
                renewals.append(try await renew(in: state))
            } catch {
                renewals.append(Renewal(tresor: summary.tresor, isRotated: false, error: error))
            }
        }
        return renewals
    }

    private func renew(in state: State) async throws(TresorError) -> Renewal {
        var state = state
        while state.chain(of: identity.user)?.newest != identity.chain.newest {
            state = try await perform(.renew, on: state.tresor).state
        }
        let isOwner = state.members[identity.user]?.role == .owner
        if state.rotateFirst, isOwner { state = try await perform(.rotate, on: state.tresor).state }
        return Renewal(tresor: state.tresor, isRotated: !state.rotateFirst, error: nil)
    }
}

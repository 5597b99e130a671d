// SPDX-License-Identifier: Apache-2.0

/// Finishes what an interrupted change of the unlock methods left behind (SPEC §8.4).
public struct Cleanup: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }

    /// Whether a change of the ways in was interrupted: the store still has to delete something, which ``finish()`` does, or to learn of a generation.
    public func isPending() throws(TresorError) -> Bool {
        let noted = try journal()
        let mine = try client.ownChain()
        return noted.kits.contains { $0.user == mine?.user } || !noted.devices.isEmpty
            || noted.generations.contains { $0 == mine?.newest.generation }
    }

    /// The devices of this home's identity whose end was begun and interrupted.
    public func endingDevices() throws(TresorError) -> [DeviceID] {
        let mine = try client.identityFile().chain.user
        return try journal().devices.filter { $0.user == mine }.map(\.id).sorted { $0.description < $1.description }
    }

    /// Whether this home's newest generation was made, and telling the store and the tresors of it was interrupted.
    public func isIntroducing() throws(TresorError) -> Bool {
        try journal().generations.contains(client.identityFile().chain.newest.generation)
    }

    /// Finishes what an interrupted change of the ways in began: old kit copies and halves of ended devices leave the store, a half here that
    /// belongs to no slot is destroyed. Needs no secret and may be repeated.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached; what is to be done stays noted.
    public func finish() async throws(TresorError) {
        try destroyOrphanedHalf()
        let noted = try journal()
        guard !noted.isEmpty else { return }
        var deleted = CleanupJournal()
        // Others may put in place meanwhile what was noted; each is looked at again just before it goes.
        for kit in noted.kits {
            let present = presentWaysIn()
            guard present.user == kit.user, present.kit != kit.locator else { continue }
            try await store.deleteKitCopy(locator: kit.locator)
            deleted.kits.insert(kit)
        }
        for device in noted.devices where try readableHalf() != device.id {
            try await store.deleteServerShares(user: device.user, devices: [device.id])
            deleted.devices.insert(device)
        }
        try strikeOut(deleted, of: noted)
    }

    /// Takes from the note what was deleted, and what the home uses now. Slots that nothing opens any more stay noted for as long as the file has them.
    private func strikeOut(_ deleted: CleanupJournal, of noted: CleanupJournal) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            let half = try readableHalf()
            let present = presentWaysIn()
            var struck = deleted
            struck.kits.formUnion(noted.kits.filter { $0.locator == present.kit })
            struck.devices.formUnion(noted.devices.filter { $0.id == half })
            struck.slots = noted.slots.filter { $0 == half || !(present.slots?.contains($0) ?? true) }
            var rest = try journal()
            rest.slots.formUnion(deleted.devices.map(\.id).filter { $0 != half && present.slots?.contains($0) ?? true })
            rest.subtract(struck)
            try replaceJournal(with: rest)
        }
    }

    /// What the identity file has.
    private struct WaysIn {
        var user: UserID?
        var kit: Hash256?
        /// `nil` for those of a file that does not read.
        var slots: Set<DeviceID>? = []
    }

    private func presentWaysIn() -> WaysIn {
        do throws(TresorError) {
            guard let bytes = try home.read(.identity) else { return WaysIn() }
            let file = try IdentityFile(bytes)
            return WaysIn(user: file.chain.user, kit: file.kitLocator, slots: Set(file.devices.map(\.id)))
        } catch {
            return WaysIn(slots: nil)
        }
    }

    /// The device whose half lies here; none for one that opens nothing.
    private func readableHalf() throws(TresorError) -> DeviceID? {
        do throws(TresorError) {
            return try client.device.share()?.id
        } catch {
            guard error == .altered || error == .unsupported else { throw error }
            return nil
        }
    }

    /// Destroys the half here if it belongs to no slot of the identity file.
    private func destroyOrphanedHalf() throws(TresorError) {
        func orphan() throws(TresorError) -> DeviceID? {
            // The slot comes before the half, so the half is looked at first.
            guard let half = try? readableHalf(), let slots = presentWaysIn().slots else { return nil }
            return try home.read(.identity) == nil || slots.contains(half) ? nil : half
        }
        guard let half = try orphan() else { return }
        try destroyDeviceShare(of: half)
    }

    /// Destroys the half here if it is that of `device`; another one was put there since.
    func destroyDeviceShare(of device: DeviceID) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            guard try readableHalf() == device else { return }
            try home.delete(.deviceShare)
        }
    }

    func journal() throws(TresorError) -> CleanupJournal {
        guard let bytes = try home.read(.cleanupJournal) else { return CleanupJournal() }
        return try CleanupJournal(bytes)
    }

    /// Notes what may have to be taken away, durably.
    func note(
        kits: Set<CleanupJournal.Kit> = [], devices: Set<CleanupJournal.Device> = [], slots: Set<DeviceID> = [],
        generations: Set<UInt32> = []
    ) throws(TresorError) {
        var left = CleanupJournal()
        (left.kits, left.devices, left.slots, left.generations) = (kits, devices, slots, generations)
        try home.exclusively { () throws(TresorError) in try add(left) }
    }

    /// Adds to the note; under the home's lock.
    func add(_ left: CleanupJournal) throws(TresorError) {
        var noted = try journal()
        noted.formUnion(left)
        try replaceJournal(with: noted)
    }

    func unnote(_ settled: CleanupJournal) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var rest = try journal()
            rest.subtract(settled)
            try replaceJournal(with: rest)
        }
    }

    func replaceJournal(with rest: CleanupJournal) throws(TresorError) {
        guard try rest != journal() else { return }
        if rest.isEmpty {
            try home.delete(.cleanupJournal)
        } else {
            try home.replace(.cleanupJournal, with: rest.bytes)
        }
    }

    func unnoteIntroduction(of generation: UInt32) throws(TresorError) {
        var told = CleanupJournal()
        told.generations = [generation]
        try unnote(told)
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
            let noted = try journal()
            try add(left)
            do throws(TresorError) {
                try home.replace(.identity, with: file.bytes)
            } catch {
                // What was replaced after all must still be cleaned up after.
                if (try? home.read(.identity)) == present { try? replaceJournal(with: noted) }
                throw error
            }
        }
    }
}

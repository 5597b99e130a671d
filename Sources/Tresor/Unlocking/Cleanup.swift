// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Finishes what an interrupted change of the key slots left to do (SPEC §8.4).
package struct Cleanup: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }

    /// Whether a change of the key slots was interrupted. The store then still has to delete something, which
    /// ``finish()`` does, or to learn of a generation.
    package func isPendingBlocking() throws(TresorError) -> Bool {
        let noted = try journal()
        let mine = try client.people.ownChain()
        return noted.kits.contains { $0.user == mine?.user } || !noted.devices.isEmpty
            || noted.generations.contains { $0 == mine?.newest.generation }
    }

    /// Whether a store may still have a kit copy or a server share of this home's person that a change was to delete.
    package func isOwedBlocking() throws(TresorError) -> Bool {
        let noted = try journal()
        let mine = try client.people.ownChain()?.user
        return noted.kits.contains { $0.user == mine } || noted.devices.contains { $0.user == mine }
    }

    /// Returns the devices of this home's identity whose removal was begun and interrupted.
    package func endingDevicesBlocking() throws(TresorError) -> [DeviceID] {
        let mine = try client.identityFileBlocking().chain.user
        return try journal().devices.filter { $0.user == mine }.map(\.id).sorted { $0.description < $1.description }
    }

    /// Returns the devices whose slots lie in the identity file and are opened by nothing any more: both shares are gone.
    package func deadDevicesBlocking() throws(TresorError) -> Set<DeviceID> {
        let noted = try journal()
        var dead = noted.slots.subtracting(noted.devices.map(\.id))
        if let id = try readableShareID() { dead.remove(id) }
        return dead
    }

    /// Whether this home has a new generation, and publishing it to the store and the tresors was interrupted.
    package func isIntroducingBlocking() throws(TresorError) -> Bool {
        try journal().generations.contains(client.identityFileBlocking().chain.newest.generation)
    }

    /// Finishes an interrupted change of the key slots (SPEC §8.4). Needs no secret and may be repeated.
    ///
    /// It deletes old kit copies and the server shares of removed devices from the store. It destroys a device share
    /// here that belongs to no slot. Where another task or process has the slot lock, its change is under way and not
    /// interrupted, and this does nothing.
    ///
    /// A service deletes for the person, and for a device its own server share. Without a session, what it refuses stays
    /// in the journal for the next one.
    ///
    /// - Parameter device: the device in whose name a service is asked, with its share destroyed already.
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached; the journal then keeps what is left to do.
    @concurrent package func finish(as device: DeviceShare? = nil) async throws(TresorError) {
        guard try isNeeded(), let lock = try home.slotLock() else { return }
        try await client.uninterrupted { () async throws(TresorError) in try await finishLocked(as: device) }
        _ = consume lock
    }

    /// Does what ``finish()`` does, for a change that has the slot lock. What the journal notes was then interrupted.
    package func finishLocked() async throws(TresorError) {
        if try orphanedShareID() != nil { try home.delete(.deviceShare) }
        let noted = try journal()
        guard !noted.isEmpty else { return }
        let (present, remembered) = (presentSlots(), try readableShareID())
        var deleted = CleanupJournal()
        for kit in noted.kits where present.user == kit.user && present.kit != kit.locator {
            if try await isDone({ () async throws(TresorError) in
                try await store.deleteKitCopy(locator: kit.locator)
            }) {
                deleted.kits.insert(kit)
            }
        }
        for device in noted.devices where device.id != remembered {
            if try await isDone({ () async throws(TresorError) in
                try await store.deleteServerShares(user: device.user, devices: [device.id])
            }) {
                deleted.devices.insert(device)
            }
        }
        try clear(deleted, of: noted)
    }

    /// Does what ``finishLocked()`` does, in the name of a device whose share is already destroyed; of nobody if `nil`.
    func finishLocked(as device: DeviceShare?) async throws(TresorError) {
        guard let device else { return try await finishLocked() }
        try await client.speaking(as: .device(device, from: client.home)).cleanup.finishLocked()
    }

    /// Makes a deletion; `false` where a service refuses it without a session.
    private func isDone(_ deletion: () async throws(TresorError) -> Void) async throws(TresorError) -> Bool {
        do throws(TresorError) {
            try await deletion()
            return true
        } catch {
            guard error == .noAccess, client.identity == nil else { throw error }
            return false
        }
    }

    /// Removes from the journal what was deleted, and what the home uses now. A slot that nothing opens stays recorded
    /// while the file has it.
    private func clear(_ deleted: CleanupJournal, of noted: CleanupJournal) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            let id = try readableShareID()
            let present = presentSlots()
            var cleared = deleted
            cleared.kits.formUnion(noted.kits.filter { $0.locator == present.kit })
            cleared.devices.formUnion(noted.devices.filter { $0.id == id })
            cleared.slots = noted.slots.filter { $0 == id || !(present.slots?.contains($0) ?? true) }
            var rest = try journal()
            rest.slots.formUnion(deleted.devices.map(\.id).filter { $0 != id && present.slots?.contains($0) ?? true })
            rest.subtract(cleared)
            try replaceJournal(with: rest)
        }
    }

    /// The key slots of the identity file.
    private struct PresentSlots {
        var user: UserID?
        var kit: Hash256?
        /// The device slots; `nil` for a file that does not decode.
        var slots: Set<DeviceID>? = []
    }

    private func presentSlots() -> PresentSlots {
        do throws(TresorError) {
            guard let bytes = try home.read(.identity) else { return PresentSlots() }
            let file = try IdentityFile(bytes)
            return PresentSlots(user: file.chain.user, kit: file.kitLocator, slots: Set(file.devices.map(\.id)))
        } catch {
            return PresentSlots(slots: nil)
        }
    }

    /// Returns the device whose share is here; `nil` for a share that does not decode.
    private func readableShareID() throws(TresorError) -> DeviceID? {
        do throws(TresorError) {
            return try client.device.share()?.id
        } catch {
            guard error == .altered || error == .unsupported else { throw error }
            return nil
        }
    }

    /// Whether there is anything to finish. A home that was never made is not made for this.
    func isNeeded() throws(TresorError) -> Bool {
        guard try journal().isEmpty else { return true }
        return try orphanedShareID() != nil
    }

    /// Returns the device of the device share here if that belongs to no slot of the identity file.
    func orphanedShareID() throws(TresorError) -> DeviceID? {
        // The slot is written before the share, so the share is read first.
        guard let id = try? readableShareID(), let slots = presentSlots().slots else { return nil }
        return try home.read(.identity) == nil || slots.contains(id) ? nil : id
    }

    func journal() throws(TresorError) -> CleanupJournal {
        let journal = try client.decoded(.cleanupJournal) { (bytes) throws(TresorError) in try CleanupJournal(bytes) }
        return journal ?? CleanupJournal()
    }

    /// Records durably what may have to be deleted.
    func note(
        kits: Set<CleanupJournal.Kit> = [], devices: Set<CleanupJournal.Device> = [], slots: Set<DeviceID> = [],
        generations: Set<UInt32> = []
    ) throws(TresorError) {
        var left = CleanupJournal()
        (left.kits, left.devices, left.slots, left.generations) = (kits, devices, slots, generations)
        try home.exclusively { () throws(TresorError) in try add(left) }
    }

    /// Adds to the journal; call it under the home's lock.
    func add(_ left: CleanupJournal) throws(TresorError) {
        var noted = try journal()
        noted.formUnion(left)
        try replaceJournal(with: noted)
    }

    func unnote(_ finished: CleanupJournal) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in try subtract(finished) }
    }

    /// Removes from the journal; call it under the home's lock.
    func subtract(_ finished: CleanupJournal) throws(TresorError) {
        var rest = try journal()
        rest.subtract(finished)
        try replaceJournal(with: rest)
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

    /// Replaces the identity file if it is still `present`, and records in the same step what is then left to do. A
    /// change that is not made ends no device and records nothing.
    ///
    /// - Parameter finished: what nobody has to do any more once the file is replaced.
    /// - Throws: ``TresorError/busy`` when another process has replaced the file.
    func replaceIdentity(
        _ present: [UInt8], with file: IdentityFile, noting left: CleanupJournal = CleanupJournal(),
        ending finished: CleanupJournal = CleanupJournal()
    ) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            guard try home.read(.identity) == present else { throw .busy }
            let noted = try journal()
            try add(left)
            do throws(TresorError) {
                try home.replace(.identity, with: file.bytes)
            } catch {
                // If the file was replaced after all, the cleanup is still needed.
                if (try? home.read(.identity)) == present { try? replaceJournal(with: noted) }
                throw error
            }
            try subtract(finished)
        }
    }
}

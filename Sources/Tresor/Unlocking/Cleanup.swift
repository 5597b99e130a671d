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
    @concurrent package func isPending() async throws(TresorError) -> Bool { try isPendingBlocking() }

    /// Does what ``isPending()`` does, on the calling thread.
    package func isPendingBlocking() throws(TresorError) -> Bool {
        let noted = try journal()
        let mine = try client.people.ownChain()
        return noted.kits.contains { $0.user == mine?.user } || !noted.devices.isEmpty
            || noted.generations.contains { $0 == mine?.newest.generation }
    }

    /// Returns the devices of this home's identity whose removal was begun and interrupted.
    @concurrent package func endingDevices() async throws(TresorError) -> [DeviceID] { try endingDevicesBlocking() }

    /// Does what ``endingDevices()`` does, on the calling thread.
    package func endingDevicesBlocking() throws(TresorError) -> [DeviceID] {
        let mine = try client.identityFileBlocking().chain.user
        return try journal().devices.filter { $0.user == mine }.map(\.id).sorted { $0.description < $1.description }
    }

    /// Whether this home has a new generation, and publishing it to the store and the tresors was interrupted.
    @concurrent package func isIntroducing() async throws(TresorError) -> Bool { try isIntroducingBlocking() }

    /// Does what ``isIntroducing()`` does, on the calling thread.
    package func isIntroducingBlocking() throws(TresorError) -> Bool {
        try journal().generations.contains(client.identityFileBlocking().chain.newest.generation)
    }

    /// Finishes an interrupted change of the key slots (SPEC §8.4). Needs no secret and may be repeated.
    ///
    /// It deletes old kit copies and the server shares of removed devices from the store. It destroys a device share
    /// here that belongs to no slot.
    ///
    /// A service deletes for the person, and for a device its own server share. Without a session, what it refuses stays
    /// in the journal for the next one.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached; the journal then keeps what is left to do.
    @concurrent package func finish() async throws(TresorError) {
        guard try isNeeded() else { return }
        try await client.changingSlots { () async throws(TresorError) in try await finishInTurn() }
    }

    /// Does what ``finish()`` does, unless another task or process changes the key slots: that one finishes what it began.
    @concurrent package func finishIfFree() async throws(TresorError) {
        guard try isNeeded(), let turn = try home.turn() else { return }
        try await client.uninterrupted { () async throws(TresorError) in try await finishInTurn() }
        _ = consume turn
    }

    /// Does what ``finish()`` does, for a change of the key slots that has the turn.
    func finishInTurn() async throws(TresorError) {
        try destroyOrphanedShare()
        let noted = try journal()
        guard !noted.isEmpty else { return }
        var deleted = CleanupJournal()
        // Another process may put a recorded object into use; each is checked again just before it is deleted.
        for kit in noted.kits {
            let present = try home.exclusively { () throws(TresorError) in presentSlots() }
            guard present.user == kit.user, present.kit != kit.locator else { continue }
            // Without the copy, a deletion could take one that another process is putting, and nobody could put it back.
            guard let copy = try await store.kitCopy(locator: kit.locator) else {
                deleted.kits.insert(kit)
                continue
            }
            guard
                try await isDone({ () async throws(TresorError) in
                    try await store.deleteKitCopy(locator: kit.locator)
                })
            else { continue }
            deleted.kits.insert(kit)
            // In a home without turns, another process may have put the kit into use between the look and the deletion.
            if try home.exclusively({ () throws(TresorError) in presentSlots().kit == kit.locator }) {
                try await store.putKitCopy(copy, locator: kit.locator)
            }
        }
        for device in noted.devices {
            let isHere = try home.exclusively { () throws(TresorError) in try readableShareID() == device.id }
            if !isHere,
                try await isDone({ () async throws(TresorError) in
                    try await store.deleteServerShares(user: device.user, devices: [device.id])
                })
            {
                deleted.devices.insert(device)
            }
        }
        try clear(deleted, of: noted)
    }

    /// Does what ``finish()`` does, in the name of a device whose share is already destroyed; of nobody if `nil`.
    @concurrent package func finish(as device: DeviceShare?) async throws(TresorError) {
        guard try isNeeded() else { return }
        try await client.changingSlots { () async throws(TresorError) in try await finishInTurn(as: device) }
    }

    /// Does what ``finish(as:)`` does, for a change of the key slots that has the turn.
    func finishInTurn(as device: DeviceShare?) async throws(TresorError) {
        guard let device else { return try await finishInTurn() }
        try await Speaker.device(device).call { () async throws(TresorError) in try await finishInTurn() }
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
    private func isNeeded() throws(TresorError) -> Bool {
        guard try journal().isEmpty else { return true }
        return try orphanedShareID() != nil
    }

    /// Returns the device of the device share here if that belongs to no slot of the identity file.
    private func orphanedShareID() throws(TresorError) -> DeviceID? {
        // The slot is written before the share, so the share is read first.
        guard let id = try? readableShareID(), let slots = presentSlots().slots else { return nil }
        return try home.read(.identity) == nil || slots.contains(id) ? nil : id
    }

    /// Destroys the device share here if it belongs to no slot of the identity file.
    private func destroyOrphanedShare() throws(TresorError) {
        guard try orphanedShareID() != nil else { return }
        // What is destroyed is decided on what is read under the lock.
        try home.exclusively { () throws(TresorError) in
            guard try orphanedShareID() != nil else { return }
            try home.delete(.deviceShare)
        }
    }

    /// Destroys the share of `device` here, if the device has no slot any more and the journal notes that it ends.
    ///
    /// - Returns: whether the device has no slot and ends.
    func destroyShare(ofEndingDevice device: DeviceID) throws(TresorError) -> Bool {
        try home.exclusively { () throws(TresorError) in
            guard presentSlots().slots?.contains(device) == false, try endingDevicesBlocking().contains(device) else {
                return false
            }
            if try readableShareID() == device { try home.delete(.deviceShare) }
            return true
        }
    }

    func journal() throws(TresorError) -> CleanupJournal {
        guard let bytes = try home.read(.cleanupJournal) else { return CleanupJournal() }
        return try CleanupJournal(bytes)
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
        try home.exclusively { () throws(TresorError) in try remove(finished) }
    }

    /// Removes from the journal the device whose share is here, with its slot.
    ///
    /// - Returns: `false`, and nothing is removed, if another process has ended that device.
    func unnotePresent(_ device: CleanupJournal.Device) throws(TresorError) -> Bool {
        try home.exclusively { () throws(TresorError) in
            guard try readableShareID() == device.id else { return false }
            var finished = CleanupJournal()
            (finished.devices, finished.slots) = ([device], [device.id])
            try remove(finished)
            return true
        }
    }

    /// Removes from the journal; call it under the home's lock.
    private func remove(_ finished: CleanupJournal) throws(TresorError) {
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
    /// - Throws: ``TresorError/busy`` when another process has replaced the file.
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
                // If the file was replaced after all, the cleanup is still needed.
                if (try? home.read(.identity)) == present { try? replaceJournal(with: noted) }
                throw error
            }
        }
    }
}

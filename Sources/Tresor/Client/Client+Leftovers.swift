// SPDX-License-Identifier: Apache-2.0

/// What an interrupted change of the ways in left behind (SPEC §8.4).
extension Client {
    /// Whether a change of the ways in was interrupted: the store still has to delete something, which ``settleWaysIn()`` does, or to learn of a generation.
    public func hasLeftovers() throws(TresorError) -> Bool {
        let noted = try leftovers()
        let mine = try? identityFile().chain
        return noted.kits.contains { $0.user == mine?.user } || !noted.devices.isEmpty
            || noted.generations.contains { $0 == mine?.newest.generation }
    }

    /// The devices of this home's identity whose end was begun and interrupted.
    public func endingDevices() throws(TresorError) -> [DeviceID] {
        let mine = try identityFile().chain.user
        return try leftovers().devices.filter { $0.user == mine }.map(\.id).sorted { $0.description < $1.description }
    }

    /// Whether this home's newest generation was made, and telling the store and the tresors of it was interrupted.
    public func isIntroducing() throws(TresorError) -> Bool {
        try leftovers().generations.contains(identityFile().chain.newest.generation)
    }

    /// Finishes what an interrupted change of the ways in began: old kit copies and halves of ended devices leave the store, a half here that
    /// belongs to no slot is destroyed. Needs no secret and may be repeated.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached; what is to be done stays noted.
    public func settleWaysIn() async throws(TresorError) {
        let noted = try leftovers()
        guard !noted.isEmpty else { return }
        let file = try? identityFile()
        let slots = Set((file?.devices ?? []).map(\.id))
        var half = try? deviceHalf()?.id
        if file != nil, let orphan = half, !slots.contains(orphan) {
            try home.delete(.deviceHalf)
            half = nil
        }
        var settled = noted
        settled.generations = []
        settled.kits = noted.kits.filter { $0.user == file?.chain.user }
        for kit in settled.kits where kit.locator != file?.kitLocator {
            try await store.deleteKitCopy(locator: kit.locator)
        }
        var dead = noted.slots.subtracting([half].compactMap(\.self))
        for device in noted.devices where device.id != half {
            try await store.deleteHalves(user: device.user, devices: [device.id])
            dead.insert(device.id)
        }
        dead.formIntersection(slots)
        settled.slots = noted.slots.subtracting(dead)
        try note(slots: dead)
        try unnote(settled)
    }

    func leftovers() throws(TresorError) -> Leftovers {
        guard let bytes = try home.read(.leftovers) else { return Leftovers() }
        return try Leftovers(bytes)
    }

    /// Notes what may have to be taken away, durably.
    func note(
        kits: Set<Leftovers.Kit> = [], devices: Set<Leftovers.Device> = [], slots: Set<DeviceID> = [],
        generations: Set<UInt32> = []
    ) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            let present = try leftovers()
            var noted = present
            noted.kits.formUnion(kits)
            noted.devices.formUnion(devices)
            noted.slots.formUnion(slots)
            noted.generations.formUnion(generations)
            guard noted != present else { return }
            try home.replace(.leftovers, with: noted.bytes)
        }
    }

    func unnote(_ settled: Leftovers) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            let present = try leftovers()
            var rest = present
            rest.subtract(settled)
            guard rest != present else { return }
            if rest.isEmpty { try home.delete(.leftovers) } else { try home.replace(.leftovers, with: rest.bytes) }
        }
    }

    func unnoteIntroduction(of generation: UInt32) throws(TresorError) {
        var told = Leftovers()
        told.generations = [generation]
        try unnote(told)
    }

    /// Whether a kit was prepared here and its change interrupted, so that repeating the change may go on with it.
    public func isPrepared(_ kit: borrowing RecoveryKit) throws(TresorError) -> Bool {
        let locator = try kit.locator()
        if try leftovers().kits.contains(where: { $0.locator == locator }) { return true }
        guard try isIntroducing() else { return false }
        return try identityFile().kitLocator == locator
    }

    /// Notes a kit before its words are shown or written: a change that is interrupted then leaves no copy in the store that they open, and one that is
    /// repeated may go on with them.
    public func prepare(_ kit: borrowing RecoveryKit) throws(TresorError) {
        try note(kits: [Leftovers.Kit(user: try identityFile().chain.user, locator: try kit.locator())])
    }
}

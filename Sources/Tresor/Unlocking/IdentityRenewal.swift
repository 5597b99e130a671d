// SPDX-License-Identifier: Apache-2.0

/// New keys for an identity (SPEC §8.4).
public struct IdentityRenewal: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// What became of one tresor when the identity was renewed.
    public struct Outcome: Hashable, Sendable {
        /// Which tresor.
        public let tresor: TresorID
        /// Whether this person changed its key too; otherwise another owner or writer has to.
        public let isRotated: Bool
        /// What went wrong; repeating the command goes on from there.
        public let error: TresorError?
    }

    /// Whether a renewal was interrupted, by the home's own note: what a store shows does not keep anybody from making
    /// new keys.
    public func isUnfinished() throws(TresorError) -> Bool {
        guard identity.generation > 0 else { return false }
        return try client.cleanup.isIntroducing()
    }

    /// Whether the store lets new keys be made: before anything is changed, it must not show other keys of this person,
    /// or newer ones.
    ///
    /// - Throws: ``TresorError/forked`` for a chain that this person's does not extend; ``TresorError/altered`` or
    ///   ``TresorError/unsupported`` for what is no card; ``TresorError/store(_:)`` when it cannot be asked.
    @concurrent public func check() async throws(TresorError) {
        guard let present = try await client.store.card(of: identity.user) else { return }
        let isMine = identity.chain.extends(try CardChain(present))
        guard isMine else { throw .forked }
    }

    /// Makes the next generation, keeps it, and gives it a new password slot and a kit; all devices are forgotten. The identity file is replaced in one
    /// step. The store and the tresors follow with ``finish()``.
    ///
    /// - Parameters:
    ///   - password: the password of the new key slot.
    ///   - cost: the cost of the new key slot.
    ///   - kit: a kit made and kept safe by the caller; `nil` for none.
    /// - Returns: the session of the new generation.
    /// - Throws: what ``check()`` throws, and then nothing is changed; ``TresorError/busy`` when the identity
    ///   changed meanwhile.
    @concurrent public func renew(
        password: borrowing Password, cost: Argon2id.Cost, kit: consuming RecoveryKit?
    ) async throws(TresorError) -> Session {
        guard let present = try client.home.read(.identity) else { throw .notFound }
        let file = try IdentityFile(present)
        guard file.chain == identity.chain else { throw .busy }
        try await check()
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
            try session.unlocking.note(kits: [locator])
            try await session.unlocking.put(try renewed.copy(for: slot, identity: next), at: locator)
            renewed = try renewed.settingKit(slot, identity: next)
        }
        try client.cleanup.replaceIdentity(present, with: renewed, noting: left)
        try client.home.delete(.deviceShare)
        try await client.store.deleteServerShares(user: identity.user, devices: nil)
        try await client.cleanup.finish()
        return Session(client: client, identity: next)
    }

    /// Publishes the newest card, and in every tresor this person is in replaces the older generation; where they own it, the key too. Repeatable.
    @concurrent public func finish() async throws(TresorError) -> [Outcome] {
        try await client.cleanup.finish()
        try await putKitCopyBack()
        try await client.publishCard()
        var renewals: [Outcome] = []
        for summary in try await session.tresors.all() {
            guard let state = summary.state else {
                renewals.append(Outcome(tresor: summary.tresor, isRotated: false, error: summary.error))
                continue
            }
            guard state.members[identity.user] != nil else { continue }
            do throws(TresorError) {
                renewals.append(try await renew(in: state))
            } catch {
                renewals.append(Outcome(tresor: summary.tresor, isRotated: false, error: error))
            }
        }
        let isDone = renewals.allSatisfy { $0.error.map(Self.holdsUpNothing) ?? true }
        if isDone { try client.cleanup.unnoteIntroduction(of: identity.generation) }
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
        try await session.unlocking.put(try file.copy(for: slot, identity: identity), at: locator)
    }

    /// Puts this person's newest card into one tresor that has not learnt of it, because its log could not be verified
    /// when the identity was renewed.
    ///
    /// - Throws: what ``Tresors/perform(_:on:expecting:acceptingUnverified:)`` throws.
    @concurrent public func renew(in tresor: TresorID) async throws(TresorError) -> Outcome {
        try await renew(in: try await client.logs.state(of: tresor))
    }

    private func renew(in state: LogState) async throws(TresorError) -> Outcome {
        var state = state
        while state.chain(of: identity.user)?.newest != identity.chain.newest {
            state = try await session.tresors.perform(.renew, on: state.tresor).state
        }
        let isOwner = state.members[identity.user]?.role == .owner
        // Somebody else may have put the card in. Only what its keys sign proves the tresor to those who never saw it.
        let isUnproved = state.founder == identity.user && state.founderGeneration != identity.generation
        if state.isRekeyPending || isUnproved, isOwner {
            state = try await session.tresors.perform(.rotate, on: state.tresor).state
        }
        return Outcome(tresor: state.tresor, isRotated: !state.isRekeyPending, error: nil)
    }
}

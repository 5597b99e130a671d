// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Makes new keys for an identity (SPEC §8.4).
public struct IdentityRenewal: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// The result of a renewal in one tresor.
    package struct Outcome: Hashable, Sendable {
        /// The tresor.
        package let tresor: TresorID
        /// Whether this person changed the tresor's key too; otherwise another owner or writer has to.
        package let isRotated: Bool
        /// Whether the tresor lies in another store, where its log still has the old keys.
        package var isElsewhere = false
        /// Whether the log names this person as its founder by old keys, so that anyone with those can have made it.
        package var isMadeWithOldKeys = false
        /// Whether an owner with another store has to add the new keys: exports carry the tresor, and an entry here would
        /// begin a second history.
        package var isLeftToOwner = false
        /// The error, if any; repeat the command to resume.
        package let error: TresorError?
    }

    /// Whether a renewal was interrupted, by this home's own journal. A store cannot prevent new keys by what it shows.
    @concurrent public func isUnfinished() async throws(TresorError) -> Bool { try isUnfinishedBlocking() }

    /// Does what ``isUnfinished()`` does, on the calling thread.
    package func isUnfinishedBlocking() throws(TresorError) -> Bool {
        guard identity.generation > 0 else { return false }
        return try client.cleanup.isIntroducingBlocking()
    }

    /// Checks before any change that the store does not show other or newer keys of this person.
    ///
    /// - Throws: ``TresorError/forked`` for a chain that this person's does not extend; ``TresorError/altered`` or
    ///   ``TresorError/unsupported`` for what is no card of this person; ``TresorError/store(_:)`` when the store cannot be
    ///   read.
    @concurrent package func check() async throws(TresorError) {
        guard let present = try await client.people.offeredChain(of: identity.user) else { return }
        let isMine = identity.chain.extends(present)
        guard isMine else { throw .forked }
    }

    /// Makes the next generation (SPEC §9.7, `renew`), keeps it, and gives it a new password slot and a kit. All
    /// trusted devices are removed.
    ///
    /// The identity file is replaced in one step. ``finish(progress:)`` brings the generation to the store and the tresors.
    /// That ends a log-in at a service (SPEC §20.5): call ``Client/register(_:password:invitation:)`` with the new
    /// password afterwards.
    ///
    /// - Parameters:
    ///   - password: the password of the new password slot.
    ///   - kit: the kit, which the caller has made and stored safely; `nil` for none.
    /// - Returns: the session of the new generation.
    /// - Throws: ``TresorError/forked`` when the store shows other or newer keys of this person, and
    ///   ``TresorError/cancelled`` for a task that was cancelled, and then
    ///   nothing is changed; ``TresorError/busy`` when another process changed the identity.
    @concurrent public func renew(
        password: borrowing Password, kit: consuming RecoveryKit?
    ) async throws(TresorError) -> Session {
        try await renew(password: password, cost: .standard, kit: kit)
    }

    /// Does what ``renew(password:kit:)`` does, with another cost of one guess.
    @concurrent package func renew(
        password: borrowing Password, cost: Argon2id.Cost, kit: consuming RecoveryKit?
    ) async throws(TresorError) -> Session {
        guard try client.identityFileBlocking().chain == identity.chain else { throw .busy }
        try await check()
        let time = client.clock()
        let (next, sealed) = try identity.renewCard(time: time)
        let slot = try await Slot.setPasswordApart(of: next, password: password, cost: cost, time: time)
        var kitSlot: (slot: Slot, locator: Hash256)?
        if let kit { kitSlot = (try Slot.kit(of: next, kit: kit, time: time), try kit.locator()) }
        try await client.changingSlots { [kitSlot] () async throws(TresorError) in
            guard let present = try client.home.read(.identity) else { throw .notFound }
            let file = try IdentityFile(present)
            guard file.chain == identity.chain else { throw .busy }
            var renewed = try IdentityFile(of: next, previous: [sealed] + file.previous, slots: [slot])
            var left = CleanupJournal()
            left.kits = Set(file.kitLocator.map { [CleanupJournal.Kit(user: identity.user, locator: $0)] } ?? [])
            left.devices = Set(file.devices.map { CleanupJournal.Device(user: identity.user, id: $0.id) })
            left.generations = [next.generation]
            if let (slot, locator) = kitSlot {
                try session.unlocking.note(kits: [locator])
                try await session.unlocking.put(try renewed.copy(for: slot, identity: next), at: locator)
                renewed = try renewed.settingKit(slot, identity: next)
            }
            // Nobody demands the heads any more that former keys told: their thief may have told them.
            try? OwnTresors(session: session).forgetToldBlocking()
            try client.cleanup.replaceIdentity(present, with: renewed, noting: left)
            // Where this is interrupted, the journal notes the generation, and the next sync ends it.
            try? client.people.carryOver(from: identity.chain.newest, to: next.chain.newest)
            try client.home.delete(.deviceShare)
            do throws(TresorError) {
                try await client.store.deleteServerShares(user: identity.user, devices: nil)
                try await client.cleanup.finishLocked()
            } catch {
                // A service knows the next generation already, where another process resumes this renewal. That process
                // deletes what the journal names.
                guard error == .noAccess else { throw error }
            }
        }
        // A caller that has locked the session by now gets a locked one.
        if identity.isLocked { next.lock() }
        return Session(client: client, identity: next)
    }

    /// Publishes the newest card, and replaces the older generation in every tresor of this person. Where they are an
    /// owner, the key is changed too. May be repeated. A log-in at a service ends (SPEC §20.5): call
    /// ``Client/register(_:password:invitation:)`` with the new password afterwards.
    ///
    /// - Parameter progress: takes the number of tresors that are done, of all.
    /// - Returns: the tresors in which this failed, with the error. Repeat the call for those that can succeed later.
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached; the errors of
    ///   ``Contacts/publishCard()``.
    @concurrent @discardableResult public func finish(
        progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> [TresorID: TresorError] {
        var failures: [TresorID: TresorError] = [:]
        for outcome in try await finishInEachTresor(progress: progress) { failures[outcome.tresor] = outcome.error }
        return failures
    }

    /// Does what ``finish(progress:)`` does, and returns the result in each tresor.
    ///
    /// - Parameter isIntroduced: whether ``introduce()`` was called before.
    @concurrent package func finishInEachTresor(
        isIntroduced: Bool = false, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> [Outcome] {
        if !isIntroduced { try await introduce() }
        var renewals: [Outcome] = []
        // The next sync makes an own tresor of the newest keys; nothing is written to one of former keys.
        let summaries = try await session.tresors.all().filter { !$0.isOwn }
        for (index, summary) in summaries.enumerated() {
            try Cancellation.check()
            defer { progress?(WorkDone(UInt64(index + 1), of: UInt64(summaries.count))) }
            guard let state = summary.state else {
                renewals.append(
                    Outcome(
                        tresor: summary.tresor, isRotated: false, isElsewhere: summary.isElsewhere,
                        error: summary.error))
                continue
            }
            guard state.author(identity.user) != nil else { continue }
            do throws(TresorError) {
                renewals.append(try await renew(in: state))
            } catch {
                let isOwn = error == .unverified && state.founder == identity.user
                renewals.append(
                    Outcome(tresor: summary.tresor, isRotated: false, isMadeWithOldKeys: isOwn, error: error))
            }
        }
        let isDone = renewals.allSatisfy { $0.error.map(Self.holdsUpNothing) ?? true }
        if isDone { try client.cleanup.unnoteIntroduction(of: identity.generation) }
        return renewals
    }

    /// Whether an error of a tresor's log is permanent, or the tresor lies in another store. Such a tresor must not
    /// prevent another renewal.
    private static func holdsUpNothing(_ error: TresorError) -> Bool {
        switch error {
        case .forked, .altered, .unsupported, .noAccess, .unverified, .notFound: true
        default: false
        }
    }

    /// Publishes the newest card, then deletes what the renewal condemned, and restores the kit copy.
    ///
    /// A service lets nobody delete by keys that it has not seen. A store that refuses the card, and lets everybody
    /// delete, keeps no share of a removed device.
    @concurrent package func introduce() async throws(TresorError) {
        try client.people.resumeCarryingOver(as: identity.chain)
        var refusal: TresorError?
        do throws(TresorError) {
            try await client.people.publishCard()
        } catch {
            guard error != .cancelled, error != .usage(.locked) else { throw error }
            refusal = error
        }
        do throws(TresorError) {
            try await client.cleanup.finish()
            try await session.unlocking.restoreKitCopy()
        } catch {
            throw refusal ?? error
        }
        if let refusal { throw refusal }
    }

    /// Adds this person's newest card to one tresor whose log could not be verified during the renewal.
    ///
    /// - Throws: the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``.
    @concurrent package func renew(in tresor: TresorID) async throws(TresorError) -> Outcome {
        try await renew(in: try await client.logs.state(of: tresor))
    }

    private func renew(in state: LogState) async throws(TresorError) -> Outcome {
        var state = state
        let isOwner = state.members[identity.user]?.role == .owner
        let isKnown = state.chain(of: identity.user)?.newest == identity.chain.newest
        if !isKnown, !isOwner, client.archive.isCopied(state.tresor) {
            return Outcome(tresor: state.tresor, isRotated: false, isLeftToOwner: true, error: nil)
        }
        while state.chain(of: identity.user)?.newest != identity.chain.newest {
            state = try await session.tresors.perform(.renew, on: state.tresor).state
        }
        // Another member may have added the card. Only an entry signed with its keys proves the tresor to people who
        // never saw it.
        let isUnproved = state.founder == identity.user && state.founderGeneration != identity.generation
        if state.isRekeyPending || isUnproved, isOwner {
            state = try await session.tresors.perform(.rotate, on: state.tresor).state
        }
        return Outcome(tresor: state.tresor, isRotated: !state.isRekeyPending, error: nil)
    }
}

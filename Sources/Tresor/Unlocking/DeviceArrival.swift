// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore
package import TresorCrypto

/// A new machine of a person, while it gets the identity from one that has it (SPEC §8.6). Its home is empty, and stays so
/// until ``install(_:newPassword:cost:)``.
package final class DeviceArrival: Sendable {
    private let client: Client
    private let wait: DeviceWait
    private let key: DeviceKey
    private let seed: SecretKey<KEMUse>
    private let locator: Hash256
    private let offer: DeviceOffer
    /// The slot lock, from the installation to the receipt, but not while the store is away: only then does another command
    /// of this home delete the mailbox.
    private let lock = Mutex<HeldSlotLock?>(nil)

    private init(
        _ client: Client, _ wait: DeviceWait, key: consuming DeviceKey, seed: consuming SecretKey<KEMUse>,
        locator: Hash256, offer: DeviceOffer
    ) {
        self.client = client
        self.wait = wait
        self.key = key
        self.seed = seed
        self.locator = locator
        self.offer = offer
    }

    /// Refuses a home that is in use, before anybody types a code. What an interrupted installation left does not count,
    /// nor do a service that the home has met, and tries to log in there.
    ///
    /// - Parameter user: the person whose installation may have been interrupted; `nil` while that is not known.
    /// - Throws: ``TresorError/usage(_:)`` with `identityExists`; the errors of the home.
    package static func checkEmpty(_ client: Client, for user: UserID? = nil) throws(TresorError) {
        guard try client.home.read(.identity) == nil else { throw .usage(.identityExists) }
        if try isInterrupted(client, for: user) { return }
        for object in DeviceBelongings.kinds where ![.knownServices, .knownLogins].contains(object) {
            guard try client.home.read(object) == nil else { throw .usage(.identityExists) }
        }
    }

    /// Whether an installation in this home was begun and did not come to its identity.
    private static func isInterrupted(_ client: Client, for user: UserID?) throws(TresorError) -> Bool {
        try client.cleanup.journal().kits.contains { user == nil || $0.user == user }
    }

    /// The number of this machine's offer, which the person compares with that on the other machine.
    package var number: String { offer.number }

    /// Makes a key for this exchange, and puts the offer into the mailbox of a typed code. A store that cannot be reached
    /// then is given it again: it may have it, whose reply was lost, and takes no other one.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `identityExists` for a home that is in use;
    ///   ``TresorError/notFound`` when the store has no mailbox of this code; ``TresorError/unverified`` when another
    ///   machine has answered to the code; ``TresorError/altered`` or ``TresorError/unsupported`` for what is no mailbox;
    ///   ``TresorError/cancelled``; the errors of the store.
    @concurrent package static func begin(
        _ client: Client, code: borrowing DeviceCode, waiting wait: DeviceWait = DeviceWait()
    ) async throws(TresorError) -> DeviceArrival {
        try checkEmpty(client)
        let key = try code.key()
        let locator = try key.locator()
        try Cancellation.check()
        let seed = try SecretKey<KEMUse>()
        let until = min(client.clock() + DeviceCode.duration, Format.latestTime)
        let offer = try DeviceOffer(of: try XWing.publicKey(seed: seed), until: until, under: key)
        // A store that cannot be reached now has nothing, and ends this at once.
        guard try await client.store.kitCopy(locator: locator) != nil else { throw .notFound }
        guard let outcome = try await put(offer, at: locator, client, wait) else { throw .notFound }
        guard outcome == .done else { throw .unverified }
        return DeviceArrival(client, wait, key: key, seed: seed, locator: locator, offer: offer)
    }

    /// Puts an offer; again while that fails and passes. The same one counts as put.
    private static func put(
        _ offer: DeviceOffer, at locator: Hash256, _ client: Client, _ wait: DeviceWait
    ) async throws(TresorError) -> StoreOutcome? {
        while true {
            do throws(TresorError) {
                return try await client.guardedStore.putOffer(offer.bytes, at: locator, now: client.clock())
            } catch {
                guard DeviceWait.passes(error) else { throw error }
                try await wait.next(of: client, until: offer.until, after: error)
            }
        }
    }

    /// Waits for the answer, opens it, and judges all of it. Nothing is written. A store that cannot be reached is asked
    /// again.
    ///
    /// - Throws: ``TresorError/waiting`` when no answer came in time; ``TresorError/notFound`` when the other machine has
    ///   ended the exchange; ``TresorError/unverified`` for an answer by somebody who does not have the code, and for one
    ///   to another offer; ``TresorError/altered`` or ``TresorError/unsupported`` for an answer that does not open or
    ///   read; ``TresorError/cancelled``; the errors of the store.
    @concurrent package func answer() async throws(TresorError) -> ReceivedIdentity {
        while true {
            switch try await letters() {
            case .offer(offer.bytes)?: try await next()
            case .answer(let bytes, to: offer.bytes)?:
                return try ReceivedIdentity(
                    try DeviceAnswer(bytes, to: offer, under: key).open(with: seed), at: client.storeName,
                    receipt: try key.receipt(of: bytes, to: offer.bytes))
            case nil: throw .notFound
            default: throw .unverified
            }
        }
    }

    /// Gives the received identity a password of this home, and writes the home: the identity last. Takes about a second.
    ///
    /// The cleanup journal names the mailbox first: it marks an installation under way, which may be repeated with what
    /// another machine gives, and has the next command delete the mailbox if this one is killed.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `passwordTooShort` for fewer than 8 code points, and with
    ///   `identityExists` for a home that knows people or tresors; ``TresorError/altered`` for a home that has met
    ///   another service at an address than the other machine; ``TresorError/busy`` when the home has an identity by now;
    ///   ``TresorError/cancelled`` for a task that was cancelled before; the errors of the home. There is no identity then.
    @concurrent package func install(
        _ received: ReceivedIdentity, newPassword: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        let identity = received.identity
        let slot = try await Slot.setPasswordApart(
            of: identity, password: newPassword, cost: cost, time: client.clock())
        let file = try received.file.settingPassword(slot, identity: identity)
        let home = client.home
        let note = note(of: identity.user)
        let lock = try await client.hooks.slotWait.lock(home)
        try await client.uninterrupted { [client] () async throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                guard try home.read(.identity) == nil else { throw .busy }
                try Self.checkEmpty(client, for: identity.user)
                var objects = received.objects
                objects[.knownServices] = try Self.services(
                    of: client, joining: objects[.knownServices], for: identity.user)
                objects[.knownLogins] = try Self.logins(
                    of: client, joining: objects[.knownLogins], for: identity.user)
                try client.cleanup.add(note)
                for object in DeviceBelongings.kinds {
                    // An installation that was interrupted may have left what this machine does not give.
                    guard let bytes = objects[object] else {
                        try home.delete(object)
                        continue
                    }
                    try home.replace(object, with: bytes)
                }
                try home.replace(.identity, with: file.bytes)
            }
        }
        let held = HeldSlotLock(lock)
        self.lock.withLock { $0 = held }
        return Session(client: client, identity: identity)
    }

    /// The services of both homes. Those that an interrupted installation left are of the other home as it was then: what
    /// it says now takes their place.
    private static func services(
        of client: Client, joining bytes: [UInt8]?, for user: UserID
    ) throws(TresorError) -> [UInt8]? {
        guard let present = try client.home.read(.knownServices) else { return bytes }
        let met = try KnownServices(present)
        let given = try bytes.map { (bytes) throws(TresorError) in try KnownServices(bytes) } ?? KnownServices()
        return try met.joined(with: given, replacing: try isInterrupted(client, for: user)).bytes
    }

    /// The log-ins of both homes: an interrupted installation left those of a bundle, and the newer one of two bundles stays.
    /// Those of this home that do not read count as none.
    private static func logins(
        of client: Client, joining bytes: [UInt8]?, for user: UserID
    ) throws(TresorError) -> [UInt8]? {
        let present = try client.home.read(.knownLogins).flatMap { try? KnownLogins($0) } ?? KnownLogins()
        let given = try bytes.map { (bytes) throws(TresorError) in try KnownLogins(bytes) } ?? KnownLogins()
        let all = try present.joined(with: given, replacing: try isInterrupted(client, for: user))
        return all.isEmpty ? nil : all.bytes
    }

    /// Leaves a receipt in the place of the answer, which tells the other machine that it was taken; that one deletes the
    /// mailbox. A store that cannot be reached is asked again as long as this machine waits, without the slot lock; a change
    /// that takes the lock then is waited for as long. After that the next command of this home deletes the mailbox.
    @concurrent package func acknowledge(_ received: ReceivedIdentity, as session: Session) async {
        defer { lock.withLock { $0 = nil } }
        let client = session.client
        do throws(TresorError) {
            while true {
                var isRead = false
                do throws(TresorError) {
                    if lock.withLock({ $0 == nil }) {
                        let held = HeldSlotLock(try await client.hooks.slotWait.lock(client.home))
                        lock.withLock { $0 = held }
                    }
                    guard let bytes = try await client.store.kitCopy(locator: locator) else { break }
                    isRead = true
                    let present = try DeviceMailbox(bytes)
                    guard case .answer(_, to: offer.bytes) = present.letters else { break }
                    let mailbox = DeviceMailbox(until: present.until, .receipt(received.receipt))
                    _ = try await client.guardedStore.replaceKitCopy(bytes, with: mailbox.bytes, locator: locator)
                    break
                } catch {
                    guard DeviceWait.passes(error) || !isRead && error == .store(.other) else { throw error }
                    lock.withLock { $0 = nil }
                    try await wait.next(of: client, until: offer.until, after: error)
                }
            }
            try client.cleanup.unnote(note(of: session.user))
        } catch {
            // The journal names the mailbox.
        }
    }

    /// The mark of an installation under way.
    private func note(of user: UserID) -> CleanupJournal {
        var note = CleanupJournal()
        note.kits = [CleanupJournal.Kit(user: user, locator: locator)]
        return note
    }

    /// Waits for the next look. When the time is over, nobody needs the mailbox in a file any more; a service deletes it
    /// for the other machine alone, and by itself.
    private func next() async throws(TresorError) {
        do throws(TresorError) {
            try await wait.next(of: client, until: offer.until)
        } catch {
            if error == .waiting, !client.isRemote { try? await client.store.deleteKitCopy(locator: locator) }
            throw error
        }
    }

    private func letters() async throws(TresorError) -> DeviceMailbox.Letters? {
        try await wait.look(under: locator, of: client, until: offer.until).map { (bytes) throws(TresorError) in
            try DeviceMailbox(bytes).letters
        }
    }
}

/// An identity that came from another machine, judged and not yet written.
package struct ReceivedIdentity: Sendable {
    let identity: Identity
    let file: IdentityFile
    /// The objects of the home that go with it.
    let objects: [HomeObject: [UInt8]]
    /// The receipt: it tells the other machine that its answer was taken.
    let receipt: Hash256
    /// The number of people in its pins.
    package let personCount: Int

    /// The id of the service that the other home has met at an address; `nil` for none.
    package func server(at audience: Hash256) -> Hash256? {
        objects[.knownServices].flatMap { try? KnownServices($0) }?[audience]
    }

    /// The card chain, for the question whether it is the right one.
    package var chain: CardChain { identity.chain }

    /// Judges what another machine gave. Where that one is to put the copy of its kit, this one is not: the copy may be
    /// replaced there before this one comes to it.
    ///
    /// - Parameter here: the name of the store in this home. It takes the place of the other home's name of the same
    ///   store, which may be a path of that machine.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(_ bundle: DeviceBundle, at here: StoreName?, receipt: Hash256) throws(TresorError) {
        identity = bundle.identity
        file = bundle.belongings.file
        self.receipt = receipt
        var objects: [HomeObject: [UInt8]] = [:]
        var personCount = 0
        for (object, bytes) in zip(DeviceBelongings.kinds, bundle.belongings.objects) where !bytes.isEmpty {
            var bytes = bytes
            switch object {
            case .pins: personCount = try Pins(bytes).pins.count
            case .heads: _ = try PinnedHeads(bytes)
            case .notedStores:
                var stores = try NotedStores(bytes)
                if let kit = bundle.belongings.file.kitLocator { stores.forgetAwaiting(kit: kit) }
                if let there = bundle.belongings.store, let here { stores.exchange(there, here) }
                bytes = stores.bytes
            case .knownServices: _ = try KnownServices(bytes)
            case .knownLogins: bytes = try KnownLogins(bytes).statements(of: identity.user).bytes
            default: _ = try Marks(bytes, of: identity)
            }
            objects[object] = bytes
        }
        self.objects = objects
        self.personCount = personCount
    }
}

// SPDX-License-Identifier: Apache-2.0

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

    /// Makes a key for this exchange, and puts the offer into the mailbox of a typed code.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `identityExists` for a home that has an identity;
    ///   ``TresorError/notFound`` when the store has no mailbox of this code; ``TresorError/unverified`` when another
    ///   machine has answered to the code; ``TresorError/altered`` or ``TresorError/unsupported`` for what is no mailbox;
    ///   ``TresorError/cancelled``; the errors of the store.
    @concurrent package static func begin(
        _ client: Client, code: borrowing DeviceCode, waiting wait: DeviceWait = DeviceWait()
    ) async throws(TresorError) -> DeviceArrival {
        guard try client.home.read(.identity) == nil else { throw .usage(.identityExists) }
        let key = try code.key()
        let locator = try key.locator()
        try Cancellation.check()
        let seed = try SecretKey<KEMUse>()
        let until = min(client.clock() + DeviceCode.duration, Format.latestTime)
        let offer = try DeviceOffer(of: try XWing.publicKey(seed: seed), until: until, under: key)
        let put = try await client.guardedStore.putOffer(offer.bytes, at: locator, now: client.clock())
        guard let outcome = put else { throw .notFound }
        guard outcome == .done else { throw .unverified }
        return DeviceArrival(client, wait, key: key, seed: seed, locator: locator, offer: offer)
    }

    /// Waits for the answer, opens it, and judges all of it. Nothing is written.
    ///
    /// - Throws: ``TresorError/waiting`` when no answer came in time; ``TresorError/notFound`` when the other machine has
    ///   ended the exchange; ``TresorError/unverified`` for an answer by somebody who does not have the code, and for one
    ///   to another offer; ``TresorError/altered`` or ``TresorError/unsupported`` for an answer that does not open or
    ///   read; ``TresorError/cancelled``; the errors of the store.
    @concurrent package func answer() async throws(TresorError) -> ReceivedIdentity {
        while true {
            switch try await letters() {
            case .offer(offer.bytes)?: try await wait.next(of: client, until: offer.until)
            case .answer(let bytes, to: offer.bytes)?:
                return try ReceivedIdentity(
                    try DeviceAnswer(bytes, to: offer, under: key).open(with: seed), at: client.storeName)
            case nil: throw .notFound
            default: throw .unverified
            }
        }
    }

    /// Gives the received identity a password of this home, and writes the home: the identity last. Takes about a second.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `passwordTooShort` for fewer than 8 code points, and with
    ///   `identityExists` for a home that knows other people or tresors; ``TresorError/busy`` when the home has an
    ///   identity by now; ``TresorError/cancelled`` for a task that was cancelled before; the errors of the home. Nothing
    ///   is written then.
    @concurrent package func install(
        _ received: ReceivedIdentity, newPassword: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        let identity = received.identity
        let slot = try await HeldPassword.slot(
            of: identity, password: newPassword, cost: cost, time: client.clock())
        let file = try received.file.settingPassword(slot, identity: identity)
        let home = client.home
        try await client.changingSlots { () async throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                guard try home.read(.identity) == nil else { throw .busy }
                // What an interrupted installation left is the same.
                for (object, bytes) in received.objects {
                    guard try home.read(object) ?? bytes == bytes else { throw .usage(.identityExists) }
                }
                for (object, bytes) in received.objects { try home.replace(object, with: bytes) }
                try home.replace(.identity, with: file.bytes)
            }
        }
        return Session(client: client, identity: identity)
    }

    /// Deletes the mailbox, which tells the other machine that the answer was taken. If the store fails, the other
    /// machine deletes it later.
    @concurrent package func acknowledge(as session: Session) async {
        try? await session.client.store.deleteKitCopy(locator: locator)
    }

    private func letters() async throws(TresorError) -> DeviceMailbox.Letters? {
        do throws(TresorError) {
            return try await client.store.kitCopy(locator: locator).map { (bytes) throws(TresorError) in
                try DeviceMailbox(bytes).letters
            }
        } catch {
            guard error == .busy else { throw error }
            return .offer(offer.bytes)
        }
    }
}

/// An identity that came from another machine, judged and not yet written.
package struct ReceivedIdentity: Sendable {
    let identity: Identity
    let file: IdentityFile
    /// The objects of the home that go with it.
    let objects: [(object: HomeObject, bytes: [UInt8])]
    /// The number of people in its pins.
    package let personCount: Int

    /// The card chain, for the question whether it is the right one.
    package var chain: CardChain { identity.chain }

    /// Judges what another machine gave.
    ///
    /// - Parameter here: the name of the store in this home. It takes the place of the other home's name of the same
    ///   store, which may be a path of that machine.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(_ bundle: DeviceBundle, at here: StoreName?) throws(TresorError) {
        identity = bundle.identity
        file = bundle.belongings.file
        var objects: [(object: HomeObject, bytes: [UInt8])] = []
        var personCount = 0
        for (object, bytes) in zip(DeviceBelongings.kinds, bundle.belongings.objects) where !bytes.isEmpty {
            var bytes = bytes
            switch object {
            case .pins: personCount = try Pins(bytes).pins.count
            case .heads: _ = try PinnedHeads(bytes)
            case .notedStores:
                var stores = try NotedStores(bytes)
                if let there = bundle.belongings.store, let here { stores.rename(there, to: here) }
                bytes = stores.bytes
            case .knownServices: _ = try KnownServices(bytes)
            default: _ = try Marks(bytes, of: identity)
            }
            objects.append((object, bytes))
        }
        self.objects = objects
        self.personCount = personCount
    }
}

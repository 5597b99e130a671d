// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore
package import TresorCrypto

/// How two machines wait for each other's letters (SPEC §8.6).
package struct DeviceWait: Sendable {
    /// The time between two looks into a store in a file, and into a service.
    package var interval = Duration.milliseconds(500)
    package var distantInterval = Duration.seconds(3)
    /// Lets a part of the wait pass.
    package var pause: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    /// Hears that the store fails, before it is asked again.
    package var away: @Sendable (TresorError) -> Void = { _ in }

    package init() {}

    /// Whether the next attempt may do what this one did not: somebody else holds the store, or it cannot be reached.
    static func passes(_ error: TresorError) -> Bool { error == .busy || error == .store(.unreachable) }

    /// Waits until the next look into a mailbox.
    ///
    /// - Parameter failure: what ended the look before.
    /// - Throws: ``TresorError/cancelled``; when the last second is over, the failure, and ``TresorError/waiting`` without
    ///   one.
    func next(of client: Client, until last: UInt64, after failure: TresorError? = nil) async throws(TresorError) {
        try Cancellation.check()
        guard client.clock() <= last else { throw failure ?? .waiting }
        if let failure { away(failure) }
        await pause(client.isRemote ? distantInterval : interval)
        client.operation.hasWaited()
        try Cancellation.check()
    }

    /// Looks under a locator; again while that fails and passes, or the store does not say why it fails.
    ///
    /// - Returns: `nil` where nothing is.
    /// - Throws: the errors of ``next(of:until:after:)``; the other errors of the store.
    func look(under locator: Hash256, of client: Client, until last: UInt64) async throws(TresorError) -> [UInt8]? {
        while true {
            do throws(TresorError) {
                return try await client.store.kitCopy(locator: locator)
            } catch {
                guard Self.passes(error) || error == .store(.other) else { throw error }
                try await next(of: client, until: last, after: error)
            }
        }
    }
}

/// The machine that has the identity, while it gives it to another one of the same person (SPEC §8.6).
///
/// It holds the slot lock: nobody else changes the key slots while it works. The cleanup journal names the mailbox, so that the next
/// command deletes it if this one is killed.
package final class DeviceHandover: Sendable {
    private let session: Session
    private let wait: DeviceWait
    private let key: DeviceKey
    private let lock: Mutex<HeldSlotLock?>
    /// The receipt of the answer, from the moment on in which somebody may have taken that.
    private let receipt = Mutex<Hash256?>(nil)
    /// The code to be shown, 19 bytes.
    package let code: SecretBytes
    /// The locator of the mailbox.
    package let locator: Hash256
    /// The last second, by the clock of this machine.
    package let until: UInt64

    private var client: Client { session.client }

    /// The end of an exchange whose offer was answered.
    package enum Ending: Sendable {
        /// The other machine has the identity: it left a receipt.
        case taken
        /// The mailbox is gone, and nobody left a receipt.
        case gone
        /// The time is over.
        case late
    }

    /// Whether the answer was sent to the store, so that the other machine may have the identity.
    package var mayHaveGiven: Bool { receipt.withLock { $0 != nil } }

    private init(
        _ session: Session, _ wait: DeviceWait, code: consuming SecretBytes, key: consuming DeviceKey,
        lock: consuming SlotLock, locator: Hash256, until: UInt64
    ) {
        self.session = session
        self.wait = wait
        self.key = key
        self.lock = Mutex(HeldSlotLock(lock))
        self.code = code
        self.locator = locator
        self.until = until
    }

    /// Draws a code, and opens its mailbox in the store. End it with ``close()``, whatever happens.
    ///
    /// - Throws: ``TresorError/busy`` when another program changes the key slots, or has renewed the identity;
    ///   ``TresorError/usage(_:)`` with `contentTooLong` for a home that knows more than an answer holds;
    ///   ``TresorError/store(_:)`` when the store does not keep the mailbox; ``TresorError/cancelled``; the errors of the
    ///   home.
    @concurrent package static func open(
        _ session: Session, waiting wait: DeviceWait = DeviceWait()
    ) async throws(TresorError) -> DeviceHandover {
        let client = session.client
        let lock = try await client.hooks.slotWait.lock(client.home)
        let code = try DeviceCode()
        let key = try code.key()
        let locator = try key.locator()
        let until = min(client.clock() + DeviceCode.duration, Format.latestTime)
        let handover = DeviceHandover(
            session, wait, code: try code.text(), key: key, lock: lock, locator: locator, until: until)
        // If this home has too much to give, the person hears it before anybody types a code.
        _ = try DeviceAnswer.byteCount(with: try handover.belongings())
        try client.cleanup.note(kits: [CleanupJournal.Kit(user: session.user, locator: locator)])
        do throws(TresorError) {
            try await handover.put(DeviceMailbox(until: until))
        } catch {
            await handover.close()
            throw error
        }
        return handover
    }

    /// Waits for the offer of the other machine. A store that cannot be reached is asked again.
    ///
    /// - Throws: ``TresorError/waiting`` when nobody came in time; ``TresorError/unverified`` for an offer by somebody
    ///   who does not have the code, or at another time; ``TresorError/altered`` or ``TresorError/unsupported`` for what
    ///   is no offer; ``TresorError/store(_:)`` when the store lost the mailbox; ``TresorError/cancelled``.
    @concurrent package func offer() async throws(TresorError) -> DeviceOffer {
        while true {
            switch try await letters() {
            case .some(.none): try await wait.next(of: client, until: until)
            case .offer(let bytes)?, .answer(_, to: let bytes)?:
                let offer = try DeviceOffer(bytes, under: key)
                guard offer.isTimely(at: client.clock()) else { throw .unverified }
                return offer
            case .receipt?: throw .unverified
            case nil: throw .store(.notStored)
            }
        }
    }

    /// Answers an offer with the identity and what this home knows. An error after which ``mayHaveGiven`` is `true` does
    /// not say that nobody has it. A store that cannot be reached is asked again: it may have the answer, whose
    /// reply was lost.
    ///
    /// - Throws: ``TresorError/waiting`` when the time is over; ``TresorError/busy`` when the identity was renewed;
    ///   ``TresorError/usage(_:)`` with `contentTooLong` for a home that knows more than an answer holds;
    ///   ``TresorError/wrongPassword`` for an identity with neither kit nor password; ``TresorError/store(_:)`` when the
    ///   store does not keep the answer; ``TresorError/cancelled``; the errors of the home.
    @concurrent package func answer(_ offer: DeviceOffer) async throws(TresorError) {
        try Cancellation.check()
        guard client.clock() <= until else { throw .waiting }
        let belongings = try belongings()
        let answer = try DeviceAnswer(session.identity, belongings, to: offer, under: key)
        let expected = try key.receipt(of: answer.bytes, to: offer.bytes)
        receipt.withLock { $0 = expected }
        try await put(DeviceMailbox(until: until, .answer(answer.bytes, to: offer.bytes)))
    }

    /// Waits until the other machine has taken the answer, and has left its receipt.
    ///
    /// - Throws: ``TresorError/unverified`` for a receipt by somebody who does not have the code, and for that of another
    ///   answer; ``TresorError/altered`` or ``TresorError/unsupported`` for what is no mailbox;
    ///   ``TresorError/cancelled``; the errors of the store.
    @concurrent package func ending() async throws(TresorError) -> Ending {
        let expected = receipt.withLock { $0 }
        while let letters = try await letters() {
            if case .receipt(let shown) = letters {
                guard let expected, constantTimeEqual(shown, expected) else { throw .unverified }
                return .taken
            }
            do throws(TresorError) {
                try await wait.next(of: client, until: until)
            } catch {
                guard error == .waiting else { throw error }
                return .late
            }
        }
        return .gone
    }

    /// Deletes the mailbox, and ends the exchange. What cannot be deleted now stays in the cleanup journal.
    @concurrent package func close() async {
        do throws(TresorError) {
            try await client.uninterrupted { [client] () async throws(TresorError) in
                try await client.cleanup.finishLocked()
            }
        } catch {
            // The journal names the mailbox.
        }
        lock.withLock { $0 = nil }
    }

    /// Deletes the mailbox for a program that is leaving. What the store does not delete stays in the cleanup journal.
    ///
    /// - Parameter home: the home, to be written although the program is leaving.
    @concurrent package func abandon(in home: any Home) async {
        do throws(TresorError) {
            try await client.store.deleteKitCopy(locator: locator)
            var noted = CleanupJournal()
            noted.kits = [CleanupJournal.Kit(user: session.user, locator: locator)]
            try Client(home: home, store: client.store, clock: client.clock).cleanup.unnote(noted)
        } catch {
            // The journal names the mailbox.
        }
    }

    /// The letters in the mailbox; `nil` where there is no mailbox.
    private func letters() async throws(TresorError) -> DeviceMailbox.Letters? {
        try await wait.look(under: locator, of: client, until: until).map { (bytes) throws(TresorError) in
            try DeviceMailbox(bytes).letters
        }
    }

    /// Puts the mailbox, and reads it back. Without an answer in it, a store that fails ends this at once.
    ///
    /// The other machine may have taken an answer by then. An answer whose reply is lost may lie there: it is put again only
    /// where the mailbox is without it just before, for a receipt may have taken its place.
    private func put(_ mailbox: DeviceMailbox) async throws(TresorError) {
        let bytes = mailbox.bytes
        while true {
            var isPut = true
            do throws(TresorError) { try await client.store.putKitCopy(bytes, locator: locator) } catch {
                guard mayHaveGiven, DeviceWait.passes(error) else { throw error }
                isPut = false
                try await wait.next(of: client, until: until, after: error)
            }
            let present: [UInt8]?
            if mayHaveGiven {
                present = try await wait.look(under: locator, of: client, until: until)
            } else {
                present = try await client.store.kitCopy(locator: locator)
            }
            if present == bytes { return }
            if let present, mayHaveGiven, case .receipt? = (try? DeviceMailbox(present))?.letters { return }
            guard !isPut, present != nil else { throw .store(.notStored) }
        }
    }

    /// The belongings that the other machine gets, as they are at one moment.
    private func belongings() throws(TresorError) -> DeviceBelongings {
        try client.home.exclusively { () throws(TresorError) in
            let file = try client.identityFileBlocking()
            guard file.chain == session.chain else { throw .busy }
            try file.prove(with: session.identity)
            var objects: [[UInt8]] = []
            for object in DeviceBelongings.kinds {
                let bytes = try client.home.read(object) ?? []
                objects.append(try judged(bytes, of: object))
            }
            return DeviceBelongings(
                file: try file.forAnotherDevice(session.identity), store: client.storeName, objects: objects)
        }
    }

    /// An object that the other machine can read. Noted stores and marks that do not read count as none, as here.
    private func judged(_ bytes: [UInt8], of object: HomeObject) throws(TresorError) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        switch object {
        case .pins: _ = try Pins(bytes)
        case .heads: _ = try PinnedHeads(bytes)
        case .notedStores: return (try? NotedStores(bytes)) == nil ? [] : bytes
        case .knownServices: _ = try KnownServices(bytes)
        case .knownLogins:
            let logins = try KnownLogins(bytes).statements(of: session.user)
            return logins.isEmpty ? [] : logins.bytes
        default: return (try? Marks(bytes, of: session.identity)) == nil ? [] : bytes
        }
        return bytes
    }
}

/// The slot lock, for as long as the value is held.
final class HeldSlotLock: Sendable {
    private let lock: SlotLock

    init(_ lock: consuming SlotLock) { self.lock = lock }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Somebody between the two machines of one person: the store, or who reads its traffic (SPEC §8.6).
@Suite struct DeviceExchangeAttackTests {
    let scene: DeviceExchange

    init() async throws { scene = try await DeviceExchange() }

    private static func bytes(of secret: borrowing SecretBytes) -> [UInt8] { secret.span.publicBytes }

    @Test func A161_aMistypedCodeFindsNothing() async throws {
        let handover = try await scene.open()
        let typed = Self.bytes(of: handover.code)
        for place in [0, 3, 5, 18] {
            var wrong = typed
            wrong[place] = typed[place] == UInt8(ascii: "7") ? UInt8(ascii: "8") : UInt8(ascii: "7")
            let secret = try SecretBytes(copying: wrong.span)
            let code = try DeviceCode(typed: secret)
            let client = scene.client(scene.home)
            #expect(await failure { _ = try await DeviceArrival.begin(client, code: code) } == .notFound)
        }
        for text in [
            "", "7k3m", "7k3m-9qxa-c2vt-w8n", "7k3m-9qxa-c2vt-w8nee", "7k3m-9qxa-c2vt-w8nu", "7k3m_9qxa_c2vt_w8ne",
        ] {
            let secret = try SecretBytes(copying: Array(text.utf8).span)
            #expect(error { _ = try DeviceCode(typed: secret) } == .notFound, "\(text)")
        }
        #expect(try await scene.mailbox(handover)?.letters == DeviceMailbox.Letters.none)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func A161_anotherOfferIsNotAnswered() async throws {
        let handover = try await scene.open()
        _ = try await scene.arrive(handover)
        guard case .offer(let genuine)? = try await scene.mailbox(handover)?.letters else {
            Issue.record("there is no offer")
            return
        }
        var offers = [try scene.foreignOffer().bytes]
        // A bit of the magic, of each part of the key, of the time and of the tag.
        for place in [0, 8, 10, 1200, 1226, 1233, 1234, 1265] { offers.append(flipped(genuine, place * 8)) }
        for offer in offers {
            scene.show(.offer(offer), of: handover)
            #expect(await failure { _ = try await handover.offer() } == .unverified)
        }
        scene.evil.behave()
        #expect(try await scene.mailbox(handover)?.letters == .offer(genuine))
    }

    @Test func A161_anOfferOfAnotherTimeIsNotAnswered() async throws {
        let handover = try await scene.open()
        let key = try DeviceCode(typed: handover.code).key()
        let kem = try XWing.publicKey(seed: try SecretKey<KEMUse>())
        let now = scene.world.clock.now
        let limits: [(until: UInt64, isTimely: Bool)] = [
            (now - 901, false), (now - 900, true), (now + 1500, true), (now + 1501, false),
            (Format.latestTime, false),
        ]
        for limit in limits {
            let offer = try DeviceOffer(of: kem, until: limit.until, under: key)
            scene.show(.offer(offer.bytes), of: handover)
            let refusal = await failure { _ = try await handover.offer() }
            #expect(refusal == (limit.isTimely ? nil : .unverified), "\(limit.until)")
        }
    }

    @Test func A161_theFirstOfferStands() async throws {
        let handover = try await scene.open()
        let first = try await scene.arrive(handover)
        let second = MemoryHome()
        #expect(await failure { _ = try await scene.arrive(handover, at: second) } == .unverified)
        #expect(second.contents.isEmpty)
        try await handover.answer(try await handover.offer())
        #expect(await failure { _ = try await scene.arrive(handover, at: second) } == .unverified)
        #expect(try await first.answer().chain == scene.anna.chain)
    }

    @Test func A161_theNumbersDifferWhereTheStoreShowsAnotherOffer() async throws {
        let handover = try await scene.open()
        let first = try await scene.arrive(handover)
        #expect(try await handover.offer().number == first.number)
        // Somebody has seen the code. The store shows their offer to the giving machine alone.
        let key = try DeviceCode(typed: handover.code).key()
        let kem = try XWing.publicKey(seed: try SecretKey<KEMUse>())
        let theirs = try DeviceOffer(of: kem, until: handover.until, under: key)
        scene.show(.offer(theirs.bytes), of: handover)
        let shown = try await handover.offer().number
        #expect(shown == theirs.number)
        #expect(shown != first.number)
        #expect(shown.wholeMatch(of: #/[0-9]{5}( [0-9]{5}){3}/#) != nil)
    }

    @Test func A161_onlyTheReceiptSaysThatTheAnswerWasTaken() async throws {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        let offer = try await handover.offer()
        #expect(!handover.mayHaveGiven)
        try await handover.answer(offer)
        #expect(handover.mayHaveGiven)
        // The store takes the mailbox away, or makes a receipt without the code.
        scene.evil.showKitCopy { _ in nil }
        #expect(try await handover.ending() == .gone)
        let foreign = try DeviceCode().key()
        guard case .answer(let answer, to: _)? = try await scene.mailbox(handover)?.letters else {
            Issue.record("there is no answer")
            return
        }
        let own = try DeviceCode(typed: handover.code).key()
        let receipts = [
            Hash256.zero, try foreign.receipt(of: answer, to: offer.bytes),
            try own.receipt(of: flipped(answer, 80), to: offer.bytes),
        ]
        for receipt in receipts {
            scene.show(.receipt(receipt), of: handover)
            #expect(await failure { _ = try await handover.ending() } == .unverified)
            #expect(await failure { _ = try await arrival.answer() } == .unverified)
        }
        scene.show(.receipt(try own.receipt(of: answer, to: offer.bytes)), of: handover)
        #expect(try await handover.ending() == .taken)
        // Without one, the end of the time says nothing.
        scene.evil.behave()
        #expect(try await handover.ending() == .late)
    }

    @Test func A161_anAnswerToAnotherOfferIsNotTaken() async throws {
        let handover = try await scene.open()
        let first = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let recorded = try #require(try await scene.mailbox(handover))
        guard case .answer(let answer, to: let offer) = recorded.letters else {
            Issue.record("there is no answer")
            return
        }
        await handover.close()
        // It is replayed, whole or in a newer mailbox, to a machine with another code.
        let again = try await scene.open()
        let second = try await scene.arrive(again)
        guard case .offer(let newer)? = try await scene.mailbox(again)?.letters else {
            Issue.record("there is no offer")
            return
        }
        for letters in [
            DeviceMailbox.Letters.answer(answer, to: offer), .answer(answer, to: newer), .offer(offer), .none,
        ] {
            scene.show(letters, of: again)
            #expect(await failure { _ = try await second.answer() } == .unverified)
        }
        // The one it was made for takes it, until it is changed.
        for place in [0, 9, 10, 1100, 1130, 1133, 1134, answer.count - 33, answer.count - 1] {
            scene.show(.answer(flipped(answer, place * 8), to: offer), of: handover)
            #expect(await failure { _ = try await first.answer() } == .unverified, "\(place)")
        }
        scene.show(.answer(answer, to: offer), of: handover)
        #expect(try await first.answer().chain == scene.anna.chain)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func A161_anAnswerWithoutTheCodeIsNotTaken() async throws {
        let mallory = try await scene.world.quick("anna2")
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        let offer = try await handover.offer()
        // The store knows the offer, and so the key to which an identity may be wrapped. It lacks the code.
        let belongings = DeviceBelongings(
            file: try mallory.client.identityFileBlocking(), store: nil, objects: DeviceBelongings.kinds.map { _ in [] }
        )
        let foreign = try DeviceCode().key()
        let answer = try DeviceAnswer(mallory.identity, belongings, to: offer, under: foreign)
        scene.show(.answer(answer.bytes, to: offer.bytes), of: handover)
        #expect(await failure { _ = try await arrival.answer() } == .unverified)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func A161_anotherIdentityIsShownBeforeItIsWritten() async throws {
        let mallory = try await scene.world.quick("mallory")
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        let offer = try await handover.offer()
        let key = try DeviceCode(typed: handover.code).key()
        let nothing = DeviceBelongings.kinds.map { _ in [UInt8]() }
        // A thief who knows the code gives their own identity: the person is shown whose it is.
        let theirs = DeviceBelongings(
            file: try mallory.client.identityFileBlocking(), store: nil, objects: nothing)
        let own = try DeviceAnswer(mallory.identity, theirs, to: offer, under: key)
        scene.show(.answer(own.bytes, to: offer.bytes), of: handover)
        #expect(try await arrival.answer().chain == mallory.chain)
        // They cannot give theirs under the card of somebody else.
        let mixed = DeviceBelongings(
            file: try scene.anna.client.identityFileBlocking(), store: nil, objects: nothing)
        let spliced = try DeviceAnswer(mallory.identity, mixed, to: offer, under: key)
        scene.show(.answer(spliced.bytes, to: offer.bytes), of: handover)
        #expect(await failure { _ = try await arrival.answer() } == .altered)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func A161_oneOfferIsNotAnsweredTwice() async throws {
        let other = MemoryHome()
        try other.replace(.identity, with: scene.anna.client.identityFileBlocking().bytes)
        let handover = try await scene.open()
        let second = try await scene.open(Session(client: scene.client(other), identity: scene.anna.identity))
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        // The store shows the offer to another machine that waits, under its own locator.
        scene.show(.offer(offer.bytes), of: second)
        #expect(await failure { _ = try await second.offer() } == .unverified)
    }

    @Test func A161_trafficAndCodeOpenNothingLater() async throws {
        let handover = try await scene.open()
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        try await handover.answer(offer)
        guard case .answer(let answer, _)? = try await scene.mailbox(handover)?.letters else {
            Issue.record("there is no answer")
            return
        }
        let key = try DeviceCode(typed: handover.code).key()
        let read = try DeviceAnswer(answer, to: offer, under: key)
        let seed = try SecretKey<KEMUse>()
        #expect(error { _ = try read.open(with: seed) } == .altered)
    }

    @Test func A161_aFloodedMailboxGivesNothing() async throws {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        let locator = handover.locator
        let hostile: [[UInt8]] = [
            [0], Array("tresorb1".utf8), [UInt8](repeating: 0x74, count: 1 << 20),
            DeviceMailbox(until: 0, .offer([UInt8](repeating: 0, count: DeviceOffer.byteCount))).bytes + [0],
        ]
        for bytes in hostile {
            scene.evil.showKitCopy { _ in bytes }
            #expect(await failure { _ = try await handover.offer() } == .altered)
            #expect(await failure { _ = try await arrival.answer() } == .altered)
        }
        scene.evil.behave()
        #expect(try await scene.evil.truth.kitCopy(locator: locator) != nil)
        #expect(scene.home.contents.isEmpty)
    }

    /// A service is to take the copy of the kit from one machine. The other one does not put it too: by then that kit may
    /// be replaced, and its copy deleted.
    @Test func A31_anotherMachinePutsNoCopyThatThisOneIsToPut() async throws {
        let name = try #require(StoreName(Array("https://clinic.example".utf8)))
        let home = try #require(scene.anna.client.home as? MemoryHome)
        let session = Session(client: scene.client(home, named: name), identity: scene.anna.identity)
        try await session.unlocking.setKit(try RecoveryKit())
        try session.unlocking.awaitKitCopy()
        let handover = try await scene.open(session)
        let arrival = try await scene.arrive(handover, named: name)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let secret = try password("new machine")
        let other = try await arrival.install(received, newPassword: secret, cost: .floor)
        #expect(try !other.unlocking.isKitCopyDue())
        #expect(try session.unlocking.isKitCopyDue())
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The identity goes to a second machine by a typed code (SPEC §8.6).
@Suite struct DeviceExchangeTests {
    let scene: DeviceExchange

    init() async throws { scene = try await DeviceExchange() }

    /// Goes through all steps, and gives the session of the new machine.
    private func complete(_ handover: DeviceHandover, named name: StoreName? = nil) async throws -> Session {
        let arrival = try await scene.arrive(handover, named: name)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        #expect(received.chain == scene.anna.chain)
        let secret = try password("new machine")
        let session = try await arrival.install(received, newPassword: secret, cost: .floor)
        await arrival.acknowledge(received, as: session)
        return session
    }

    @Test func theNewHomeHasTheIdentityAndWhatTheOtherKnows() async throws {
        let bert = try await scene.world.quick("bert")
        try scene.world.introduce(scene.anna, bert)
        let plan = try await scene.anna.tresors.create(Name(typed: "plan")).tresor
        let kit = try scene.anna.client.identityFileBlocking().kitLocator
        let handover = try await scene.open()
        let session = try await complete(handover)
        let ending = try await handover.ending()
        #expect(ending == .taken)
        #expect(scene.home.read(.cleanupJournal) == nil)
        await handover.close()
        #expect(session.user == scene.anna.user)
        for object in DeviceBelongings.kinds {
            #expect(scene.home.read(object) == scene.anna.home[object], "\(object)")
        }
        #expect(scene.home.read(.pins) != nil)
        #expect(scene.home.read(.heads) != nil)
        #expect(scene.home.read(.marks) != nil)
        let file = try session.client.identityFileBlocking()
        #expect(file.kitLocator == kit)
        #expect(file.slots.count == 2)
        let secret = try password("new machine")
        let unlocked = try await session.client.unlock(password: secret)
        let state = try await unlocked.client.logs.state(of: plan)
        #expect(state.members[scene.anna.user] != nil)
        #expect(try await scene.mailbox(handover) == nil)
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    @Test func aStoreHasTheNameThatTheNewMachineGivesIt() async throws {
        let there = try #require(StoreName(Array("/there/care.db".utf8)))
        let here = try #require(StoreName(Array("/here/care.db".utf8)))
        let other = try #require(StoreName(Array("/there/other.db".utf8)))
        let tresor = TresorID(try anyDigest())
        var noted = NotedStores()
        _ = noted.note(there, of: tresor)
        _ = noted.note(other, of: tresor)
        try scene.anna.client.home.replace(.notedStores, with: noted.bytes)
        let home = try #require(scene.anna.client.home as? MemoryHome)
        let session = Session(client: scene.client(home, named: there), identity: scene.anna.identity)
        let handover = try await scene.open(session)
        _ = try await complete(handover, named: here)
        let bytes = try #require(scene.home.read(.notedStores))
        #expect(try NotedStores(bytes)[tresor] == [here, other])
    }

    @Test func anIdentityWithoutAKitGoesToo() async throws {
        let home = MemoryHome()
        let bert = try await scene.world.person("bert", home: home)
        let handover = try await scene.open(bert)
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let secret = try password("new machine")
        let session = try await arrival.install(received, newPassword: secret, cost: .floor)
        let file = try session.client.identityFileBlocking()
        #expect(file.slots.count == 1)
        let old = try password("bert")
        #expect(await failure { _ = try await session.client.unlock(password: old) } == .wrongPassword)
    }

    @Test func theTimeEndsTheWaits() async throws {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        let offer = try await handover.offer()
        #expect(await failure { _ = try await arrival.answer() } == .waiting)
        #expect(await failure { try await handover.answer(offer) } == .waiting)
        #expect(!handover.mayHaveGiven)
        #expect(try await scene.mailbox(handover) == nil)
        await handover.close()
        let late = try await scene.open()
        #expect(await failure { _ = try await late.offer() } == .waiting)
        // Nobody finds a mailbox whose time is over, even while it lies there.
        scene.world.clock.advance(by: 1000)
        #expect(await failure { _ = try await scene.arrive(late) } == .notFound)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func anEndedExchangeLeavesNothing() async throws {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        await handover.close()
        #expect(try await scene.mailbox(handover) == nil)
        #expect(scene.anna.home[.cleanupJournal] == nil)
        #expect(await failure { _ = try await arrival.answer() } == .notFound)
        #expect(scene.home.contents.isEmpty)
    }

    @Test func aKilledExchangeIsClearedByTheNextCommand() async throws {
        var handover: DeviceHandover? = try await scene.open()
        let locator = try #require(handover?.locator)
        // While it runs, nobody takes its mailbox away.
        try await scene.anna.client.cleanup.finish()
        #expect(try await scene.evil.truth.kitCopy(locator: locator) != nil)
        handover = nil
        try await scene.anna.client.cleanup.finish()
        #expect(try await scene.evil.truth.kitCopy(locator: locator) == nil)
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    @Test func aProgramThatLeavesLeavesNothing() async throws {
        let handover = try await scene.open()
        await handover.abandon(in: scene.anna.client.home)
        #expect(try await scene.mailbox(handover) == nil)
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    @Test func nobodyChangesKeySlotsMeanwhile() async throws {
        let handover = try await scene.open()
        var wait = SlotWait()
        wait.patience = .zero
        var client = scene.anna.client
        client.hooks.slotWait = wait
        let session = Session(client: client, identity: scene.anna.identity)
        let secret = try password("another")
        #expect(await failure { try await session.unlocking.changePassword(to: secret, cost: .floor) } == .busy)
        await handover.close()
    }

    @Test func aHomeWithAnIdentityOrPeopleIsLeftAlone() async throws {
        let handover = try await scene.open()
        let full = try #require(scene.anna.client.home as? MemoryHome)
        #expect(await failure { _ = try await scene.arrive(handover, at: full) } == .usage(.identityExists))
        let bert = try await scene.world.quick("bert")
        try scene.client(scene.home).people.pinBlocking(bert.chain)
        let kim = try await scene.world.quick("kim")
        try scene.world.introduce(scene.anna, kim)
        let before = scene.home.contents
        // It is refused before anybody types a code or gives an answer.
        #expect(error { try DeviceArrival.checkEmpty(scene.client(scene.home)) } == .usage(.identityExists))
        #expect(await failure { _ = try await complete(handover) } == .usage(.identityExists))
        #expect(scene.home.contents == before)
        #expect(try await scene.mailbox(handover)?.letters == DeviceMailbox.Letters.none)
    }

    @Test func aWriteThatFailsLeavesNoIdentityAndMayBeRepeated() async throws {
        let bert = try await scene.world.quick("bert")
        try scene.world.introduce(scene.anna, bert)
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let secret = try password("new machine")
        // The mark of the installation stays once it is written; the pins and the identity follow.
        for room in [0, 1, 1] {
            scene.home.fill(after: room)
            let refusal = await failure {
                _ = try await arrival.install(received, newPassword: secret, cost: .floor)
            }
            #expect(refusal == .failed(.full))
            #expect(scene.home.read(.identity) == nil)
        }
        scene.home.fill(after: nil)
        _ = try await arrival.install(received, newPassword: secret, cost: .floor)
        #expect(scene.home.read(.pins) == scene.anna.home[.pins])
    }

    @Test func anInterruptedInstallationMayBeRepeatedWithWhatIsNewer() async throws {
        let bert = try await scene.world.quick("bert")
        try scene.world.introduce(scene.anna, bert)
        _ = try await scene.anna.tresors.create(Name(typed: "plan"))
        let first = try await scene.open()
        let arrival = try await scene.arrive(first)
        try await first.answer(try await first.offer())
        let received = try await arrival.answer()
        let secret = try password("new machine")
        scene.home.fill(after: 3)
        #expect(
            await failure { _ = try await arrival.install(received, newPassword: secret, cost: .floor) }
                == .failed(.full))
        scene.home.fill(after: nil)
        #expect(scene.home.read(.pins) != nil)
        await first.close()
        // The giving machine knows more by now, and has lost its marks.
        let kim = try await scene.world.quick("kim")
        try scene.world.introduce(scene.anna, kim)
        try scene.anna.client.home.delete(.marks)
        let second = try await scene.open()
        let session = try await complete(second)
        #expect(session.user == scene.anna.user)
        for object in DeviceBelongings.kinds {
            #expect(scene.home.read(object) == scene.anna.home[object], "\(object)")
        }
    }

    @Test func aKilledInstallationIsClearedByTheNextCommand() async throws {
        let handover = try await scene.open()
        let session: Session
        do {
            let arrival = try await scene.arrive(handover)
            try await handover.answer(try await handover.offer())
            let received = try await arrival.answer()
            let secret = try password("new machine")
            session = try await arrival.install(received, newPassword: secret, cost: .floor)
        }
        // Nobody acknowledges.
        try await session.client.cleanup.finish()
        #expect(try await scene.mailbox(handover) == nil)
        #expect(scene.home.read(.cleanupJournal) == nil)
        let ending = try await handover.ending()
        #expect(ending == .gone)
        #expect(handover.mayHaveGiven)
    }

    @Test func theServicesOfBothHomesAreKnown() async throws {
        let (here, there, both) = (try anyDigest(), try anyDigest(), try anyDigest())
        let (one, other) = (try anyDigest(), try anyDigest())
        try KnownServices.meet(one, at: here, in: scene.home)
        try KnownServices.meet(one, at: both, in: scene.home)
        let annas = scene.anna.client.home
        try KnownServices.meet(one, at: there, in: annas)
        try KnownServices.meet(other, at: both, in: annas)
        let handover = try await scene.open()
        let before = scene.home.contents
        #expect(await failure { _ = try await complete(handover) } == .altered)
        #expect(scene.home.contents == before)
        await handover.close()
        try KnownServices.forget(both, in: scene.home)
        _ = try await complete(try await scene.open())
        for (audience, server) in [(here, one), (there, one), (both, other)] {
            #expect(try KnownServices.server(at: audience, in: scene.home) == server)
        }
    }

    @Test func aStoreOutOfReachIsAskedAgain() async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        _ = try await scene.arrive(handover)
        store.fail(2)
        let offer = try await handover.offer()
        try await handover.answer(offer)
        store.fail(2)
        #expect(try await handover.ending() == .late)
        #expect(store.failuresLeft == 0)
        await handover.close()
        // The machine that waits for an answer looks again too.
        let second = try await scene.open()
        let client = scene.anna(over: store).client
        let code = try DeviceCode(typed: second.code)
        let new = Client(home: MemoryHome(), store: store, clock: client.clock)
        let arrival = try await DeviceArrival.begin(new, code: code, waiting: scene.wait)
        try await second.answer(try await second.offer())
        store.fail(2)
        let received = try await arrival.answer()
        #expect(received.chain == scene.anna.chain)
    }

    @Test func anOfferComesTooLateForAMailboxThatIsGone() async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        store.beforeReplacing { [evil = scene.evil, locator = handover.locator] in
            try? await evil.truth.deleteKitCopy(locator: locator)
        }
        let code = try DeviceCode(typed: handover.code)
        let client = Client(home: scene.home, store: store, clock: scene.anna.client.clock)
        #expect(await failure { _ = try await DeviceArrival.begin(client, code: code) } == .notFound)
        #expect(try await scene.mailbox(handover) == nil)
    }

    @Test func clocksMayDifferByAQuarterOfAnHour() async throws {
        let handover = try await scene.open()
        let code = try DeviceCode(typed: handover.code)
        let now = scene.world.clock.now
        let slow = Client(home: scene.home, store: StageStores.seen(scene.evil), clock: { now - 900 })
        _ = try await DeviceArrival.begin(slow, code: code)
        _ = try await handover.offer()
        let late = Client(home: MemoryHome(), store: StageStores.seen(scene.evil), clock: { now + 1501 })
        #expect(await failure { _ = try await DeviceArrival.begin(late, code: code) } == .notFound)
    }

    @Test func aStoreThatKeepsNothingIsNoticed() async throws {
        scene.evil.lie(.storesNothing)
        #expect(await failure { _ = try await scene.open() } == .store(.notStored))
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    @Test func damagedMarksStayBehind() async throws {
        _ = try await scene.anna.tresors.create(Name(typed: "plan"))
        try scene.anna.client.home.replace(.marks, with: [1, 2, 3])
        let handover = try await scene.open()
        _ = try await complete(handover)
        #expect(scene.home.read(.marks) == nil)
        try scene.anna.client.home.replace(.pins, with: [1, 2, 3])
        await handover.close()
        #expect(await failure { _ = try await scene.open() } == .altered)
    }
}

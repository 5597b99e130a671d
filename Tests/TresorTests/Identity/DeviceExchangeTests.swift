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
        await arrival.acknowledge(as: session)
        return session
    }

    @Test func theNewHomeHasTheIdentityAndWhatTheOtherKnows() async throws {
        let bert = try await scene.world.quick("bert")
        try scene.world.introduce(scene.anna, bert)
        let plan = try await scene.anna.tresors.create(Name(typed: "plan")).tresor
        let kit = try scene.anna.client.identityFileBlocking().kitLocator
        let handover = try await scene.open()
        let session = try await complete(handover)
        let isTaken = try await handover.isTaken()
        #expect(isTaken)
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
        #expect(try await scene.mailbox(handover)?.letters == .offer(offer.bytes))
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
        client.slotWait = wait
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
        #expect(await failure { _ = try await complete(handover) } == .usage(.identityExists))
        #expect(scene.home.contents == before)
    }

    @Test func aWriteThatFailsLeavesNoIdentityAndMayBeRepeated() async throws {
        let bert = try await scene.world.quick("bert")
        try scene.world.introduce(scene.anna, bert)
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let secret = try password("new machine")
        for room in 0..<2 {
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

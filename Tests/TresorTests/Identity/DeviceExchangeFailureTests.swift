// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// A store that fails for a while, and a home that is written half, while two machines speak (SPEC §8.6).
@Suite struct DeviceExchangeFailureTests {
    let scene: DeviceExchange

    init() async throws { scene = try await DeviceExchange() }

    /// A new machine that reaches the mailbox through this store.
    private func arrive(
        _ handover: DeviceHandover, over store: MailboxStore, waiting wait: DeviceWait? = nil
    ) async throws -> DeviceArrival {
        let code = try DeviceCode(typed: handover.code)
        let client = Client(home: scene.home, store: store, clock: scene.anna.client.clock)
        return try await DeviceArrival.begin(client, code: code, waiting: wait ?? scene.wait)
    }

    /// A wait in whose pauses somebody acts.
    private func waiting(_ act: @escaping @Sendable () async -> Void) -> DeviceWait {
        var wait = scene.wait
        wait.pause = { [pause = wait.pause] time in
            await pause(time)
            await act()
        }
        return wait
    }

    private func install(_ arrival: DeviceArrival, _ received: ReceivedIdentity) async throws -> Session {
        let secret = try password("new machine")
        return try await arrival.install(received, newPassword: secret, cost: .floor)
    }

    @Test(arguments: [MailboxStore.Fate.lost, .refused])
    func anOfferThatFailsIsPutAgain(_ fate: MailboxStore.Fate) async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        store.fail(fate)
        let arrival = try await arrive(handover, over: store)
        #expect(store.fatesLeft == 0)
        let offer = try await handover.offer()
        #expect(offer.number == arrival.number)
        try await handover.answer(offer)
        let received = try await arrival.answer()
        #expect(received.chain == scene.anna.chain)
    }

    @Test func aStoreOutOfReachBurnsNoCode() async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        store.fail(1)
        #expect(await failure { _ = try await arrive(handover, over: store) } == .store(.unreachable))
        #expect(try await scene.mailbox(handover)?.letters == DeviceMailbox.Letters.none)
        _ = try await arrive(handover, over: store)
    }

    @Test(arguments: [MailboxStore.Fate.lost, .refused])
    func anAnswerThatFailsIsGiven(_ fate: MailboxStore.Fate) async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        let arrival = try await scene.arrive(handover)
        let offer = try await handover.offer()
        store.fail(fate)
        try await handover.answer(offer)
        #expect(store.fatesLeft == 0)
        let received = try await arrival.answer()
        #expect(received.chain == scene.anna.chain)
    }

    /// A machine that is to show a code does not stand still before it.
    @Test func noCodeWaitsForAStore() async throws {
        let store = MailboxStore(scene.evil)
        let time = scene.world.clock.now
        store.fail(1)
        #expect(await failure { _ = try await scene.open(scene.anna(over: store)) } == .store(.unreachable))
        #expect(scene.world.clock.now == time)
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    /// An error without a name may be one that does not pass.
    @Test func noPutIsRepeatedWhereTheStoreDoesNotSayWhy() async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        store.fail(.denied, .denied)
        #expect(await failure { _ = try await arrive(handover, over: store) } == .store(.other))
        #expect(store.fatesLeft == 1)
        #expect(try await scene.mailbox(handover)?.letters == DeviceMailbox.Letters.none)
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        #expect(await failure { try await handover.answer(offer) } == .store(.other))
        #expect(store.fatesLeft == 0)
        #expect(handover.mayHaveGiven)
    }

    @Test(arguments: [TresorError.busy, .store(.unreachable), .store(.other)])
    func aLookAtTheAnswerThatFailsIsRepeated(_ error: TresorError) async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        store.fail(2, with: error)
        try await handover.answer(offer)
        #expect(store.failuresLeft == 0)
    }

    /// The other machine was faster than the reply to the answer: its receipt is not written over.
    @Test func aReceiptStaysWhereTheReplyToTheAnswerIsLost() async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        let receipt = DeviceMailbox(until: handover.until, .receipt(.zero))
        store.afterPutting { [evil = scene.evil, locator = handover.locator] in
            try? await evil.truth.putKitCopy(receipt.bytes, locator: locator)
        }
        store.fail(.lost)
        try await handover.answer(offer)
        #expect(try await scene.mailbox(handover) == receipt)
    }

    /// The receipt comes while the machine waits before it puts the answer again.
    @Test func aReceiptBetweenTwoPutsStays() async throws {
        let store = MailboxStore(scene.evil)
        let late = Mutex<(locator: Hash256, bytes: [UInt8])?>(nil)
        let wait = waiting { [evil = scene.evil] in
            guard let letter = late.withLock({ $0 }) else { return }
            try? await evil.truth.putKitCopy(letter.bytes, locator: letter.locator)
        }
        let handover = try await DeviceHandover.open(scene.anna(over: store), waiting: wait)
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        let receipt = DeviceMailbox(until: handover.until, .receipt(.zero))
        late.withLock { $0 = (handover.locator, receipt.bytes) }
        store.fail(.refused)
        try await handover.answer(offer)
        #expect(try await scene.mailbox(handover) == receipt)
    }

    /// An interrupt after a put whose reply is lost says that somebody may have it.
    @Test func betweenTwoPutsTheAnswerMayHaveBeenGiven() async throws {
        let store = MailboxStore(scene.evil)
        let open = Mutex<DeviceHandover?>(nil)
        let wait = waiting { [home = scene.anna.client.home] in
            guard let handover = open.withLock({ $0 }) else { return }
            #expect(handover.mayHaveGiven)
            await handover.abandon(in: home)
        }
        let handover = try await DeviceHandover.open(scene.anna(over: store), waiting: wait)
        open.withLock { $0 = handover }
        _ = try await scene.arrive(handover)
        let offer = try await handover.offer()
        #expect(!handover.mayHaveGiven)
        store.fail(.lost)
        #expect(await failure { try await handover.answer(offer) } == .store(.notStored))
        #expect(handover.mayHaveGiven)
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }

    @Test func aStoreThatStaysOutOfReachIsNamed() async throws {
        let store = MailboxStore(scene.evil)
        let handover = try await scene.open(scene.anna(over: store))
        let arrival = try await arrive(handover, over: store)
        let offer = try await handover.offer()
        store.fail(1000)
        #expect(await failure { try await handover.answer(offer) } == .store(.unreachable))
        #expect(handover.mayHaveGiven)
        #expect(await failure { _ = try await handover.offer() } == .store(.unreachable))
        #expect(await failure { _ = try await handover.ending() } == .store(.unreachable))
        #expect(await failure { _ = try await arrival.answer() } == .store(.unreachable))
    }

    /// Another command of the new home runs between the installation and the receipt.
    @Test func noCommandDeletesTheMailboxBeforeTheReceipt() async throws {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let session = try await install(arrival, received)
        try await scene.client(scene.home).cleanup.finish()
        await arrival.acknowledge(received, as: session)
        let ending = try await handover.ending()
        #expect(ending == .taken)
        #expect(scene.home.read(.cleanupJournal) == nil)
        // Then key slots change again.
        let secret = try password("another one")
        try await session.unlocking.changePassword(to: secret, cost: .floor)
    }

    /// The new machine has the identity: a store that is away for a moment is no reason for an alarm on the other one.
    @Test(arguments: [MailboxStore.Fate.lost, .refused])
    func aReceiptThatFailsIsLeftAgain(_ fate: MailboxStore.Fate) async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        let heard = Mutex<[TresorError]>([])
        var wait = scene.wait
        wait.away = { error in heard.withLock { $0.append(error) } }
        let arrival = try await arrive(handover, over: store, waiting: wait)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let session = try await install(arrival, received)
        store.fail(2)
        store.fail(fate)
        await arrival.acknowledge(received, as: session)
        let errors = heard.withLock { $0 }
        #expect(errors == [TresorError](repeating: .store(.unreachable), count: 3))
        let ending = try await handover.ending()
        #expect(ending == .taken)
        #expect(scene.home.read(.cleanupJournal) == nil)
    }

    @Test func aReceiptThatWaitsForTheStoreHoldsUpNoChangeOfKeySlots() async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        let free = Mutex<[Bool]>([])
        let wait = waiting { [home = scene.home] in
            if let lock = home.slotLock() {
                _ = consume lock
                free.withLock { $0.append(true) }
            } else {
                free.withLock { $0.append(false) }
            }
        }
        let arrival = try await arrive(handover, over: store, waiting: wait)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let session = try await install(arrival, received)
        store.fail(2)
        await arrival.acknowledge(received, as: session)
        #expect(free.withLock { $0 } == [true, true])
        let ending = try await handover.ending()
        #expect(ending == .taken)
        #expect(scene.home.read(.cleanupJournal) == nil)
    }

    /// Another command of the new home finishes the cleanup while the store is away for the first one: the other machine
    /// is not told that its answer was taken, and says that it may have been.
    @Test func anotherCommandDeletesTheMailboxWhileTheReceiptWaits() async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        let errors = Mutex<[TresorError?]>([])
        let wait = waiting { [client = scene.client(scene.home)] in
            let error = await failure { try await client.cleanup.finish() }
            errors.withLock { $0.append(error) }
        }
        let arrival = try await arrive(handover, over: store, waiting: wait)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let session = try await install(arrival, received)
        let before = try await scene.mailbox(handover)
        guard case .answer? = before?.letters else {
            Issue.record("no answer lies in the mailbox")
            return
        }
        store.fail(1)
        await arrival.acknowledge(received, as: session)
        #expect(store.failuresLeft == 0 && errors.withLock { $0 } == [nil])
        let after = try await scene.mailbox(handover)
        #expect(after == nil)
        let ending = try await handover.ending()
        #expect(ending == .gone && handover.mayHaveGiven)
        // The new machine has the identity, and nothing is left to do.
        #expect(session.user == scene.anna.user && scene.home.read(.cleanupJournal) == nil)
        let secret = try password("another one")
        try await session.unlocking.changePassword(to: secret, cost: .floor)
    }

    /// A change of the key slots begins while the store is away, and lasts longer than anybody waits for it.
    @Test func aReceiptOutlastsAChangeOfKeySlots() async throws {
        let handover = try await scene.open()
        let store = MailboxStore(scene.evil)
        let change = Mutex<HeldSlotLock?>(nil)
        let heard = Mutex<[TresorError]>([])
        var wait = waiting { [home = scene.home] in
            let isOver = change.withLock { $0.take() } != nil
            guard !isOver, let lock = home.slotLock() else { return }
            let held = HeldSlotLock(lock)
            change.withLock { $0 = held }
        }
        wait.away = { error in heard.withLock { $0.append(error) } }
        var client = Client(home: scene.home, store: store, clock: scene.anna.client.clock)
        client.hooks.slotWait.patience = .zero
        let code = try DeviceCode(typed: handover.code)
        let arrival = try await DeviceArrival.begin(client, code: code, waiting: wait)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        let session = try await install(arrival, received)
        store.fail(1)
        await arrival.acknowledge(received, as: session)
        let errors = heard.withLock { $0 }
        #expect(errors == [.store(.unreachable), .busy])
        let ending = try await handover.ending()
        #expect(ending == .taken)
        #expect(scene.home.read(.cleanupJournal) == nil)
    }

    /// The way out that the command names: the note of this home goes.
    @Test func aHomeThatMetAnotherServiceTakesThatOfTheOtherMachine() async throws {
        let (address, theirs, other) = (try anyDigest(), try anyDigest(), try anyDigest())
        try KnownServices.meet(theirs, at: address, in: scene.anna.client.home)
        try KnownServices.meet(other, at: address, in: scene.home)
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        #expect(await failure { _ = try await install(arrival, received) } == .altered)
        #expect(received.server(at: address) == theirs && received.server(at: other) == nil)
        #expect(scene.home.read(.identity) == nil && scene.home.read(.cleanupJournal) == nil)
        scene.home.delete(.knownServices)
        _ = try await install(arrival, received)
        #expect(try KnownServices.server(at: address, in: scene.home) == theirs)
    }

    @Test func servicesThatAnInterruptedInstallationLeftGiveWay() async throws {
        let (address, old, new) = (try anyDigest(), try anyDigest(), try anyDigest())
        let annas = scene.anna.client.home
        try KnownServices.meet(old, at: address, in: annas)
        let first = try await scene.open()
        let arrival = try await scene.arrive(first)
        try await first.answer(try await first.offer())
        let received = try await arrival.answer()
        // The note and the services are written, and the identity is not.
        scene.home.fill(after: 2)
        #expect(await failure { _ = try await install(arrival, received) } == .failed(.full))
        scene.home.fill(after: nil)
        #expect(try KnownServices.server(at: address, in: scene.home) == old)
        #expect(scene.home.read(.identity) == nil)
        await first.close()
        // The person has accepted another service there by now.
        try KnownServices.forget(address, in: annas)
        try KnownServices.meet(new, at: address, in: annas)
        let second = try await scene.open()
        let again = try await scene.arrive(second)
        try await second.answer(try await second.offer())
        let newer = try await again.answer()
        _ = try await install(again, newer)
        #expect(try KnownServices.server(at: address, in: scene.home) == new)
    }

    @Test func twoStoresStayTwoWhereTheirNamesAreExchanged() async throws {
        let there = try #require(StoreName(Array("/a/care.db".utf8)))
        let here = try #require(StoreName(Array("/b/care.db".utf8)))
        let (both, other) = (TresorID(try anyDigest()), TresorID(try anyDigest()))
        var noted = NotedStores()
        _ = noted.note(there, of: both)
        _ = noted.note(here, of: both)
        _ = noted.note(here, of: other)
        try scene.anna.client.home.replace(.notedStores, with: noted.bytes)
        let home = try #require(scene.anna.client.home as? MemoryHome)
        let session = Session(client: scene.client(home, named: there), identity: scene.anna.identity)
        let handover = try await scene.open(session)
        let arrival = try await scene.arrive(handover, named: here)
        try await handover.answer(try await handover.offer())
        let received = try await arrival.answer()
        _ = try await install(arrival, received)
        let bytes = try #require(scene.home.read(.notedStores))
        let stores = try NotedStores(bytes)
        #expect(stores[both] == [there, here])
        #expect(stores[other] == [there])
    }

    @Test func whatNoAnswerHoldsIsRefusedBeforeACodeIsShown() async throws {
        let name = try #require(StoreName([UInt8](repeating: 0x61, count: StoreName.maximumByteCount)))
        var noted = NotedStores()
        for _ in 0..<256 { _ = noted.note(name, of: TresorID(try anyDigest())) }
        try scene.anna.client.home.replace(.notedStores, with: noted.bytes)
        #expect(await failure { _ = try await scene.open() } == .usage(.contentTooLong))
        #expect(scene.anna.home[.cleanupJournal] == nil)
    }
}

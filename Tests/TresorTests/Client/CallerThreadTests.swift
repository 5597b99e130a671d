// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorStore

@testable import Tresor

/// Asynchronous work of a session holds up no user interface: none of it runs on the executor of its caller.
@Suite struct CallerThreadTests {
    /// Runs its jobs one after the other on a queue that code can recognize.
    private final class QueueExecutor: SerialExecutor {
        private static let key = DispatchSpecificKey<ObjectIdentifier>()
        private let queue = DispatchQueue(label: "user interface")

        init() { queue.setSpecific(key: Self.key, value: ObjectIdentifier(self)) }

        /// Whether the code that asks runs in a job of this executor.
        var isRunning: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    /// Counts the readings of a home that an executor makes.
    private final class WatchedHome: ForwardingHome {
        let base = MemoryHome()
        private let watched: QueueExecutor
        private let seen = Atomic(0)

        init(watching executor: QueueExecutor) { watched = executor }

        var readings: Int { seen.load(ordering: .relaxed) }

        func look() {
            if watched.isRunning { seen.add(1, ordering: .relaxed) }
        }
    }

    /// A store of a service with log-ins by password.
    private struct LoginFront: FrontStore, RemoteStore {
        let truth: any Store
        let service: LoginService

        var serviceCaller: any ServiceCaller { service }
        var audience: Audience { Audience(isSecure: true, host: "tresor.example", port: 443) }
    }

    /// An app's user interface, which must stay free.
    private actor UserInterface {
        private let executor = QueueExecutor()
        private let home: WatchedHome
        private let client: Client
        private let world = World()

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init() {
            home = WatchedHome(watching: executor)
            client = world.client(home)
        }

        /// The watch sees what does run there.
        func provesTheWatch() throws {
            _ = try? client.identityFileBlocking()
            #expect(home.readings == 1)
        }

        func worksInTresors() async throws {
            let anna = try await begin()
            let client = anna.client
            let start = home.readings
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            let text = try Name(typed: "text/plain")
            let file = try await anna.files.seal([1, 2, 3], type: text, in: tresor)
            #expect(try await anna.files.open(file).content == [1, 2, 3])
            let files = try await anna.files.seal(
                Array(repeating: NamedContent([1], type: text), count: 40), in: tresor)
            #expect(await anna.files.open(files).count == 40)
            _ = try await anna.tresors.perform(.rotate, on: tresor)
            _ = try await anna.files.resealingEpoch(of: file)
            _ = try await anna.files.reseal(file)
            _ = await anna.files.formerAuthor(of: file)
            _ = try await anna.tresors.all()
            _ = try await anna.tresors.named("plans")
            let state = try await anna.tresors.settle(tresor)
            let due = try await anna.tresors.due(in: tresor)
            _ = try await anna.tresors.settle(due, before: .rotate, shown: Effect())
            _ = try await anna.tresors.effect(of: .rotate, in: state)
            _ = try await anna.tresors.name(in: state)
            _ = try await anna.tresors.kind(in: state)
            await anna.tresors.acceptClock(in: tresor)
            try await anna.tresors.confirmMine(state)
            _ = await anna.takeNotices()
            let plans = try await anna.create("more")
            let sealed = try await plans.seal([1, 2, 3], record: "one")
            _ = try await plans.open(sealed, record: "one")
            _ = try await plans.open([ExpectedFile(sealed, expecting: plans.expecting(record: "one"))])
            _ = try await plans.plan(.rotate).perform()
            _ = try await plans.reseal(sealed)
            _ = try await anna.openFromAnyTresor(sealed)
            _ = try await anna.allTresors()
            _ = try await plans.name()
            _ = try await plans.members()
            _ = try await plans.log()
            _ = try await anna.tresor("more")
            _ = try await client.verify("anna", number: anna.chain.number().digits)
            #expect(home.readings == start)
        }

        func streams() async throws {
            let anna = try await begin()
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            let start = home.readings
            var source = MemorySource(Array(repeating: 7, count: 1 << 20))
            var sink = MemorySink()
            _ = try await anna.files.seal(&source, to: &sink, type: Name(typed: "text/plain"), in: tresor)
            let file = try await StoredFile(MemorySource(sink.bytes))
            _ = try await anna.files.verify(file)
            _ = try await anna.tresors.perform(.rotate, on: tresor)
            _ = try await anna.files.resealingEpoch(of: file)
            var other = MemorySink()
            _ = try await anna.files.reseal(file, to: &other)
            let plans = anna.tresor(tresor)
            source = MemorySource(Array(repeating: 7, count: 1 << 20))
            sink = MemorySink()
            try await plans.seal(&source, to: &sink, record: "scan")
            _ = try await plans.verify(MemorySource(sink.bytes), record: "scan")
            _ = try await plans.plan(.rotate).perform()
            #expect(try await plans.reseal(MemorySource(sink.bytes), to: &other, record: "scan"))
            #expect(home.readings == start)
        }

        func looksAround() async throws {
            let anna = try await begin()
            let client = anna.client
            let house = try await world.quick("house")
            let start = home.readings
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await client.people.pin(house.identity.chain)
            try await house.client.people.pin(anna.identity.chain)
            _ = try await client.people.verified()
            _ = try await client.people.lookup("house")
            _ = try await client.people.person(house.identity.user)
            _ = try await client.people.impostors(of: house.identity.chain.handle)
            let state = try await client.logs.state(of: tresor)
            _ = try await client.logs.records(of: tresor)
            _ = try await client.trust.memberTrust(of: anna.identity.user, in: state)
            _ = try await client.audit.check()
            _ = try await client.audit.lostEntries(of: state)
            _ = try await client.audit.restoreEntries(of: tresor)
            _ = try await anna.audit.check()
            try await anna.audit.restoreWraps(of: tresor)
            var changes = Changes(client: client, user: anna.identity.user, interval: .milliseconds(1))
                .makeAsyncIterator()
            try await house.share(try await house.tresors.create(Name(typed: "others")).tresor, with: [anna])
            _ = await changes.next()
            let plans = anna.tresor(tresor)
            let doctor = try await client.people.person(house.identity.user)
            try await plans.share(with: doctor)
            try await plans.revoke(doctor)
            try await plans.delete()
            #expect(home.readings == start)
        }

        func unlocks() async throws {
            let anna = try await begin()
            let client = anna.client
            let start = home.readings
            _ = try await client.unlock(password: password("anna"))
            try await anna.unlocking.changePassword(to: password("anna"), cost: .floor)
            let kit = try await anna.unlocking.makeKit()
            try await anna.unlocking.setKit(kit)
            try await client.recovery.prepare(kit)
            try await anna.unlocking.prepare(kit)
            _ = try await anna.unlocking.devices()
            try await client.cleanUp()
            let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9).id
            _ = try await client.device.unlock()
            _ = try await client.device.isRemembered()
            try await anna.unlocking.revokeDevices([device])
            _ = try await client.device.destroyShare()
            try await client.device.forget()
            try await client.cleanup.finish()
            try await anna.unlocking.changePasswordEndingDevices(to: password("anna"), cost: .floor)
            _ = try await client.recover(kit: kit, newPassword: password("anna"), cost: .floor)
            try await anna.renewal.check()
            let renewed = try await anna.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
            _ = try await renewed.renewal.isUnfinished()
            _ = try await renewed.renewal.finishInEachTresor()
            try await renewed.renewal.finish()
            #expect(home.readings == start)
        }

        func logsIn() async throws {
            let front = LoginFront(truth: world.store, service: try LoginService())
            let clock = world.clock
            let there = WatchedHome(watching: executor)
            _ = try await Client(home: home, store: front, clock: { clock.now }).register(
                "anna", password: password("password of anna"), cost: .floor)
            _ = try await Client(home: there, store: front, clock: { clock.now }).logIn(
                "anna", password: password("password of anna"), cost: .floor)
            #expect(home.readings == 0)
            #expect(there.readings == 0)
        }

        private func begin() async throws -> Session {
            let start = home.readings
            let anna = try await client.makeIdentity(
                handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
            try await anna.people.publishCard()
            #expect(home.readings == start)
            return anna
        }
    }

    @Test func theWatchSeesWhatRunsWhereItsCallerRuns() async throws { try await UserInterface().provesTheWatch() }

    @Test func nothingOfATresorRunsWhereItsCallerRuns() async throws { try await UserInterface().worksInTresors() }

    @Test func noStreamReadsTheHomeWhereItsCallerRuns() async throws { try await UserInterface().streams() }

    @Test func noLookRunsWhereItsCallerRuns() async throws { try await UserInterface().looksAround() }

    @Test func noLogInRunsWhereItsCallerRuns() async throws { try await UserInterface().logsIn() }

    @Test func noUnlockingRunsWhereItsCallerRuns() async throws { try await UserInterface().unlocks() }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A home that uses several stores (SPEC §8.5).
@Suite struct NotedStoresTests {
    let world = World()
    let first = EvilStore()
    let second = EvilStore()
    let home = MemoryHome()
    let anna: Session
    let tresor: TresorID

    init() async throws {
        anna = try await world.quick("anna", home: home, seeing: first)
        tresor = try await Self.session(of: anna, in: world, seeing: first, "/first").tresors
            .create(Name(typed: "plans")).tresor
    }

    private static func session(
        of anna: Session, in world: World, seeing store: any Store, _ name: String?
    ) throws -> Session {
        let clock = world.clock
        let client = Client(
            home: anna.client.home, store: StageStores.seen(store), named: name.flatMap { StoreName(Array($0.utf8)) },
            clock: { clock.now })
        return Session(client: client, identity: anna.identity)
    }

    private func session(seeing store: any Store, _ name: String?) throws -> Session {
        try Self.session(of: anna, in: world, seeing: store, name)
    }

    private var noted: NotedStores? { home.read(.notedStores).flatMap { try? NotedStores($0) } }

    private func name(_ text: String) throws -> StoreName { try #require(StoreName(Array(text.utf8))) }

    @Test func everyStoreThatShowsTheHeadIsNotedAndStays() async throws {
        let (one, two) = (try name("/first"), try name("/second"))
        #expect(noted?[tresor] == [one])
        let export = try await session(seeing: first, "/first").client.exchange.export(tresor)
        let elsewhere = try session(seeing: second, "/second")
        #expect(try await elsewhere.client.exchange.take(export).entryCount == 1)
        _ = try await elsewhere.tresors.perform(.rotate, on: tresor)
        #expect(noted?[tresor] == [one, two])
        // The first one stays behind, which is a finding, and stays noted.
        #expect(
            await failure { _ = try await session(seeing: first, "/first").client.logs.state(of: tresor) } == .forked)
        #expect(noted?[tresor] == [one, two])
        #expect(try NotedStores(try #require(noted).bytes) == noted)
    }

    /// A tresor moves to another store, which shows it and then shows nothing of it.
    @Test func A241_theSilenceOfAStoreThatShowedATresorIsOne() async throws {
        let export = try await session(seeing: first, "/first").client.exchange.export(tresor)
        let moved = try session(seeing: second, "/second")
        _ = try await moved.client.exchange.take(export)
        _ = try await moved.tresors.perform(.rotate, on: tresor)
        second.frozen(0)
        #expect(await failure { _ = try await moved.client.logs.state(of: tresor) } == .forked)
        let summary = try #require(try await moved.tresors.all().first)
        #expect(summary.error == .forked && !summary.isElsewhere)
        let findings = try await moved.client.audit.check().filter { $0.subject == .tresor(tresor) }
        #expect(findings.contains { $0.level != .ok })
    }

    @Test func aStoreWithoutANameNotesNothing() async throws {
        home.delete(.notedStores)
        _ = try await session(seeing: first, nil).tresors.all()
        #expect(noted == nil)
        // A home of an earlier release learns it with the next reading.
        _ = try await session(seeing: first, "/first").tresors.all()
        #expect(noted?[tresor] == [try name("/first")])
    }

    @Test func theSilenceOfAnotherStoreIsNoFinding() async throws {
        _ = try await session(seeing: first, "/first").tresors.all()
        let elsewhere = try session(seeing: second, "/second")
        let summary = try #require(try await elsewhere.tresors.all().first)
        let name = try Name(typed: "plans")
        #expect(summary.isElsewhere && summary.state == nil && summary.name == name)
        #expect(await failure { _ = try await elsewhere.client.logs.state(of: tresor) } == .notFound)
        let findings = try await elsewhere.client.audit.check().filter { $0.subject == .tresor(tresor) }
        #expect(findings == [Finding(subject: .tresor(tresor), remark: .elsewhere)])
        #expect(try await elsewhere.audit.check() == [])
        #expect(findings.allSatisfy { $0.level == .ok })
        #expect(anna.evidenceCount == 0)
        // The person who names it hears that it is not there.
        let named = try await elsewhere.client.audit.check([tresor]).filter { $0.subject == .tresor(tresor) }
        #expect(named.map(\.remark) == [.failed(.notFound)])
    }

    @Test(arguments: ["/first", nil]) func A223_theSilenceOfTheNotedStoreIsOne(_ name: String?) async throws {
        first.frozen(0)
        let session = try session(seeing: first, name)
        #expect(await failure { _ = try await session.client.logs.state(of: tresor) } == .forked)
        let summary = try #require(try await session.tresors.all().first)
        #expect(summary.error == .forked && !summary.isElsewhere)
        #expect(anna.evidenceCount == 1)
    }

    @Test func anOlderLogInAnotherStoreIsOne() async throws {
        let export = try await session(seeing: first, "/first").client.exchange.export(tresor)
        let elsewhere = try session(seeing: second, "/second")
        _ = try await elsewhere.client.exchange.take(export)
        _ = try await session(seeing: first, "/first").tresors.perform(.rotate, on: tresor)
        #expect(await failure { _ = try await elsewhere.client.logs.state(of: tresor) } == .forked)
        #expect(anna.evidenceCount == 1)
    }

    @Test func notesThatDoNotReadCountAsNone() async throws {
        try home.replace(.notedStores, with: [1, 2, 3])
        let elsewhere = try session(seeing: second, "/second")
        #expect(await failure { _ = try await elsewhere.client.logs.state(of: tresor) } == .forked)
        let findings = try await elsewhere.client.audit.check()
        #expect(findings.contains(Finding(subject: .file(.notedStores), remark: .failed(.altered))))
    }

    @Test func aRenewalDoesNotWaitForTheOtherStore() async throws {
        let elsewhere = try session(seeing: second, "/second")
        try await elsewhere.client.people.publishCard()
        let renewed = try await elsewhere.renewal.renew(
            password: password("anna"), cost: .floor, kit: nil)
        let outcomes = try await renewed.renewal.finishInEachTresor()
        #expect(outcomes.map(\.error) == [.notFound])
        #expect(try !renewed.renewal.isUnfinishedBlocking())
    }

    /// A kit is made for one store: another one need not have the copy that it opens, until it had it.
    @Test func aKitBelongsToTheStoresThatTookItsCopy() async throws {
        let (here, elsewhere) = (try session(seeing: first, "/first"), try session(seeing: second, "/second"))
        try await elsewhere.client.people.publishCard()
        func remarks(_ session: Session) async throws -> [Finding.Remark] {
            try await session.client.audit.check().filter { $0.subject == .identity }.map(\.remark)
        }
        // Of a kit of which nothing is noted, each store must have the copy.
        #expect(try await remarks(here) == [.fine, .withoutKitCopy])
        #expect(try await remarks(elsewhere) == [.fine, .withoutKitCopy])
        try await here.unlocking.setKit(try RecoveryKit())
        #expect(try await remarks(here) == [.fine])
        #expect(try await remarks(elsewhere) == [.fine, .kitElsewhere(try name("/first"))])
        // The store for which it was made has to keep it.
        let locator = try #require(try here.client.identityFileBlocking().kitLocator)
        try await here.client.store.deleteKitCopy(locator: locator)
        #expect(try await remarks(here) == [.fine, .withoutKitCopy])
        try await elsewhere.unlocking.restoreKitCopy()
        #expect(try await remarks(elsewhere) == [.fine])
    }

    /// A service that lost the copy takes it again. Both stand in one row.
    @Test func aServiceMayHaveHadTheCopyThatItIsToTake() throws {
        let (service, locator) = (try name("https://clinic.example"), try anyDigest())
        var noted = NotedStores()
        noted.note(service, ofKit: locator)
        let had = noted
        noted.noteAwaiting(service, kit: locator)
        #expect(noted.bytes.count == had.bytes.count)
        #expect(try NotedStores(noted.bytes) == noted)
        #expect(noted.awaits(service, kit: locator) && noted[TresorID(locator)] == [service])
        noted.forgetAwaiting(kit: locator)
        #expect(noted == had)
        noted.forget(TresorID(locator))
        noted.noteAwaiting(service, kit: locator)
        #expect(noted.awaits(service, kit: locator) && noted[TresorID(locator)] == [])
        noted.note(service, ofKit: locator)
        #expect(noted == had)
        noted.forget(TresorID(locator))
        noted.noteAwaiting(service, kit: locator)
        noted.forgetAwaiting(kit: locator)
        #expect(noted == NotedStores())
    }

    /// Another store can excuse an entry that a store does not have. None excuses one that it spoils, or had and lost.
    @Test func anotherStoreExcusesNoMoreThanAbsence() async throws {
        let (here, elsewhere) = (try session(seeing: first, "/first"), try session(seeing: second, "/second"))
        try await elsewhere.client.people.publishCard()
        func remarks() async throws -> [Finding] {
            try await elsewhere.client.audit.check().filter { $0.subject == .identity }
        }
        try await here.unlocking.setKit(try RecoveryKit())
        #expect(try await remarks().map(\.level) == [.ok, .warn])
        let locator = try #require(try here.client.identityFileBlocking().kitLocator)
        let copy = try #require(try await here.client.store.kitCopy(locator: locator))
        try await elsewhere.client.store.putKitCopy(copy, locator: locator)
        second.showKitCopy { $0.map { $0 + [0] } }
        #expect(try await remarks().map(\.remark) == [.fine, .withoutKitCopy])
        second.behave()
        #expect(try await remarks().map(\.remark) == [.fine])
        try await elsewhere.client.store.deleteKitCopy(locator: locator)
        #expect(try await remarks().map(\.remark) == [.fine, .withoutKitCopy])
    }

    @Test func watchingAnotherStoreReportsNothing() async throws {
        let elsewhere = try session(seeing: second, "/second")
        let own = try await elsewhere.tresors.create(Name(typed: "here")).tresor
        let (client, user) = (elsewhere.client, anna.identity.user)
        let (readings, reading) = AsyncStream<Void>.makeStream()
        second.show { log in
            reading.yield()
            return log
        }
        let first = Task {
            var changes = Changes(client: client, user: user, interval: .milliseconds(1)).makeAsyncIterator()
            return await changes.next()
        }
        // A log is read once the watcher knows where it begins.
        for await _ in readings { break }
        _ = try await elsewhere.tresors.perform(.rotate, on: own)
        guard case .epochChanged(own, _) = await first.value else {
            Issue.record("another change came first")
            return
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Two people with a store each, between which exports go (SPEC §8.5, *copied*): an owner alone changes a pending key.
@Suite struct CopiedStoreTests {
    let world = World()
    /// The doctor's store.
    let other = EvilStore()
    let anna: Session
    let house: Session
    let carol: Session
    let tresor: TresorID

    init() async throws {
        anna = try Self.session(of: try await world.quick("anna"), in: world, seeing: world.store, "/anna")
        house = try Self.session(of: try await world.quick("house", seeing: other), in: world, seeing: other, "/house")
        carol = try await world.quick("carol")
        try world.introduce(anna, house, carol)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
        try await anna.share(tresor, with: [carol])
    }

    private static func session(
        of person: Session, in world: World, seeing store: any Store, _ name: String
    ) throws -> Session {
        let clock = world.clock
        let client = Client(
            home: person.client.home, store: StageStores.seen(store), named: StoreName(Array(name.utf8)),
            clock: { clock.now })
        return Session(client: client, identity: person.identity)
    }

    private static func session(
        of person: Session, telling note: @escaping @Sendable (TresorID, Name?) -> Void
    ) -> Session {
        var client = person.client
        client.hooks.leavesBehind = note
        return Session(client: client, identity: person.identity)
    }

    private func mail(from one: Session, to other: Session) async throws {
        let export = try TresorExport(try await one.client.exchange.export(tresor).bytes)
        _ = try await other.client.exchange.take(export)
    }

    @Test func aWriterWithAStoreOfTheirOwnLeavesAPendingKeyToAnOwner() async throws {
        try await mail(from: anna, to: house)
        #expect(house.client.archive.isCopied(tresor) && anna.client.archive.isCopied(tresor))
        try await world.session(of: carol).tresors.perform(.leave, on: tresor)
        try await mail(from: anna, to: house)
        let writes = other.writeCount
        #expect(await failure { _ = try await house.seal("answer", in: tresor) } == .noAccess)
        #expect(await failure { _ = try await house.tresors.perform(.rotate, on: tresor) } == .noAccess)
        #expect(other.writeCount == writes)
        // The owner's next file changes the key for both.
        let plan = try await anna.seal("plan", in: tresor)
        try await mail(from: anna, to: house)
        let answer = try await house.seal("answer", in: tresor)
        #expect(try await house.files.open(plan, expecting: .anyTresor).content == Array("plan".utf8))
        #expect(try await anna.files.open(answer, expecting: .anyTresor).content == Array("answer".utf8))
    }

    /// Somebody who works in the store in which a tresor was made changes the key as before.
    @Test func aStoreThatNoExportReachedKeepsItsRule() async throws {
        let ward = try Self.session(of: house, in: world, seeing: world.store, "/anna")
        try await world.session(of: carol).tresors.perform(.leave, on: tresor)
        _ = try await ward.seal("answer", in: tresor)
        #expect(try await ward.client.logs.state(of: tresor).epoch == 2)
    }

    @Test func newKeysOfAWriterComeIntoTheOwnersStoreFirst() async throws {
        try await mail(from: anna, to: house)
        let old = try await house.seal("old", in: tresor)
        let writes = try await log(tresor, in: other)
        let renewed = try await house.renewal.renew(password: password("house"), cost: .floor, kit: nil)
        let outcomes = try await renewed.renewal.finishInEachTresor()
        #expect(outcomes.map(\.isLeftToOwner) == [true] && outcomes.allSatisfy { $0.error == nil })
        #expect(try !renewed.renewal.isUnfinishedBlocking())
        #expect(try await log(tresor, in: other) == writes)
        #expect(try await renewed.files.open(old, expecting: .anyTresor).content == Array("old".utf8))
        #expect(await failure { _ = try await renewed.seal("answer", in: tresor) } == .noAccess)
        // The card goes to the owner, and an export comes back.
        try anna.client.people.pinBlocking(renewed.identity.chain)
        try await anna.tresors.perform(.rotate, on: tresor)
        try await mail(from: anna, to: renewed)
        let answer = try await renewed.seal("answer", in: tresor)
        #expect(try await anna.files.open(answer, expecting: .anyTresor).content == Array("answer".utf8))
    }

    @Test func whoeverWritesInSuchAStoreHearsThatTheOthersAreBehind() async throws {
        let left = Mutex<[TresorID]>([])
        let note: @Sendable (TresorID, Name?) -> Void = { tresor, _ in left.withLock { $0.append(tresor) } }
        let (anna, house) = (Self.session(of: self.anna, telling: note), Self.session(of: self.house, telling: note))
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(left.withLock { $0 }.isEmpty)
        try await mail(from: anna, to: house)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(left.withLock { $0 } == [tresor])
        try await mail(from: anna, to: house)
        try await house.tresors.perform(.leave, on: tresor)
        #expect(left.withLock { $0 } == [tresor, tresor])
    }

    /// An approver hears it once for all decisions of a run.
    @Test func whoeverApprovesInSuchAStoreHearsThatTheOthersAreBehind() async throws {
        let left = Mutex<[TresorID]>([])
        let house = Self.session(of: self.house) { tresor, _ in left.withLock { $0.append(tresor) } }
        let dora = try await world.quick("dora")
        try world.introduce(anna, dora)
        let rounds = try await anna.tresors.create(Name(typed: "rounds"), approvers: [house.chain]).tresor
        try await anna.share(rounds, with: [carol])
        try await anna.share(rounds, with: [dora])
        _ = try await house.client.exchange.take(try await anna.client.exchange.export(rounds))
        let grants = PendingGrant.all(in: try await house.client.logs.state(of: rounds))
        try await Decisions(session: house).decide(grants.map { .approve($0) }, on: rounds)
        #expect(grants.count == 2)
        #expect(left.withLock { $0 } == [rounds])
    }
}

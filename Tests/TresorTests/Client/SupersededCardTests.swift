// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// New keys of a person that the log does not know, and a home that has compared them (SPEC §9.7, `superseded`).
@Suite struct SupersededCardTests {
    let world: World
    let anna: Session
    let dora: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        dora = try await world.quick("dora")
        house = try await world.quick("house")
        try world.introduce(anna, dora, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [dora], as: .owner)
        try await anna.share(tresor, with: [house], as: .writer)
        for person in [dora, house] { _ = try await person.client.logs.state(of: tresor) }
    }

    private func fresh(_ person: Session) -> Session { world.session(of: person) }

    /// New keys that no log learns of.
    private func renewed(_ person: Session) throws -> Identity {
        try person.identity.renewCard(time: world.clock.now).identity
    }

    private func records() async throws -> [LogRecord.Change] {
        try await anna.client.logs.records(of: tresor).records.map(\.change)
    }

    @Test func A203_noKeyIsWrappedToACardThatThisHomeKnowsToBeSuperseded() async throws {
        let next = try renewed(house)
        try anna.client.people.pinBlocking(next.chain)
        try await anna.tresors.perform(.rotate, on: tresor)
        let user = house.identity.user
        #expect(await anna.takeNotices().map(\.deed) == [.renewed(user)])
        #expect(try await records().suffix(2) == [.renewed(user, generation: 1), .rotated])
        let file = try await anna.seal("new", in: tresor)
        // The thief of the old seed.
        #expect(await failure { _ = try await fresh(house).files.open(file) } == .noAccess)
        try await world.publish(next.chain, replacing: house.identity.chain)
        let home = house.client.home.self
        let session = Session(client: world.client(home), identity: next)
        #expect(try await session.files.open(file).content == Array("new".utf8))
        // Whose renewal is there already has nothing to do.
        #expect(try await session.tresors.perform(.renew, on: tresor).effect.isNothing)
    }

    @Test func A203_twoGenerationsAreTwoEntries() async throws {
        let next = try renewed(house).renewCard(time: world.clock.now).identity
        try anna.client.people.pinBlocking(next.chain)
        _ = try await anna.seal("x", in: tresor)
        let user = house.identity.user
        let told = try await records().suffix(3)
        #expect(told == [.renewed(user, generation: 1), .renewed(user, generation: 2), .rotated])
    }

    @Test func A203_aWriterWhoMustRotateStopsAndNamesThem() async throws {
        let next = try renewed(dora)
        try house.client.people.pinBlocking(next.chain)
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        try await anna.share(tresor, with: [late])
        try await late.tresors.perform(.leave, on: tresor)
        let writer = fresh(house)
        #expect(await failure { _ = try await writer.seal("x", in: tresor) } == .unverified)
        #expect(await failure { try await writer.tresors.perform(.rotate, on: tresor) } == .unverified)
        let state = try await writer.client.logs.state(of: tresor)
        #expect(try writer.tresors.superseded(in: state) == [dora.identity.user])
        #expect(state.isRekeyPending)
        // A pin that was replaced counts as none.
        let other = try identity("dora")
        try house.client.people.pinBlocking(other.chain, replacing: true)
        #expect(try writer.tresors.superseded(in: state) == [])
    }

    @Test func A203_aFounderWhoLeftAndRenewedStopsNobody() async throws {
        try await anna.tresors.perform(.leave, on: tresor)
        let next = try renewed(anna)
        try dora.client.people.pinBlocking(next.chain)
        let owner = fresh(dora)
        _ = try await owner.seal("x", in: tresor)
        #expect(await owner.takeNotices().first?.deed == .renewed(anna.identity.user))
        let state = try await owner.client.logs.state(of: tresor)
        #expect(state.chain(of: anna.identity.user) == next.chain)
        #expect(!state.isRekeyPending && state.members[anna.identity.user] == nil)
        try await owner.tresors.perform(.revoke([house.identity.user]), on: tresor)
        try await owner.tresors.perform(.rotate, on: tresor)
        try await owner.tresors.perform(.rename(Name(typed: "other")), on: tresor)
        let late = try await world.quick("late")
        try world.introduce(dora, late)
        try await owner.share(tresor, with: [late], as: .owner)
        try await owner.tresors.perform(.leave, on: tresor)
    }

    /// The founder's card that another owner recorded has signed nothing yet: she signs as soon as she is back.
    @Test func A203_theFoundersNewKeysSignWhatAnotherOwnerToldTheLog() async throws {
        let me = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        try dora.client.people.pinBlocking(me.identity.chain)
        try await fresh(dora).tresors.perform(.rotate, on: tresor)
        let late = try await world.quick("late")
        try late.client.people.pinBlocking(me.identity.chain)
        try dora.client.people.pinBlocking(late.identity.chain)
        try await fresh(dora).share(tresor, with: [late], as: .writer)
        #expect(await failure { _ = try await fresh(late).seal("x", in: tresor) } == .unverified)
        #expect(try await me.renewal.finishInEachTresor().map(\.isRotated) == [true])
        _ = try await fresh(late).seal("x", in: tresor)
    }

    /// A founder and another owner have new keys, and the log knows neither.
    @Test func A203_anOwnerRenewsWhereTheLogLacksTheFoundersNewCard() async throws {
        let next = try renewed(anna)
        try dora.client.people.pinBlocking(next.chain)
        let me = try await dora.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await me.renewal.finishInEachTresor().map(\.error) == [nil])
        let state = try await me.client.logs.state(of: tresor)
        #expect(state.chain(of: me.identity.user) == me.identity.chain)
        #expect(state.chain(of: anna.identity.user) == next.chain)
        _ = try await me.seal("x", in: tresor)
    }

    /// A tresor that a home never saw may be a thief's of the old seed.
    @Test func A203_withoutAPinnedHeadNobodyPutsInTheFoundersCard() async throws {
        try await anna.tresors.perform(.leave, on: tresor)
        let next = try renewed(anna)
        try dora.client.people.pinBlocking(next.chain)
        try dora.client.home.delete(.heads)
        #expect(await failure { _ = try await fresh(dora).seal("x", in: tresor) } == .unverified)
        #expect(try await records().last == .left)
    }

    @Test func A203_theComparedGenerationAloneIsCurrent() async throws {
        let file = try await house.seal("x", in: tresor)
        #expect(try await fresh(anna).files.open(file).author.status == .current)
        let next = try renewed(house)
        try anna.client.people.pinBlocking(next.chain)
        let opened = try await fresh(anna).files.open(file)
        #expect(opened.author.status == .former(.init(cause: .keyRenewed, time: next.chain.newest.time)))
        var wanted = Expectations.anyTresor
        wanted.currentAuthor = true
        #expect(await failure { _ = try await fresh(anna).files.open(file, expecting: wanted) } == .noAccess)
        #expect(try await fresh(dora).files.open(file, expecting: wanted).author.status == .current)
        let batch = await fresh(anna).files.open([file], expecting: wanted)
        #expect(batch.map { result in error { _ = try result.get() } } == [.noAccess])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// An act that was shown happens as it was shown, or not at all.
@Suite struct PlannedActTests {
    private let world = World()
    private let anna: Session
    private let house: Session
    private let plans: TresorHandle
    private let doctor: Person

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("dr-house")
        try world.introduce(anna, house)
        plans = try await anna.create("plans")
        doctor = try await anna.people.person(house.user)
    }

    @Test func aPlanChangesNothingUntilItIsPerformed() async throws {
        let plan = try await plans.plan(.share(with: [doctor]))
        #expect(plan.effect.admitted == [house.user])
        #expect(try await plans.state().members.count == 1)
        #expect(try await plan.perform() == plan.effect)
        #expect(try await plans.state().members[house.user]?.role == .reader)
    }

    /// A grant that has expired, and a card that was compared, wait for the yes as the act does.
    @Test func aPlanWritesNothingThatIsDueBesideIt() async throws {
        let cam = try await world.quick("cam")
        try world.introduce(anna, cam)
        let end = world.clock.now + 50
        try await anna.share(plans.id, with: [house], notAfter: end)
        try await anna.share(plans.id, with: [cam])
        world.clock.now = end + 1
        let (next, _) = try cam.identity.renewCard(time: end)
        try anna.client.people.pinBlocking(next.chain)
        let count = try await plans.state().entryCount
        let plan = try await plans.plan(.rotate)
        #expect(try await plans.state().entryCount == count)
        try await plan.perform()
        let state = try await plans.state()
        #expect(state.entryCount == count + 3 && state.chain(of: cam.user) == next.chain)
        #expect(state.members[house.user] == nil)
    }

    /// What a share means depends on who is still a member.
    @Test func aPlanToShareEndsWhatHasExpired() async throws {
        let end = world.clock.now + 50
        try await anna.share(plans.id, with: [house], notAfter: end)
        world.clock.now = end + 1
        let plan = try await plans.plan(.share(with: [doctor]))
        #expect(plan.effect.admitted == [house.user])
        try await plan.perform()
        let member = try #require(try await plans.state().members[house.user])
        #expect(member.notAfter == nil)
    }

    @Test func A67_aPlanThatMeansSomethingElseIsBusy() async throws {
        let plan = try await plans.plan(.share(with: [doctor]))
        try await plans.share(with: doctor, as: .writer)
        #expect(await failure { try await plan.perform() } == .busy)
        #expect(try await plans.state().members[house.user]?.role == .writer)
        let removal = try await plans.plan(.revoke([doctor.user]))
        #expect(removal.effect.dismissed == [house.user])
        try await removal.perform()
        #expect(await failure { try await removal.perform() } == .busy)
    }

    @Test func aPersonWhoWasNeverComparedIsRefusedBeforeAnythingIsShown() async throws {
        let eve = try await world.quick("eve")
        let stranger = try await anna.people.person(eve.user)
        #expect(await failure { _ = try await plans.plan(.share(with: [stranger])) } == .unverified)
        #expect(await failure { try await plans.share(with: stranger) } == .unverified)
        #expect(await failure { _ = try await plans.plan(.leave) } == .usage(.lastOwner))
        #expect(try await plans.state().entryCount == 1)
    }
}

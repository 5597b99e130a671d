// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Only a clock that the log supports ends expired grants (SPEC §9.7, `settle`).
@Suite struct ClockTests {
    private static let day: UInt64 = 86_400

    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID
    let start: UInt64

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        start = world.clock.now
        try await anna.share(tresor, with: [house], notAfter: start + 500 * Self.day)
    }

    private func members() async throws -> Int { try await anna.client.logs.state(of: tresor).members.count }

    @Test func A206_oneActUnderAWrongClockEndsNothing() async throws {
        world.clock.now = start + 64 * 365 * Self.day
        for _ in 0..<2 {
            #expect(await failure { try await anna.tresors.perform(.rotate, on: tresor) } == .failed(.clock))
            #expect(await failure { _ = try await anna.seal("x", in: tresor) } == .failed(.clock))
        }
        #expect(try await anna.client.logs.state(of: tresor).head.sequence == 1)
        world.clock.now = start + 10
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await members() == 2)
    }

    /// An entry signed once under a late clock does not end grants under the right clock.
    @Test func A206_anEntryOfALateClockDoesNotCount() async throws {
        world.clock.now = start + 64 * 365 * Self.day
        await anna.tresors.acceptClock(in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await members() == 2)
        world.clock.now = start + 10
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        try await world.session(of: anna).share(tresor, with: [late], notAfter: start + 3 * Self.day)
        _ = try await world.session(of: anna).seal("x", in: tresor)
        #expect(try await members() == 3)
    }

    @Test(arguments: [(399, false), (400, false), (401, true)])
    func A206_theWindowBeginsWithTheNewestEntryOfAnOwner(days: UInt64, isFar: Bool) async throws {
        try await anna.share(tresor, with: [house], notAfter: start + Self.day)
        world.clock.now = start + days * Self.day + 1 - (days == 400 ? 1 : 0)
        let refused = await failure { _ = try await anna.seal("x", in: tresor) }
        #expect(refused == (isFar ? .failed(.clock) : nil))
        #expect(try await members() == (isFar ? 2 : 1))
        let notices = await anna.takeNotices().map(\.deed)
        #expect(notices == (isFar ? [] : [.ended([house.identity.user])]))
    }

    /// A card that must be recorded first must not make the clock trusted.
    @Test func A206_nothingIsWrittenBeforeTheClockIsJudged() async throws {
        let next = try house.identity.renewCard(time: start).identity
        try anna.client.people.pinBlocking(next.chain)
        world.clock.now = start + 64 * 365 * Self.day
        for _ in 0..<2 {
            #expect(await failure { _ = try await anna.seal("x", in: tresor) } == .failed(.clock))
        }
        #expect(try await anna.client.logs.state(of: tresor).head.sequence == 1)
        // A person who confirmed the clock seals, in the same run as often as they like, and no grant ends.
        await anna.tresors.acceptClock(in: tresor)
        _ = try await anna.seal("x", in: tresor)
        _ = try await anna.seal("y", in: tresor)
        #expect(try await members() == 2)
    }

    @Test func A206_aClockFarBehindEndsNothing() async throws {
        world.clock.now = start - 2 * Self.day
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        try await anna.share(tresor, with: [late], notAfter: start - 3 * Self.day)
        #expect(await failure { try await anna.tresors.perform(.rotate, on: tresor) } == nil)
        #expect(try await members() == 2)
    }

    @Test func A206_leavingAsksNoClock() async throws {
        world.clock.now = start + 64 * 365 * Self.day
        try await house.tresors.perform(.leave, on: tresor)
        #expect(try await members() == 1)
    }

    @Test func A206_whoDoesNotEndDatesIsNotAsked() async throws {
        try await anna.share(tresor, with: [house], as: .writer, notAfter: nil)
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        try await anna.share(tresor, with: [late], notAfter: start + Self.day)
        world.clock.now = start + 500 * Self.day
        _ = try await house.seal("x", in: tresor)
    }
}

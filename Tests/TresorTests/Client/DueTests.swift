// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// What an owner is told before a question, and what comes after the yes (SPEC §9.7, *due*).
@Suite struct DueTests {
    private let world = World()
    private let anna: Session
    private let bob: Session
    private let cam: Session
    private let tresor: TresorID
    private let end: UInt64

    init() async throws {
        anna = try await world.quick("anna")
        bob = try await world.quick("bob")
        cam = try await world.quick("cam")
        try world.introduce(anna, bob, cam)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        end = world.clock.now + 50
        try await anna.share(tresor, with: [bob], notAfter: end)
        try await anna.share(tresor, with: [cam])
    }

    private func count() async throws -> Int { try await log(tresor, in: world.store).count }

    @Test func nothingIsWrittenBeforeTheYes() async throws {
        let start = try await count()
        #expect(try await anna.tresors.due(in: tresor).isNothing)
        world.clock.now = end + 1
        let (next, _) = try cam.identity.renewCard(time: end)
        try anna.client.people.pinBlocking(next.chain)
        let due = try await anna.tresors.due(in: tresor)
        #expect(due.renewed == [cam.identity.user] && due.ended == [bob.identity.user])
        #expect(try await count() == start)
        // A reader has nothing to bring up to date.
        #expect(try await cam.tresors.due(in: tresor).isNothing)
        let shown = try anna.tresors.effectBlocking(of: .rotate, in: due.state)
        let effect = try await anna.tresors.settle(due, before: .rotate, shown: shown)
        #expect(effect.epoch == 3 && effect.remaining == 2)
        #expect(try await count() == start + 2)
        #expect(try await anna.tresors.due(in: tresor).isNothing)
    }

    /// Whom a date removes, the act does not remove again; somebody else's act in between is no part of the yes.
    @Test(arguments: [false, true]) func whatWasShownIsDone(isSomebodyFaster: Bool) async throws {
        world.clock.now = end + 1
        let act = Act.revoke([bob.identity.user, cam.identity.user].sorted())
        let due = try await anna.tresors.due(in: tresor)
        let shown = try anna.tresors.effectBlocking(of: act, in: due.state)
        #expect(shown.dismissed.count == 2)
        if isSomebodyFaster {
            let device = world.session(of: anna, home: try #require(anna.client.home as? MemoryHome).copy())
            try await device.tresors.perform(.revoke([cam.identity.user]), on: tresor)
            #expect(
                await failure { _ = try await anna.tresors.settle(due, before: act, shown: shown) } == .busy)
        } else {
            let effect = try await anna.tresors.settle(due, before: act, shown: shown)
            #expect(effect.dismissed == [cam.identity.user] && effect.already == [bob.identity.user])
            try await anna.tresors.perform(act, on: tresor, expecting: effect)
            #expect(try await anna.client.logs.state(of: tresor).members.count == 1)
        }
    }

    /// A log from a backup that lacks a removal takes that alone, and then what is due.
    @Test func aRevocationGoesAloneIntoALogThatIsBehind() async throws {
        world.clock.now = end + 1
        let behind = FaultyStore(world.store) { $0.name == "append" ? .refusing(.store(.behind)) : nil }
        let device = world.session(
            of: anna, home: try #require(anna.client.home as? MemoryHome).copy(), seeing: behind)
        let start = try await count()
        let due = try await device.tresors.due(in: tresor)
        #expect(due.ended == [bob.identity.user])
        let act = Act.revoke([cam.identity.user])
        let shown = try device.tresors.effectBlocking(of: act, in: due.state)
        #expect(try await device.tresors.settle(due, before: act, shown: shown) == shown)
        let other = try device.tresors.effectBlocking(of: .rotate, in: due.state)
        let error = await failure { _ = try await device.tresors.settle(due, before: .rotate, shown: other) }
        #expect(error == .store(.behind))
        #expect(try await count() == start)
        try await anna.tresors.perform(act, on: tresor, expecting: shown)
        #expect(try await anna.client.logs.state(of: tresor).members.count == 2)
    }

    /// So does one that nobody was shown: what is due is refused once, and the revocation is the next append.
    @Test func anUnshownRevocationGoesAloneIntoALogThatIsBehind() async throws {
        world.clock.now = end + 1
        let appends = Mutex(0)
        let behind = FaultyStore(world.store) { call in
            guard call.name == "append" else { return nil }
            let number = appends.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? .refusing(.store(.behind)) : nil
        }
        let device = world.session(
            of: anna, home: try #require(anna.client.home as? MemoryHome).copy(), seeing: behind)
        let start = try await count()
        let (effect, state) = try await device.tresors.perform(.revoke([cam.identity.user]), on: tresor)
        #expect(effect.dismissed == [cam.identity.user] && state.members.count == 2)
        #expect(try await count() == start + 1)
    }
}

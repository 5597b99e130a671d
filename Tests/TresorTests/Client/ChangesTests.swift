// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Following the store.
@Suite struct ChangesTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
    }

    private func follow(_ person: Session) -> Changes.Iterator {
        Changes(client: person.client, user: person.identity.user, interval: .milliseconds(1)).makeAsyncIterator()
    }

    @Test func whatBecomesDifferentIsSaidOnce() async throws {
        var changes = follow(house)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
        #expect(await changes.next() == .added(tresor))
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(await changes.next() == .epochChanged(tresor, epoch: 2))
        let renewed = try await anna.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(await changes.next() == .renewed(anna.identity.user, generation: 1))
        #expect(await changes.next() == .epochChanged(tresor, epoch: 3))
        try house.client.people.pinBlocking(renewed.identity.chain)
        try await renewed.tresors.perform(.revoke([house.identity.user]), on: tresor)
        #expect(await changes.next() == .removed(tresor))
    }

    @Test func theFirstChangesAreThoseSinceTheHomeLastLooked() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
        _ = try await house.client.logs.state(of: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        var changes = follow(house)
        #expect(await changes.next() == .epochChanged(tresor, epoch: 2))
    }

    @Test func A65_aForkIsSaidOnceAndEndsWithTheLie() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
        try await anna.tresors.perform(.rotate, on: tresor)
        _ = try await house.client.logs.state(of: tresor)
        var changes = follow(house)
        evil.frozen(1)
        #expect(await changes.next() == .failed(tresor, .forked))
        evil.behave()
        let honest = world.session(of: anna, seeing: evil.truth)
        try await honest.tresors.perform(.rotate, on: tresor)
        #expect(await changes.next() == .epochChanged(tresor, epoch: 3))
    }

    @Test func cancellingEndsIt() async throws {
        let client = house.client
        let user = house.identity.user
        let task = Task {
            var count = 0
            for await _ in client.changes(of: user, every: .seconds(60)) { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value == 0)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Several devices and people at once.
@Suite struct RaceTests {
    /// `ScheduleTests` draws the order of every call; here it is the system's.
    @Test(.longRun, arguments: 0..<12) func A67_whateverTheScheduleTheLogIsValid(round: Int) async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let other = try await world.quick("other")
        let house = try await world.quick("house")
        try world.introduce(anna, other, house)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [other], as: .owner)
        try await anna.share(tresor, with: [house])
        let second = world.session(of: anna, home: try #require(anna.client.home as? MemoryHome).copy())
        let doctor = house.identity
        var dice = SeededGenerator(seed: LongRun.seed &+ UInt64(round))
        let names = try (0..<3).map { try Name(typed: "name-\($0)") }
        let done = try await withThrowingTaskGroup(of: [(Act, TresorError?)].self) { group in
            for (index, person) in [anna, other, second].enumerated() {
                let acts: [Act] = [
                    .rotate, .rename(names[index]), .revoke([doctor.user]),
                    .share(with: [doctor.chain], role: .writer, fromNow: false, notAfter: nil),
                ]
                let order = acts.shuffled(using: &dice)
                group.addTask {
                    var results: [(Act, TresorError?)] = []
                    for act in order {
                        await Task.yield()
                        results.append((act, await failure { try await person.tresors.perform(act, on: tresor) }))
                    }
                    return results
                }
            }
            var results: [(Act, TresorError?)] = []
            for try await part in group { results += part }
            return results
        }
        for (act, error) in done { #expect(error == nil || error == .busy, "TRESOR_SEED=\(LongRun.seed): \(act)") }
        let entries = try await log(tresor, in: world.store)
        let state = try Fold.state(of: entries, tresor: tresor)
        let rotations = done.count { $0.0 == .rotate && $0.1 == nil }
        let bodies = try entries.map { try Entry($0).body }
        #expect(bodies.count { if case .epoch = $0 { true } else { false } } == rotations)
        #expect(Set(entries).count == entries.count)
        let file = try await anna.seal("end", in: tresor)
        #expect(try await other.files.open(file).content == Array("end".utf8))
        let isIn = state.members[doctor.user] != nil
        #expect(await failure { _ = try await house.files.open(file) } == (isIn ? nil : .noAccess))
    }

    /// Anna, who was shown what revoking the doctor does, and her other device.
    private func revocation() async throws -> (
        anna: Session, device: Session, tresor: TresorID, doctor: UserID, shown: Effect, world: World
    ) {
        let world = World()
        let anna = try await world.quick("anna")
        let house = try await world.quick("house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
        let doctor = house.identity.user
        let shown = try await anna.tresors.effectBlocking(
            of: .revoke([doctor]), in: anna.client.logs.state(of: tresor))
        let device = world.session(of: anna, home: try #require(anna.client.home as? MemoryHome).copy())
        return (anna, device, tresor, doctor, shown, world)
    }

    @Test func A67_anActWhoseMeaningChangedIsNotDone() async throws {
        let (anna, device, tresor, doctor, shown, world) = try await revocation()
        try await device.tresors.perform(.revoke([doctor]), on: tresor)
        let count = try await log(tresor, in: world.store).count
        #expect(
            await failure { try await anna.tresors.perform(.revoke([doctor]), on: tresor, expecting: shown) }
                == .busy)
        #expect(try await log(tresor, in: world.store).count == count)
    }

    /// Two devices sign the same entry in the same second; the wraps differ.
    @Test func A67_whatAnotherDeviceWroteToTheLetterIsDone() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let house = try await world.quick("house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let device = world.session(of: anna, home: try #require(anna.client.home as? MemoryHome).copy())
        evil.beforeNextAppend { try? await device.share(tresor, with: [house]) }
        try await anna.share(tresor, with: [house])
        #expect(try await log(tresor, in: evil).count == 2)
        #expect(try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: 1).count == 1)
    }

    /// A removal by another owner is no removal of this run, whether or not a date had passed.
    @Test(arguments: [false, true]) func A216_onlyWhatThisRunEndedIsReported(otherIsFaster: Bool) async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let bob = try await world.quick("bob")
        let cam = try await world.quick("cam")
        try world.introduce(anna, bob, cam)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let end = world.clock.now + 50
        try await anna.share(tresor, with: [bob], notAfter: end)
        try await anna.share(tresor, with: [cam])
        let device = world.session(of: anna, home: try #require(anna.client.home as? MemoryHome).copy())
        _ = try await anna.tresors.settle(tresor)
        #expect(await anna.takeNotices() == [])
        world.clock.now = end + 1
        if otherIsFaster { evil.beforeNextAppend { _ = try? await device.tresors.settle(tresor) } }
        let settled = try await anna.tresors.settle(tresor)
        #expect(settled.members[bob.identity.user] == nil)
        #expect(settled.endOfGrant(of: bob.identity.user) == end)
        let own = Notice(tresor: tresor, deed: .ended([bob.identity.user]), epoch: 2)
        #expect(await anna.takeNotices() == (otherIsFaster ? [] : [own]))
        try await device.tresors.perform(.revoke([cam.identity.user]), on: tresor)
        let later = try await anna.tresors.settle(tresor)
        #expect(await anna.takeNotices() == [])
        #expect(later.epoch == 3)
    }

    /// A date for a member removed at the same time is no grant. An unchanged role does not undo another owner's change
    /// of it.
    @Test(arguments: [true, false]) func A220_aDateForAMemberChangedAtTheSameTimeIsNotSet(isRemoved: Bool) async throws
    {
        let (anna, device, tresor, doctor, _, world) = try await revocation()
        let house = try #require(try await anna.client.logs.state(of: tresor).chain(of: doctor))
        let date = Act.share(with: [house], role: .reader, fromNow: false, notAfter: world.clock.now + 50)
        let shown = try await anna.tresors.effectBlocking(of: date, in: anna.client.logs.state(of: tresor))
        #expect(shown.changed == [doctor])
        if isRemoved {
            try await device.tresors.perform(.revoke([doctor]), on: tresor)
        } else {
            try await device.tresors.perform(
                .share(with: [house], role: .writer, fromNow: false, notAfter: nil), on: tresor)
        }
        let before = try await log(tresor, in: world.store)
        #expect(await failure { try await anna.tresors.perform(date, on: tresor, expecting: shown) } == .busy)
        #expect(try await log(tresor, in: world.store) == before)
    }

    @Test func A67_anotherEpochOrAnotherCountOfOthersIsNoOtherMeaning() async throws {
        let (anna, device, tresor, doctor, shown, world) = try await revocation()
        let other = try await world.quick("other")
        try world.introduce(device, other)
        try await device.tresors.perform(.rotate, on: tresor)
        try await device.share(tresor, with: [other])
        let done = try await anna.tresors.perform(.revoke([doctor]), on: tresor, expecting: shown)
        #expect((shown.epoch, shown.remaining) == (2, 1))
        #expect((done.effect.epoch, done.effect.remaining) == (3, 2))
        #expect(done.state.members.keys.sorted() == [anna.identity.user, other.identity.user].sorted())
    }

    @Test func A67_everyPartOfTheMeaningCounts() throws {
        let people = try (0..<2).map { _ in UserID(try anyDigest()) }
        var shown = Effect()
        (shown.admitted, shown.remaining, shown.epoch) = ([people[0]], 3, 5)
        let changes: [(inout Effect) -> Void] = [
            { $0.admitted = [people[1]] }, { $0.changed = people }, { $0.dismissed = [people[1]] },
            { $0.already = [people[1]] }, { $0.epoch = nil }, { $0.renames = true }, { $0.generation = 1 },
            { $0.replaced = [people[0]: Terms(role: .reader, notAfter: nil)] },
        ]
        for change in changes {
            var other = shown
            change(&other)
            #expect(!shown.means(other) && !other.means(shown))
        }
        var same = shown
        (same.remaining, same.epoch) = (9, 8)
        #expect(shown.means(same))
    }
}

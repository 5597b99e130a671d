// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The people whom one device of a person knows, on their other devices (SPEC §19.8).
@Suite struct OwnTresorTests {
    let evil = EvilStore(MemoryStore())
    let world: World
    let anna: Session
    let house: Session
    /// Anna's other device, which knows nobody yet.
    let desk: Session

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        desk = try world.device(of: anna)
    }

    private func verify(_ person: Session, on device: Session, replacing: Bool = false) throws {
        try device.client.people.pinBlocking(person.identity.chain, by: .number, replacing: replacing)
    }

    private func commitCount(_ device: Session) async throws -> UInt64 {
        try await device.ownTresors().reduce(0) { $0 + $1.entryCount }
    }

    @Test func whomOneDeviceVerifiedTheOtherKnows() async throws {
        try verify(house, on: anna)
        let made = try await anna.exchange()
        #expect(made.report.isMade && made.report.held == nil)
        #expect(try desk.occasion(of: house.user) == nil)
        let taken = try await desk.exchange()
        #expect(taken.outcome.isChange && taken.outcome.conflicts.isEmpty && !taken.report.isMade)
        #expect(try desk.occasion(of: house.user) == .known)
        let pin = try #require(try desk.client.people.pinnedBlocking().first)
        #expect(pin.by == anna.identity.chain.newest.hash && pin.time == world.clock.now)
        #expect(try desk.people.trustBlocking(in: house.identity.chain) == .verified)
        #expect(try anna.occasion(of: house.user) == .number)
    }

    @Test func oneCommitIsMadeWhereSomethingChangedAndNoneElse() async throws {
        #expect(try await !anna.exchange().report.isMade)
        #expect(try await anna.ownTresors().isEmpty)
        try verify(house, on: anna)
        _ = try await anna.tresors.create(Name(typed: "plans"))
        try await anna.exchange()
        #expect(try await commitCount(anna) == 2)
        for device in [anna, desk, anna, desk] { try await device.exchange() }
        #expect(try await commitCount(anna) == 2)
        // An own comparison of the same is no news to the others.
        try verify(house, on: desk)
        try await desk.exchange()
        #expect(try await commitCount(anna) == 2)
        #expect(try desk.occasion(of: house.user) == .number)
    }

    @Test func whatIsVerifiedWithoutTheStoreIsSentLater() async throws {
        try verify(house, on: anna)
        evil.goDown()
        _ = try? await anna.exchange()
        #expect(try anna.occasion(of: house.user) == .number)
        evil.behave()
        try await anna.exchange()
        try await desk.exchange()
        #expect(try desk.occasion(of: house.user) == .known)
    }

    @Test func newerKeysOfAPersonFollow() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        try await desk.exchange()
        let (next, sealed) = try house.identity.renewCard(time: world.clock.now)
        let home = try #require(house.client.home as? MemoryHome)
        let renewed = try await world.settle(next, previous: [sealed], home: home)
        try verify(renewed, on: anna)
        try await anna.exchange()
        try await desk.exchange()
        #expect(try desk.occasion(of: house.user) == .known)
        #expect(try desk.people.trustBlocking(in: renewed.identity.chain) == .verified)
    }

    @Test func whoeverIsReplacedOnOneDeviceIsReplacedOnTheOther() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        try await desk.exchange()
        let other = try identity("house")
        world.clock.advance(by: 10)
        try anna.client.people.pinBlocking(other.chain, replacing: true)
        try await anna.exchange()
        #expect(try await desk.exchange().outcome.conflicts.isEmpty)
        #expect(try desk.occasion(of: house.user) == nil)
        #expect(try desk.occasion(of: other.user) == .known)
    }

    /// A226: what this device compared itself stays.
    @Test func A226_noStatementTakesThePlaceOfOnesOwnComparison() async throws {
        let other = try identity("house")
        try verify(house, on: desk)
        world.clock.advance(by: 10)
        try anna.client.people.pinBlocking(other.chain)
        try await anna.exchange()
        for _ in 0..<2 {
            let outcome = try await desk.exchange().outcome
            #expect(outcome.conflicts == [KnownConflict(chain: other.chain, reason: .handle(house.identity.chain))])
            #expect(try desk.occasion(of: house.user) == .number)
            #expect(try desk.occasion(of: other.user) == nil)
            #expect(try desk.people.trustBlocking(in: other.chain) == .changed(from: house.identity.chain))
        }
        // Anna learns of it too, and her own comparison stays as well.
        #expect(try await anna.exchange().outcome.conflicts.map(\.chain) == [house.identity.chain])
        #expect(try anna.occasion(of: other.user) == .number)
        // The person compares the other one on this device too: both keep the handle.
        try desk.client.people.pinBlocking(other.chain, beside: true)
        #expect(try await desk.exchange().outcome.conflicts.isEmpty)
    }

    @Test func cardsOfOneGenerationThatDifferAreAConflict() async throws {
        let (first, second) = (try house.identity.renewCard(time: 5), try house.identity.renewCard(time: 6))
        try anna.client.people.pinBlocking(first.identity.chain)
        try desk.client.people.pinBlocking(second.identity.chain)
        try await anna.exchange()
        #expect(try await desk.exchange().outcome.conflicts.count == 1)
        #expect(try desk.people.trustBlocking(in: second.identity.chain) == .verified)
    }

    /// Two devices that do not see each other's yet: all are read, and one is written from then on.
    @Test func ofTwoOwnTresorsBothAreRead() async throws {
        let bob = try identity("bob")
        try verify(house, on: anna)
        try await anna.exchange()
        let first = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(first.tresor, in: evil.truth).first)
        evil.show { $0.first == genesis ? [] : $0 }
        try desk.client.people.pinBlocking(bob.chain)
        let made = try await desk.exchange()
        #expect(made.report.isMade && made.errors[first.tresor] == .notFound)
        evil.behave()
        let tresors = try await anna.ownTresors().map(\.tresor)
        #expect(tresors.count == 2)
        for device in [anna, desk] { try await device.exchange() }
        #expect(try anna.occasion(of: bob.user) == .known)
        #expect(try desk.occasion(of: house.user) == .known)
        let before = try await anna.ownTresors().map(\.entryCount)
        for (device, name) in [(anna, "carol"), (desk, "dave")] {
            try device.client.people.pinBlocking(identity(name).chain)
            try await device.exchange()
        }
        let after = try await anna.ownTresors().map(\.entryCount)
        #expect(after == [before[0] + 2, before[1]])
    }

    /// A225, as far as it is bounded: the store hides the own tresor from one device for ever. That device trusts nobody
    /// more, and the others learn from it.
    @Test func A225_anOwnTresorThatIsHiddenForEverOnlyDelays() async throws {
        let (blind, bob) = (EvilStore(evil.truth), try identity("bob"))
        let desk = try world.device(of: anna, seeing: blind)
        try verify(house, on: anna)
        try await anna.exchange()
        let first = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(first.tresor, in: evil.truth).first)
        blind.show { $0.first == genesis ? [] : $0 }
        try desk.client.people.pinBlocking(bob.chain)
        for _ in 0..<3 {
            try await desk.exchange()
            try await anna.exchange()
            #expect(try desk.occasion(of: house.user) == nil)
            #expect(try desk.people.trustBlocking(in: house.identity.chain) == .unverified)
            #expect(try anna.occasion(of: bob.user) == .known)
        }
        #expect(try await anna.ownTresors().count == 2)
        blind.behave()
        try await desk.exchange()
        #expect(try desk.occasion(of: house.user) == .known)
    }

    @Test func aWithheldOwnTresorIsAFork() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(own.tresor, in: evil.truth).first)
        evil.show { $0.first == genesis ? [] : $0 }
        let before = evil.writeCount
        let exchange = try await anna.exchange()
        #expect(exchange.errors == [own.tresor: .forked] && !exchange.report.isMade)
        #expect(evil.writeCount == before)
    }

    @Test func anOlderOwnTresorIsAFork() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(own.tresor, in: evil.truth).first)
        evil.show { $0.first == genesis ? [genesis] : $0 }
        #expect(try await anna.exchange().errors == [own.tresor: .forked])
        // A device that never saw more learns nothing, and is not led astray.
        try await desk.exchange()
        #expect(try desk.occasion(of: house.user) == nil)
    }

    @Test func whatDoesNotFitIntoOneCommitGoesWithTheNext() async throws {
        var pins = Pins()
        for number in 0..<615 {
            let chain = try identity("person \(number)").chain
            try pins.pin(chain, time: world.clock.now, replacing: false, beside: false)
        }
        try anna.client.home.replace(.pins, with: pins.bytes)
        for count in [2, 3, 3] as [UInt64] {
            #expect(try await anna.exchange().report.held == nil)
            #expect(try await commitCount(anna) == count)
        }
        try await desk.exchange()
        #expect(try desk.client.people.pinnedBlocking().count == 615)
    }

    @Test func aMissingPackLetsNothingBeTaken() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        evil.showBlobs { _, _ in nil }
        let error = await failure { try await desk.exchange() }
        let isStore = if case .store? = error { true } else { false }
        #expect(isStore)
        #expect(try desk.occasion(of: house.user) == nil)
        evil.behave()
        try await desk.exchange()
        #expect(try desk.occasion(of: house.user) == .known)
    }

    @Test func nobodyElseGetsIn() async throws {
        try verify(house, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let share = Act.share(with: [house.identity.chain], role: .reader, fromNow: false, notAfter: nil)
        #expect(await failure { try await anna.tresors.perform(share, on: own.tresor) } == .usage(.tooManyPeople))
        #expect(await failure { _ = try await anna.tresor(own.tresor).plan(share) } == .usage(.tooManyPeople))
        let approvers = Act.setApprovers([house.identity.chain])
        #expect(await failure { try await anna.tresors.perform(approvers, on: own.tresor) } == .usage(.tooManyPeople))
        let rename = Act.rename(try Name(typed: "plans"))
        #expect(await failure { try await anna.tresors.perform(rename, on: own.tresor) } == .usage(.nameCharacters))
        // A program that lets somebody in all the same has made an ordinary tresor of it.
        let state = try await anna.client.logs.state(of: own.tresor)
        let effect = try anna.tresors.effectBlocking(of: share, in: state)
        let draft = try await EntryDrafting(session: anna).draft(share, effect, in: state)
        #expect(try await LogWriter(session: anna).append(draft, effect, to: state) != nil)
        #expect(try await anna.ownTresors().isEmpty)
        #expect(try await anna.exchange().report.isMade)
    }

    @Test func reservedNamesAreForOwnTresorsAlone() async throws {
        for name in ["tresor/own", "tresor/x"] {
            #expect(await failure { _ = try await anna.create(name) } == .usage(.nameCharacters))
            #expect(await failure { _ = try await anna.create("plans", kind: name) } == .usage(.nameCharacters))
        }
        try verify(house, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        #expect(try await anna.allTresors().isEmpty)
        let records = anna.records(in: own.tresor)
        let name = "tresor/known/\(house.user)"
        #expect(await failure { try await records.put(name, [1]) } == .usage(.nameCharacters))
        #expect(await failure { _ = try await records.get(name) } == .usage(.nameCharacters))
        #expect(await failure { _ = try await records.versions(of: name) } == .usage(.nameCharacters))
        #expect(try await records.list(includingDeleted: true).records.isEmpty)
    }

    @Test func aContentThatIsNoPinOfThePersonIsRefused() throws {
        var known = KnownPeople()
        let pin = Pin(chain: house.identity.chain, time: 5)
        try known.add(pin.recordContent, of: house.user)
        let elsewhere = error { try known.add(pin.recordContent, of: anna.user) }
        let short = error { try known.add(Array(pin.recordContent.dropLast()), of: house.user) }
        let long = error { try known.add(pin.recordContent + [0], of: house.user) }
        #expect(elsewhere == .altered && short == .altered && long == .altered)
    }
}

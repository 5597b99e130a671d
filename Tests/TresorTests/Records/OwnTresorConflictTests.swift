// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Devices of one person that say different things, and the acts that end it (SPEC §19.8).
@Suite struct OwnTresorConflictTests {
    let evil = EvilStore(MemoryStore())
    let world: World
    let anna: Session
    let house: Session
    let desk: Session

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        desk = try world.device(of: anna)
    }

    private func verify(_ chain: CardChain, on device: Session, replacing: Bool = false) throws {
        world.clock.advance(by: 10)
        try device.client.people.pinBlocking(chain, replacing: replacing)
    }

    /// Gives up a person, as a later act than all others.
    private func giveUp(_ user: UserID, on device: Session) throws {
        world.clock.advance(by: 10)
        try device.client.people.giveUpBlocking(user)
    }

    private func conflicts(_ device: Session) async throws -> [KnownConflict.Reason] {
        try await device.exchange().outcome.conflicts.map(\.reason)
    }

    @Test func anOwnComparisonOutlastsNewerKeysThatAnotherDeviceCompared() async throws {
        try verify(house.identity.chain, on: anna)
        try verify(house.identity.chain, on: desk)
        try await anna.exchange()
        let next = try house.identity.renewCard(time: world.clock.now).identity
        try verify(next.chain, on: anna)
        try await anna.exchange()
        for _ in 0..<2 {
            let outcome = try await desk.exchange().outcome
            #expect(outcome.conflicts.isEmpty && outcome.renewed == [next.chain])
            #expect(try desk.occasion(of: house.user) == .number)
            #expect(try desk.people.trustBlocking(in: next.chain) == .renewed(since: house.identity.chain))
        }
        try verify(next.chain, on: desk)
        #expect(try await desk.exchange().outcome.renewed.isEmpty)
    }

    /// A226: the second run does not let in what the first one refused.
    @Test func A226_newerKeysOpenNoWayForAnotherPerson() async throws {
        try verify(house.identity.chain, on: desk)
        let (next, other) = (try house.identity.renewCard(time: 5).identity.chain, try identity("house").chain)
        try verify(next, on: anna)
        world.clock.advance(by: 10)
        try anna.client.people.pinBlocking(other, beside: true)
        try await anna.exchange()
        for _ in 0..<3 {
            #expect(try await conflicts(desk) == [.handle(house.identity.chain)])
            #expect(try desk.occasion(of: other.user) == nil)
        }
    }

    @Test func aReplacementOutlastsAnEarlierComparisonOnAnotherDevice() async throws {
        for device in [anna, desk] { try verify(house.identity.chain, on: device) }
        try await desk.exchange()
        let other = try identity("house").chain
        try verify(other, on: anna, replacing: true)
        #expect(try await conflicts(anna).isEmpty)
        #expect(Set(try await conflicts(desk)) == [.givenUp, .handle(house.identity.chain)])
        // Here the person gives up the same one.
        try giveUp(house.user, on: desk)
        for device in [desk, anna, desk] { #expect(try await conflicts(device).isEmpty) }
        #expect(try desk.occasion(of: other.user) == .known)
    }

    @Test func aLaterComparisonEndsAReplacement() async throws {
        for device in [anna, desk] { try verify(house.identity.chain, on: device) }
        try await anna.exchange()
        try giveUp(house.user, on: anna)
        try await anna.exchange()
        #expect(try await conflicts(desk) == [.givenUp])
        #expect(try desk.people.trustBlocking(in: house.identity.chain) == .verified)
        try verify(house.identity.chain, on: desk)
        #expect(try await conflicts(desk).isEmpty)
        #expect(try await conflicts(anna) == [.compared])
        try verify(house.identity.chain, on: anna)
        for device in [anna, desk] { #expect(try await conflicts(device).isEmpty) }
    }

    @Test func ofDifferentKeysOneIsGivenUp() async throws {
        let (first, second) = (try house.identity.renewCard(time: 5), try house.identity.renewCard(time: 6))
        try verify(first.identity.chain, on: anna)
        try verify(second.identity.chain, on: desk)
        try await desk.exchange()
        // The later act is news; the other device decides.
        #expect(try await conflicts(anna) == [.keys])
        try verify(first.identity.chain, on: anna)
        #expect(try await conflicts(anna).isEmpty)
        #expect(try await conflicts(desk) == [.keys])
        try giveUp(house.user, on: desk)
        #expect(try await conflicts(desk).isEmpty)
        // The later act counts, whatever keys it concerns.
        #expect(try await conflicts(anna) == [.givenUp])
        try verify(first.identity.chain, on: anna)
        #expect(try await conflicts(anna).isEmpty)
        #expect(try await conflicts(desk) == [.compared])
        // The keys that were given up bind nothing.
        try verify(first.identity.chain, on: desk)
        for device in [desk, anna] { #expect(try await conflicts(device).isEmpty) }
        #expect(try anna.occasion(of: house.user) == .number && desk.occasion(of: house.user) == .number)
    }

    /// A226: of one's own acts, the later one counts, whichever comes first into the own tresor.
    @Test(arguments: [false, true]) func A226_anEarlierComparisonOfNewerKeysUndoesNoGivingUp(
        isSentFirst: Bool
    ) async throws {
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        let phone = try world.device(of: anna)
        for device in [desk, phone] { try await device.exchange() }
        try verify(try house.identity.renewCard(time: 5).identity.chain, on: anna)
        try giveUp(house.user, on: desk)
        if isSentFirst {
            try await anna.exchange()
            #expect(try await conflicts(desk).isEmpty)
        } else {
            try await desk.exchange()
        }
        #expect(try await conflicts(anna) == [.givenUp])
        #expect(try await conflicts(desk).isEmpty)
        #expect(try await conflicts(phone).isEmpty)
        #expect(try phone.occasion(of: house.user) == nil)
    }

    /// Where another device compared a person since, their giving-up is made again.
    @Test func aGivingUpIsInsistedOn() async throws {
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        try await desk.exchange()
        try giveUp(house.user, on: desk)
        try await desk.exchange()
        try verify(house.identity.chain, on: anna)
        #expect(try await conflicts(anna).isEmpty)
        for _ in 0..<2 { #expect(try await conflicts(desk) == [.compared]) }
        try giveUp(house.user, on: desk)
        #expect(try await conflicts(desk).isEmpty)
        #expect(try await conflicts(anna) == [.givenUp])
        try giveUp(house.user, on: anna)
        for device in [anna, desk] { #expect(try await conflicts(device).isEmpty) }
    }

    /// A clock that was wrong once dated an act far ahead. Each later act ends it, on the device that knows of it.
    @Test(arguments: [false, true]) func anActThatWasDatedAheadIsOutlasted(isGivingUp: Bool) async throws {
        for device in [anna, desk] { try verify(house.identity.chain, on: device) }
        for device in [anna, desk] { try await device.exchange() }
        if !isGivingUp {
            try giveUp(house.user, on: desk)
            try await desk.exchange()
        }
        let now = world.clock.now
        world.clock.now = now + 1_000_000_000
        if isGivingUp { try giveUp(house.user, on: anna) } else { try verify(house.identity.chain, on: anna) }
        world.clock.now = now + 10
        try await anna.exchange()
        for _ in 0..<2 {
            let outcome = try await desk.exchange().outcome
            #expect(outcome.conflicts.map(\.reason) == [isGivingUp ? .givenUp : .compared])
            #expect(outcome.ahead.map(\.chain) == [house.identity.chain])
        }
        if isGivingUp { try verify(house.identity.chain, on: desk) } else { try giveUp(house.user, on: desk) }
        #expect(try await conflicts(desk).isEmpty)
        #expect(try await conflicts(anna) == [isGivingUp ? .compared : .givenUp])
        if isGivingUp { try verify(house.identity.chain, on: anna) } else { try giveUp(house.user, on: anna) }
        for device in [anna, desk] { #expect(try await conflicts(device).isEmpty) }
    }

    /// Another program of this home fetches a statement between the look of an exchange and its change.
    @Test func aStatementThatNobodyJudgedIsNotReplaced() async throws {
        try verify(try identity("bob").chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        var exchange = try await OwnTresorSync(of: try await desk.tresors.all(readingStrangers: false), desk)
        _ = try await exchange.receive()
        try verify(try house.identity.renewCard(time: 5).identity.chain, on: anna)
        try await anna.exchange()
        _ = try await desk.records(in: own.tresor).pull()
        try verify(try house.identity.renewCard(time: 6).identity.chain, on: desk)
        let report = try await exchange.send([])
        #expect(report.held == nil)
        let phone = try world.device(of: anna)
        #expect(try await conflicts(phone) == [.disputed])
        #expect(try phone.occasion(of: house.user) == nil)
    }

    /// Two own tresors say different things of one person, until one device decides.
    @Test func aDisputeEndsWithALaterAct() async throws {
        let (first, second) = (try house.identity.renewCard(time: 5), try house.identity.renewCard(time: 6))
        try verify(first.identity.chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(own.tresor, in: evil.truth).first)
        evil.show { $0.first == genesis ? [] : $0 }
        try verify(second.identity.chain, on: desk)
        #expect(try await desk.exchange().report.isMade)
        evil.behave()
        let phone = try world.device(of: anna)
        #expect(try await conflicts(phone) == [.disputed])
        #expect(try phone.occasion(of: house.user) == nil)
        try verify(first.identity.chain, on: phone)
        for _ in 0..<2 { #expect(try await conflicts(phone).isEmpty) }
        let tablet = try world.device(of: anna)
        #expect(try await conflicts(tablet).isEmpty)
        #expect(try tablet.people.trustBlocking(in: first.identity.chain) == .verified)
    }

    @Test func anActComesAfterWhatTheHomeKnowsOrSaysTheSame() throws {
        let (chain, user) = (house.identity.chain, house.user)
        var pins = Pins()
        func expect(_ time: UInt64, givenUp: Bool, at source: SourceLocation = #_sourceLocation) {
            let pin = pins[user]
            #expect(pin?.time == time && pin?.isReplaced == givenUp, sourceLocation: source)
        }
        try pins.pin(chain, time: 5, replacing: false, beside: false)
        try pins.giveUp(user, time: 5)
        expect(5, givenUp: true)
        try pins.pin(chain, time: 5, replacing: false, beside: false)
        expect(6, givenUp: false)
        try pins.pin(chain, time: 6, replacing: false, beside: false)
        expect(6, givenUp: false)
        try pins.giveUp(user, time: Format.latestTime)
        try pins.pin(chain, time: 7, replacing: false, beside: false)
        expect(Format.latestTime, givenUp: false)
    }

    /// A226: a thief of a seed dates a giving-up with the greatest time. No comparison outlasts it, and new keys do.
    @Test func A226_newKeysEndAGivingUpOfTheGreatestTime() async throws {
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let records = anna.records(in: own.tresor)
        let pin = Pin(chain: house.identity.chain, time: Format.latestTime, isReplaced: true)
        let change = RecordChange.put("tresor/known/\(house.user)", pin.recordContent)
        try await records.change([change], seen: nil, takesReserved: true)
        _ = try await records.sync()
        for _ in 0..<2 {
            #expect(try await conflicts(anna) == [.givenUp])
            try verify(house.identity.chain, on: anna)
        }
        #expect(try await conflicts(anna) == [.givenUp])
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(try await conflicts(renewed).isEmpty)
        #expect(try renewed.occasion(of: house.user) == .number)
        let phone = try world.device(of: renewed)
        try await phone.exchange()
        #expect(try phone.occasion(of: house.user) == .known)
    }

    /// A record that does not read is named, and holds up no other one.
    @Test func aRecordThatDoesNotReadIsLeftOut() async throws {
        let (plans, bob) = (try await anna.tresors.create(Name(typed: "plans")).tresor, try identity("bob"))
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let records = anna.records(in: own.tresor)
        let name = "tresor/known/\(bob.user)"
        let changes = [RecordChange.put(name, [1, 2, 3]), .put("tresor/head/\(plans)", [1])]
        try await records.change(changes, seen: nil, takesReserved: true)
        _ = try await records.sync()
        var exchange = try await OwnTresorSync(of: try await desk.tresors.all(readingStrangers: false), desk)
        let outcome = try await exchange.receive()
        #expect(outcome.isChange)
        let unread = exchange.unreadRecords.map { ($0.name.text, $0.error) }
        #expect(unread.map { $0.0 } == ["tresor/head/\(plans)", name])
        #expect(unread.map { $0.1 } == [.altered, .altered])
        #expect(try desk.occasion(of: house.user) == .known)
        // A pin of the same person is written over it.
        try verify(bob.chain, on: desk)
        try await desk.exchange()
        var next = try await OwnTresorSync(of: try await anna.tresors.all(readingStrangers: false), anna)
        _ = try await next.receive()
        #expect(next.unreadRecords.isEmpty)
        #expect(try anna.occasion(of: bob.user) == .known)
    }

    @Test func aContentOfAnotherTypeIsLeftOut() async throws {
        try verify(try identity("bob").chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let (records, name) = (anna.records(in: own.tresor), "tresor/known/\(house.user)")
        let pin = Pin(chain: house.identity.chain, time: 5)
        let change = RecordChange.put(name, pin.recordContent, type: "text")
        try await records.change([change], seen: nil, takesReserved: true)
        _ = try await records.sync()
        var exchange = try await OwnTresorSync(of: try await desk.tresors.all(readingStrangers: false), desk)
        _ = try await exchange.receive()
        #expect(exchange.unreadRecords.map(\.name.text) == [name])
        #expect(try desk.occasion(of: house.user) == nil)
    }

    /// A failure that may pass is no loss: it is told as itself, and nothing has to be deleted.
    @Test func aStoreThatFailsForNowHasLostNothing() async throws {
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        evil.goDown()
        let summaries = await anna.tresors.summaries(of: [own.tresor], readingStrangers: false)
        #expect(summaries.map(\.error) == [.store(.inputOutput)])
        #expect(await failure { _ = try await OwnTresorSync(of: summaries, anna) } == .store(.inputOutput))
        evil.behave()
        #expect(try await !anna.exchange().report.isMade)
    }

    /// The log itself says that a tresor is an own one, and not the names that the home keeps.
    @Test func withoutNamesAWithheldOwnTresorIsNotMadeAnew() async throws {
        try verify(house.identity.chain, on: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let genesis = try #require(try await log(own.tresor, in: evil.truth).first)
        try anna.client.home.delete(.names)
        evil.show { $0.first == genesis ? [] : $0 }
        let exchange = try await OwnTresorSync(of: try await anna.tresors.all(readingStrangers: false), anna)
        #expect(exchange.lost == [own.tresor])
        #expect(try await !anna.exchange().report.isMade)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Cards, numbers and pins against a store that hands out other people.
@Suite struct PeopleTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let mallory: Identity
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        mallory = try identity("house")
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
    }

    private func share(_ chain: CardChain) async -> TresorError? {
        await failure {
            try await anna.tresors.perform(
                .share(with: [chain], role: .reader, fromNow: false, notAfter: nil), on: tresor)
        }
    }

    @Test func A43_nobodyIsAddedWithoutAComparedNumber() async throws {
        let (home, writes) = (anna.home, evil.writeCount)
        for person in try await anna.client.people.lookup("house") {
            #expect(person.trust == .unverified)
            #expect(await share(person.chain) == .unverified)
        }
        evil.late(mallory.chain.bytes)
        let offered = try await anna.client.people.lookup("house")
        #expect(offered.map(\.chain) == [mallory.chain])
        #expect(try offered[0].chain.number() != house.identity.chain.number())
        #expect(await share(mallory.chain) == .unverified)
        #expect(anna.home == home)
        #expect(evil.writeCount == writes)
    }

    @Test func aNamesakeWhoWasVerifiedWronglyIsGivenUp() async throws {
        let people = anna.client.people
        try people.pinBlocking(house.identity.chain)
        try people.pinBlocking(mallory.chain, beside: true)
        // Both have the handle: replacing gives up neither of them.
        #expect(try people.replacedBlocking(by: house.identity.chain).isEmpty)
        let handle = try Name(typed: "house")
        try people.giveUpBlocking(mallory.user)
        #expect(try people.trustBlocking(in: house.identity.chain) == .verified)
        #expect(try people.trustBlocking(in: mallory.chain) == .changed(from: house.identity.chain))
        let pins = try anna.client.pins()
        #expect(pins[handle: handle].map(\.chain) == [house.identity.chain])
        #expect(pins[mallory.user]?.isReplaced == true)
        // Once more: a later act, so that it outlasts what another device compared since.
        let time = try #require(pins[mallory.user]).time
        try people.giveUpBlocking(mallory.user)
        let again = try #require(anna.client.pins()[mallory.user])
        #expect(again.isReplaced && again.time > time)
        try people.giveUpBlocking(house.identity.user)
        #expect(try people.trustBlocking(in: house.identity.chain) == .unverified)
        #expect(error { try people.giveUpBlocking(anna.identity.user) } == .notFound)
    }

    @Test func A44_anotherPersonUnderAPinnedHandleStopsEverything() async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        let (home, writes) = (anna.home, evil.writeCount)
        evil.invent(mallory.chain.bytes)
        let others = try await anna.client.people.impostors(of: Name(typed: "house"))
        #expect(others.map(\.chain) == [mallory.chain])
        #expect(others[0].trust == .changed(from: house.identity.chain))
        #expect(try anna.client.people.trustBlocking(in: mallory.chain) == .changed(from: house.identity.chain))
        #expect(await share(mallory.chain) == .unverified)
        #expect(error { try anna.client.people.pinBlocking(mallory.chain) } == .unverified)
        #expect(anna.home == home)
        #expect(evil.writeCount == writes)
        try anna.client.people.pinBlocking(mallory.chain, replacing: true)
        #expect(await share(house.identity.chain) == .unverified)
    }

    /// The handle of two people who were both compared means either, and of neither does it mean somebody else.
    @Test func A44_twoPeopleOfOneHandleArePinnedSideBySide() async throws {
        let people = anna.client.people
        try people.pinBlocking(house.identity.chain)
        try people.pinBlocking(mallory.chain, beside: true)
        for chain in [house.identity.chain, mallory.chain] {
            #expect(try people.trustBlocking(in: chain) == .verified)
            #expect(await share(chain) == nil)
            #expect(try people.lookalikes().others(like: chain.handle, of: chain.user).count == 1)
        }
        #expect(try await people.lookup("house").map(\.chain) == [house.identity.chain, mallory.chain])
        #expect(try await people.impostors(of: Name(typed: "house")).isEmpty)
        let remarks = try await anna.client.audit.check().map(\.remark)
        #expect(!remarks.contains(.failed(.unverified)) && !remarks.contains(.anotherCard))
        // New keys of one of them leave the other alone; a third person is a stranger to both.
        let renewed = try mallory.renewCard(time: 5).identity.chain
        try people.pinBlocking(renewed)
        #expect(try people.trustBlocking(in: house.identity.chain) == .verified)
        #expect(try people.trustBlocking(in: identity("house").chain) == .changed(from: house.identity.chain))
        #expect(error { try people.pinBlocking(identity("house").chain) } == .unverified)
        // Each has the handle already, and takes it from nobody; a third takes it from both.
        try people.pinBlocking(house.identity.chain, replacing: true)
        #expect(try people.trustBlocking(in: renewed) == .verified)
        let third = try identity("house").chain
        #expect(try people.replacedBlocking(by: house.identity.chain).isEmpty)
        #expect(try people.replacedBlocking(by: third).count == 2)
        try people.pinBlocking(third, replacing: true)
        for chain in [house.identity.chain, renewed] {
            #expect(try people.trustBlocking(in: chain) == .changed(from: third))
        }
    }

    @Test func A44_aCardThatIsOfferedBesideAPinnedPersonIsAWarning() async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        evil.invent(mallory.chain.bytes)
        let finding = try await anna.client.audit.check().first { $0.subject == .person(house.identity.user) }
        #expect(finding?.remark == .anotherCard && finding?.level == .warn)
    }

    @Test func A44_aTresorOfThePersonBehindAKnownHandleDoesNotOpen() async throws {
        let evilHouse = try await World().settle(mallory)
        try evilHouse.client.people.pinBlocking(anna.identity.chain)
        let theirs = try await evilHouse.tresors.create(Name(typed: "plans")).tresor
        try await evilHouse.share(theirs, with: [anna], as: .writer)
        let file = try await evilHouse.seal("x", in: theirs)
        let there = world.session(of: anna, seeing: evilHouse.client.guardedStore.base)
        var expecting = Expectations.anyTresor
        expecting.acceptingUnverified = true
        let before = anna.home
        #expect(try await there.files.open(file, expecting: expecting).content == Array("x".utf8))
        #expect(anna.home == before)
        for pinned in [false, true] {
            if pinned { try anna.client.people.pinBlocking(house.identity.chain) }
            let pins = anna.home[.pins]
            #expect(await failure { _ = try await there.files.open(file) } == .unverified)
            #expect(await failure { _ = try await there.seal("x", in: theirs) } == .unverified)
            #expect(await failure { _ = try await there.files.reseal(file) } == .unverified)
            #expect(anna.home[.pins] == pins)
        }
        #expect(await failure { _ = try await there.files.open(file, expecting: expecting) } == .unverified)
    }

    @Test func A45_whatIsComparedIsWhatIsUsed() async throws {
        let good = house.identity.chain
        for answers in [[good.bytes, mallory.chain.bytes], [mallory.chain.bytes, good.bytes]] {
            try anna.client.home.delete(.pins)
            evil.late(answers[0], answers[1], answers[1], answers[1])
            let shown = try #require(try await anna.client.people.lookup("house").first)
            guard try shown.chain.number() == good.number() else {
                #expect(await share(shown.chain) == .unverified)
                continue
            }
            try anna.client.people.pinBlocking(shown.chain)
            #expect(await share(shown.chain) == nil)
            let state = try await anna.client.logs.state(of: tresor)
            #expect(state.chain(of: good.user) == good)
            #expect(state.members[mallory.user] == nil)
            let wrap = try #require(evil.everyWrap.last)
            #expect(wrap.user == good.user)
        }
    }

    /// The same where the person is known already: other keys are shown at each of the reads in turn.
    @Test(arguments: 0..<4) func A45_aKnownPersonIsTheSameAtEveryRead(read: Int) async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        let good = house.identity.chain.bytes
        let thief = try house.identity.renewCard(time: 9).identity
        for evil in [mallory.chain.bytes, thief.chain.bytes] {
            var answers: [[UInt8]?] = [good, good, good, good]
            answers[read] = evil
            self.evil.late(answers[0], answers[1], answers[2], answers[3])
            let people = (try? await anna.client.people.lookup("house")) ?? []
            for person in people where person.trust.isVerified {
                #expect(person.chain == house.identity.chain)
                _ = await share(person.chain)
            }
            self.evil.late()
            let state = try await anna.client.logs.state(of: tresor)
            #expect(state.chain(of: house.identity.user) ?? house.identity.chain == house.identity.chain)
            #expect(Set(self.evil.everyWrap.map(\.user)).isSubset(of: [anna.identity.user, house.identity.user]))
        }
    }

    @Test func A46_aHandleIsNotTakenTwice() async throws {
        #expect(await failure { _ = try await world.settle(mallory) } == .unverified)
        evil.invent(mallory.chain.bytes)
        let people = try await anna.client.people.lookup("house")
        #expect(Set(people.map(\.chain)) == [house.identity.chain, mallory.chain])
        #expect(people.allSatisfy { $0.trust == .unverified })
    }

    /// A person known to this home comes before any person of the store, by handle or by the prefix of an id.
    @Test func A53_aHandleThatIsAnIdHidesNobody() async throws {
        let id = house.identity.user.description
        for text in [String(id.prefix(6)), String(id.prefix(10)), id] {
            let evil = try Identity.make(handle: Name(typed: text), time: 1)
            self.evil.invent(evil.chain.bytes)
            let offered = try await anna.client.people.lookup(text)
            #expect(Set(offered.map(\.chain)) == [evil.chain, house.identity.chain])
            #expect(offered.allSatisfy { $0.trust == .unverified })
            try anna.client.people.pinBlocking(house.identity.chain)
            let known = try await anna.client.people.lookup(text)
            #expect(known.map(\.chain) == [house.identity.chain] && known.first?.trust == .verified)
            try anna.client.people.pinBlocking(evil.chain)
            #expect(Set(try await anna.client.people.lookup(text).map(\.chain)) == [evil.chain, house.identity.chain])
            try anna.client.home.delete(.pins)
        }
    }

    @Test func A53_aHandleThatIsMyOwnIdHidesNotMe() async throws {
        let id = anna.identity.user.description
        for text in [String(id.prefix(6)), id] {
            let other = try Identity.make(handle: Name(typed: text), time: 1)
            evil.invent(other.chain.bytes)
            #expect(try await anna.client.people.lookup(text).map(\.trust) == [.me])
            try anna.client.people.pinBlocking(other.chain)
            let both = try await anna.client.people.lookup(text)
            #expect(Set(both.map(\.chain)) == [anna.identity.chain, other.chain])
            try anna.client.home.delete(.pins)
        }
    }

    @Test func A47_canonicallyEqualHandlesStayTwoPeople() async throws {
        let composed = try Name(Array("Zo\u{eb}".utf8))
        let decomposed = try Name(Array("Zoe\u{308}".utf8))
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        let one = try Identity.make(handle: composed, time: 1)
        let two = try Identity.make(handle: decomposed, time: 1)
        _ = try await world.settle(one)
        _ = try await world.settle(two)
        try anna.client.people.pinBlocking(one.chain)
        try anna.client.people.pinBlocking(two.chain)
        #expect(try anna.client.people.pinnedBlocking().count == 2)
        #expect(try await anna.client.people.lookup("Zoe\u{308}").map(\.chain) == [one.chain])
    }

    @Test func A50_numbersAreComparedWhole() throws {
        let number = try house.identity.chain.number()
        #expect(try SafetyNumber(typed: number.grouped) == number)
        let digits = Array(number.digits.utf8)
        for index in digits.indices {
            var other = digits
            other[index] = other[index] == 0x39 ? 0x30 : other[index] + 1
            #expect(try SafetyNumber(typed: String(decoding: other, as: UTF8.self)) != number)
        }
        let arabic = String(
            String.UnicodeScalarView(number.digits.unicodeScalars.map { Unicode.Scalar($0.value + 0x630) ?? $0 }))
        for text in [
            String(number.digits.dropLast()), number.digits + "0", arabic, "", number.digits + "\n",
            "-" + number.digits,
        ] {
            #expect(throws: TresorError.usage(.safetyNumber)) { try SafetyNumber(typed: text) }
        }
        #expect(try mallory.chain.number() != number)
    }

    @Test func A51_twoCardsOfOneGenerationStopEverything() async throws {
        let mine = try house.identity.renewCard(time: 5).identity
        let thiefs = try house.identity.renewCard(time: 5).identity
        #expect(try mine.chain.number() != thiefs.chain.number())
        try anna.client.people.pinBlocking(mine.chain)
        let home = anna.home
        #expect(error { _ = try anna.client.people.trustBlocking(in: thiefs.chain) } == .forked)
        #expect(error { try anna.client.people.pinBlocking(thiefs.chain) } == .forked)
        #expect(await share(thiefs.chain) == .forked)
        evil.late(thiefs.chain.bytes)
        #expect(await failure { _ = try await anna.client.people.person(mine.user) } == .forked)
        #expect(anna.home == home)
    }

    @Test func A51_aThiefsSuccessorInMyOwnTresorIsForked() async throws {
        let (mine, sealed) = try anna.identity.renewCard(time: 5)
        let thief = try anna.identity.renewCard(time: 5).identity
        let state = try await anna.client.logs.state(of: tresor)
        let file = try await anyFile()
        let renewal = try Entry(
            tresor: tresor, sequence: 1, previous: state.head.hash, author: anna.identity, time: 5,
            body: .renew(RenewBody(thief.chain.newest)))
        _ = try await evil.append(
            LogChange(tresor: tresor, sequence: 1, previous: renewal.previous, entry: renewal.bytes))
        let home = try #require(anna.client.home as? MemoryHome)
        let me = try await world.settle(mine, previous: [sealed], home: home)
        #expect(await failure { _ = try await me.files.open(file) } == .forked)
        #expect(await failure { try await me.tresors.perform(.rotate, on: tresor) } != nil)
    }

    private func anyFile() async throws -> SealedFile {
        let state = try await anna.client.logs.state(of: tresor)
        return try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: EpochKeys(epoch: 1), state: state, author: anna.identity, time: 1)
    }

    @Test func A52_olderGenerationsAndBrokenChainsAreRefused() async throws {
        let (first, _) = try house.identity.renewCard(time: 5)
        let (second, _) = try first.renewCard(time: 6)
        try anna.client.people.pinBlocking(second.chain)
        #expect(error { _ = try anna.client.people.trustBlocking(in: first.chain) } == .forked)
        #expect(error { _ = try anna.client.people.trustBlocking(in: house.identity.chain) } == .forked)
        let cards = second.chain.cards.map(\.bytes)
        let stranger = try mallory.renewCard(time: 5).identity.chain.cards.map(\.bytes)
        let broken = [
            cards[0] + cards[2], cards[1], cards[1] + cards[2], cards[0] + cards[0], cards[0] + cards[1] + cards[1],
            cards[0] + cards[2] + cards[1], cards[0] + stranger[1], stranger[0] + cards[1],
        ]
        for bytes in broken { #expect(error { _ = try CardChain(bytes) } == .altered) }
    }

    @Test func A204_aStoreThatIsBehindWithACardDelaysNothing() async throws {
        let (first, _) = try house.identity.renewCard(time: 5)
        let (second, _) = try first.renewCard(time: 6)
        try anna.client.people.pinBlocking(second.chain)
        // The store shows generation 0, or nothing.
        for shown in [house.identity.chain.bytes, nil] {
            evil.late(shown)
            let person = try await anna.client.people.person(house.identity.user)
            #expect(person.chain == second.chain && person.trust == .verified)
        }
        let named = try await anna.client.people.lookup("house")
        #expect(named.map(\.chain) == [second.chain] && named[0].trust == .verified)
        let remark = try await anna.client.audit.check().first { $0.subject == .person(house.identity.user) }?.remark
        #expect(remark == .olderCard)
        #expect(await share(second.chain) == nil)
        #expect(try await anna.client.logs.state(of: tresor).chain(of: house.identity.user) == second.chain)
        // The store shows a prefix of the compared chain, and no more is trusted because of it.
        #expect(await share(house.identity.chain) == .forked)
        try anna.client.people.pinBlocking(mallory.chain, replacing: true)
        #expect(try await anna.client.people.person(house.identity.user).trust == .changed(from: mallory.chain))
    }

    @Test func A53_anAbbreviationGrantsNoTrust() async throws {
        let text = String(house.identity.user.description.prefix(8))
        #expect(try await anna.client.people.lookup(text).map(\.trust) == [.unverified])
        #expect(try await anna.client.people.lookup(String(text.prefix(5))).isEmpty)
    }

    @Test func anOwnersSlashIsOneWhateverMarkStandsBehindIt() async throws {
        let marked = try await anna.tresors.create(Name(typed: "\u{301}x")).tresor
        let text = anna.identity.handle.text + "/\u{301}x"
        #expect(try await anna.tresors.named(text).map(\.tresor) == [marked])
    }

    @Test func A54_aTresorIsItsId() async throws {
        let other = try await world.quick("other")
        try other.client.people.pinBlocking(anna.identity.chain)
        let theirs = try await other.tresors.create(Name(typed: "plans")).tresor
        try await other.share(theirs, with: [anna], as: .writer)
        #expect(try await anna.tresors.named("plans").map(\.tresor) == [tresor])
        #expect(try await anna.tresors.named("other/plans").map(\.founderTrust) == [.unverified])
        let file = try await other.seal("x", in: theirs)
        #expect(await failure { _ = try await anna.files.open(file) } == .unverified)
        try anna.client.people.pinBlocking(other.identity.chain)
        var expecting = Expectations.anyTresor
        expecting.tresor = tresor
        #expect(await failure { _ = try await anna.files.open(file, expecting: expecting) } == .altered)
        #expect(try await anna.files.open(file).content == Array("x".utf8))
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Objects of strangers in a shared store, and objects that a store loses.
@Suite struct StrangersTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let eve: Session
    let mine: TresorID
    let theirs: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        eve = try await world.quick("eve")
        try world.introduce(anna, house)
        mine = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(mine, with: [house], as: .writer)
        try eve.client.people.pinBlocking(house.identity.chain)
        theirs = try await eve.tresors.create(Name(typed: "plans")).tresor
        try await eve.share(theirs, with: [house], as: .writer)
    }

    @Test func A215_aStrangersTresorLiesApart() async throws {
        #expect(try await house.tresors.named("plans").map(\.tresor) == [mine])
        for text in ["eve/plans", theirs.description, String(theirs.description.prefix(10))] {
            #expect(try await house.tresors.named(text).map(\.tresor) == [theirs])
        }
        let apart = try await house.tresors.all().filter(\.isApart)
        #expect(apart.map(\.tresor) == [theirs] && apart.allSatisfy { !$0.isHidden })
        try house.tresors.hideBlocking(theirs)
        try house.tresors.hideBlocking(mine)
        #expect(try await house.tresors.all().filter(\.isHidden).map(\.tresor) == [theirs])
        try house.tresors.hideBlocking(theirs, false)
        #expect(try await house.tresors.all().filter(\.isHidden).isEmpty)
        // A verified owner's tresor has a name as well. Until this home has read it, the name means the one it knows.
        try house.client.people.pinBlocking(eve.identity.chain)
        #expect(try await house.tresors.named("plans").map(\.tresor) == [mine])
        _ = try await house.tresors.all()
        #expect(try await house.tresors.named("plans").count == 2)
        // It keeps the name that it had when it was read.
        try house.client.home.delete(.pins)
        try house.client.people.pinBlocking(anna.identity.chain)
        #expect(try await house.tresors.named("plans").count == 2)
    }

    /// A list reads no log of a stranger's tresor, however long it is, until it is asked to.
    @Test func A248_aListReadsNoLogOfAStranger() async throws {
        _ = try await house.tresors.all(readingStrangers: false)
        for _ in 0..<3 { try await eve.tresors.perform(.rotate, on: theirs) }
        let before = evil.shownCount
        let listed = try await house.tresors.all(readingStrangers: false)
        // Of the known tresor its last entry, of the stranger's its first one.
        #expect(evil.shownCount == before + 2)
        let unread = try #require(listed.first { $0.tresor == theirs })
        #expect(!unread.isRead && unread.isApart && unread.name == nil && unread.founderTrust == .unverified)
        #expect(unread.stranger == eve.identity.chain && listed.first { $0.tresor == mine }?.isRead == true)
        let asked = try #require(try await house.tresors.all().first { $0.tresor == theirs })
        let name = try Name(typed: "plans")
        #expect(asked.isRead && asked.isApart && asked.name == name)
        try house.tresors.hideBlocking(theirs)
        #expect(try await house.allTresors().first { $0.tresor == theirs }?.isHidden == true)
        // Whom this person compares is no stranger.
        try house.client.people.pinBlocking(eve.identity.chain)
        #expect(try await house.allTresors().first { $0.tresor == theirs }?.isRead == true)
    }

    @Test func A215_leavingNeedsNoTrust() async throws {
        let home = house.home
        try await house.tresors.perform(.leave, on: theirs)
        #expect(house.home == home)
        #expect(try await eve.client.logs.state(of: theirs).members[house.identity.user] == nil)
        try house.client.people.pinBlocking(identity("anna").chain, replacing: true)
        try await house.tresors.perform(.leave, on: mine)
        #expect(try await anna.client.logs.state(of: mine).members[house.identity.user] == nil)
    }

    @Test func A215_theLastOwnerDoesNotLeaveAnythingWithoutOne() async throws {
        #expect(await failure { try await eve.tresors.perform(.leave, on: theirs) } == .usage(.lastOwner))
    }

    @Test func A221_thePinnedPersonIsUsed() async throws {
        let impostor = try identity("anna")
        evil.invent(impostor.chain.bytes)
        let people = try await house.client.people.lookup("anna")
        #expect(people.map(\.chain) == [anna.identity.chain] && people[0].trust == .verified)
        #expect(try await house.client.people.impostors(of: Name(typed: "anna")).map(\.chain) == [impostor.chain])
        let findings = try await house.client.audit.check()
        #expect(findings.contains { $0.subject == .person(anna.identity.user) && $0.remark == .anotherCard })
    }

    @Test func A217_whatTheStoreLacksIsFound() async throws {
        try await anna.tresors.perform(.rotate, on: mine)
        let whole = try await log(mine, in: evil.truth)
        _ = try await house.client.logs.state(of: mine)
        func found() async throws -> [Finding.Remark] {
            try await house.client.audit.check([mine]).filter { $0.subject == .tresor(mine) }.map(\.remark)
        }
        guard case .head = try await found().first else {
            Issue.record("not whole")
            return
        }
        for lost in [[0], [1], [0, 1]] {
            evil.show { _ in whole.enumerated().filter { !lost.contains($0.offset) }.map(\.element) }
            let state = try #require(try house.client.archive.verifiedState(of: mine))
            #expect(try await house.client.audit.lostEntries(of: state) == UInt64(lost.count))
        }
        evil.show { _ in [whole[0], whole[2], whole[1]] }
        let state = try #require(try house.client.archive.verifiedState(of: mine))
        #expect(await failure { _ = try await house.client.audit.lostEntries(of: state) } == .forked)
    }
}

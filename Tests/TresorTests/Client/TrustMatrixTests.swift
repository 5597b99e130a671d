// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Every pin against every log: who is compared, who may be read, and what of it a thief of an old seed can bring
/// about.
@Suite struct TrustMatrixTests {
    enum PinKind: CaseIterable { case none, older, equal, newer, replaced }

    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
    }

    private func renewed(_ person: Session) async throws -> Session {
        try await person.renewal.renew(password: password("new"), cost: .floor, kit: nil)
    }

    /// A reader whose home has this pin of house beside that of anna.
    private func reader(_ pin: PinKind, of person: Identity, _ name: String) async throws -> Session {
        let reader = try await world.quick(name)
        try anna.client.people.pinBlocking(reader.identity.chain)
        try await anna.share(tresor, with: [reader])
        try reader.client.people.pinBlocking(anna.identity.chain)
        let cards = person.chain.cards
        switch pin {
        case .none: break
        case .older: try reader.client.people.pinBlocking(CardChain(Array(cards.dropLast().map(\.bytes).joined())))
        case .equal: try reader.client.people.pinBlocking(person.chain)
        case .newer: try reader.client.people.pinBlocking(person.renewCard(time: 77).identity.chain)
        case .replaced:
            try reader.client.people.pinBlocking(person.chain)
            try reader.client.people.pinBlocking(identity("house").chain, replacing: true)
        }
        return reader
    }

    @Test(arguments: PinKind.allCases) func A204_A209_everyPinAgainstEveryLog(pin: PinKind) async throws {
        let early = try await house.seal("early", in: tresor)
        if pin != .older { try await check(pin, house.identity, early: early, late: nil) }
        let me = try await renewed(house)
        _ = try await me.renewal.finishInEachTresor()
        try await anna.tresors.perform(.rotate, on: tresor)
        let late = try await me.seal("late", in: tresor)
        try await check(pin, me.identity, early: early, late: late)
    }

    private func check(_ pin: PinKind, _ person: Identity, early: SealedFile, late: SealedFile?) async throws {
        let reader = try await self.reader(pin, of: person, "reader\(person.generation)")
        let chain = person.chain
        let state = try await reader.client.logs.state(of: tresor)
        let trust = try reader.client.trust.memberTrustBlocking(of: chain.user, in: state)
        switch pin {
        case .none: #expect(trust == .unverified)
        case .older: #expect(trust == .renewed(since: self.house.identity.chain))
        case .equal, .newer: #expect(trust == .verified)
        case .replaced: if case .changed = trust {} else { Issue.record("\(trust)") }
        }
        let isReplaced = pin == .replaced
        #expect(await failure { _ = try await reader.files.open(early) } == (isReplaced ? .unverified : nil))
        guard let late else { return }
        let isRefused = isReplaced || pin == .older
        #expect(await failure { _ = try await reader.files.open(late) } == (isRefused ? .unverified : nil))
    }

    @Test func A209_theSameFileOpensNoMoreWithAReplacedPinThanWithNone() async throws {
        let file = try await house.seal("x", in: tresor)
        let reader = try await reader(.none, of: house.identity, "cam")
        try reader.client.people.pinBlocking(identity("house").chain)
        #expect(await failure { _ = try await reader.files.open(file) } == .unverified)
        try reader.client.people.pinBlocking(house.identity.chain, replacing: true)
        #expect(try await reader.files.open(file).content == Array("x".utf8))
        try reader.client.people.pinBlocking(identity("house").chain, replacing: true)
        #expect(await failure { _ = try await reader.files.open(file) } == .unverified)
        // A chain that does not extend a pin is forked, and a pin that was replaced binds nothing.
        let (other, _) = try house.identity.renewCard(time: 5)
        try reader.client.people.pinBlocking(other.chain, replacing: true)
        #expect(error { try reader.client.people.pinBlocking(house.identity.chain, replacing: true) } == .forked)
        try reader.client.people.giveUpBlocking(house.identity.user)
        #expect(try reader.client.people.trustBlocking(in: house.identity.chain) == .unverified)
        #expect(try await reader.people.person(house.identity.user).chain == house.identity.chain)
        try reader.client.people.pinBlocking(house.identity.chain, replacing: true)
        #expect(try reader.client.people.trustBlocking(in: house.identity.chain) == .verified)
    }

    @Test func A204_aRemovedMemberWithNewKeysIsNoFork() async throws {
        let file = try await house.seal("x", in: tresor)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let me = try await renewed(house)
        try anna.client.people.pinBlocking(me.identity.chain)
        let opened = try await anna.files.open(file)
        #expect(opened.author.status != .current)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(try anna.client.trust.memberTrustBlocking(of: me.identity.user, in: state) == .verified)
    }

    @Test func A204_aFormerAuthorWhoInventsAHeadIsNamed() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await house.keyRing.keys(of: 1, in: state)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        // The head of a branch that nobody has ever seen.
        var fold = Fold(state: state)
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: house.identity,
            time: 5, body: .leave)
        try fold.apply(entry.bytes)
        let branch = try #require(fold.state)
        let file = try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: keys, state: branch, author: house.identity, time: 5)
        #expect(await failure { _ = try await anna.files.open(file) } == .forked)
        let author = try #require(await anna.files.formerAuthor(of: file))
        #expect(author.handle == house.identity.handle && author.former.cause == .removed)
        let mine = try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: keys, state: branch, author: anna.identity, time: 5)
        #expect(await failure { _ = try await anna.files.open(mine) } == .forked)
        #expect(await anna.files.formerAuthor(of: mine) == nil)
    }
}

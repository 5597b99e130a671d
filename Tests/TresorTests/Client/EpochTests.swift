// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Keys that are wrong, exchanged or withheld.
@Suite struct EpochTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
    }

    private func fresh(_ person: Session) -> Session { world.session(of: person) }

    /// The next epoch of an owner links to keys whose wrap this session has opened. Other bytes are judged anew.
    @Test func aWrapThatHasOpenedIsNotOpenedAgain() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let owner = fresh(anna)
        let keys = try await owner.keyRing.keys(of: 1, in: state)
        let reached = try await owner.keyRing.reachableKeys(in: state)
        #expect(reached.map { ObjectIdentifier($0) } == [ObjectIdentifier(keys)])
        let card = anna.identity.chain.newest
        let foreign = try Wrap(
            EpochKeys(epoch: 1), of: tresor, for: card, user: anna.identity.user, history: .all)
        let refused = await failure {
            _ = try await owner.keyRing.open(foreign.bytes, of: 1, in: state, history: .all)
        }
        #expect(refused == .altered)
        #expect(try await owner.keyRing.keys(of: 1, in: state) === keys)
    }

    @Test func A79_anotherKeyIsRefusedByReadersAndWriters() async throws {
        let file = try await anna.seal("x", in: tresor)
        let state = try await anna.client.logs.state(of: tresor)
        _ = try await house.client.logs.state(of: tresor)
        let foreign = try EpochKeys(epoch: 1)
        let wraps = try [anna, house].map { person throws in
            try Wrap(foreign, of: tresor, for: person.identity.chain.newest, user: person.identity.user, history: .all)
                .bytes
        }
        let me = anna.identity.user
        evil.showWraps { _, user, _ in [user == me ? wraps[0] : wraps[1]] }
        let writer = fresh(house)
        let home = writer.home
        #expect(await failure { _ = try await writer.files.open(file) } == .altered)
        #expect(await failure { _ = try await writer.seal("y", in: tresor) } == .altered)
        #expect(await failure { _ = try await writer.tresors.name(in: state) } == .altered)
        #expect(writer.home == home)
        // The author of the epoch has kept her own wrap, and continues with it.
        let owner = fresh(anna)
        #expect(try await owner.files.open(file).content == Array("x".utf8))
        let sealed = try await owner.seal("y", in: tresor)
        #expect(sealed.header.epoch == 1)
        #expect(await failure { _ = try FileOpener.openFile(sealed, with: foreign, in: state) } == .altered)
        try owner.client.home.delete(.wraps)
        #expect(await failure { _ = try await fresh(anna).files.open(file) } == .altered)
        #expect(await failure { _ = try await fresh(anna).seal("y", in: tresor) } == .store(.withheld))
    }

    @Test func A80_differentKeysForDifferentMembersAreNoticed() async throws {
        let file = try await anna.seal("x", in: tresor)
        let user = house.identity.user
        let other = try Wrap(
            EpochKeys(epoch: 1), of: tresor, for: house.identity.chain.newest, user: user, history: .all
        ).bytes
        evil.showWraps { wraps, asked, _ in asked == user ? [other] : wraps }
        #expect(await failure { _ = try await fresh(house).files.open(file) } == .altered)
        #expect(try await fresh(anna).files.open(file).content == Array("x".utf8))
    }

    @Test func A81_wrapsDoNotMoveBetweenMembersEpochsTresorsAndGenerations() async throws {
        let second = try await anna.tresors.create(Name(typed: "second")).tresor
        try await anna.share(second, with: [house])
        try await anna.tresors.perform(.rotate, on: tresor)
        try await anna.tresors.perform(.rotate, on: second)
        let file = try await anna.seal("x", in: tresor)
        let honest = try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: 2)
        let all = evil.everyWrap.map(\.bytes)
        #expect(all.count >= 8)
        for wrap in all where !honest.contains(wrap) {
            evil.showWraps { _, _, _ in [wrap] }
            #expect(await failure { _ = try await fresh(house).files.open(file) } == .altered)
        }
        evil.showWraps { _, _, _ in honest }
        #expect(try await fresh(house).files.open(file).content == Array("x".utf8))
    }

    @Test func A15_everyDamagedWrapIsAltered() async throws {
        let state = try await house.client.logs.state(of: tresor)
        let honest = try #require(try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: 1).first)
        let other = try #require(try await evil.truth.wraps(of: anna.identity.user, in: tresor, epoch: 1).first)
        let start = honest.count - 80 - 2 - 1120
        let halves = Array(honest[..<(start + 1088)]) + other[(start + 1088)...]
        let zero = Array(honest[..<(start + 1088)]) + [UInt8](repeating: 0, count: 32) + honest[(start + 1120)...]
        for damaged in [halves, zero, Array(honest.dropLast()), honest + [0]] {
            evil.showWraps { _, _, _ in [damaged] }
            #expect(await failure { _ = try await fresh(house).keyRing.keys(of: 1, in: state) } == .altered)
        }
    }

    @Test func A16_aForeignKemKeyOpensNothing() async throws {
        let card = anna.identity.chain.newest
        var encoder = ByteEncoder()
        encoder.preamble(.card)
        encoder.vector16(Array("mallory".utf8))
        encoder.integer(UInt32(0))
        encoder.digest(.zero)
        encoder.digest(.zero)
        let key = try SigningKey(seed: try SecretKey<SigningUse>())
        encoder.digest(key.publicKey)
        encoder.raw(card.kemKey.bytes)
        encoder.integer(UInt64(1))
        let body = encoder.bytes
        let mallory = try CardChain(body + key.sign(DomainLabel.cardSignature.message(body)))
        try anna.client.people.pinBlocking(mallory)
        try await anna.tresors.perform(
            .share(with: [mallory], role: .reader, fromNow: false, notAfter: nil), on: tresor)
        let theirs = try await evil.truth.wraps(of: mallory.user, in: tresor, epoch: 1)
        #expect(theirs.count == 1)
        evil.showWraps { _, _, _ in theirs }
        let state = try await anna.client.logs.state(of: tresor)
        try anna.client.home.delete(.wraps)
        #expect(await failure { _ = try await fresh(anna).keyRing.keys(of: 1, in: state) } == .altered)
    }

    /// An epoch by `author` whose back-link carries what `link` makes of the present keys.
    private func rotate(_ author: Session, link: (EpochKeys) throws -> [EpochKeys], garbage: Bool = false) async throws
    {
        let state = try await author.client.logs.state(of: tresor)
        let present = try await author.keyRing.keys(of: state.epoch, in: state)
        let next = try EpochKeys(epoch: state.epoch + 1)
        var statement = try next.statement(of: tresor, linking: link(present))
        if garbage {
            statement = Epoch(
                number: statement.number, contentCommitment: statement.contentCommitment,
                historyCommitment: statement.historyCommitment, backLink: statement.backLink.map { ~$0 })
        }
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author.identity,
            time: 5, body: .epoch(EpochBody(statement)))
        let outcome = try await evil.append(
            LogChange(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
                putting: EntryDrafting(session: author).wraps(
                    next, for: EntryDrafting(session: author).recipients(in: state), of: tresor)))
        #expect(outcome == .done)
    }

    @Test func A75_aSpoiledNameStopsSharingFromNowUntilItIsRenamed() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: anna.identity,
            time: 5,
            body: .rename(RenameBody(try Chronicle.anyName())))
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes)
        #expect(try await evil.append(change) == .done)
        let third = try await world.quick("third")
        try world.introduce(anna, third)
        #expect(await failure { try await anna.share(tresor, with: [third], fromNow: true) } == .altered)
        let name = try Name(typed: "again")
        try await anna.tresors.perform(.rename(name), on: tresor)
        #expect(try await anna.tresors.name(in: anna.client.logs.state(of: tresor)) == name)
        try await anna.share(tresor, with: [third], fromNow: true)
        #expect(try await third.tresors.name(in: third.client.logs.state(of: tresor)) == name)
    }

    @Test func A76_aNameIsNotSealedUnderTheKeyOfADepartingMember() async throws {
        let (house, tresor) = (house, tresor)
        evil.beforeNextAppend { _ = await failure { try await house.tresors.perform(.leave, on: tresor) } }
        try await anna.tresors.perform(.rename(Name(typed: "again")), on: tresor)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.members[house.identity.user] == nil)
        #expect(state.epoch == 2)
        #expect(state.name.epoch == 2)
    }

    enum Link: CaseIterable, Sendable { case garbage, otherKeys, otherEpoch }

    /// An epoch whose back-link hides what was before it.
    private func spoil(_ link: Link, by author: Session) async throws {
        try await rotate(
            author,
            link: { present in
                switch link {
                case .garbage: [present]
                case .otherKeys: [try EpochKeys(epoch: present.epoch)]
                case .otherEpoch: [try EpochKeys(epoch: present.epoch + 7)]
                }
            }, garbage: link == .garbage)
    }

    private func newcomer(_ handle: String) async throws -> Session {
        let person = try await world.quick(handle)
        try world.introduce(anna, person)
        try await fresh(anna).share(tresor, with: [person])
        return person
    }

    @Test(arguments: Link.allCases) func A83_aBackLinkThatLiesHidesOnlyWhatWasBefore(link: Link) async throws {
        let old = try await anna.seal("old", in: tresor)
        try await spoil(link, by: anna)
        let late = try await newcomer("late")
        let new = try await fresh(anna).seal("new", in: tresor)
        #expect(await failure { _ = try await late.files.open(old) } == .altered)
        #expect(try await late.files.open(new).content == Array("new".utf8))
        let findings = try await fresh(late).audit.check([tresor])
        #expect(findings.contains { $0.remark == .failed(.altered) })
    }

    @Test(arguments: Link.allCases) func A83_whoHasAnOlderWrapReadsOnWithIt(link: Link) async throws {
        let old = try await anna.seal("old", in: tresor)
        try await spoil(link, by: anna)
        #expect(try await fresh(house).files.open(old).content == Array("old".utf8))
        #expect(try await fresh(house).audit.check([tresor]).allSatisfy { $0.remark == .fine })
        evil.showWraps { wraps, _, _ in wraps.filter { (try? UnverifiedWrap($0).epoch) != 1 } }
        // The home keeps a wrap to which no newer one leads.
        #expect(try await fresh(house).files.open(old).content == Array("old".utf8))
        try house.client.home.delete(.wraps)
        #expect(await failure { _ = try await fresh(house).files.open(old) } == .altered)
        let findings = try await fresh(house).audit.check([tresor])
        #expect(findings.contains { $0.remark == .failed(.altered) })
    }

    @Test(arguments: Link.allCases) func A83_theOwnersNextEpochRepairsIt(link: Link) async throws {
        let old = try await anna.seal("old", in: tresor)
        try await spoil(link, by: anna)
        let late = try await newcomer("late")
        try await fresh(anna).tresors.perform(.rotate, on: tresor)
        #expect(try await fresh(late).files.open(old).content == Array("old".utf8))
        let later = try await newcomer("later")
        #expect(try await later.files.open(old).content == Array("old".utf8))
        try await fresh(anna).tresors.perform(.rotate, on: tresor)
        #expect(try await newcomer("latest").files.open(old).content == Array("old".utf8))
    }

    @Test func A83_aLinkSpoiledSeveralEpochsAgoIsRepairedToo() async throws {
        let first = try await anna.seal("first", in: tresor)
        try await spoil(.garbage, by: anna)
        let second = try await fresh(anna).seal("second", in: tresor)
        try await rotate(fresh(anna), link: { [$0] })
        try await spoil(.otherKeys, by: fresh(anna))
        try await rotate(fresh(anna), link: { [$0] })
        try await fresh(anna).tresors.perform(.rotate, on: tresor)
        let late = try await newcomer("late")
        for (file, text) in [(first, "first"), (second, "second")] {
            #expect(try await fresh(late).files.open(file).content == Array(text.utf8))
        }
        let state = try await late.client.logs.state(of: tresor)
        for epoch in 1...state.epoch {
            #expect(try await fresh(late).keyRing.keys(of: epoch, in: state).epoch == epoch)
        }
    }

    @Test func A83_aLaterLinkThatLiesDoesNotHideAnEarlierOneThatHolds() async throws {
        try await anna.tresors.perform(.rotate, on: tresor)
        let second = try await anna.seal("second", in: tresor)
        try await rotate(anna, link: { [$0, try EpochKeys(epoch: 1)] })
        #expect(try await fresh(house).files.open(second).content == Array("second".utf8))
    }

    @Test func A85_aWithheldWrapDeniesOneAndIsRestoredWithoutAnEntry() async throws {
        let file = try await anna.seal("x", in: tresor)
        let user = house.identity.user
        evil.showWraps { wraps, asked, _ in asked == user ? [] : wraps }
        #expect(await failure { _ = try await fresh(house).files.open(file) } == .noAccess)
        #expect(try await fresh(anna).files.open(file).content == Array("x".utf8))
        evil.behave()
        try await evil.truth.putWraps([StoredWrap(user: user, epoch: 1, bytes: [1])], in: tresor)
        #expect(await failure { _ = try await fresh(house).files.open(file) } == .altered)
        let count = try await log(tresor, in: evil.truth).count
        try await anna.audit.restoreWraps(of: tresor)
        #expect(try await log(tresor, in: evil.truth).count == count)
        #expect(try await fresh(house).files.open(file).content == Array("x".utf8))
    }

    @Test func A87_whoLeftAndCameBackWithFullHistoryReadsItInTheSameSession() async throws {
        let third = try await world.quick("third")
        try world.introduce(anna, third)
        let first = try await anna.seal("first", in: tresor)
        try await anna.share(tresor, with: [third], fromNow: true)
        _ = try await third.files.open(try await anna.seal("second", in: tresor))
        try await third.tresors.perform(.leave, on: tresor)
        try await anna.share(tresor, with: [third], as: .owner)
        #expect(try await third.files.open(first).content == Array("first".utf8))
        try await third.tresors.perform(.rotate, on: tresor)
        #expect(try await fresh(house).files.open(first).content == Array("first".utf8))
    }
}

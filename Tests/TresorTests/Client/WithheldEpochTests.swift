// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Epochs that do not reach everybody (SPEC §9.6): by a writer, by a second owner, by many, and on a store that helps
/// them.
@Suite struct WithheldEpochTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let bob: Session
    let house: Session
    let tresor: TresorID
    let before: SealedFile

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        bob = try await world.quick("bob")
        house = try await world.quick("house")
        try world.introduce(anna, bob, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [bob], as: .writer)
        try await anna.share(tresor, with: [house])
        before = try await anna.seal("before", in: tresor)
    }

    private func fresh(_ person: Session) -> Session { world.session(of: person) }

    /// Appends what no honest program would.
    @discardableResult private func append(
        _ body: EntryBody, by author: Identity, generation: UInt32? = nil, wraps: [StoredWrap] = []
    ) async throws -> LogState {
        try await world.append(body, by: author, generation: generation, to: tresor, in: evil, wraps: wraps)
    }

    /// An epoch by `author` that only `reached` get, with `links`.
    @discardableResult private func withhold(
        by author: Identity, for reached: [Identity], linking links: [EpochKeys]
    ) async throws -> EpochKeys {
        let state = try Fold.state(of: await log(tresor, in: evil.truth), tresor: tresor)
        let next = try EpochKeys(epoch: state.epoch + 1)
        let wraps = try reached.map { person in
            let chain = person.chain
            let wrap = try Wrap(next, of: tresor, for: chain.newest, user: chain.user, history: .all)
            return StoredWrap(user: chain.user, epoch: next.epoch, bytes: wrap.bytes)
        }
        try await append(.epoch(EpochBody(try next.statement(of: tresor, linking: links))), by: author, wraps: wraps)
        return next
    }

    /// A writer marks the tresor by a renewal of her own, and begins an epoch for herself alone.
    private func lockOut() async throws -> Identity {
        let renewed = try bob.identity.renewCard(time: world.clock.now).identity
        try await append(.renew(RenewBody(renewed.chain.newest)), by: renewed, generation: 0)
        try await withhold(by: renewed, for: [renewed], linking: [try await anna.keyRing.keys(of: 1, in: state())])
        return renewed
    }

    private func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    @Test func A200_aWriterTakesAwayNothingOlder() async throws {
        _ = try await lockOut()
        for person in [anna, house] {
            #expect(try await fresh(person).files.open(before).content == Array("before".utf8))
        }
        #expect(await failure { _ = try await fresh(house).keyRing.keys(of: 2, in: state()) } == .noAccess)
    }

    @Test func A200_theFounderRemovesTheWriterAndContinues() async throws {
        let writer = try await lockOut()
        let founder = fresh(anna)
        try await founder.tresors.perform(.revoke([bob.identity.user]), on: tresor)
        let after = try await founder.seal("after", in: tresor)
        for person in [anna, house] {
            #expect(try await fresh(person).files.open(before).content == Array("before".utf8))
            #expect(try await fresh(person).files.open(after).content == Array("after".utf8))
        }
        let removed = Session(client: bob.client, identity: writer)
        #expect(await failure { _ = try await removed.files.open(after) } == .noAccess)
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        try await founder.share(tresor, with: [late])
        #expect(try await late.files.open(before).content == Array("before".utf8))
    }

    enum Deed: CaseIterable { case seal, share, rename, rotate, reseal }

    @Test(arguments: Deed.allCases) func A200_anOwnerCanDoEverything(deed: Deed) async throws {
        _ = try await lockOut()
        let owner = fresh(anna)
        let late = try await world.quick("late")
        try world.introduce(anna, late)
        switch deed {
        case .seal: _ = try await owner.seal("new", in: tresor)
        case .share: try await owner.share(tresor, with: [late])
        case .rename: try await owner.tresors.perform(.rename(Name(typed: "other")), on: tresor)
        case .rotate: try await owner.tresors.perform(.rotate, on: tresor)
        case .reseal: #expect(try await owner.files.reseal(before)?.header.epoch == 3)
        }
        let notices = await owner.takeNotices()
        #expect(notices.map(\.deed) == (deed == .rotate ? [] : [.rekeyed]))
        let now = try await owner.seal("now", in: tresor)
        #expect(now.header.epoch == 3)
        #expect(try await fresh(house).files.open(now).content == Array("now".utf8))
        #expect(try await fresh(house).files.open(before).content == Array("before".utf8))
    }

    @Test func A200_aWriterStopsWhereOnlyAnOwnerCanHelp() async throws {
        let carol = try await world.quick("carol")
        try world.introduce(anna, carol)
        try await anna.share(tresor, with: [carol], as: .writer)
        _ = try await lockOut()
        #expect(await failure { _ = try await fresh(carol).seal("x", in: tresor) } == .noAccess)
        try await append(.leave, by: house.identity)
        #expect(await failure { _ = try await fresh(carol).seal("x", in: tresor) } == .noAccess)
        _ = try await fresh(anna).seal("x", in: tresor)
        #expect(try await fresh(carol).seal("y", in: tresor).header.epoch == 3)
    }

    @Test func A200_aSecondOwnerLocksNobodyOut() async throws {
        let dora = try await world.quick("dora")
        try world.introduce(anna, dora, house)
        try await anna.share(tresor, with: [dora], as: .owner)
        try await withhold(by: dora.identity, for: [dora.identity], linking: [anna.keyRing.keys(of: 1, in: state())])
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        try await fresh(anna).tresors.perform(.revoke([dora.identity.user]), on: tresor)
        let after = try await fresh(anna).seal("after", in: tresor)
        #expect(try await fresh(house).files.open(after).content == Array("after".utf8))
        #expect(try await fresh(house).files.open(before).content == Array("before".utf8))
    }

    /// The second epoch reaches everybody and links past what the first hides, or to nothing at all.
    @Test(arguments: [true, false]) func A200_twoEpochsOfWhichTheSecondReachesEverybody(linksPast: Bool) async throws {
        let dora = try await world.quick("dora")
        try world.introduce(anna, dora, house)
        try await anna.share(tresor, with: [dora], as: .owner)
        let first = try await anna.keyRing.keys(of: 1, in: state())
        let hidden = try await withhold(by: dora.identity, for: [dora.identity], linking: [first])
        let secret = try await FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: hidden, state: state(), author: dora.identity,
            time: world.clock.now)
        let all = [anna, bob, house, dora].map(\.identity)
        try await withhold(by: dora.identity, for: all, linking: linksPast ? [first] : [])
        for person in [anna, bob, house] {
            #expect(try await fresh(person).files.open(before).content == Array("before".utf8))
            #expect(await failure { _ = try await fresh(person).files.open(secret) } == .noAccess)
        }
        let after = try await fresh(anna).seal("after", in: tresor)
        #expect(after.header.epoch == 3)
        #expect(try await fresh(house).files.open(after).content == Array("after".utf8))
    }

    /// An epoch that reaches everybody and links to nothing, on a store that loses all older wraps.
    @Test func A200_theHomeKeepsWhatNoNewerWrapLeadsTo() async throws {
        let dora = try await world.quick("dora")
        try world.introduce(anna, dora)
        try await anna.share(tresor, with: [dora], as: .owner)
        for _ in 0..<2 {
            try await withhold(by: dora.identity, for: [anna, bob, house, dora].map(\.identity), linking: [])
            _ = try await fresh(anna).tresors.name(in: state())
        }
        #expect(anna.client.keptWraps().wraps(of: tresor).map(\.epoch) == [3, 2, 1])
        evil.showWraps { wraps, _, _ in wraps.filter { (try? UnverifiedWrap($0).epoch) != 1 } }
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        try await fresh(anna).tresors.perform(.rotate, on: tresor)
        #expect(anna.client.keptWraps().wraps(of: tresor).map(\.epoch) == [4])
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        #expect(try await fresh(house).files.open(before).content == Array("before".utf8))
    }

    /// A name under a key that its author kept: it is spoiled, and *rename* helps.
    @Test func A200_aNameUnderAWithheldKeyStopsNobody() async throws {
        let dora = try await world.quick("dora")
        let late = try await world.quick("late")
        try world.introduce(anna, dora, late)
        try await anna.share(tresor, with: [dora], as: .owner)
        let keys = try EpochKeys(epoch: 2)
        let name = try SealedName(
            Name(typed: "theirs"), kind: .empty, under: keys.content, tresor: tresor, epoch: 2,
            sequence: try await state().head.sequence + 1)
        let grant = GrantBody(
            people: [try identity("accomplice").chain], role: .reader, notAfter: nil,
            fromNow: GrantBody.FromNow(epoch: try keys.statement(of: tresor, linking: []), sealedName: name))
        try await append(.grant(grant), by: dora.identity)
        #expect(await failure { try await fresh(anna).share(tresor, with: [late], fromNow: true) } == .altered)
        try await fresh(anna).tresors.perform(.rename(Name(typed: "plans")), on: tresor)
        try await fresh(anna).share(tresor, with: [late], fromNow: true)
        #expect(try await late.tresors.name(in: late.client.logs.state(of: tresor)) == Name(typed: "plans"))
    }

    @Test func A200_threeHundredEpochsTakeNothingAway() async throws {
        let count = LongRun.isOn ? 300 : 30
        let dora = try await world.quick("dora")
        try world.introduce(anna, dora)
        try await anna.share(tresor, with: [dora], as: .owner)
        var keys = try await anna.keyRing.keys(of: 1, in: state())
        for _ in 0..<count {
            keys = try await withhold(by: dora.identity, for: [dora.identity], linking: [keys])
        }
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        try await fresh(anna).tresors.perform(.revoke([dora.identity.user]), on: tresor)
        #expect(try await fresh(house).files.open(before).content == Array("before".utf8))
        let after = try await fresh(anna).seal("after", in: tresor)
        #expect(after.header.epoch == UInt64(count + 2))
        #expect(try await fresh(house).files.open(after).content == Array("after".utf8))
    }

    @Test func A200_aStoreThatLosesTheWrapsTakesNothingFromTheOwner() async throws {
        _ = try await lockOut()
        let user = anna.identity.user
        evil.showWraps { wraps, asked, _ in asked == user ? [] : wraps }
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        evil.behave()
        try await fresh(anna).tresors.perform(.revoke([bob.identity.user]), on: tresor)
        evil.showWraps { wraps, asked, _ in asked == user ? [] : wraps }
        #expect(try await fresh(anna).files.open(before).content == Array("before".utf8))
        #expect(try await fresh(anna).seal("x", in: tresor).header.epoch == 3)
    }

    /// However many wraps of one epoch a store gives: 16 that fit are tried, and the home's. The first that opens serves.
    @Test func A200_A238_ofTheStoresWrapsOfAnEpochTheFirstThatOpensServes() async throws {
        let (user, state) = (house.identity.user, try await state())
        let own = try #require(try await evil.truth.wraps(of: user, in: tresor, epoch: 1).first)
        let other = try #require(try await evil.truth.wraps(of: anna.identity.user, in: tresor, epoch: 1).first)
        let spoiled = (0..<16).map { flipped(own, own.count * 8 - 1 - $0) }
        func outcome(_ shown: [[UInt8]], kept: [UInt8]? = nil) async throws -> TresorError? {
            var wraps = KeptWraps()
            wraps[tresor, 1] = kept
            try house.client.home.replace(.wraps, with: wraps.bytes)
            evil.showWraps { _, _, _ in shown }
            defer { evil.behave() }
            return await failure { _ = try await fresh(house).keyRing.keys(of: 1, in: state) }
        }
        #expect(try await outcome([own] + spoiled) == nil)
        #expect(try await outcome([other, Array(own.dropLast()), own] + spoiled) == nil)
        #expect(try await outcome(spoiled.dropLast() + [own]) == nil)
        #expect(try await outcome([other] + spoiled.dropLast() + spoiled.dropLast() + [own]) == nil)
        #expect(try await outcome(spoiled + [own]) == .altered)
        #expect(try await outcome([other] + spoiled + [own]) == .altered)
        #expect(try await outcome(spoiled, kept: own) == nil)
        #expect(try await outcome([], kept: own) == nil)
    }

    @Test func A200_A238_aLinkIsMadeOfTheFirstWrapThatOpens() async throws {
        let (user, state) = (anna.identity.user, try await state())
        let own = try #require(try await evil.truth.wraps(of: user, in: tresor, epoch: 1).first)
        let spoiled = (0..<16).map { flipped(own, own.count * 8 - 1 - $0) }
        evil.showWraps { _, _, _ in spoiled + [own] }
        #expect(try await fresh(anna).keyRing.reachableKeys(in: state).map(\.epoch) == [1])
        try anna.client.home.delete(.wraps)
        #expect(try await fresh(anna).keyRing.reachableKeys(in: state).isEmpty)
        evil.showWraps { _, _, _ in spoiled.dropLast() + [own] }
        #expect(try await fresh(anna).keyRing.reachableKeys(in: state).map(\.epoch) == [1])
    }

    @Test func A200_whereTheEpochIsMineTheStoreIsAtFault() async throws {
        try await anna.tresors.perform(.rotate, on: tresor)
        try anna.client.home.delete(.wraps)
        evil.showWraps { _, _, _ in [] }
        let count = evil.writeCount
        #expect(await failure { _ = try await fresh(anna).seal("x", in: tresor) } == .store(.withheld))
        #expect(evil.writeCount == count)
    }

    @Test func A200_theHomeKeepsItsWrapBeforeAnythingIsSent() async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let (count, kept) = (evil.writeCount, anna.client.keptWraps())
        home.fill(after: 0)
        #expect(await failure { try await fresh(anna).tresors.perform(.rotate, on: tresor) } == .failed(.full))
        home.fill(after: nil)
        #expect(evil.writeCount == count)
        #expect(anna.client.keptWraps() == kept)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(anna.client.keptWraps().wraps(of: tresor).map(\.epoch) == [2])
    }

    /// Wraps kept before a failed append do not replace the one that opened.
    @Test func A200_aWrapThatNeverCountedReplacesNone() async throws {
        let first = anna.client.keptWraps()
        let other = fresh(anna)
        try LogWriter(session: anna).keepBeforeSending(
            [StoredWrap(user: anna.identity.user, epoch: 2, bytes: [1, 2])], of: tresor)
        #expect(anna.client.keptWraps()[tresor, 1] == first[tresor, 1])
        evil.showWraps { _, _, _ in [] }
        #expect(try await other.files.open(before).content == Array("before".utf8))
    }

    @Test func A200_checkNamesTheEpochItsAuthorAndHowManyItReaches() async throws {
        let writer = try await lockOut()
        let findings = try await anna.client.audit.check([tresor])
        let named = findings.map(\.remark).contains(.withheldEpoch(2, by: writer.user, reaching: 1, of: 3))
        #expect(named)
        try await fresh(anna).tresors.perform(.revoke([bob.identity.user]), on: tresor)
        let after = try await anna.client.audit.check([tresor]).contains {
            if case .withheldEpoch = $0.remark { true } else { false }
        }
        #expect(!after)
    }
}

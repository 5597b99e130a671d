// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The files that each person can open after a person was added, removed, or left.
@Suite struct RevocationTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let third: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        third = try await world.quick("third")
        try world.introduce(anna, house, third)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
    }

    /// Whether any wrap the store ever had opens the file for one of these people, whatever the log says of them.
    private func opens(_ file: SealedFile, _ people: Session...) async throws -> Bool {
        let state = try await anna.client.logs.state(of: tresor)
        var keys: [EpochKeys] = []
        for person in people {
            for stored in evil.everyWrap {
                let wrap = try UnverifiedWrap(stored.bytes)
                guard let statement = state.statement(of: wrap.epoch) else { continue }
                for history in [History.all, .from(epoch: 1)] {
                    let opened = try? wrap.openWrap(
                        as: person.identity, of: tresor, statement: statement, card: person.identity.chain.newest,
                        history: history)
                    if let opened { keys.append(opened) }
                }
            }
        }
        var index = 0
        while index < keys.count {
            if let statement = state.statement(of: keys[index].epoch), keys[index].opensHistory {
                keys += (try? keys[index].openBackLink(statement, of: tresor)) ?? []
            }
            index += 1
        }
        let context = file.header.bytes
        let sealed = Array(file.bytes[FileHeader.byteCount...])
        return keys.contains { keys in
            (try? TC1.open(sealed.span, with: keys.content, label: .fileSeal, context: context.span)) != nil
        }
    }

    @Test func A76_A78_aRemovedDoctorOpensNothingSealedAfterwards() async throws {
        try await anna.share(tresor, with: [house])
        try await anna.share(tresor, with: [third], as: .writer)
        let before = try await anna.seal("before", in: tresor)
        #expect(try await house.files.open(before).content == Array("before".utf8))
        let home = try #require(house.client.home as? MemoryHome).copy()
        let wrapsBefore = try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: nil)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let after = try await anna.seal("after", in: tresor)
        #expect(try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: nil).isEmpty)
        #expect(try await opens(before, house))
        #expect(try await !opens(after, house))
        for person in [house, world.session(of: house, home: home), world.session(of: house, home: home.copy())] {
            #expect(await failure { _ = try await person.files.open(after) } == .noAccess)
            #expect(await failure { _ = try await person.seal("x", in: tresor) } == .noAccess)
        }
        evil.showWraps { _, _, _ in wrapsBefore }
        #expect(await failure { _ = try await world.session(of: house, home: home).files.open(after) } == .noAccess)
        evil.frozen(2)
        let old = world.session(of: house, home: MemoryHome())
        try old.client.people.pinBlocking(anna.identity.chain)
        #expect(await failure { _ = try await old.files.open(after) } == .store(.behind))
        evil.behave()
        #expect(try await third.files.open(after).content == Array("after".utf8))
        #expect(try await third.files.open(before).content == Array("before".utf8))
    }

    @Test func A82_fromNowOpensNothingEarlierWithTheWholeStore() async throws {
        let first = try await anna.seal("first", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let second = try await anna.seal("second", in: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        let third = try await anna.seal("third", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let fourth = try await anna.seal("fourth", in: tresor)
        for file in [first, second] {
            #expect(await failure { _ = try await house.files.open(file) } == .noAccess)
            #expect(try await !opens(file, house))
        }
        for file in [third, fourth] { _ = try await house.files.open(file) }
        let state = try await house.client.logs.state(of: tresor)
        for epoch in 3...4 as ClosedRange<UInt64> {
            #expect(try await !house.keyRing.keys(of: epoch, in: state).opensHistory)
        }
        #expect(await failure { _ = try await house.keyRing.keys(of: 2, in: state) } == .noAccess)
    }

    @Test func A82_aWrapWithAHistoryKeyIsRefused() async throws {
        try await anna.share(tresor, with: [house], fromNow: true)
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 2, in: state)
        let card = house.identity.chain.newest
        let full = try Wrap(keys, of: tresor, for: card, user: house.identity.user, history: .all).bytes
        let other = try Wrap(
            EpochKeys(epoch: 2), of: tresor, for: card, user: house.identity.user, history: .from(epoch: 2)
        ).bytes
        for wrap in [full, other] {
            evil.showWraps { _, _, _ in [wrap] }
            #expect(await failure { _ = try await house.keyRing.keys(of: 2, in: state) } == .altered)
        }
    }

    @Test func A86_afterSomebodyLeftTheKeyChangesFirst() async throws {
        try await anna.share(tresor, with: [house])
        try await anna.share(tresor, with: [third], as: .writer)
        try await house.tresors.perform(.leave, on: tresor)
        let marked = try await anna.client.logs.state(of: tresor)
        #expect(marked.isRekeyPending)
        let keys = try await anna.keyRing.keys(of: 1, in: marked)
        let early = try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: keys, state: marked, author: anna.identity, time: 1)
        #expect(await failure { _ = try await third.files.open(early) } == .noAccess)
        let file = try await third.seal("x", in: tresor)
        #expect(file.header.epoch == 2)
        #expect(try await !opens(file, house))
        #expect(await failure { _ = try await house.files.open(file) } == .noAccess)
    }

    /// The store tells of the leaving at the second question only.
    @Test func A86_aNameIsNotSealedUnderTheKeyOfWhoLeft() async throws {
        try await anna.share(tresor, with: [house])
        try await house.tresors.perform(.leave, on: tresor)
        evil.older(2)
        try await anna.tresors.perform(.rename(Name(typed: "care")), on: tresor)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.name.epoch == 2 && !state.isRekeyPending)
        #expect(try await anna.tresors.name(in: state) == Name(typed: "care"))
    }

    @Test func A87_comingBackFromNowOpensNothingBetween() async throws {
        try await anna.share(tresor, with: [house])
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let between = try await anna.seal("between", in: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        let after = try await anna.seal("after", in: tresor)
        #expect(try await house.files.open(after).content == Array("after".utf8))
        #expect(await failure { _ = try await house.files.open(between) } == .noAccess)
        #expect(try await !opens(between, house))
    }

    /// A session cannot reopen its earlier files after a return, as little as a new one can.
    @Test func A87_comingBackFromNowOpensNothingEarlierInTheSameSession() async throws {
        try await anna.share(tresor, with: [house])
        let before = try await anna.seal("before", in: tresor)
        #expect(try await house.files.open(before).content == Array("before".utf8))
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        for person in [house, world.session(of: house)] {
            #expect(await failure { _ = try await person.files.open(before) } == .noAccess)
        }
    }

    /// The keys of before are lost with the session: neither the log nor a store that kept the old wrap gives them
    /// back.
    @Test func A87_comingBackFromNowBringsNothingOfBeforeBack() async throws {
        try await anna.share(tresor, with: [house])
        let before = try await anna.seal("before", in: tresor)
        #expect(try await house.files.open(before).content == Array("before".utf8))
        let wraps = try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: 1)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        let after = try await anna.seal("after", in: tresor)
        let empty = MemoryHome()
        try world.session(of: house, home: empty).client.people.pinBlocking(anna.identity.chain)
        for home in [house.client.home, empty] {
            let fresh = { world.session(of: house, home: home) }
            #expect(try await fresh().files.open(after).content == Array("after".utf8))
            #expect(await failure { _ = try await fresh().files.open(before) } == .noAccess)
            evil.showWraps { honest, _, epoch in epoch == 3 ? honest : wraps + honest }
            #expect(await failure { _ = try await fresh().files.open(before) } == .noAccess)
            evil.showWraps { _, _, _ in wraps }
            #expect(await failure { _ = try await fresh().files.open(before) } == .noAccess)
            #expect(await failure { _ = try await fresh().files.open(after) } == .altered)
            evil.behave()
        }
    }

    @Test func A58_aGhostIsNeverWrappedTo() async throws {
        try await anna.share(tresor, with: [house])
        let ghost = third.identity
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 1, in: state)
        let wrap = try Wrap(keys, of: tresor, for: ghost.chain.newest, user: ghost.user, history: .all)
        try await evil.truth.putWraps([StoredWrap(user: ghost.user, epoch: 1, bytes: wrap.bytes)], in: tresor)
        #expect(await failure { _ = try await third.seal("x", in: tresor) } == StageStores.errorOfStrangers)
        let count = evil.everyWrap.count
        try await anna.tresors.perform(.rotate, on: tresor)
        let users = Set(evil.everyWrap.dropFirst(count).map(\.user))
        #expect(users == [anna.identity.user, house.identity.user])
    }

    @Test func A69_actsThatMakeNoSense() async throws {
        try await anna.share(tresor, with: [house], fromNow: true)
        let writes = evil.writeCount
        let (me, doctor, stranger) = (anna.identity, house.identity, third.identity)
        func share(_ chains: [CardChain], _ role: Role, fromNow: Bool) -> Act {
            .share(with: chains, role: role, fromNow: fromNow, notAfter: nil)
        }
        let acts: [(Act, TresorError?)] = [
            (share([doctor.chain], .reader, fromNow: true), nil), (share([me.chain], .owner, fromNow: false), nil),
            (share([], .reader, fromNow: false), .usage(.nobodyNamed)),
            (share([doctor.chain, doctor.chain], .reader, fromNow: true), .usage(.namedTwice)),
            (share([doctor.chain], .owner, fromNow: true), .usage(.ownerWithoutHistory)),
            (share([stranger.chain], .owner, fromNow: true), .usage(.ownerWithoutHistory)),
            (share([me.chain], .reader, fromNow: false), .usage(.founder)),
            (.revoke([stranger.user]), .notFound),
            (.revoke([UserID]()), .usage(.nobodyNamed)),
            (.revoke([me.user]), .usage(.yourself)),
            (.revoke([doctor.user, doctor.user]), .usage(.namedTwice)),
            (.leave, .usage(.lastOwner)),
            (.rename(.empty), .usage(.nameEmpty)),
        ]
        for (act, expected) in acts {
            #expect(await failure { try await anna.tresors.perform(act, on: tresor) } == expected, "\(act)")
        }
        #expect(evil.writeCount == writes)
        try await anna.tresors.perform(.revoke([doctor.user]), on: tresor)
        let again = try await anna.tresors.perform(.revoke([doctor.user]), on: tresor)
        #expect(again.effect.already == [doctor.user])
        #expect(again.state.epoch == 3)
    }

    @Test func A71_anOwnersNextActRemovesWhoseDateHasPassed() async throws {
        let end = world.clock.now + 50
        try await anna.share(tresor, with: [house], notAfter: end)
        world.clock.now = end + 1
        try await anna.tresors.perform(.rename(Name(typed: "new")), on: tresor)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.members[house.identity.user] == nil)
        #expect(state.epoch == 2)
        #expect(evil.everyWrap.allSatisfy { $0.user != house.identity.user || $0.epoch == 1 })
    }

    @Test func A71_anOwnerWhoSealsRemovesWhoseDateHasPassed() async throws {
        let end = world.clock.now + 50
        try await anna.share(tresor, with: [house], notAfter: end)
        try await anna.share(tresor, with: [third], as: .writer)
        let before = try await anna.seal("before", in: tresor)
        world.clock.now = end
        #expect(try await anna.seal("last", in: tresor).header.epoch == 1)
        world.clock.now = end + 1
        #expect(try await third.seal("a writer cannot", in: tresor).header.epoch == 1)
        let after = try #require(try await anna.files.reseal(before))
        #expect(after.header.epoch == 2)
        #expect(try await anna.client.logs.state(of: tresor).members[house.identity.user] == nil)
        #expect(await failure { _ = try await house.files.open(after) } == .noAccess)
        #expect(evil.everyWrap.allSatisfy { $0.user != house.identity.user || $0.epoch == 1 })
        let again = end + 100
        try await anna.share(tresor, with: [house], notAfter: again)
        world.clock.now = again + 1
        #expect(try await anna.seal("after", in: tresor).header.epoch == 3)
    }

    /// Dates end by the clock alone: what anybody once signed under a later one ends nothing, and a clock that is set
    /// back ends nothing either.
    @Test func A71_A206_whatWasSignedUnderALaterClockEndsNothing() async throws {
        let end = world.clock.now + 50
        try await anna.share(tresor, with: [third], as: .owner)
        try await anna.share(tresor, with: [house], as: .writer, notAfter: end)
        let effect = try await anna.tresors.effect(
            of: .rename(Name(typed: "new")), in: anna.client.logs.state(of: tresor))
        world.clock.now = end + 1
        try await anna.tresors.perform(.rename(Name(typed: "new")), on: tresor, expecting: effect)
        world.clock.now = end - 40
        #expect(try await third.seal("another clock", in: tresor).header.epoch == 1)
        #expect(try await anna.seal("set back", in: tresor).header.epoch == 1)
        #expect(try await anna.client.logs.state(of: tresor).members[house.identity.user] != nil)
        world.clock.now = end + 2
        #expect(try await anna.seal("after", in: tresor).header.epoch == 2)
        #expect(try await anna.client.logs.state(of: tresor).members[house.identity.user] == nil)
    }

    /// The limit of the protection: until an owner acts, a departed writer may continue and backdate files.
    @Test func A71_whoDatesBackIsBelievedUntilTheyAreRemoved() async throws {
        let end = world.clock.now + 50
        try await anna.share(tresor, with: [house], as: .writer, notAfter: end)
        let state = try await house.client.logs.state(of: tresor)
        let keys = try await house.keyRing.keys(of: 1, in: state)
        world.clock.now = end + 100
        #expect(await failure { _ = try await house.seal("x", in: tresor) } == .noAccess)
        let writer = house.identity
        func file(at state: LogState, time: UInt64) throws -> SealedFile {
            try FileSealer.sealFile(
                [1], type: .empty, record: .empty, keys: keys, state: state, author: writer, time: time)
        }
        let dated = try file(at: state, time: end)
        #expect(try await anna.files.open(dated).author.status == .current)
        #expect(await failure { _ = try await anna.files.open(file(at: state, time: end + 1)) } == .noAccess)
        try await anna.tresors.perform(.rename(Name(typed: "new")), on: tresor)
        let after = try await anna.client.logs.state(of: tresor)
        #expect(after.members[writer.user] == nil)
        #expect(await failure { _ = try await anna.files.open(file(at: after, time: end)) } == .noAccess)
        #expect(try await anna.files.open(dated).author.status != .current)
        var expecting = Expectations.anyTresor
        expecting.currentAuthor = true
        #expect(await failure { _ = try await anna.files.open(dated, expecting: expecting) } == .noAccess)
    }
}

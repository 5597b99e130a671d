// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The attacks of a thief of an old seed, or of a store, on a renewal.
@Suite struct StolenSeedTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let mallory: Session
    let plans: TresorID
    /// A copy of anna's home before she renewed. The operator of a service is in league with the thief.
    let thief: Session

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        mallory = try await world.quick("mallory")
        try world.introduce(anna, house, mallory)
        plans = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(plans, with: [house], as: .writer)
        let stolen = try #require(anna.client.home as? MemoryHome).copy()
        thief = world.session(of: anna, home: stolen, seeing: StageStores.inLeague(evil))
    }

    private func renewed(_ person: Session) async throws -> Session {
        let renewed = try await person.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        return renewed
    }

    /// The trap: founded with the old seed, shared with an accomplice and everybody who matters.
    private func trap(for me: Session, withNewCard: Bool) async throws -> TresorID {
        let trap = try await thief.tresors.create(Name(typed: "medication")).tresor
        try await thief.share(trap, with: [mallory], as: .owner)
        try thief.client.home.delete(.pins)
        for person in [house, mallory] { try thief.client.people.pinBlocking(person.identity.chain) }
        try await thief.share(trap, with: [house], as: .writer)
        guard withNewCard else { return trap }
        // Cards are public: the newest comes out of the store, and the old seed signs the entry that names it.
        let state = try await mallory.client.logs.state(of: trap, remembering: .no)
        let entry = try Entry(
            tresor: trap, sequence: state.head.sequence + 1, previous: state.head.hash, author: thief.identity,
            time: world.clock.now, body: .renew(RenewBody(me.identity.chain.newest)))
        let outcome = try await world.store.append(
            LogChange(tresor: trap, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes))
        #expect(outcome == .done)
        return trap
    }

    @Test(arguments: [false, true])
    func A201_theThiefOfAnOldSeedFoundsNothingThatIsMine(withNewCard: Bool) async throws {
        let me = try await renewed(anna)
        let trap = try await trap(for: me, withNewCard: withNewCard)
        let file = withNewCard ? nil : try await thief.seal("dose", in: trap)
        let home = me.home
        let state = try await me.client.logs.state(of: trap)
        #expect(try me.client.trust.founderTrust(in: state) == .unverified)
        #expect(me.home == home, "nothing of it is kept")
        let count = try await log(trap, in: world.store).count
        let summary = try #require(try await me.tresors.all().first { $0.tresor == trap })
        #expect(summary.isApart && summary.founderTrust == .unverified)
        if let file {
            #expect(await failure { _ = try await me.files.open(file) } == .unverified)
            var expecting = Expectations.anyTresor
            expecting.acceptingUnverified = true
            #expect(try await me.files.open(file, expecting: expecting).content == Array("dose".utf8))
        }
        #expect(await failure { _ = try await me.seal("x", in: trap) } != nil)
        for act in [Act.rotate, .renew, .revoke([house.identity.user]), .rename(try Name(typed: "mine"))] {
            #expect(await failure { try await me.tresors.perform(act, on: trap) } != nil, "\(act)")
        }
        // Another renewal signs nothing over.
        let again = try await me.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await again.renewal.finishInEachTresor().first { $0.tresor == trap }?.error == .unverified)
        #expect(again.identity.generation == 2)
        #expect(try await again.client.logs.state(of: plans).chain(of: me.identity.user) == again.identity.chain)
        #expect(try await log(trap, in: world.store).count == count)
        #expect(again.client.marks()[trap] == [])
        try await again.tresors.perform(.leave, on: trap)
        #expect(try await mallory.client.logs.state(of: trap, remembering: .no).members[again.identity.user] == nil)
    }

    /// Cards are public: the newest one in a log that the old seed alone has signed proves nothing.
    @Test(arguments: [true, false])
    func A201_whoComparedTheNewNumberBelievesNothingOfAThief(hasCompared: Bool) async throws {
        let me = try await renewed(anna)
        if hasCompared { try house.client.people.pinBlocking(me.identity.chain) }
        let trap = try await trap(for: me, withNewCard: true)
        let home = house.home
        let state = try await house.client.logs.state(of: trap)
        #expect(try house.client.trust.founderTrust(in: state) == .unverified)
        #expect(house.home == home, "nothing of it is kept")
        #expect(await failure { _ = try await house.seal("x", in: trap) } == .unverified)
        #expect(try await house.tresors.all().first { $0.tresor == trap }?.isApart == true)
        // Entries signed by the newest keys are hers, also in a home that never saw them.
        try house.client.home.delete(.heads)
        let plans = try await house.client.logs.state(of: plans)
        let trust = try house.client.trust.founderTrust(in: plans)
        #expect(trust == (hasCompared ? .verified : .renewed(since: anna.identity.chain)))
    }

    @Test func A201_aHeadThatWasPinnedBeforeIsNotEnough() async throws {
        // The thief is faster: the tresor is there before anna has new keys, and her home takes it for hers.
        let trap = try await trap(for: anna, withNewCard: false)
        _ = try await anna.client.logs.state(of: trap)
        #expect(try anna.client.heads()[trap] != nil)
        let me = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await me.renewal.finishInEachTresor().first { $0.tresor == trap }?.error == .unverified)
        try await thief.tresors.perform(.rotate, on: trap)
        let heads = me.home[.heads]
        let state = try await me.client.logs.state(of: trap)
        #expect(try me.client.trust.founderTrust(in: state) == .unverified)
        #expect(me.home[.heads] == heads)
        #expect(await failure { _ = try await me.seal("x", in: trap) } != nil)
    }

    @Test func A201_marksThatDoNotOpenAreNamedAndNotReplaced() async throws {
        let sealed = try #require(anna.home[.marks])
        let count = try await log(plans, in: world.store).count
        let newer = try anna.identity.sealForHome(Array("tresorY2".utf8) + [1, 1], .marksSeal)
        for (bytes, wanted) in [(flipped(sealed, 700), TresorError.altered), (newer, .unsupported)] {
            try anna.client.home.replace(.marks, with: bytes)
            let home = anna.home
            #expect(error { try anna.tresors.proveMarksBlocking() } == wanted)
            #expect(await failure { _ = try await anna.tresors.create(Name(typed: "other")) } == wanted)
            #expect(error { try anna.tresors.hideBlocking(plans) } == wanted)
            #expect(
                await failure { try anna.tresors.confirmMineBlocking(try await anna.client.logs.state(of: plans)) }
                    == wanted)
            #expect(anna.home[.marks] == home[.marks])
            #expect(try await world.store.tresors(of: anna.identity.user) == [plans])
            let finding = Finding(subject: .file(.marks), remark: .failed(wanted))
            #expect(try await anna.client.audit.check().contains(finding))
            // Without the identity nobody can tell.
            #expect(try await !world.client(anna.client.home).audit.check().contains(finding))
        }
        #expect(try await log(plans, in: world.store).count == count)
        try anna.client.home.delete(.marks)
        _ = try await anna.tresors.create(Name(typed: "other"))
    }

    @Test func A201_whatThisHomeMadeIsMineAfterARenewal() async throws {
        let file = try await anna.seal("plan", in: plans)
        let me = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(me.client.marks()[plans].isConfirmed)
        try await me.people.publishCard()
        #expect(
            me.tresors.knownNameBlocking(of: plans) == nil || me.tresors.knownNameBlocking(of: plans)?.text == "plans")
        let state = try await me.client.logs.state(of: plans)
        #expect(try me.client.trust.founderTrust(in: state) == .me)
        #expect(try await me.files.open(file).content == Array("plan".utf8))
        #expect(try await me.renewal.finishInEachTresor().allSatisfy { $0.error == nil && $0.isRotated })
        let again = try await renewed(me)
        #expect(try await again.seal("plan", in: plans).header.epoch == 3)
        // Without the identity there are no marks, and nothing of an older log is believed.
        let locked = world.client(again.client.home)
        #expect(try locked.trust.founderTrust(in: state) == .unverified)
        #expect(try again.client.trust.founderTrust(in: state) == .me)
    }

    @Test func A201_anEmptyHomeConfirmsWhatIsMine() async throws {
        let me = try await renewed(anna)
        let home = MemoryHome()
        try home.replace(.identity, with: try #require(me.home[.identity]))
        let fresh = world.session(of: me, home: home)
        let state = try await fresh.client.logs.state(of: plans)
        #expect(try fresh.client.trust.founderTrust(in: state) == .unverified)
        #expect(try await fresh.tresors.all().map(\.isApart) == [true])
        #expect(await failure { _ = try await fresh.seal("x", in: plans) } == .unverified)
        try fresh.tresors.confirmMineBlocking(state)
        #expect(try fresh.client.trust.founderTrust(in: state) == .me)
        #expect(try await fresh.tresors.named("plans").map(\.tresor) == [plans])
        _ = try await fresh.seal("x", in: plans)
        // Tresors made with the newest keys need no mark.
        let made = try await me.tresors.create(Name(typed: "new")).tresor
        #expect(try fresh.client.trust.founderTrust(in: try await fresh.client.logs.state(of: made)) == .me)
        #expect(error { try house.tresors.confirmMineBlocking(state) } == .usage(.notFounder))
    }

    @Test func A202_whatAStoreShowsMakesNoRenewalUnfinished() async throws {
        let old = try #require(try await world.store.card(of: anna.identity.user))
        var me = try await renewed(anna)
        // The earlier card is a prefix of the own chain: it stops nothing, and it is no interrupted renewal.
        for generation in 2...3 as ClosedRange<UInt32> {
            evil.late(old)
            #expect(try !me.renewal.isUnfinishedBlocking())
            try await me.renewal.check()
            evil.late()
            me = try await renewed(me)
            #expect(me.identity.generation == generation)
        }
        _ = try await trap(for: me, withNewCard: false)
        #expect(try !me.renewal.isUnfinishedBlocking())
    }

    @Test func A202_anOldCopyOfAHomeMakesNoKeys() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 99)
        let copy = try #require(anna.client.home as? MemoryHome).copy()
        let stale = world.session(of: anna, home: copy)
        let me = try await renewed(anna)
        let share = try await me.unlocking.rememberDevice(name: .empty, until: world.clock.now + 99)
        let before = copy.contents
        #expect(
            await failure { _ = try await stale.renewal.renew(password: password("x"), cost: .floor, kit: nil) }
                == .forked)
        #expect(copy.contents == before)
        #expect(try await world.store.serverShare(user: me.identity.user, device: share.id) != nil)
        #expect(device.id != share.id)
        #expect(try await me.client.device.unlock().identity.generation == 1)
    }

    @Test func A202_aStoreThatCannotBeReachedChangesNothing() async throws {
        let home = anna.home
        evil.fail(after: 0, behind: false)
        let outcome = await failure {
            _ = try await anna.renewal.renew(password: password("x"), cost: .floor, kit: nil)
        }
        guard case .store = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
        #expect(anna.home == home)
    }
}

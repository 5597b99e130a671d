// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// A store that says one thing of a write and does another.
@Suite struct WriteLieTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let third: Session
    let tresor: TresorID

    enum Deed: CaseIterable, Sendable { case share, fromNow, revoke, rotate, rename, role }

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        third = try await world.quick("third")
        try world.introduce(anna, house, third)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
    }

    /// The author knows the hash of the last entry: nothing is read before the entry is sent.
    @Test func nothingIsReadBeforeAnAppend() async throws {
        let store = FaultyStore()
        let anna = try await World(store: store).quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let state = try await anna.client.logs.state(of: tresor)
        let before = store.calls.count
        let draft = EntryDraft(body: .additive(AdditiveBody(type: 200, [1])))
        #expect(try await LogWriter(session: anna).append(draft, Effect(), to: state) != nil)
        #expect(store.calls[before].name == "append")
    }

    private func act(_ deed: Deed) throws -> Act {
        switch deed {
        case .share: .share(with: [third.identity.chain], role: .reader, fromNow: false, notAfter: nil)
        case .fromNow: .share(with: [third.identity.chain], role: .reader, fromNow: true, notAfter: nil)
        case .revoke: .revoke([house.identity.user])
        case .rotate: .rotate
        case .rename: .rename(try Name(typed: "other"))
        case .role: .share(with: [house.identity.chain], role: .writer, fromNow: false, notAfter: nil)
        }
    }

    @Test(arguments: Deed.allCases) func A66_yesWithoutStoringIsTheStoresFault(deed: Deed) async throws {
        evil.lie(.storesNothing)
        let (home, kept) = (anna.homeBesidesWraps, anna.client.keptWraps())
        #expect(await failure { try await anna.tresors.perform(act(deed), on: tresor) } == .store(.notStored))
        #expect(anna.homeBesidesWraps == home)
        #expect(anna.client.keptWraps()[tresor, 1] == kept[tresor, 1])
        evil.behave()
        try await anna.tresors.perform(try act(deed), on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test func A66_leavingThatWasNotStoredIsTheStoresFault() async throws {
        _ = try await house.client.logs.state(of: tresor)
        evil.lie(.storesNothing)
        let home = house.home
        #expect(await failure { try await house.tresors.perform(.leave, on: tresor) } == .store(.notStored))
        #expect(house.home == home)
        evil.lie(.saysConflict)
        try await house.tresors.perform(.leave, on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test func A66_aRenewalThatWasNotStoredIsUnfinished() async throws {
        let kit: RecoveryKit? = try RecoveryKit()
        let me = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        evil.lie(.storesNothing)
        let renewals = await (try? me.renewal.finishInEachTresor()) ?? []
        #expect(renewals.allSatisfy { $0.error != nil })
        #expect(try me.renewal.isUnfinishedBlocking())
        #expect(try await log(tresor, in: evil.truth).count == 2)
        evil.behave()
        #expect(try await me.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        #expect(try !me.renewal.isUnfinishedBlocking())
        #expect(try await me.client.logs.state(of: tresor).chain(of: me.identity.user) == me.identity.chain)
    }

    @Test func A66_A85_wrapsThatWereNotRestoredAreTheStoresFault() async throws {
        let users = [anna.identity.user, house.identity.user]
        let good = try await evil.truth.wraps(of: users, in: tresor, epoch: 1)
        let spoiled = users.map { StoredWrap(user: $0, epoch: 1, bytes: [1]) }
        try await evil.truth.putWraps([spoiled[1]], in: tresor)
        evil.lie(.storesNothing)
        #expect(await failure { try await anna.audit.restoreWraps(of: tresor) } == .store(.notStored))
        evil.behave()
        try await anna.audit.restoreWraps(of: tresor)
        let put = try await evil.truth.wraps(of: users, in: tresor, epoch: 1)
        #expect(zip(put, good).allSatisfy { $0 != [[1]] && $0.first?.count == $1.first?.count })
    }

    /// A store that fails before or behind a call, at each call of each act in turn: the act is done or not, and can be
    /// done again.
    @Test(arguments: Deed.allCases, [false, true])
    func A66_aStoreThatFailsHalfWayLosesNothing(deed: Deed, behind: Bool) async throws {
        for call in 0..<40 {
            let scene = try await WriteLieTests()
            let act = try scene.act(deed)
            scene.evil.fail(after: call, behind: behind)
            let error = await failure { try await scene.anna.tresors.perform(act, on: scene.tresor) }
            #expect(error == nil || error == .store(.inputOutput), "\(call)")
            scene.evil.behave()
            let count = try await log(scene.tresor, in: scene.evil.truth).count
            #expect(count == 2 || count == 3, "\(call)")
            #expect(error != nil || count == 3, "\(call)")
            if count == 2 { try await scene.anna.tresors.perform(act, on: scene.tresor) }
            let state = try await scene.anna.client.logs.state(of: scene.tresor)
            #expect(state.head.sequence == 2, "\(call)")
            _ = try await scene.anna.keyRing.keys(of: 1, in: state)
            #expect(try await scene.anna.client.audit.check().allSatisfy { $0.level != .bad }, "\(call)")
            if error == nil { return }
        }
        Issue.record("the act is never done")
    }

    /// The store answers only when another client has changed the log: nothing is decided before, and nothing undone.
    @Test func A67_aSlowStoreIsWaitedFor() async throws {
        let home = try #require(anna.client.home as? MemoryHome).copy()
        let other = world.session(of: anna, home: home, seeing: evil.truth)
        let tresor = tresor
        evil.beforeNextAppend { _ = try? await other.tresors.perform(.rotate, on: tresor) }
        try await anna.tresors.perform(.rename(Name(typed: "slow")), on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 4)
        #expect(try await anna.client.logs.state(of: tresor).epoch == 2)
    }

    @Test(arguments: Deed.allCases) func A106_whatTheHomeCannotRememberIsNotBegun(deed: Deed) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let before = anna.home
        let act = try act(deed)
        home.fill(after: 0)
        #expect(await failure { try await anna.tresors.perform(act, on: tresor) } == .failed(.full))
        #expect(try await log(tresor, in: evil.truth).count == 2)
        home.fill(after: nil)
        #expect(anna.home == before)
        try await anna.tresors.perform(act, on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test(arguments: Deed.allCases) func A106_aHomeThatFailsAfterTheStoreSaysThatItIsDone(deed: Deed) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let act = try act(deed)
        home.fill(after: 1)
        #expect(await failure { try await anna.tresors.perform(act, on: tresor) } == .failed(.notNoted))
        home.fill(after: nil)
        #expect(try await anna.client.logs.state(of: tresor).head.sequence == 2)
    }

    /// Another process takes the lock of the home after the store's answer.
    @Test(arguments: Deed.allCases) func A106_aHomeThatIsBusyAfterTheStoreSaysThatItIsDone(deed: Deed) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let act = try act(deed)
        home.hold(after: 1)
        #expect(await failure { try await anna.tresors.perform(act, on: tresor) } == .failed(.notNoted))
        home.hold(after: nil)
        #expect(try await anna.client.logs.state(of: tresor).head.sequence == 2)
    }

    @Test func A106_creatingBeginsOnlyWithAHomeThatCanBeWritten() async throws {
        let home = try #require(house.client.home as? MemoryHome)
        home.fill(after: 0)
        #expect(await failure { _ = try await house.tresors.create(Name(typed: "mine")) } == .failed(.full))
        home.fill(after: nil)
        #expect(try await evil.truth.tresors(of: house.identity.user) == [tresor])
        #expect(try await house.tresors.create(Name(typed: "mine")).head.sequence == 0)
    }

    @Test(arguments: Deed.allCases) func A66_aConflictThatIsNoneIsRecognised(deed: Deed) async throws {
        evil.lie(.saysConflict)
        try await anna.tresors.perform(act(deed), on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test(arguments: [Deed.share, .fromNow, .revoke, .rotate])
    func A66_halfATransactionIsTheStoresFault(deed: Deed) async throws {
        evil.lie(.storesEntryAlone)
        #expect(await failure { try await anna.tresors.perform(act(deed), on: tresor) } == .store(.notStored))
    }

    /// A second owner begins an epoch, of which the store keeps the entry alone. Gives a file that is sealed under it.
    private func losingAnEpoch() async throws -> SealedFile {
        try await anna.share(tresor, with: [third], as: .owner)
        evil.lie(.storesEntryAlone)
        #expect(await failure { try await third.tresors.perform(.rotate, on: tresor) } == .store(.notStored))
        evil.behave()
        let lost = try await third.seal("lost", in: tresor)
        #expect(lost.header.epoch == 2)
        try await expectLost(lost, for: [anna, house])
        return lost
    }

    private func expectLost(_ file: SealedFile, for people: [Session]) async throws {
        for person in people {
            let fresh = world.session(of: person)
            #expect(await failure { _ = try await fresh.files.open(file) } == .noAccess)
        }
    }

    @Test func A66_A85_theAuthorPutsLostWrapsAgain() async throws {
        let lost = try await losingAnEpoch()
        try await third.audit.restoreWraps(of: tresor)
        for person in [anna, house] {
            #expect(try await world.session(of: person).files.open(lost).content == Array("lost".utf8))
        }
        #expect(try await anna.seal("next", in: tresor).header.epoch == 2)
    }

    /// Another owner goes on without the lost epoch, and who comes then reads all but that one. The author's next epoch
    /// links to it.
    @Test func A66_A85_aLostEpochIsItsAuthorsUntilTheirNextOne() async throws {
        let before = try await anna.seal("before", in: tresor)
        let lost = try await losingAnEpoch()
        #expect(try await anna.seal("next", in: tresor).header.epoch == 3)
        let late = try await world.quick("late")
        try world.introduce(anna, third, late)
        try await anna.share(tresor, with: [late])
        #expect(try await late.files.open(before).content == Array("before".utf8))
        try await expectLost(lost, for: [anna, house, late])
        try await third.tresors.perform(.rotate, on: tresor)
        for person in [anna, house, late] {
            #expect(try await world.session(of: person).files.open(lost).content == Array("lost".utf8))
        }
    }

    @Test(arguments: Deed.allCases) func A66_storedTwiceAdvancesNothing(deed: Deed) async throws {
        evil.lie(.storesTwice)
        let (home, kept) = (anna.homeBesidesWraps, anna.client.keptWraps())
        #expect(await failure { try await anna.tresors.perform(act(deed), on: tresor) } == .altered)
        #expect(anna.homeBesidesWraps == home)
        #expect(anna.client.keptWraps()[tresor, 1] == kept[tresor, 1])
    }

    @Test(arguments: [EvilStore.Lie.storesNothing, .storesEntryAlone])
    func A66_aTresorThatWasNotStoredIsNotMade(lie: EvilStore.Lie) async throws {
        evil.lie(lie)
        #expect(await failure { _ = try await anna.tresors.create(Name(typed: "new")) } == .store(.notStored))
    }

    @Test func A66_aCardThatWasNotStoredIsNotPublished() async throws {
        evil.lie(.storesNothing)
        #expect(await failure { _ = try await world.quick("nobody") } == .store(.notStored))
        evil.lie(.saysConflict)
        _ = try await world.quick("somebody")
    }

    @Test func A66_aKitWhoseCopyWasNotStoredLeavesTheOldOne() async throws {
        evil.lie(.storesNothing)
        let home = anna.home
        #expect(await failure { _ = try await anna.unlocking.makeKit() } == .store(.notStored))
        #expect(anna.homeBesidesCleanupJournal == home)
    }

    @Test func A66_aDeviceWhoseShareWasNotStoredIsNotTrusted() async throws {
        evil.lie(.storesNothing)
        let home = anna.home
        let until = world.clock.now + 1000
        #expect(
            await failure { _ = try await anna.unlocking.rememberDevice(name: .empty, until: until) }
                == .store(.notStored))
        #expect(anna.homeBesidesCleanupJournal == home)
    }

    @Test func A71_aDateOutsideTheFormatNeverReachesTheStore() async throws {
        let writes = evil.writeCount
        for end in [0, Format.latestTime + 1, .max] {
            let share = Act.share(with: [third.identity.chain], role: .reader, fromNow: false, notAfter: end)
            #expect(await failure { try await anna.tresors.perform(share, on: tresor) } == .usage(.time))
        }
        #expect(evil.writeCount == writes)
        world.clock.now = .max
        try await anna.tresors.perform(.rename(Name(typed: "late")), on: tresor)
        #expect(try await house.client.logs.state(of: tresor).headTime == Format.latestTime)
    }

    @Test func A71_aDateOutsideTheFormatNeverReachesTheIdentityFile() async throws {
        let home = anna.home
        let until = Format.latestTime + 1
        #expect(
            await failure { _ = try await anna.unlocking.rememberDevice(name: .empty, until: until) } == .usage(.time))
        #expect(anna.home == home)
        #expect(throws: Never.self) { try anna.client.identityFileBlocking() }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

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
        tresor = try await anna.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
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
        let home = anna.home
        #expect(await failure { try await anna.perform(act(deed), on: tresor) } == .store(.notStored))
        #expect(anna.home == home)
        evil.behave()
        try await anna.perform(try act(deed), on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test(arguments: Deed.allCases) func A106_whatTheHomeCannotRememberIsNotBegun(deed: Deed) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let before = anna.home
        let act = try act(deed)
        home.fill(after: 0)
        #expect(await failure { try await anna.perform(act, on: tresor) } == .failed(.full))
        #expect(try await log(tresor, in: evil.truth).count == 2)
        home.fill(after: nil)
        #expect(anna.home == before)
        try await anna.perform(act, on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test(arguments: Deed.allCases) func A106_aHomeThatFailsAfterTheStoreSaysThatItIsDone(deed: Deed) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let act = try act(deed)
        home.fill(after: 1)
        #expect(await failure { try await anna.perform(act, on: tresor) } == .failed(.notNoted))
        home.fill(after: nil)
        #expect(try await anna.client.state(of: tresor).head.sequence == 2)
    }

    @Test func A106_creatingBeginsOnlyWithAHomeThatCanBeWritten() async throws {
        let home = try #require(house.client.home as? MemoryHome)
        home.fill(after: 0)
        #expect(await failure { _ = try await house.create(Name(typed: "mine")) } == .failed(.full))
        home.fill(after: nil)
        #expect(try await evil.truth.tresors(of: house.identity.user) == [tresor])
        #expect(try await house.create(Name(typed: "mine")).head.sequence == 0)
    }

    @Test(arguments: Deed.allCases) func A66_aConflictThatIsNoneIsRecognised(deed: Deed) async throws {
        evil.lie(.saysConflict)
        try await anna.perform(act(deed), on: tresor)
        #expect(try await log(tresor, in: evil.truth).count == 3)
    }

    @Test(arguments: [Deed.share, .fromNow, .revoke, .rotate])
    func A66_halfATransactionIsTheStoresFault(deed: Deed) async throws {
        evil.lie(.storesEntryAlone)
        #expect(await failure { try await anna.perform(act(deed), on: tresor) } == .store(.notStored))
    }

    @Test(arguments: Deed.allCases) func A66_storedTwiceAdvancesNothing(deed: Deed) async throws {
        evil.lie(.storesTwice)
        let home = anna.home
        #expect(await failure { try await anna.perform(act(deed), on: tresor) } == .altered)
        #expect(anna.home == home)
    }

    @Test(arguments: [EvilStore.Lie.storesNothing, .storesEntryAlone])
    func A66_aTresorThatWasNotStoredIsNotMade(lie: EvilStore.Lie) async throws {
        evil.lie(lie)
        #expect(await failure { _ = try await anna.create(Name(typed: "new")) } == .store(.notStored))
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
        #expect(await failure { _ = try await anna.makeKit() } == .store(.notStored))
        #expect(anna.homeBesidesLeftovers == home)
    }

    @Test func A66_aDeviceWhoseHalfWasNotStoredIsNotRemembered() async throws {
        evil.lie(.storesNothing)
        let home = anna.home
        let until = world.clock.now + 1000
        #expect(
            await failure { _ = try await anna.rememberDevice(name: .empty, until: until) } == .store(.notStored))
        #expect(anna.homeBesidesLeftovers == home)
    }

    @Test func A71_aDateOutsideTheFormatNeverReachesTheStore() async throws {
        let writes = evil.writeCount
        for end in [0, Format.latestTime + 1, .max] {
            let share = Act.share(with: [third.identity.chain], role: .reader, fromNow: false, notAfter: end)
            #expect(await failure { try await anna.perform(share, on: tresor) } == .usage)
        }
        #expect(evil.writeCount == writes)
        world.clock.now = .max
        try await anna.perform(.rename(Name(typed: "late")), on: tresor)
        #expect(try await house.client.state(of: tresor).headTime == Format.latestTime)
    }

    @Test func A71_aDateOutsideTheFormatNeverReachesTheIdentityFile() async throws {
        let home = anna.home
        let until = Format.latestTime + 1
        #expect(await failure { _ = try await anna.rememberDevice(name: .empty, until: until) } == .usage)
        #expect(anna.home == home)
        #expect(throws: Never.self) { try anna.client.identityFile() }
    }
}

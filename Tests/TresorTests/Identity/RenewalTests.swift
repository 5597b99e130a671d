// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// New keys for oneself, and what others make of them.
@Suite struct RenewalTests {
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
        let kit: RecoveryKit? = try RecoveryKit()
        return try await person.renewal.renew(password: password("new"), cost: .floor, kit: kit)
    }

    @Test func A37_A51_afterARenewalContactsCompareAgain() async throws {
        let old = try await anna.seal("old", in: tresor)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let me = try await renewed(anna)
        #expect(me.identity.generation == 1)
        #expect(try me.renewal.isUnfinishedBlocking())
        #expect(me.home[.deviceShare] == nil)
        let renewals = try await me.renewal.finishInEachTresor()
        #expect(renewals.allSatisfy { $0.error == nil && $0.isRotated })
        #expect(try !me.renewal.isUnfinishedBlocking())
        let count = try await log(tresor, in: world.store).count
        _ = try await me.renewal.finishInEachTresor()
        #expect(try await log(tresor, in: world.store).count == count)
        let new = try await me.seal("new", in: tresor)
        #expect(try await me.files.open(old).content == Array("old".utf8))
        #expect(try await house.files.open(old).content == Array("old".utf8))
        #expect(await failure { _ = try await house.files.open(new) } == .unverified)
        #expect(await failure { _ = try await house.seal("x", in: tresor) } == .unverified)
        #expect(try house.client.people.trustBlocking(in: me.identity.chain) == .renewed(since: anna.identity.chain))
        try house.client.people.pinBlocking(me.identity.chain)
        #expect(try await house.files.open(new).content == Array("new".utf8))
        #expect(try await house.files.open(old).author.status != .current)
    }

    @Test func A72_theOldGenerationDoesNothingMore() async throws {
        let me = try await renewed(anna)
        _ = try await me.renewal.finishInEachTresor()
        let count = try await log(tresor, in: world.store).count
        #expect(await failure { try await anna.tresors.perform(.rotate, on: tresor) } == .noAccess)
        #expect(await failure { _ = try await anna.seal("x", in: tresor) } == .noAccess)
        #expect(try await log(tresor, in: world.store).count == count)
        let state = try await me.client.logs.state(of: tresor)
        let keys = try await me.keyRing.keys(of: state.epoch, in: state)
        let file = try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: keys, state: state, author: anna.identity, time: 1)
        #expect(await failure { _ = try await me.files.open(file) } == .noAccess)
    }

    @Test func A72_nothingIsWrittenBetweenRenewalAndRotation() async throws {
        let me = try await renewed(house)
        let renewals = try await me.renewal.finishInEachTresor()
        #expect(renewals.map(\.isRotated) == [false])
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.isRekeyPending)
        let file = try await anna.seal("x", in: tresor)
        #expect(file.header.epoch == 2)
        #expect(try await me.files.open(file).content == Array("x".utf8))
        #expect(await failure { _ = try await world.session(of: house, home: MemoryHome()).files.open(file) } != nil)
    }

    @Test func A72_aLogBelowThePinnedGenerationIsNotEncryptedTo() async throws {
        let me = try await renewed(anna)
        try house.client.people.pinBlocking(me.identity.chain)
        #expect(await failure { _ = try await house.seal("x", in: tresor) } == .unverified)
        _ = try await me.renewal.finishInEachTresor()
        #expect(try await house.seal("x", in: tresor).header.epoch == 2)
    }

    @Test func A38_theNewFileOpensWithTheNewWaysAlone() async throws {
        let first = try await anna.unlocking.makeKit()
        let words = try RecoveryKit().words()
        let kit = try RecoveryKit(typed: words)
        let given: RecoveryKit? = try RecoveryKit(typed: words)
        let me = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: given)
        let file = try me.client.identityFileBlocking()
        #expect(error { _ = try file.open(withKit: first) } == .wrongPassword)
        #expect(try file.open(withKit: kit).generation == 1)
        #expect(try file.open(withPassword: password("new")).chain == me.identity.chain)
        #expect(try await world.store.kitCopy(locator: first.locator()) == nil)
        #expect(file.devices.isEmpty)
    }

    /// As SPEC 8.1 counts them: when they are prepared, in which a letter and its mark may have become one.
    @Test func A29_aPasswordThatIsTooShortIsNotSet() async throws {
        func made(_ text: String) throws -> Password {
            let typed = try SecretBytes(copying: Array(text.utf8).span)
            return try Password(typed: typed)
        }
        let kit = try await anna.unlocking.makeKit()
        for text in ["1234567", "123456e\u{301}"] {
            let short = try made(text)
            #expect(
                error { _ = try Slot.setPassword(of: anna.identity, password: short, cost: .floor, time: 1) }
                    == .usage(.passwordTooShort))
            #expect(
                await failure { try await anna.unlocking.changePassword(to: short, cost: .floor) }
                    == .usage(.passwordTooShort))
            #expect(
                await failure { _ = try await anna.client.recovery.recover(kit: kit, newPassword: short, cost: .floor) }
                    == .usage(.passwordTooShort))
            #expect(
                await failure {
                    _ = try await world.client(MemoryHome()).makeIdentity(
                        handle: Name(typed: "new"), password: short, cost: .floor)
                } == .usage(.passwordTooShort))
        }
        try await anna.unlocking.changePassword(to: made("1234567\u{e9}"), cost: .floor)
    }

    @Test func A37_theOldWaysOpenedWhatWasBefore() async throws {
        let kit = try await anna.unlocking.makeKit()
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let before = try anna.client.identityFileBlocking()
        #expect(try before.open(withKit: kit).chain == anna.identity.chain)
        #expect(try await anna.client.device.unlock().identity.chain == anna.identity.chain)
        let kept = try #require(anna.home[.deviceShare])
        let share = try DeviceShare(SecretBytes(copying: kept.span))
        let me = try await renewed(anna)
        let after = try me.client.identityFileBlocking()
        #expect(error { _ = try after.open(withKit: kit) } == .wrongPassword)
        let nothing = try SecretBytes(count: 32)
        #expect(error { _ = try after.open(withDevice: share, serverShare: nothing, now: 1) } == .noAccess)
        #expect(await failure { _ = try await me.client.device.unlock() } != nil)
        // An older copy of the file still opens older objects.
        #expect(try before.open(withKit: kit).generation == 0)
    }

    @Test func A72_aKnownTresorBelowThePinnedGenerationStillOpens() async throws {
        let file = try await anna.seal("x", in: tresor)
        let newcomer = World(store: world.store)
        let other = try await newcomer.quick("other")
        try anna.client.people.pinBlocking(other.identity.chain)
        try await anna.share(tresor, with: [other])
        _ = try await house.files.open(file)
        let me = try await renewed(anna)
        for person in [house, other] {
            try person.client.people.pinBlocking(me.identity.chain)
            #expect(await failure { _ = try await person.seal("y", in: tresor) } != nil)
        }
        #expect(try await house.files.open(file).content == Array("x".utf8))
        #expect(await failure { _ = try await house.seal("y", in: tresor) } == .unverified)
        #expect(await failure { _ = try await house.files.reseal(file) } == .unverified)
        #expect(await failure { _ = try await other.files.open(file) } == .unverified)
        #expect(try await other.tresors.all().map(\.founderTrust) == [.unverified])
        #expect(await failure { _ = try await other.files.open(file) } == .unverified)
        try await house.tresors.perform(.leave, on: tresor)
    }

    @Test func A51_whatAComparedAuthorsNewKeysSignedWaitsForAnotherComparison() async throws {
        let third = try await world.quick("third")
        try third.client.people.pinBlocking(anna.identity.chain)
        try anna.client.people.pinBlocking(third.identity.chain)
        try await anna.share(tresor, with: [third])
        let old = try await house.seal("old", in: tresor)
        let me = try await renewed(house)
        _ = try await me.renewal.finishInEachTresor()
        _ = try await anna.seal("turn the key", in: tresor)
        let new = try await me.seal("new", in: tresor)
        #expect(try await anna.files.open(old).content == Array("old".utf8))
        let home = anna.home
        #expect(await failure { _ = try await anna.files.open(new) } == .unverified)
        #expect(await failure { _ = try await anna.files.reseal(new) } == .unverified)
        #expect(anna.home == home)
        var expecting = Expectations.anyTresor
        expecting.acceptingUnverified = true
        #expect(try await anna.files.open(new, expecting: expecting).content == Array("new".utf8))
        #expect(try await third.files.open(new).content == Array("new".utf8))
        try await anna.tresors.perform(.rotate, on: tresor)
        let again = try #require(try await third.client.logs.state(of: tresor).epoch == 3 ? me.files.reseal(new) : nil)
        #expect(await failure { _ = try await anna.files.open(again) } == .unverified)
        try anna.client.people.pinBlocking(me.identity.chain)
        #expect(try await anna.files.open(new).content == Array("new".utf8))
        #expect(try await anna.files.open(again).author.user == house.identity.user)
    }

    @Test func A51_theOriginOfAResealedFileIsHeldToTheComparedGenerationToo() async throws {
        let third = try await world.quick("third")
        try world.introduce(anna, third)
        try await anna.share(tresor, with: [third], as: .writer)
        let me = try await renewed(house)
        _ = try await me.renewal.finishInEachTresor()
        _ = try await third.seal("turn the key", in: tresor)
        let new = try await me.seal("new", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let resealed = try #require(try await third.files.reseal(new))
        #expect(await failure { _ = try await anna.files.open(resealed) } == .unverified)
        try anna.client.people.pinBlocking(me.identity.chain)
        #expect(try await anna.files.open(resealed).author.user == house.identity.user)
    }

    @Test func A44_anAuthorWhoBearsAKnownHandleIsUnverified() async throws {
        let stranger = try identity("doctor")
        let other = try await World().settle(stranger)
        let doctor = world.session(of: other, seeing: world.store)
        try doctor.client.people.pinBlocking(anna.identity.chain)
        try anna.client.people.pinBlocking(stranger.chain)
        try await anna.share(tresor, with: [doctor], as: .writer)
        let file = try await doctor.seal("x", in: tresor)
        #expect(try await house.files.open(file).content == Array("x".utf8))
        try house.client.people.pinBlocking(identity("doctor").chain)
        #expect(await failure { _ = try await house.files.open(file) } == .unverified)
    }
}

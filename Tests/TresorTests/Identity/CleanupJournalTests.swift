// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The next change removes the leavings of an interrupted change of unlock methods.
@Suite struct CleanupJournalTests {
    let world = World()
    let anna: Session

    init() async throws { anna = try await world.quick("anna") }

    @Test func encodingIsOne() throws {
        var noted = CleanupJournal()
        let user = anna.identity.user
        for _ in 0..<3 {
            noted.kits.insert(CleanupJournal.Kit(user: user, locator: try anyDigest()))
            noted.devices.insert(CleanupJournal.Device(user: user, id: try DeviceID.random()))
            noted.slots.insert(try DeviceID.random())
            noted.generations.insert(UInt32.random(in: 0...255))
        }
        #expect(try CleanupJournal(noted.bytes) == noted)
        #expect(error { _ = try CleanupJournal(noted.bytes + [0]) } == .altered)
        #expect(error { _ = try CleanupJournal(Array(noted.bytes.dropLast())) } == .altered)
        #expect(try CleanupJournal(CleanupJournal().bytes).isEmpty)
    }

    @Test func A27_aKitThatNeverCountedOpensNothing() async throws {
        let first = try await anna.unlocking.makeKit()
        let begun = try RecoveryKit()
        try anna.client.recovery.prepareBlocking(begun)
        let slot = try Slot.kit(of: anna.identity, kit: begun, time: 0)
        let copy = try anna.client.identityFileBlocking().copy(for: slot, identity: anna.identity)
        try await world.store.putKitCopy(copy.bytes, locator: begun.locator())
        #expect(try anna.client.cleanup.isPendingBlocking())
        #expect(try anna.client.recovery.isPreparedBlocking(begun))
        try await anna.client.cleanup.finish()
        #expect(try await world.store.kitCopy(locator: begun.locator()) == nil)
        #expect(try await world.store.kitCopy(locator: first.locator()) != nil)
        #expect(try !anna.client.cleanup.isPendingBlocking())
    }

    /// A home is not erased while a store may have something of its person that the journal names.
    @Test func theJournalSaysWhatTheStoreOwes() async throws {
        let cleanup = anna.client.cleanup
        try cleanup.note(devices: [CleanupJournal.Device(user: UserID(try anyDigest()), id: try DeviceID.random())])
        #expect(try !cleanup.isOwedBlocking())
        let begun = try RecoveryKit()
        try anna.client.recovery.prepareBlocking(begun)
        #expect(try cleanup.isOwedBlocking())
        try await cleanup.finish()
        #expect(try !cleanup.isOwedBlocking())
        try cleanup.note(devices: [CleanupJournal.Device(user: anna.user, id: try DeviceID.random())])
        #expect(try cleanup.isOwedBlocking())
    }

    /// A program finishes what was interrupted, with a client that holds no secret.
    @Test func A27_A32_aClientCleansUp() async throws {
        let evil = EvilStore(world.store)
        let client = world.client(anna.client.home, seeing: evil)
        let kept = try await anna.unlocking.makeKit()
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let share = try #require(anna.home[.deviceShare])
        try anna.client.home.delete(.deviceShare)
        let begun = try RecoveryKit()
        try await world.store.putKitCopy([1], locator: begun.locator())
        try anna.client.recovery.prepareBlocking(begun)
        try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: anna.user, id: device.id)])
        let noted = anna.home[.cleanupJournal]
        evil.failDeletions()
        #expect(await failure { try await client.cleanUp() } == .store(.inputOutput))
        #expect(noted != nil && anna.home[.cleanupJournal] == noted)
        evil.behave()
        try await client.cleanUp()
        #expect(try await world.store.kitCopy(locator: begun.locator()) == nil)
        #expect(try await world.store.serverShare(user: anna.user, device: device.id) == nil)
        #expect(try await world.store.kitCopy(locator: kept.locator()) != nil)
        #expect(try !anna.client.cleanup.isPendingBlocking())
        // Where nothing was interrupted, it changes nothing.
        let (home, writes) = (anna.home, evil.writeCount)
        try await client.cleanUp()
        #expect(anna.home == home && evil.writeCount == writes)
        // A share without a slot opens nothing, and is destroyed.
        try await anna.unlocking.revokeDevices([device.id])
        try anna.client.home.replace(.deviceShare, with: share)
        try await client.cleanUp()
        #expect(anna.home[.deviceShare] == nil)
    }

    @Test func aKitOfSomebodyElsesIdentityIsNoInterruptedChange() throws {
        let kit = try RecoveryKit()
        try anna.client.cleanup.note(kits: [CleanupJournal.Kit(user: identity("bob").user, locator: try kit.locator())])
        #expect(try !anna.client.cleanup.isPendingBlocking())
    }

    @Test func A37_aRenewalThatIsNotedButWasNeverMadeIsNone() async throws {
        try anna.client.cleanup.note(generations: [1])
        #expect(try !anna.client.cleanup.isIntroducingBlocking())
        #expect(try !anna.client.cleanup.isPendingBlocking())
        #expect(try !anna.renewal.isUnfinishedBlocking())
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try anna.client.cleanup.isIntroducingBlocking())
        #expect(try renewed.renewal.isUnfinishedBlocking())
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(try !renewed.renewal.isUnfinishedBlocking())
        #expect(try !anna.client.cleanup.isPendingBlocking())
    }

    @Test func aRenewalThatFailsTakesItsNoteBack() async throws {
        let evil = EvilStore(world.store)
        let session = world.session(of: anna, seeing: evil)
        // A device of this identity on another machine.
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        try anna.client.home.delete(.deviceShare)
        let old = try await anna.unlocking.makeKit()
        let identity = anna.home[.identity]
        let kit = try RecoveryKit()
        let locator = try kit.locator()
        evil.lie(.storesNothing)
        #expect(await failure { _ = try await renew(session, kit) } == .store(.notStored))
        #expect(anna.home[.identity] == identity)
        #expect(try anna.client.cleanup.journal().devices.isEmpty && anna.client.cleanup.journal().generations.isEmpty)
        #expect(try anna.client.cleanup.journal().kits.map(\.locator) == [locator])
        try await anna.client.cleanup.finish()
        #expect(try !anna.client.cleanup.isPendingBlocking())
        #expect(try await world.store.serverShare(user: anna.identity.user, device: device.id) != nil)
        #expect(try await world.store.kitCopy(locator: old.locator()) != nil)
    }

    private func renew(_ session: Session, _ kit: borrowing RecoveryKit) async throws -> Session {
        let words = try kit.words()
        let same = try RecoveryKit(typed: words)
        let given: RecoveryKit? = same
        return try await session.renewal.renew(password: password("new"), cost: .floor, kit: given)
    }

    @Test func A37_aKitCopyThatTheStoreLostComesBackWhenTheRenewalIsFinished() async throws {
        let kit = try RecoveryKit()
        let locator = try kit.locator()
        let given: RecoveryKit? = kit
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: given)
        let copy = try await world.store.kitCopy(locator: locator)
        try await world.store.deleteKitCopy(locator: locator)
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(copy != nil)
        #expect(try await world.store.kitCopy(locator: locator) == copy)
    }

    @Test func A32_aDeviceWhoseEndWasInterruptedIsEndedByRepeating() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let share = try #require(anna.home[.deviceShare])
        try await anna.unlocking.revokeDevices([device.id])
        #expect(await failure { try await anna.unlocking.revokeDevices([device.id]) } == .notFound)
        try anna.client.home.replace(.deviceShare, with: share)
        #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
        try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: device.id)])
        #expect(try anna.client.cleanup.endingDevicesBlocking() == [device.id])
        #expect(await failure { _ = try await anna.client.device.unlock() } == .notFound)
        #expect(anna.home[.deviceShare] == nil)
        try anna.client.home.replace(.deviceShare, with: share)
        try await anna.unlocking.revokeDevices([device.id])
        #expect(anna.home[.deviceShare] == nil)
        #expect(try anna.client.cleanup.endingDevicesBlocking().isEmpty)
    }

    @Test func A32_aNoteAloneEndsNoDevice() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: device.id)])
        _ = try await anna.client.device.unlock()
        try await anna.client.cleanup.finish()
        _ = try await anna.client.device.unlock()
        #expect(try anna.client.cleanup.endingDevicesBlocking().isEmpty)
    }

    @Test func A27_aHomeWithoutAnIdentityDeletesNoKitCopy() async throws {
        let kit = try await anna.unlocking.makeKit()
        try anna.client.recovery.prepareBlocking(kit)
        try anna.client.home.delete(.identity)
        try await anna.client.cleanup.finish()
        #expect(try await world.store.kitCopy(locator: kit.locator()) != nil)
    }

    @Test func A32_theServerShareFollowsWhenTheStoreCanBeReached() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        try await anna.client.device.destroyShare()
        #expect(anna.home[.deviceShare] == nil)
        #expect(try await world.store.serverShare(user: anna.identity.user, device: device.id) != nil)
        try await anna.client.device.forget()
        #expect(try await world.store.serverShare(user: anna.identity.user, device: device.id) == nil)
        #expect(try !anna.client.cleanup.isPendingBlocking())
    }

    @Test func A26_aFileThatItsOwnerDidNotWriteIsNotWrittenAnew() async throws {
        _ = try await anna.unlocking.rememberDevice(name: Name(typed: "phone"), until: world.clock.now + 9)
        let home = try #require(anna.client.home as? MemoryHome)
        var bytes = try #require(home.read(.identity))
        let name = try #require(bytes.indices.last { bytes[$0...].starts(with: Array("phone".utf8)) })
        bytes[name] = 0x78
        try home.replace(.identity, with: bytes)
        #expect(
            await failure { try await anna.unlocking.changePassword(to: password("new"), cost: .floor) } == .altered)
        #expect(await failure { try await anna.unlocking.setKit(try RecoveryKit()) } == .altered)
        #expect(home.read(.identity) == bytes)
    }

    @Test func revokingThisDeviceDestroysItsShare() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        try await anna.unlocking.revokeDevices([device.id])
        #expect(anna.home[.deviceShare] == nil)
    }
}

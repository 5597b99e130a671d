// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// One process changes the unlock methods while another finishes an interrupted change.
@Suite struct CleanupRaceTests {
    let evil = EvilStore()
    let world: World
    let anna: Session

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
    }

    @Test func A27_anOldKitDiesDuringAConcurrentCleanup() async throws {
        let old = try await anna.unlocking.makeKit()
        let oldLocator = try old.locator()
        let user = anna.identity.user
        let new = try RecoveryKit()
        let newLocator = try new.locator()
        let kits = [oldLocator, newLocator].map { CleanupJournal.Kit(user: user, locator: $0) }
        try anna.client.cleanup.note(kits: Set(kits))
        let file = try anna.client.identityFileBlocking()
        let slot = try Slot.kit(of: anna.identity, kit: new, time: 0)
        let copy = try file.copy(for: slot, identity: anna.identity).bytes
        try await evil.putKitCopy(copy, locator: newLocator)
        // The change was interrupted when the file was replaced, and had still to delete the old copy.
        try anna.client.cleanup.replaceIdentity(file.bytes, with: try file.settingKit(slot, identity: anna.identity))
        evil.beforeNextDeletion { [anna] in #expect(isChanging(anna.client.home)) }
        try await anna.client.cleanup.finish()
        #expect(!isChanging(anna.client.home))
        #expect(try anna.client.identityFileBlocking().kitLocator == newLocator)
        #expect(try await evil.truth.kitCopy(locator: oldLocator) == nil)
        #expect(try await evil.truth.kitCopy(locator: newLocator) == copy)
        #expect(try anna.client.cleanup.journal().isEmpty)
    }

    /// A change that the journal notes while somebody has the slot lock is under way, and not interrupted.
    @Test func aKitThatIsBeingSetKeepsItsCopy() async throws {
        let kit = try RecoveryKit()
        let locator = try kit.locator()
        try anna.client.cleanup.note(kits: [CleanupJournal.Kit(user: anna.identity.user, locator: locator)])
        try await evil.putKitCopy([1], locator: locator)
        let lock = try anna.client.home.slotLock()
        try await anna.client.cleanup.finish()
        #expect(try await evil.truth.kitCopy(locator: locator) == [1])
        #expect(try !anna.client.cleanup.journal().isEmpty)
        _ = consume lock
        try await anna.client.cleanup.finish()
        #expect(try await evil.truth.kitCopy(locator: locator) == nil)
        #expect(try anna.client.cleanup.journal().isEmpty)
    }

    @Test func A32_entriesAddedToTheJournalAtTheSameTimeStay() async throws {
        let user = anna.identity.user
        let other = CleanupJournal.Device(user: user, id: try DeviceID.random())
        let kit = CleanupJournal.Kit(user: user, locator: try RecoveryKit().locator())
        try anna.client.cleanup.note(devices: [other])
        // Words are noted before they are shown, without the slot lock.
        evil.beforeNextDeletion { [anna] in try? anna.client.cleanup.note(kits: [kit]) }
        try await anna.client.cleanup.finish()
        #expect(try anna.client.cleanup.journal().kits == [kit])
        #expect(try anna.client.cleanup.journal().devices.isEmpty)
    }

    @Test func aDeviceThatIsJustBeingRememberedIsNoOrphan() async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let before = try #require(home.read(.identity))
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let after = try #require(home.read(.identity))
        let share = try #require(home.read(.deviceShare))
        for end in [{ (client: Client) in try await client.cleanup.finish() }, { try await Self.unlock($0) }] {
            try home.replace(.identity, with: before)
            home.delete(.deviceShare)
            let meddled = MeddledHome(home, afterReading: .identity) {
                try? $0.replace(.identity, with: after)
                try? $0.replace(.deviceShare, with: share)
            }
            let client = world.client(meddled)
            try client.cleanup.note(
                devices: [CleanupJournal.Device(user: anna.identity.user, id: device.id)], slots: [device.id])
            try await end(client)
            #expect(home.read(.deviceShare) == (meddled.hasMeddled ? share : nil))
        }
    }

    /// Whenever the home's lock is free, others remove slots without a share, and destroy shares without a slot.
    @Test func A107_aDeviceThatIsRememberedBesideCleanupsOpens() async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let identity = anna.identity
        let meddled = MeddledHome(
            home,
            whileUnlocked: { home in
                guard let bytes = home.read(.identity), let file = try? IdentityFile(bytes) else { return }
                let share = home.read(.deviceShare).flatMap { try? DeviceShare(SecretBytes(copying: $0.span)) }
                let unused = file.devices.map(\.id).filter { $0 != share?.id }
                if !unused.isEmpty {
                    try? home.replace(.identity, with: file.removing(unused, identity: identity).bytes)
                }
                if let share, !file.devices.contains(where: { $0.id == share.id }) { home.delete(.deviceShare) }
            })
        let session = Session(client: world.client(meddled), identity: identity)
        let device = try await session.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        #expect(try anna.client.device.idBlocking() == device.id)
        #expect(try await anna.client.device.unlock().identity.user == identity.user)
        #expect(try anna.client.cleanup.journal().isEmpty)
    }

    /// Another process remembers the device anew, or forgets it, while this one asks the store.
    @Test(arguments: [true, false])
    func A107_aDeviceThatChangesMeanwhileIsNotRefused(isRemembered: Bool) async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let before = (file: try #require(home.read(.identity)), share: try #require(home.read(.deviceShare)))
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let after = (file: try #require(home.read(.identity)), share: try #require(home.read(.deviceShare)))
        try home.replace(.identity, with: before.file)
        try home.replace(.deviceShare, with: before.share)
        evil.showServerShare { share in
            guard share == nil else { return share }
            try? home.replace(.identity, with: after.file)
            if isRemembered { try? home.replace(.deviceShare, with: after.share) } else { home.delete(.deviceShare) }
            return nil
        }
        if isRemembered {
            #expect(try await anna.client.device.unlock().identity.user == anna.identity.user)
        } else {
            await #expect(throws: TresorError.notFound) { _ = try await anna.client.device.unlock() }
        }
    }

    /// A client that has read the identity file, and then another one remembers the device. What the first one held must
    /// not destroy the new share.
    @Test func A107_aCleanupWithAnOldReadingKeepsANewDevice() async throws {
        let reader = try await readerOfTheFileBeforeADevice()
        try await reader.client.cleanup.finish()
        #expect(anna.home[.deviceShare] == reader.share)
        #expect(try await anna.client.device.unlock().identity.user == anna.identity.user)
    }

    /// As where the other one wrote the slot and the share, and has yet to remove the device from the journal.
    @Test func A107_anOldReadingAndTheJournalDestroyNoNewDevice() async throws {
        let reader = try await readerOfTheFileBeforeADevice()
        try anna.client.cleanup.note(
            devices: [CleanupJournal.Device(user: anna.identity.user, id: reader.device)], slots: [reader.device])
        #expect(try await reader.client.device.unlock().identity.user == anna.identity.user)
        #expect(anna.home[.deviceShare] == reader.share)
    }

    @Test func A107_aDeviceOpensAfterAnOldReading() async throws {
        let reader = try await readerOfTheFileBeforeADevice()
        #expect(try await reader.client.device.unlock().identity.user == anna.identity.user)
        #expect(anna.home[.deviceShare] == reader.share)
    }

    /// Returns a client on this home that holds the reading from before a device was remembered.
    private func readerOfTheFileBeforeADevice() async throws -> (client: Client, device: DeviceID, share: [UInt8]) {
        let client = world.client(anna.client.home, seeing: nil, turns: Turns())
        #expect(try client.identityFileBlocking().devices.isEmpty)
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        return (client, device.id, try #require(anna.home[.deviceShare]))
    }

    private static func unlock(_ client: Client) async throws {
        do { _ = try await client.device.unlock() } catch TresorError.notFound {}
    }

    @Test func A32_aShareAddedDuringTheCleanupIsNotDestroyed() async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let first = try #require(home.read(.deviceShare))
        let ended = try DeviceShare(SecretBytes(copying: first.span)).id
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let second = try #require(home.read(.deviceShare))
        try home.replace(.deviceShare, with: first)
        try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: ended)])
        let meddled = MeddledHome(home, afterReading: .deviceShare) { try? $0.replace(.deviceShare, with: second) }
        #expect(try await world.client(meddled).device.unlock().identity.user == anna.identity.user)
        #expect(home.read(.deviceShare) == second)
    }

    @Test func slotsStayNotedWhileTheIdentityFileDoesNotRead() async throws {
        let id = try DeviceID.random()
        let user = anna.identity.user
        let identity = try #require(anna.home[.identity])
        try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: user, id: id)], slots: [id])
        try anna.client.home.replace(.identity, with: [1])
        try await anna.client.cleanup.finish()
        #expect(try anna.client.cleanup.journal().slots == [id])
        #expect(try anna.client.cleanup.journal().devices.isEmpty)
        try anna.client.home.replace(.identity, with: identity)
        try await anna.client.cleanup.finish()
        #expect(try anna.client.cleanup.journal().isEmpty)
    }

    @Test func anOrphanedShareIsDestroyedWithoutAJournal() async throws {
        let before = try #require(anna.home[.identity])
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        try anna.client.home.replace(.identity, with: before)
        #expect(try anna.client.cleanup.journal().isEmpty)
        try await anna.client.cleanup.finish()
        #expect(anna.home[.deviceShare] == nil)
    }

    /// Another process replaces the identity file: no new keys are made, and the devices open as before.
    @Test func A37_aRenewalThatSomebodyOvertakesEndsNoDevice() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let user = anna.identity.user
        let file = try anna.client.identityFileBlocking()
        let slot = try Slot.kit(of: anna.identity, kit: try RecoveryKit(), time: 0)
        let changed = try file.settingKit(slot, identity: anna.identity)
        evil.showKitCopy { [anna] copy in
            try? anna.client.cleanup.replaceIdentity(file.bytes, with: changed)
            return copy
        }
        var locator: Hash256?
        let refused = await failure {
            let kit = try RecoveryKit()
            locator = try kit.locator()
            _ = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        }
        #expect(refused == .busy)
        evil.behave()
        let begun = try #require(locator)
        #expect(try anna.client.identityFileBlocking().bytes == changed.bytes)
        let noted = try anna.client.cleanup.journal()
        #expect(noted.devices.isEmpty && noted.generations.isEmpty)
        #expect(noted.kits == [CleanupJournal.Kit(user: user, locator: begun)])
        // As where the share lies on another machine, in a copy of this home.
        let share = try #require(anna.home[.deviceShare])
        try anna.client.home.delete(.deviceShare)
        try await anna.client.cleanup.finish()
        #expect(try await evil.truth.serverShare(user: user, device: device.id) != nil)
        #expect(try await evil.truth.kitCopy(locator: begun) == nil)
        #expect(try anna.client.cleanup.journal().isEmpty)
        try anna.client.home.replace(.deviceShare, with: share)
        #expect(try await anna.client.device.unlock().identity.generation == 0)
    }

    @Test func A37_aRenewalThatTheHomeHasNoRoomForLeavesNoNote() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let home = try #require(anna.client.home as? MemoryHome)
        let before = anna.home
        home.fill(after: 1)
        let refused = await failure {
            _ = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        }
        home.fill(after: nil)
        #expect(refused == .failed(.full))
        #expect(anna.home == before)
        #expect(try await evil.truth.serverShare(user: anna.identity.user, device: device.id) != nil)
    }

    @Test func A37_aRenewalThatATresorWasNotToldOfIsNotDone() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        evil.show { _ in [] }
        #expect(try await renewed.renewal.finishInEachTresor().compactMap(\.error) == [.forked])
        #expect(try !renewed.renewal.isUnfinishedBlocking(), "a log that is no more must not forbid new keys")
        evil.behave()
        #expect(try !renewed.renewal.isUnfinishedBlocking(), "what a store shows makes no renewal unfinished")
        #expect(try await renewed.renewal.renew(in: tresor).isRotated)
        #expect(
            try await renewed.client.logs.state(of: tresor).chain(of: renewed.identity.user) == renewed.identity.chain)
    }

    @Test func A37_aStrangersTresorKeepsNobodyFromNewKeys() async throws {
        let stranger = try await world.quick("stranger")
        try stranger.client.people.pinBlocking(anna.identity.chain)
        let theirs = try await stranger.tresors.create(Name(typed: "bait")).tresor
        try await stranger.share(theirs, with: [anna])
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().compactMap(\.error) == [.unverified])
        #expect(try !renewed.renewal.isUnfinishedBlocking())
        #expect(try !renewed.client.cleanup.isIntroducingBlocking())
    }

    @Test func A37_aDateThatPassedKeepsNobodyFromNewKeys() async throws {
        let owner = try await world.quick("owner")
        try world.introduce(anna, owner)
        let tresor = try await owner.tresors.create(Name(typed: "plans")).tresor
        try await owner.share(tresor, with: [anna], notAfter: world.clock.now + 10)
        _ = try await anna.client.logs.state(of: tresor)
        world.clock.advance(by: 20)
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().compactMap(\.error) == [.noAccess])
        #expect(try !renewed.renewal.isUnfinishedBlocking())
    }

    @Test func A37_aRenewalThatTheStoreInterruptsIsGoneOnWith() async throws {
        _ = try await anna.tresors.create(Name(typed: "plans"))
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        var failures = 0
        for call in 0... {
            evil.fail(after: call, behind: false)
            let renewals = try? await renewed.renewal.finishInEachTresor()
            evil.behave()
            let isDone = renewals?.allSatisfy { $0.error == nil } ?? false
            #expect(try renewed.client.cleanup.isIntroducingBlocking() != isDone, "\(call)")
            if isDone { break }
            failures += 1
        }
        #expect(failures >= 4)
    }
}

/// A home that another process changes after the first reading of an object, or whenever its lock is free.
private final class MeddledHome: Home {
    private let home: MemoryHome
    private let object: HomeObject?
    private let meddle: Mutex<(@Sendable (MemoryHome) -> Void)?>
    private let meddleUnlocked: @Sendable (MemoryHome) -> Void

    init(_ home: MemoryHome, afterReading object: HomeObject, _ meddle: @escaping @Sendable (MemoryHome) -> Void) {
        self.home = home
        self.object = object
        self.meddle = Mutex(meddle)
        meddleUnlocked = { _ in }
    }

    init(_ home: MemoryHome, whileUnlocked meddle: @escaping @Sendable (MemoryHome) -> Void) {
        self.home = home
        object = nil
        self.meddle = Mutex(nil)
        meddleUnlocked = meddle
    }

    var hasMeddled: Bool { meddle.withLock { $0 == nil } }

    func read(_ object: HomeObject) -> [UInt8]? {
        let bytes = home.read(object)
        guard object == self.object else { return bytes }
        let meddle = self.meddle.withLock { meddle in
            defer { meddle = nil }
            return meddle
        }
        meddle?(home)
        return bytes
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try home.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let bytes = read(object) else { return nil }
        return try SecretBytes(copying: bytes.span)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try replace(object, with: (0..<bytes.count).map { bytes.span[$0] })
    }

    func delete(_ object: HomeObject) { home.delete(object) }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        meddleUnlocked(home)
        return try body()
    }

    func slotLock() -> SlotLock? { home.slotLock() }
}

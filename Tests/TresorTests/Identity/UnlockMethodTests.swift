// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Slots, devices and kits.
@Suite struct UnlockMethodTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let until: UInt64

    init() async throws {
        world = World(store: evil)
        until = world.clock.now + 1000
        anna = try await world.quick("anna")
    }

    private func file(_ session: Session) throws -> IdentityFile { try session.client.identityFileBlocking() }

    @Test func A34_onlyTheRightShareOpens() async throws {
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        let user = anna.identity.user
        #expect(try await anna.client.device.unlock().identity.user == user)
        let home = anna.home
        let shares: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), try randomBytes(32), [], try randomBytes(31), try randomBytes(33),
        ]
        for share in shares {
            evil.showServerShare { _ in share }
            #expect(await failure { _ = try await anna.client.device.unlock() } == .altered)
        }
        for bit in 0..<256 {
            evil.showServerShare { $0.map { flipped($0, bit) } }
            #expect(await failure { _ = try await anna.client.device.unlock() } == .altered)
        }
        #expect(anna.home == home)
        evil.behave()
        #expect(try await anna.client.device.unlock().identity.user == user)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        #expect(try file(anna).devices.count == 1)
    }

    @Test func A32_afterRevokingTheDiskOpensNothing() async throws {
        let device = try await anna.unlocking.rememberDevice(name: try Name(typed: "phone"), until: until)
        let disk = try #require(anna.client.home as? MemoryHome).copy()
        try await anna.unlocking.revokeDevices([device.id])
        #expect(try file(anna).devices.isEmpty)
        #expect(await failure { _ = try await world.client(disk).device.unlock() } == .noAccess)
        #expect(await failure { try await anna.unlocking.revokeDevices([device.id]) } == .notFound)
    }

    @Test func A36_aDeviceExpiresByTheLaterOfClockAndOwnEntries() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        world.clock.now = until
        _ = try await anna.client.device.unlock()
        world.clock.now = until + 1
        #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
        try await anna.tresors.perform(.rotate, on: tresor)
        for earlier: UInt64 in [500, 365 * 86_400] {
            world.clock.now = until - earlier
            let home = anna.home
            #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
            #expect(anna.home == home)
        }
    }

    /// An entry of the future neither lengthens nor ends a trust that comes after it; a later one ends it.
    @Test func A36_aClockThatWentAheadAndBackLengthensNoTrust() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let now = world.clock.now
        world.clock.now = until + 1_000_000
        try await anna.tresors.perform(.rotate, on: tresor)
        world.clock.now = now
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        #expect(device.since == until + 1_000_000)
        _ = try await anna.client.device.unlock()
        world.clock.now = until + 1
        #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
        world.clock.now = until + 2_000_000
        try await anna.tresors.perform(.rotate, on: tresor)
        world.clock.now = now
        #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
    }

    @Test func A36_otherPeoplesDatesDoNotExpireADevice() async throws {
        let other = try await world.quick("other")
        try world.introduce(anna, other)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [other], as: .owner)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        world.clock.now = until + 10_000
        try await other.tresors.perform(.rotate, on: tresor)
        world.clock.now = until
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.epoch == 2)
        _ = try await anna.client.device.unlock()
    }

    @Test func A32_forgettingDestroysBothShares() async throws {
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        try await anna.client.device.forget()
        #expect(anna.home[.deviceShare] == nil)
        #expect(try await evil.truth.serverShare(user: anna.identity.user, device: device.id) == nil)
        #expect(await failure { _ = try await anna.client.device.unlock() } == .notFound)
    }

    @Test func A25_slotsDoNotMove() async throws {
        let kit = try await anna.unlocking.makeKit()
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        let other = try await world.quick("other")
        let otherKit = try await other.unlocking.makeKit()
        let (mine, theirs) = (try file(anna), try file(other))
        for slot in mine.slots {
            let key = try kit.slotKey()
            let opened = error { _ = try slot.open(with: key, user: anna.identity.user, generation: 0) }
            let isKit = if case .kit = slot.kind { true } else { false }
            #expect(opened == (isKit ? nil : .altered))
            let stranger = error { _ = try slot.open(with: key, user: other.identity.user, generation: 0) }
            #expect(stranger == .altered)
            #expect(error { _ = try slot.open(with: key, user: anna.identity.user, generation: 1) } == .altered)
        }
        let spliced = try IdentityFile(of: anna.identity, previous: [], slots: theirs.slots)
        #expect(error { _ = try spliced.open(withKit: otherKit) } == .wrongPassword)
        #expect(error { _ = try mine.open(withKit: otherKit) } == .wrongPassword)
        #expect(throws: Never.self) { try mine.open(withKit: kit) }
    }

    @Test func A26_anOldSlotOrAnEditedFieldBreaksTheTag() async throws {
        let kit = try await anna.unlocking.makeKit()
        let old = try file(anna)
        _ = try await anna.unlocking.rememberDevice(name: Name(typed: "phone"), until: until)
        let now = try file(anna)
        let tag = Array(now.bytes.suffix(32))
        let spliced = Array(old.bytes.dropLast(32)) + tag
        #expect(error { _ = try IdentityFile(spliced).open(withKit: kit) } == .altered)
        var bytes = now.bytes
        let name = try #require(bytes.indices.last { bytes[$0...].starts(with: Array("phone".utf8)) })
        bytes[name] = 0x78
        #expect(error { _ = try IdentityFile(bytes).open(withKit: kit) } == .altered)
        let end = name + 5
        var longer = now.bytes
        longer.replaceSubrange(end..<(end + 8), with: bigEndianBytes(Format.latestTime))
        #expect(error { _ = try IdentityFile(longer).open(withKit: kit) } == .altered)
    }

    @Test func A27_A31_anOldKitOpensNothingNew() async throws {
        let first = try await anna.unlocking.makeKit()
        let before = try file(anna)
        let second = try await anna.unlocking.makeKit()
        #expect(error { _ = try file(anna).open(withKit: first) } == .wrongPassword)
        #expect(throws: Never.self) { try file(anna).open(withKit: second) }
        #expect(try await evil.truth.kitCopy(locator: first.locator()) == nil)
        #expect(try await evil.truth.kitCopy(locator: second.locator()) != nil)
        #expect(throws: Never.self) { try before.open(withKit: first) }
        #expect(try file(anna).slots.count == 1)
    }

    @Test func A31_somebodyElsesCopyIsAWrongKit() async throws {
        let kit = try await anna.unlocking.makeKit()
        let other = try await world.quick("other")
        let otherKit = try await other.unlocking.makeKit()
        let theirs = try await evil.truth.kitCopy(locator: otherKit.locator())
        evil.showKitCopy { _ in theirs }
        let home = MemoryHome()
        let client = world.client(home)
        let secret = try password("new")
        #expect(
            await failure { _ = try await client.recovery.recover(kit: kit, newPassword: secret, cost: .floor) }
                == .wrongPassword)
        evil.showKitCopy { _ in nil }
        #expect(
            await failure { _ = try await client.recovery.recover(kit: kit, newPassword: secret, cost: .floor) }
                == .wrongPassword)
        evil.showKitCopy { $0.map { Array($0.dropLast()) } }
        #expect(
            await failure { _ = try await client.recovery.recover(kit: kit, newPassword: secret, cost: .floor) }
                == .altered)
        #expect(home.contents.isEmpty)
    }

    @Test func A31_aCopyWithAnotherKeySlotIsNoCopy() async throws {
        let kit = try await anna.unlocking.makeKit()
        let locator = try kit.locator()
        let honest = try #require(await evil.truth.kitCopy(locator: locator))
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        let whole = try file(anna)
        let deviceOnly = try IdentityFile(
            of: anna.identity, previous: [], slots: whole.slots.filter { $0.kind != .kit(locator: locator) })
        for copy in [whole.bytes, deviceOnly.bytes] {
            try await evil.truth.putKitCopy(copy, locator: locator)
            let home = MemoryHome()
            let refused = await failure {
                _ = try await world.client(home).recovery.recover(kit: kit, newPassword: password("new"), cost: .floor)
            }
            #expect(refused == .altered)
            #expect(home.contents.isEmpty)
            let findings = try await anna.client.audit.check()
            #expect(findings.contains(Finding(subject: .identity, remark: .withoutKitCopy)))
        }
        try await evil.truth.putKitCopy(honest, locator: locator)
        _ = try await world.client(MemoryHome()).recovery.recover(kit: kit, newPassword: password("new"), cost: .floor)
    }

    @Test func A31_aCopyInAFileOpensWithItsKitAlone() async throws {
        let kit = try await anna.unlocking.makeKit()
        let otherKit = try RecoveryKit()
        let locator = try kit.locator()
        let stored = try #require(await evil.truth.kitCopy(locator: locator))
        let copy = try IdentityFile(stored)
        try await evil.truth.deleteKitCopy(locator: locator)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        let whole = try file(anna)
        let home = MemoryHome()
        let recovery = world.client(home).recovery
        let secret = try password("new")
        let foreignForm = await failure {
            _ = try await recovery.recover(kit: kit, from: whole, newPassword: secret, cost: .floor)
        }
        #expect(foreignForm == .altered)
        let foreignKit = await failure {
            _ = try await recovery.recover(kit: otherKit, from: copy, newPassword: secret, cost: .floor)
        }
        #expect(foreignKit == .wrongPassword)
        #expect(home.contents.isEmpty)
        let recovered = try await recovery.recover(kit: kit, from: copy, newPassword: secret, cost: .floor)
        #expect(recovered.isFromStore)
        #expect(recovered.session.user == anna.user)
        // A later kit may have deleted the copy from this store.
        #expect(try await evil.truth.kitCopy(locator: locator) == nil)
    }

    /// Nothing of a recovery stays that found no room for the identity.
    @Test func aRecoveryThatFailsTakesItsNoteBack() async throws {
        let kit = try await anna.unlocking.makeKit()
        let locator = try kit.locator()
        let copy = try IdentityFile(try #require(await evil.truth.kitCopy(locator: locator)))
        let home = MemoryHome()
        let secret = try password("new")
        let notes = Mutex(0)
        let recovery = world.client(home).recovery
        func recover() async throws {
            _ = try await recovery.recover(kit: kit, from: copy, newPassword: secret, cost: .floor) {
                notes.withLock { $0 += 1 }
                return { notes.withLock { $0 -= 1 } }
            }
        }
        home.fill(after: 0)
        #expect(await failure { try await recover() } == .failed(.full))
        #expect(home.contents.isEmpty)
        #expect(notes.withLock { $0 } == 0)
        home.fill(after: nil)
        try await recover()
        #expect(notes.withLock { $0 } == 1)
    }

    @Test func A12_A38_anEarlierSeedIsHeldToBothKeysOfItsCard() throws {
        let empty: [UInt8] = []
        for isForeign in [false, true] {
            let seed = try SecretKey<SeedUse>()
            let signing = try SigningKey(seed: try seed.derive(.identitySign, context: empty.span))
            let kemKey = try XWing.publicKey(seed: try seed.derive(.identityKEM, context: empty.span))
            let first = try Card.make(
                handle: Name(typed: "anna"), chain: nil, kemKey: isForeign ? identity("x").chain.newest.kemKey : kemKey,
                time: 1, signing: signing
            ) { _ in [] }
            let chain = try CardChain(first: first)
            let next = try SecretKey<SeedUse>()
            let newest = try Card.make(
                handle: Name(typed: "anna"), chain: chain,
                kemKey: XWing.publicKey(seed: try next.derive(.identityKEM, context: empty.span)), time: 2,
                signing: try SigningKey(seed: try next.derive(.identitySign, context: empty.span))
            ) { (message) throws(TresorError) in try signing.sign(message) }
            let key: SecretKey<PreviousUse> = try next.derive(.identityPrevious, context: empty.span)
            let context = chain.user.digest.bytes + bigEndianBytes(UInt32(1)) + bigEndianBytes(UInt32(0))
            let sealed = try seed.sealed(with: key, label: .previousSeal, context: context)
            let both = try chain.appending(newest)
            var refused: TresorError?
            do throws(TresorError) {
                _ = try Identity(chain: both, seed: next, previous: [sealed])
            } catch {
                refused = error
            }
            #expect(refused == (isForeign ? .altered : nil))
        }
    }

    @Test func A36_recoveryIntoAnEmptyHomeEndsAllDevices() async throws {
        let kit = try await anna.unlocking.makeKit()
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: until)
        let disk = try #require(anna.client.home as? MemoryHome).copy()
        let home = MemoryHome()
        let recovered = try await world.client(home).recovery.recover(
            kit: kit, newPassword: password("anna"), cost: .floor)
        #expect(recovered.isFromStore)
        #expect(recovered.session.identity.user == anna.identity.user)
        #expect(try await evil.truth.serverShare(user: anna.identity.user, device: device.id) == nil)
        #expect(await failure { _ = try await world.client(disk).device.unlock() } == .noAccess)
        #expect(try await world.client(home).unlock(password: password("anna")).identity.user == anna.identity.user)
        #expect(await failure { _ = try await world.client(home).unlock(password: password("anne")) } == .wrongPassword)
    }

    @Test func A23_A24_costsOutsideTheBoundsAreRefusedBeforeAnyWork() throws {
        for memory: UInt32 in [0, 8, 64_512, 65_535, 4_194_305, .max] {
            #expect(error { _ = try Argon2id.Cost(memoryKiB: memory, passes: 3) } == .altered)
        }
        for passes: UInt32 in [0, 1, 2, 17, .max] {
            #expect(error { _ = try Argon2id.Cost(memoryKiB: 65_536, passes: passes) } == .altered)
        }
    }

    @Test func A12_aForeignCardNeverSigns() async throws {
        let kit = try await anna.unlocking.makeKit()
        let own = try file(anna)
        let other = try identity("anna").chain
        let prefix = 14 + own.chain.bytes.count
        let bytes =
            Array(own.bytes[..<10]) + bigEndianBytes(UInt32(other.bytes.count)) + other.bytes + own.bytes[prefix...]
        #expect(error { _ = try IdentityFile(bytes).open(withKit: kit) } == .wrongPassword)
        let key = try kit.slotKey()
        let slot = try #require(own.slots.first)
        let user = anna.identity.user
        let refused = error {
            _ = try Identity(chain: other, seed: try slot.open(with: key, user: user, generation: 0), previous: [])
        }
        #expect(refused == .altered)
    }
}

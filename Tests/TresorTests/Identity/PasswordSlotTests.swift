// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The slots that a new password keeps, and those that it removes.
@Suite struct PasswordSlotTests {
    let anna: Session
    let words: [UInt8]
    let before: IdentityFile
    let after: IdentityFile

    /// A person with a password, a kit and two devices, who then sets another password.
    init() async throws {
        let world = World()
        anna = try await world.person("anna")
        let kit = try await anna.unlocking.makeKit()
        let secret = try kit.words()
        words = secret.span.publicBytes
        let until = world.clock.now + 9
        _ = try await anna.unlocking.rememberDevice(name: Name(typed: "desk"), until: until)
        let file = try anna.client.identityFileBlocking()
        let device = try DeviceShare(user: anna.identity.user)
        let ward = try file.adding(
            device, serverShare: SecretBytes(randomCount: 32), name: Name(typed: "ward"), since: 5, until: until,
            identity: anna.identity)
        try anna.client.home.replace(.identity, with: ward.bytes)
        before = try anna.client.identityFileBlocking()
        try await anna.unlocking.changePassword(to: password("the new one"), cost: .floor)
        after = try anna.client.identityFileBlocking()
    }

    private func kit() throws -> RecoveryKit { try RecoveryKit(typed: SecretBytes(copying: words.span)) }

    private func passwordSlot(of file: IdentityFile) throws -> Slot {
        let slot = file.slots.first { $0.isPassword }
        return try #require(slot)
    }

    private func holds(_ bytes: [UInt8], _ part: some Collection<UInt8>) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    @Test func A27_theOldSlotIsGoneAndTheOthersStay() throws {
        #expect(before.slots.count == 4)
        #expect(after.slots.count == 4)
        for (old, new) in zip(before.slots, after.slots) {
            #expect(old.isPassword == new.isPassword)
            #expect((old.bytes == new.bytes) == !old.isPassword)
        }
        let old = try passwordSlot(of: before)
        guard case .password(_, let salt) = old.kind else { throw TresorError.failed(.other) }
        let pieces = stride(from: 0, to: old.sealed.count, by: 8).map { Array(old.sealed[$0..<($0 + 8)]) }
        for part in [old.id.bytes, salt] + pieces {
            #expect(holds(before.bytes, part))
            #expect(!holds(after.bytes, part))
        }
    }

    /// The bound: who kept the file needs no more than the password of then.
    @Test func A27_theOldPasswordOpensTheOldFileAlone() throws {
        #expect(error { _ = try after.open(withPassword: password("anna")) } == .wrongPassword)
        #expect(error { _ = try before.open(withPassword: password("the new one")) } == .wrongPassword)
        #expect(try after.open(withPassword: password("the new one")).chain == anna.identity.chain)
        #expect(try before.open(withPassword: password("anna")).chain == after.chain)
    }

    /// The old slot still opens by itself, so that only the tag over the whole file is left to refuse it.
    @Test func A26_theOldPasswordsSlotInTheNewFileIsAltered() async throws {
        let old = try passwordSlot(of: before)
        let new = try passwordSlot(of: after)
        let place = try #require(after.bytes.indices.first { after.bytes[$0...].starts(with: new.bytes) })
        var spliced = after.bytes
        spliced.replaceSubrange(place..<(place + new.bytes.count), with: old.bytes)
        let file = try IdentityFile(spliced)
        #expect(error { _ = try file.open(withPassword: password("anna")) } == .altered)
        #expect(error { _ = try file.open(withKit: kit()) } == .altered)
        #expect(error { _ = try file.open(withPassword: password("the new one")) } == .wrongPassword)
        let home = try #require(anna.client.home as? MemoryHome)
        try home.replace(.identity, with: spliced)
        let contents = home.contents
        let client = anna.client
        #expect(await failure { _ = try await client.unlock(password: password("anna")) } == .altered)
        #expect(
            await failure { try await anna.unlocking.changePassword(to: password("another"), cost: .floor) } == .altered
        )
        #expect(home.contents == contents)
        try home.replace(.identity, with: after.bytes)
        #expect(throws: Never.self) { try after.open(withKit: kit()) }
    }

    @Test func A26_aDeviceSeesTheOldPasswordsSlotToo() async throws {
        let old = try passwordSlot(of: before)
        let slots = after.slots.map { $0.isPassword ? old : $0 }
        let tag = Array(after.bytes.suffix(32))
        let spliced = try IdentityFile(of: anna.identity, previous: [], slots: slots).bytes.dropLast(32) + tag
        try anna.client.home.replace(.identity, with: Array(spliced))
        #expect(await failure { _ = try await anna.client.device.unlock() } == .altered)
        try anna.client.home.replace(.identity, with: after.bytes)
        #expect(try await anna.client.device.unlock().identity.user == anna.identity.user)
    }
}

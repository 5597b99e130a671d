// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A trusted device, without its server share.
@Suite struct StolenDiskTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let until: UInt64

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        until = world.clock.now + 1000
    }

    /// Every 32 bytes that lie one behind another in an object, and the object's hash.
    private func guesses(_ objects: [HomeObject: [UInt8]]) throws -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        for object in objects.values {
            var hash = try BLAKE2b(outputCount: 32)
            try hash.update(object.span)
            found.insert(try hash.finalize())
            for start in 0..<max(0, object.count - 31) { found.insert(Array(object[start..<(start + 32)])) }
        }
        return found
    }

    /// The slots that open, with the use of each guess: as the key of the slot, as the server share, and as the device
    /// share.
    private func openings(_ guesses: Set<[UInt8]>, file: IdentityFile, share: DeviceShare) throws -> Set<String> {
        var opened: Set<String> = []
        func attempt(_ slot: Slot, with key: borrowing SecretKey<SlotUse>, as name: String) {
            let refused = error { _ = try slot.open(with: key, user: file.chain.user, generation: 0) }
            if refused == nil { opened.insert("\(name) of \(slot.id)") }
        }
        for guess in guesses {
            let key = try SecretKey<SlotUse>(SecretBytes(copying: guess.span))
            let derived = try share.slotKey(serverShare: key.bytes)
            for slot in file.slots {
                attempt(slot, with: key, as: "key")
                attempt(slot, with: derived, as: "server share")
            }
        }
        return opened
    }

    @Test func A32_nothingOnTheDiskOpensASlot() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        _ = try await anna.client.logs.state(of: tresor)
        let device = try await anna.unlocking.rememberDevice(name: Name(typed: "desk"), until: until)
        let slot = try Slot.setPassword(of: anna.identity, password: password("anna"), cost: .floor, time: 5)
        let file = try anna.client.identityFileBlocking().settingPassword(slot, identity: anna.identity)
        try anna.client.home.replace(.identity, with: file.bytes)
        let share = try #require(try anna.client.device.share())
        var objects = try #require(anna.client.home as? MemoryHome).contents
        #expect(objects.count >= 6)
        #expect(file.slots.count == 3)
        #expect(try openings(try guesses(objects), file: file, share: share) == [])
        // The search finds the server share, wherever it lay.
        let serverShare = try #require(try await evil.serverShare(user: anna.identity.user, device: device.id))
        objects = [.heads: [1, 2, 3] + serverShare + [4]]
        #expect(try openings(try guesses(objects), file: file, share: share) == ["server share of \(device.id)"])
        let key = try share.slotKey(serverShare: SecretBytes(copying: serverShare.span))
        objects = [.heads: [1, 2, 3] + key.span.publicBytes + [4]]
        #expect(try openings(try guesses(objects), file: file, share: share) == ["key of \(device.id)"])
    }

    @Test func A34_theShareOfAnotherDeviceOrOfBeforeIsAltered() async throws {
        let user = anna.identity.user
        let first = try await anna.unlocking.rememberDevice(name: Name(typed: "desk"), until: until)
        let earlier = try #require(try await evil.serverShare(user: user, device: first.id))
        let away = try #require(anna.client.home as? MemoryHome).copy()
        // Another device of the same person: the same file, another share.
        let ward = Session(client: world.client(away), identity: anna.identity)
        away.delete(.deviceShare)
        let second = try await ward.unlocking.rememberDevice(name: Name(typed: "ward"), until: until)
        let others = try #require(try await evil.serverShare(user: user, device: second.id))
        let again = try await anna.unlocking.rememberDevice(name: Name(typed: "desk"), until: until)
        let right = try #require(try await evil.serverShare(user: user, device: again.id))
        #expect(Set([earlier, others, right]).count == 3)
        let home = anna.home
        for share in [earlier, others] {
            evil.showServerShare { _ in share }
            #expect(await failure { _ = try await anna.client.device.unlock() } == .altered)
        }
        #expect(anna.home == home)
        evil.behave()
        #expect(try await anna.client.device.unlock().identity.user == user)
        #expect(try await ward.client.device.unlock().identity.user == user)
    }
}

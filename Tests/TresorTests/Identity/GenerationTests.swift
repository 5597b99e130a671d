// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Two generations of one person: what the seed of one does with what belongs to the other.
@Suite struct GenerationTests {
    /// The use of a key for which there is no use.
    private enum AnyUse: SealingUse {}

    private func seed<Use>(_ bytes: [UInt8], as use: Use.Type = Use.self) throws -> SecretKey<Use> {
        try SecretKey(SecretBytes(copying: bytes.span))
    }

    /// The sealed parts of a file, each with its context.
    private func sealed(in file: IdentityFile) -> [(sealed: [UInt8], context: [UInt8])] {
        let user = file.chain.user.digest.bytes
        let newest = file.chain.newest.generation
        let previous = file.previous.enumerated().map { index, sealed in
            let generation = newest - UInt32(index)
            return (sealed, user + bigEndianBytes(generation) + bigEndianBytes(generation - 1))
        }
        let slots = file.slots.map { ($0.sealed, user + bigEndianBytes(newest) + $0.fields) }
        return previous + slots
    }

    /// How many of a file's sealed parts open with a seed itself or with any key derived from it.
    private func openings(of file: IdentityFile, with bytes: [UInt8]) throws -> Int {
        let own = try seed(bytes, as: AnyUse.self)
        let user = file.chain.user.digest.bytes
        var opened = 0
        func attempt(_ key: borrowing SecretKey<AnyUse>) {
            for part in sealed(in: file) {
                for (label, use) in DomainLabel.registry where use == .seal {
                    for context in [part.context, [], user] {
                        let refused = error {
                            _ = try TC1.openSecret(part.sealed.span, with: key, label: label, context: context.span)
                        }
                        if refused == nil { opened += 1 }
                    }
                }
            }
        }
        attempt(own)
        for (label, _) in DomainLabel.registry {
            for context in [[], user] { attempt(try own.derive(label, context: context.span)) }
        }
        return opened
    }

    @Test func A38_anEarlierSeedOpensNothingOfTheNewFile() throws {
        let seeds = try (0..<3).map { _ in try randomBytes(32) }
        let first = try Identity.make(handle: Name(typed: "anna"), time: 1, seed: seed(seeds[0]))
        let (second, earliest) = try first.renewCard(time: 2, seed: seed(seeds[1]))
        let (third, earlier) = try second.renewCard(time: 3, seed: seed(seeds[2]))
        let kit = try RecoveryKit()
        let device = try DeviceShare(user: first.user)
        let slots = [
            try Slot.kit(of: third, kit: kit, time: 3),
            try third.seal(
                under: device.slotKey(serverShare: SecretBytes(randomCount: 32)), id: device.id,
                kind: .device(name: .empty, until: 9), since: 3),
            try Slot.setPassword(of: third, password: password("anna"), cost: .floor, time: 3),
        ]
        let file = try IdentityFile(of: third, previous: [earlier, earliest], slots: slots)
        #expect(sealed(in: file).count == 5)
        #expect(try openings(of: file, with: seeds[0]) == 0)
        for old in [first, second] { #expect(error { try file.prove(with: old) } == .altered) }
        // Each seed opens the one before it and no other: the chain leads down alone.
        #expect(try openings(of: file, with: seeds[1]) == 1)
        #expect(try openings(of: file, with: seeds[2]) == 1)
        #expect(try file.open(withKit: kit).generation == 2)
    }

    /// A card of the same person and generation, signed by the same earlier keys, with keys of its own: only the seed
    /// tells that it is not this home's.
    @Test func A12_anotherCardOfTheSameGenerationNeverSigns() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let original = try await world.quick("anna")
        let (mine, previous) = try original.identity.renewCard(time: 2)
        let (other, _) = try original.identity.renewCard(time: 2)
        #expect(mine.user == other.user && mine.generation == other.generation)
        #expect(mine.chain != other.chain && mine.chain.bytes.count == other.chain.bytes.count)
        let anna = try await world.settle(mine, previous: [previous])
        let kit = try await anna.unlocking.makeKit()
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let bytes = try anna.client.identityFileBlocking().bytes
        let replaced = Array(bytes[..<14]) + other.chain.bytes + bytes[(14 + other.chain.bytes.count)...]
        try anna.client.home.replace(.identity, with: replaced)
        let file = try IdentityFile(replaced)
        #expect(file.chain == other.chain)
        let (home, writes) = (anna.home, evil.writeCount)
        #expect(error { _ = try file.open(withKit: kit) } == .altered)
        #expect(await failure { _ = try await anna.client.device.unlock() } == .altered)
        let client = anna.client
        let recovered = await failure {
            _ = try await client.recovery.recover(kit: kit, newPassword: password("new"), cost: .floor)
        }
        #expect(recovered == .altered)
        // Without the tag to tell: no identity comes of the two, so nothing that could sign.
        let slot = try #require(file.slots.first)
        let key = try kit.slotKey()
        let signs = error {
            let seed = try slot.open(with: key, user: mine.user, generation: 1)
            _ = try Identity(chain: other.chain, seed: seed, previous: [previous]).sign(.entrySignature, [1])
        }
        #expect(signs == .altered)
        #expect(anna.home == home)
        #expect(evil.writeCount == writes)
        try anna.client.home.replace(.identity, with: bytes)
        #expect(try await anna.client.device.unlock().identity.chain == mine.chain)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Cards, numbers, pins.
    @Suite struct People {
        private func share(_ scene: Scene, with chain: CardChain) async throws -> Bool {
            let act = Act.share(with: [chain], role: .reader, fromNow: false, notAfter: nil)
            _ = try await scene.anna.tresors.perform(act, on: scene.tresor)
            return try await !scene.store.truth.wraps(of: chain.user, in: scene.tresor, epoch: 1).isEmpty
        }

        @Test func A43_aStrangerIsAdded() async throws {
            let scene = try await Scene()
            await RealAttackTests.expectReal(.unverified, without: .comparedNumber, against: [scene.anna]) {
                try await share(scene, with: scene.mallory.identity.chain)
            }
        }

        @Test func A44_anotherPersonTakesAPinnedHandle() async throws {
            let scene = try await Scene()
            let evil = try identity("house").chain
            await RealAttackTests.expectReal(.unverified, without: .pinnedHandle, against: [scene.anna]) {
                try scene.anna.client.people.pinBlocking(evil)
                return try scene.anna.client.people.pinnedBlocking().contains { $0.chain == evil }
            }
        }

        @Test func A45_oneCardIsComparedAndAnotherUsed() async throws {
            let scene = try await Scene()
            let client = scene.anna.client
            let good = try await scene.world.quick("third").identity.chain
            let evil = try identity("third").chain
            scene.store.late(good.bytes, evil.bytes)
            try client.people.pinBlocking(#require(try await client.people.lookup("third").first).chain)
            let used = try #require(try await client.people.impostors(of: Name(typed: "third")).first).chain
            #expect(used == evil)
            await RealAttackTests.expectReal(.unverified, without: .comparedNumber, against: [scene.anna]) {
                try await share(scene, with: used)
            }
        }

        @Test func A46_aHandleIsTakenTwice() async throws {
            let scratch = try Scratch()
            let store = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            let world = World(store: store)
            let house = try await world.quick("house")
            let evil = try identity("house")
            let home = MemoryHome()
            let slot = try Slot.kit(of: evil, kit: RecoveryKit(), time: 1)
            try home.replace(.identity, with: IdentityFile(of: evil, previous: [], slots: [slot]).bytes)
            await RealAttackTests.expectReal(.unverified, without: .freeHandle, against: [house]) {
                try await world.client(home).people.publishCard()
                return try await store.cards(handle: house.identity.handle.bytes).count == 2
            }
        }

        @Test func A47_twoNamesAreTakenForOne() async throws {
            let composed = try Name(Array("Zo\u{eb}".utf8))
            let decomposed = try Name(Array("Zoe\u{308}".utf8))
            await RealAttackTests.expectReal(nil, without: .nameBytes) {
                composed == decomposed && Set([composed, decomposed]).count == 1
            }
        }

        @Test func A48_aNameOfALaterUnicodeSpoilsALog() async throws {
            let scene = try await Scene()
            // No version of Unicode assigns it yet.
            let later = try Name(Array("\u{378}".utf8))
            let card = try Identity.make(handle: later, time: 1).chain.newest.bytes
            await RealAttackTests.expectReal(nil, without: .fixedCodePoints, against: [scene.anna]) {
                do {
                    return try CardChain(card).handle != later
                } catch TresorError.altered {
                    return true
                }
            }
        }

        @Test func A49_aNameForgesALine() async throws {
            for character in ["\u{1b}", "\r", "\u{202e}", "\u{2066}", "\u{85}"] {
                await RealAttackTests.expectReal(.altered, without: .nameCharacters) {
                    try Name(Array("anna\(character)".utf8)).bytes.count > 4
                }
            }
        }

        @Test func A51_A52_anotherOrAnOlderCardReplacesTheOneThatWasCompared() async throws {
            let scene = try await Scene()
            let house = scene.house.identity
            let next = try house.renewCard(time: 2).identity
            let thief = try house.renewCard(time: 3).identity
            try scene.anna.client.people.pinBlocking(next.chain)
            for chain in [thief.chain, house.chain] {
                await RealAttackTests.expectReal(.forked, without: .pinnedCard, against: [scene.anna]) {
                    try scene.anna.client.people.pinBlocking(chain)
                    return try scene.anna.client.people.pinnedBlocking().contains { $0.chain == chain }
                }
                // Back to the one that was compared.
                try Experiment.$current.withValue(Experiment(applying: [.pinnedCard])) {
                    try scene.anna.client.people.pinBlocking(next.chain)
                }
            }
        }

        @Test func A52_aCardDoesNotFollowTheOneBefore() async throws {
            let bytes = try randomBytes(32)
            func seed() throws -> SecretKey<SeedUse> { try SecretKey(SecretBytes(copying: bytes.span)) }
            let house = try Identity.make(handle: Name(typed: "house"), time: 1, seed: seed())
            let empty: [UInt8] = []
            let own = try SigningKey(seed: seed().derive(.identitySign, context: empty.span))
            let renamed = try Card.make(
                handle: Name(typed: "other"), chain: house.chain, kemKey: house.chain.newest.kemKey, time: 2,
                signing: SigningKey(seed: SecretKey())
            ) { message throws(TresorError) in try own.sign(message) }
            await RealAttackTests.expectReal(.altered, without: .cardLink) {
                try CardChain(house.chain.bytes + renamed.bytes).handle == Name(typed: "other")
            }
        }

        @Test func A53_anAbbreviationGrantsTrust() async throws {
            let scene = try await Scene()
            let text = String(scene.mallory.identity.user.description.prefix(8))
            await RealAttackTests.expectReal(.unverified, without: .comparedNumber, against: [scene.anna]) {
                let people = try await scene.anna.client.people.lookup(text)
                return try await share(scene, with: #require(people.first).chain)
            }
        }

        @Test func A54_anAttackersTresorIsTakenForAFriends() async throws {
            let scene = try await Scene()
            let trap = try await scene.mallory.tresors.create(Name(typed: "plans")).tresor
            try await scene.mallory.share(trap, with: [scene.house], as: .writer)
            let file = try await scene.mallory.seal("false", in: trap)
            await RealAttackTests.expectReal(.unverified, without: .comparedNumber, against: [scene.house]) {
                try await scene.house.files.open(file).content == Array("false".utf8)
            }
            let second = try await scene.mallory.tresors.create(Name(typed: "more")).tresor
            try await scene.mallory.share(second, with: [scene.anna], as: .writer)
            await RealAttackTests.expectReal(.unverified, without: .comparedNumber, against: [scene.anna]) {
                try await scene.anna.seal("secret", in: second).header.tresor == second
            }
        }
    }
}

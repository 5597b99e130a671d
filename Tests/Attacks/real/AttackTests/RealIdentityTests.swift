// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Identity, slots, kit, devices.
    @Suite struct Identities {
        @Test func A23_A24_aSlotCostsWhatItsWriterLikes() async throws {
            for (memory, passes) in [(8, 1), (65_535, 3), (65_536, 2), (.max, 3), (65_536, 17)]
                as [(UInt32, UInt32)]
            {
                await RealAttackTests.expectReal(.altered, without: .cost) {
                    try Argon2id.Cost(memoryKiB: memory, passes: passes).memoryKiB == memory
                }
            }
        }

        /// An identity file with a kit's slot, edited at `offset` behind the slot's id.
        private func edited(_ anna: Identity, _ kit: borrowing RecoveryKit, at offset: Int) throws -> IdentityFile {
            let slot = try Slot.kit(of: anna, kit: kit, time: 1)
            var bytes = try IdentityFile(of: anna, previous: [], slots: [slot]).bytes
            let place = try #require(Data(bytes).range(of: Data(slot.id.bytes)))
            bytes[place.upperBound + offset] ^= 1
            return try IdentityFile(bytes)
        }

        @Test func A25_aSlotStandsWhereItWasNotMadeFor() async throws {
            let anna = try identity("anna")
            let kit = try RecoveryKit()
            await RealAttackTests.expectReal(.wrongPassword, without: .sealContext, .identityTag) {
                try edited(anna, kit, at: 7).open(withKit: kit).user == anna.user
            }
        }

        @Test func A26_anIdentityFileIsEdited() async throws {
            let anna = try identity("anna")
            let kit = try RecoveryKit()
            let slot = try Slot.kit(of: anna, kit: kit, time: 1)
            let device = try anna.seal(
                under: SecretKey(), id: .random(), kind: .device(name: Name(typed: "ward"), until: 5), since: 1)
            var bytes = try IdentityFile(of: anna, previous: [], slots: [slot, device]).bytes
            let name = try #require(Data(bytes).range(of: Data("ward".utf8)))
            bytes[name.lowerBound] ^= 1
            let file = try IdentityFile(bytes)
            await RealAttackTests.expectReal(.altered, without: .identityTag) {
                try file.open(withKit: kit).user == anna.user
            }
        }

        @Test func A27_theOldPasswordOpensTheNewFile() async throws {
            let anna = try identity("anna")
            func slot(_ text: String) throws -> Slot {
                try Slot.setPassword(of: anna, password: password(text), cost: .floor, time: 1)
            }
            let file = try IdentityFile(of: anna, previous: [], slots: [slot("old")])
            await RealAttackTests.expectReal(.wrongPassword, without: .replacedSlot) {
                let changed = try file.settingPassword(slot("new"), identity: anna)
                return try changed.open(withPassword: password("old")).user == anna.user
            }
        }

        @Test func A28_aPasswordIsGuessedQuickly() async throws {
            let anna = try identity("anna")
            await RealAttackTests.expectReal(nil, without: .passwordHash) {
                let slot = try Slot.setPassword(of: anna, password: password("0042"), cost: .floor, time: 1)
                guard case .password(_, let salt) = slot.kind else { return false }
                for number in 0..<100 {
                    let guess = try password("00" + (number < 10 ? "0" : "") + String(number))
                    let hash = try BLAKE2b.hash(.derive, salt, secret: guess.bytes.span).bytes
                    let key = try SecretKey<SlotUse>(SecretBytes(copying: hash.span))
                    if let seed = try? slot.open(with: key, user: anna.user, generation: 0) {
                        return seed.span.count == 32 && number == 42
                    }
                }
                return false
            }
        }

        @Test func A29_aPasswordNobodyCanTypeAgainIsSet() async throws {
            for text in ["pass\u{7}word", "pass\u{200d}word", "pass\u{e000}word"] {
                func isTaken() throws -> Bool {
                    let typed = try SecretBytes(copying: Array(text.utf8).span)
                    let password = try Password(typed: typed)
                    return password.count == text.unicodeScalars.count
                }
                await RealAttackTests.expectReal(.usage(.passwordCharacters), without: .passwordCharacters) {
                    try isTaken()
                }
            }
        }

        @Test func A30_aMisspeltKitIsTaken() async throws {
            let kit = try RecoveryKit()
            let words = try kit.words()
            var list = String(decoding: words.span.publicBytes, as: UTF8.self).split(separator: " ").map(
                String.init)
            let last = try #require(WordList.words.firstIndex { Array($0) == Array(list[23].utf8) })
            // The lowest bits of the last word are the checksum's.
            list[23] = String(decoding: WordList.words[last ^ 1], as: UTF8.self)
            let typed = try SecretBytes(copying: Array(list.joined(separator: " ").utf8).span)
            func isTaken() throws -> Bool {
                let misspelt = try RecoveryKit(typed: typed)
                return try misspelt.locator() == kit.locator()
            }
            await RealAttackTests.expectReal(.wrongPassword, without: .kitChecksum) { try isTaken() }
        }

        @Test func A31_aCopyBringsAnotherKeySlot() async throws {
            let scene = try await Scene()
            let kit = try RecoveryKit()
            let anna = scene.anna.identity
            let slot = try Slot.kit(of: anna, kit: kit, time: 1)
            let foreign = try anna.seal(
                under: SecretKey(), id: .random(), kind: .device(name: .empty, until: 9_000_000_000), since: 1)
            let copy = try IdentityFile(of: anna, previous: [], slots: [slot, foreign]).bytes
            scene.store.showKitCopy { _ in copy }
            let empty = Session(client: scene.world.client(MemoryHome()), identity: scene.mallory.identity)
            let secret = try password("new")
            await RealAttackTests.expectReal(.altered, without: .kitCopyForm, against: [empty]) {
                _ = try await empty.client.recovery.recover(kit: kit, newPassword: secret, cost: .floor)
                return try empty.client.identityFileBlocking().devices.map(\.id) == [foreign.id]
            }
        }

        @Test func A32_theDiskOpensWithoutTheStore() async throws {
            let anna = try identity("anna")
            let device = try DeviceShare(user: anna.user)
            func opens() throws -> Bool {
                let slot = try anna.seal(
                    under: device.slotKey(serverShare: SecretBytes(randomCount: 32)), id: device.id,
                    kind: .device(name: .empty, until: 9), since: 1)
                let nothing = try SecretBytes(count: 32)
                let key = try device.slotKey(serverShare: nothing)
                let seed = try slot.open(with: key, user: anna.user, generation: 0)
                return seed.span.count == 32
            }
            await RealAttackTests.expectReal(.altered, without: .serverShare) { try opens() }
        }

        @Test func A34_anyShareOpens() async throws {
            let anna = try identity("anna")
            let device = try DeviceShare(user: anna.user)
            let right = try SecretBytes(randomCount: 32)
            let wrong = try SecretBytes(randomCount: 32)
            let slot = try anna.seal(
                under: device.slotKey(serverShare: right), id: device.id, kind: .device(name: .empty, until: 9),
                since: 1)
            func opens() throws -> Bool {
                let key = try device.slotKey(serverShare: wrong)
                let seed = try slot.open(with: key, user: anna.user, generation: 0)
                return seed.span.count == 32
            }
            await RealAttackTests.expectReal(.altered, without: .keyCommitment, .chunkTag) { try opens() }
        }

        @Test func A35_aDeletedShareStaysInTheFile() async throws {
            let user = try identity("anna").user
            await RealAttackTests.expectReal(nil, without: .erasure) {
                let scratch = try Scratch()
                let store = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
                let share = try randomBytes(32)
                let device = try DeviceID.random()
                try await store.putServerShare(share, deviceKey: .zero, user: user, device: device)
                try await store.deleteServerShares(user: user, devices: [device])
                return ["store.db", "store.db-wal"].contains { bytes(at: scratch[$0]).holds(share) }
            }
        }

        @Test func A36_aDeviceOutlivesItsExpiry() async throws {
            let scene = try await Scene()
            let anna = scene.anna
            let end = scene.world.clock.now + 100
            _ = try await anna.unlocking.rememberDevice(name: .empty, until: end)
            let user = anna.identity.user
            scene.world.clock.now = end + 1
            await RealAttackTests.expectReal(.noAccess, without: .deviceExpiry, against: [anna]) {
                try await anna.client.device.unlock().identity.user == user
            }
            try await anna.tresors.perform(.rename(Name(typed: "later")), on: scene.tresor)
            scene.world.clock.now = end - 50
            await RealAttackTests.expectReal(.noAccess, without: .ownTimes, against: [anna]) {
                try await anna.client.device.unlock().identity.user == user
            }
        }

        @Test func A38_anEarlierGenerationIsForged() async throws {
            let first = try identity("anna")
            let bytes = try randomBytes(32)
            func seed() throws -> SecretKey<SeedUse> { try SecretKey(SecretBytes(copying: bytes.span)) }
            let (next, _) = try first.renewCard(time: 2, seed: seed())
            let empty: [UInt8] = []
            let key: SecretKey<PreviousUse> = try seed().derive(.identityPrevious, context: empty.span)
            let context = next.user.digest.bytes + bigEndianBytes(UInt32(1)) + bigEndianBytes(UInt32(0))
            let garbage = try SecretKey<SeedUse>().sealed(with: key, label: .previousSeal, context: context)
            await RealAttackTests.expectReal(.altered, without: .ownCard) {
                try Identity(chain: next.chain, seed: seed(), previous: [garbage]).user == first.user
            }
        }

        @Test func A42_othersMayReadTheIdentity() async throws {
            let scratch = try Scratch()
            let home = DirectoryHome(data: scratch["home"], state: scratch["state"])
            try home.replace(.identity, with: [1])
            #expect(chmod(scratch["home/identity"], 0o644) == 0)
            await RealAttackTests.expectReal(.failed(.permissions), without: .ownerOnly) {
                try home.read(.identity) == [1]
            }
        }
    }
}

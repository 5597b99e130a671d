// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// The exchange of two machines of one person.
    @Suite struct Devices {
        private func begin(_ scene: Scene, _ handover: DeviceHandover, at home: MemoryHome) async throws
            -> DeviceArrival
        {
            let code = try DeviceCode(typed: handover.code)
            return try await DeviceArrival.begin(scene.world.client(home), code: code)
        }

        /// An offer of this key under a code, which is none of the person's.
        private func offer(under code: borrowing DeviceCode, until: UInt64) throws -> DeviceOffer {
            let seed = try SecretKey<KEMUse>()
            return try DeviceOffer(of: XWing.publicKey(seed: seed), until: until, under: code.key())
        }

        private func show(_ letters: DeviceMailbox.Letters, _ handover: DeviceHandover, _ scene: Scene) {
            let bytes = DeviceMailbox(until: handover.until, letters).bytes
            scene.store.showKitCopy { _ in bytes }
        }

        @Test func A161_theStoresOwnOfferIsTaken() async throws {
            let scene = try await Scene()
            let handover = try await DeviceHandover.open(scene.anna)
            let foreign = try offer(under: DeviceCode(), until: handover.until)
            show(.offer(foreign.bytes), handover, scene)
            await RealAttackTests.expectReal(.unverified, without: .offerTag, against: [scene.anna]) {
                try await handover.offer().kemKey == foreign.kemKey
            }
        }

        @Test func A161_anOfferOfAnotherTimeIsTaken() async throws {
            let scene = try await Scene()
            let handover = try await DeviceHandover.open(scene.anna)
            let late = try offer(under: DeviceCode(typed: handover.code), until: Format.latestTime)
            show(.offer(late.bytes), handover, scene)
            await RealAttackTests.expectReal(.unverified, without: .timelyOffer, against: [scene.anna]) {
                try await handover.offer().kemKey == late.kemKey
            }
        }

        @Test func A161_theStoresOwnAnswerIsTaken() async throws {
            let scene = try await Scene()
            let handover = try await DeviceHandover.open(scene.anna)
            let home = MemoryHome()
            let arrival = try await begin(scene, handover, at: home)
            let offer = try await handover.offer()
            let theirs = DeviceBelongings(
                file: try scene.mallory.client.identityFileBlocking(), store: nil,
                objects: DeviceBelongings.kinds.map { _ in [] })
            let foreign = try DeviceCode().key()
            let answer = try DeviceAnswer(scene.mallory.identity, theirs, to: offer, under: foreign)
            show(.answer(answer.bytes, to: offer.bytes), handover, scene)
            await RealAttackTests.expectReal(.unverified, without: .answerTag) {
                try await arrival.answer().chain == scene.mallory.chain
            }
        }

        @Test func A161_theStoresOwnReceiptIsBelieved() async throws {
            let scene = try await Scene()
            let handover = try await DeviceHandover.open(scene.anna)
            _ = try await begin(scene, handover, at: MemoryHome())
            try await handover.answer(try await handover.offer())
            show(.receipt(.zero), handover, scene)
            await RealAttackTests.expectReal(.unverified, without: .deviceReceipt) {
                try await handover.ending() == .taken
            }
        }

        @Test func A31_anotherMachineIsToPutTheCopyOfAReplacedKit() async throws {
            let scene = try await Scene()
            try await scene.anna.unlocking.setKit(try RecoveryKit())
            let name = try #require(StoreName(Array("https://clinic.example".utf8)))
            let locator = try #require(try scene.anna.client.identityFileBlocking().kitLocator)
            var noted = NotedStores()
            noted.noteAwaiting(name, kit: locator)
            try scene.anna.client.home.replace(.notedStores, with: noted.bytes)
            let handover = try await DeviceHandover.open(scene.anna)
            let arrival = try await begin(scene, handover, at: MemoryHome())
            try await handover.answer(try await handover.offer())
            await RealAttackTests.expectReal(nil, without: .awaitedCopy) {
                let objects = try await arrival.answer().objects
                return try NotedStores(objects[.notedStores] ?? []).awaits(name, kit: locator)
            }
        }

        @Test func A161_aSecondOfferTakesThePlaceOfTheFirst() async throws {
            let scene = try await Scene()
            let handover = try await DeviceHandover.open(scene.anna)
            _ = try await begin(scene, handover, at: MemoryHome())
            let first = try await handover.offer()
            await RealAttackTests.expectReal(.unverified, without: .firstOffer) {
                _ = try await begin(scene, handover, at: MemoryHome())
                return try await handover.offer().kemKey != first.kemKey
            }
        }
    }
}

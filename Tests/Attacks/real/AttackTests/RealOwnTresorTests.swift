// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRecords

extension RealAttackTests {
    /// The statements of the other homes of a person.
    @Suite struct OwnTresors {
        @Test func A224_theThiefOfMyOldSeedTellsMeWhomIKnow() async throws {
            await RealAttackTests.expectReal(nil, without: .newestOwn, isLate: true) {
                let scene = try await Scene()
                try await scene.anna.exchange()
                let home = try #require(scene.anna.client.home as? MemoryHome)
                let thief = scene.world.session(of: scene.anna, home: home.copy())
                let (next, sealed) = try scene.anna.identity.renewCard(time: 2)
                let me = try await scene.world.settle(next, previous: [sealed], home: home)
                let mallory = scene.mallory.identity.chain
                try thief.client.people.pinBlocking(mallory)
                try await thief.exchange()
                try await me.exchange()
                return try me.occasion(of: mallory.user) != nil
            }
        }

        @Test func A224_whomTheThiefToldMeOfCountsAfterMyRenewal() async throws {
            await RealAttackTests.expectReal(nil, without: .statedCard, isLate: true) {
                let scene = try await Scene()
                let (anna, mallory) = (scene.anna.identity, scene.mallory.identity.chain)
                let home = try #require(scene.anna.client.home as? MemoryHome)
                var pins = try scene.anna.client.storedPins()
                pins.put(Pin(chain: mallory, time: 2, occasion: .known, by: anna.chain.newest.hash))
                try home.replace(.pins, with: pins.bytes)
                let (next, sealed) = try anna.renewCard(time: 2)
                let me = try await scene.world.settle(next, previous: [sealed], home: home)
                return try me.people.trustBlocking(in: mallory) == .verified
            }
        }

        @Test func A225_anOlderLogIsShownToMyOtherDevice() async throws {
            await RealAttackTests.expectReal(.forked, without: .toldHead, isLate: true) {
                let scene = try await Scene()
                let desk = try scene.world.device(of: scene.anna)
                try await scene.anna.exchange()
                try await desk.exchange()
                let before = try await log(scene.tresor, in: scene.store.truth)
                try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
                try await scene.anna.exchange()
                scene.store.show { $0.first == before.first ? before : $0 }
                try await desk.exchange()
                return try await desk.client.logs.state(of: scene.tresor).entryCount == UInt64(before.count)
            }
        }

        @Test func A226_anotherDeviceReplacesWhomICompared() async throws {
            await RealAttackTests.expectReal(nil, without: .ownComparison, isLate: true) {
                let scene = try await Scene()
                let desk = try scene.world.device(of: scene.anna)
                try desk.client.people.pinBlocking(scene.bob.identity.chain)
                let other = try identity("bob").chain
                try scene.anna.client.people.pinBlocking(other, replacing: true)
                try await scene.anna.exchange()
                try await desk.exchange()
                return try desk.occasion(of: other.user) != nil
            }
        }

        @Test func A226_whomIGaveUpComesBackByAnEarlierComparison() async throws {
            await RealAttackTests.expectReal(nil, without: .laterGivingUp, isLate: true) {
                let scene = try await Scene()
                let (anna, bob) = (scene.anna, scene.bob.identity)
                let (desk, phone) = (try scene.world.device(of: anna), try scene.world.device(of: anna))
                for device in [anna, desk] { try await device.exchange() }
                scene.world.clock.advance(by: 10)
                try anna.client.people.pinBlocking(try bob.renewCard(time: 5).identity.chain)
                scene.world.clock.advance(by: 10)
                try desk.client.people.giveUpBlocking(bob.user)
                for device in [desk, anna, phone] { try await device.exchange() }
                return try phone.occasion(of: bob.user) != nil
            }
        }
    }
}

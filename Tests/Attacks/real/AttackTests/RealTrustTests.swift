// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// New keys, marks, pins, and what strangers offer.
    @Suite struct Trust {
        /// A copy of a person's home, as a thief or an old backup has it.
        private func copy(of person: Session, in scene: Scene) throws -> Session {
            let home = try #require(person.client.home as? MemoryHome).copy()
            return scene.world.session(of: person, home: home)
        }

        /// New keys of a person, published and in the same home. No log learns of them.
        private func renewed(_ person: Session, in scene: Scene) async throws -> Session {
            let (next, sealed) = try person.identity.renewCard(time: 2)
            let home = try #require(person.client.home as? MemoryHome)
            return try await scene.world.settle(next, previous: [sealed], home: home)
        }

        @Test func A201_aTresorOfTheThiefOfMyOldSeedIsTakenForMine() async throws {
            let scene = try await Scene()
            let thief = try copy(of: scene.anna, in: scene)
            let me = try await renewed(scene.anna, in: scene)
            let trap = try await thief.tresors.create(Name(typed: "medication")).tresor
            let file = try await thief.seal("dose", in: trap)
            await RealAttackTests.expectReal(.unverified, without: .ownNewestCard, against: [me]) {
                try await me.files.open(file).content == Array("dose".utf8)
            }
        }

        @Test func A202_anOldCopyOfAHomeEndsTheDevicesOfTheTrueOne() async throws {
            let scene = try await Scene()
            let stale = try copy(of: scene.anna, in: scene)
            let me = try await renewed(scene.anna, in: scene)
            let device = try await me.unlocking.rememberDevice(name: .empty, until: scene.world.clock.now + 99)
            let user = me.identity.user
            await RealAttackTests.expectReal(.forked, without: .shownChain, against: [stale]) {
                _ = try await stale.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
                return try await scene.store.truth.serverShare(user: user, device: device.id) == nil
            }
        }

        @Test func A203_aNewKeyIsWrappedToAStolenCard() async throws {
            await RealAttackTests.expectReal(nil, without: .supersededCard, isLate: true) {
                let scene = try await Scene()
                let next = try scene.house.identity.renewCard(time: 2).identity
                try scene.anna.client.people.pinBlocking(next.chain)
                try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
                let file = try await scene.anna.seal("later", in: scene.tresor)
                // A thief of the old seed.
                return (try? await scene.fresh(scene.house).files.open(file))?.content == Array("later".utf8)
            }
        }

        @Test func A203_aStolenCardIsCurrent() async throws {
            let scene = try await Scene()
            let file = try await scene.bob.seal("forged", in: scene.tresor)
            try scene.anna.client.people.pinBlocking(scene.bob.identity.renewCard(time: 2).identity.chain)
            var current = Expectations.anyTresor
            current.currentAuthor = true
            await RealAttackTests.expectReal(.noAccess, without: .comparedGeneration, against: [scene.anna]) {
                try await scene.anna.files.open(file, expecting: current).content == Array("forged".utf8)
            }
        }

        @Test func A204_aPinThatIsNewerThanTheLogLooksLikeAFork() async throws {
            let scene = try await Scene()
            let user = scene.house.identity.user
            try scene.anna.client.people.pinBlocking(scene.house.identity.renewCard(time: 2).identity.chain)
            let state = try await scene.state
            await RealAttackTests.expectReal(nil, without: .longerPin, against: [scene.anna]) {
                error { _ = try scene.anna.client.trust.memberTrustBlocking(of: user, in: state) } == .forked
            }
        }

        @Test func A209_aReplacedPinIsBetterThanNone() async throws {
            let scene = try await Scene()
            let file = try await scene.bob.seal("x", in: scene.tresor)
            try scene.house.client.people.pinBlocking(identity("bob").chain, replacing: true)
            await RealAttackTests.expectReal(.unverified, without: .replacedPin, against: [scene.house]) {
                try await scene.house.files.open(file).content == Array("x".utf8)
            }
        }

        @Test func A215_aStrangersTresorAnswersToABareName() async throws {
            let scene = try await Scene()
            let theirs = try await scene.mallory.tresors.create(Name(typed: "therapy")).tresor
            try await scene.mallory.share(theirs, with: [scene.house])
            // The home keeps the names that it has opened.
            _ = try await scene.house.tresors.all()
            await RealAttackTests.expectReal(nil, without: .liesApart, against: [scene.house]) {
                try await scene.house.tresors.named("therapy").map(\.tresor) == [theirs]
            }
        }

        @Test func A221_anotherCardUnderAPinnedHandleStopsMe() async throws {
            let scene = try await Scene()
            scene.store.invent(try identity("anna").chain.bytes)
            await RealAttackTests.expectReal(nil, without: .pinnedFirst, against: [scene.house]) {
                try await scene.house.client.people.lookup("anna").count == 2
            }
        }
    }
}

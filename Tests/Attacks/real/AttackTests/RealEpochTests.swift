// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Epochs, wraps, revocation.
    @Suite struct Epochs {
        @Test func A15_halvesOfTwoWrapsMakeKeys() async throws {
            let scene = try await Scene()
            let state = try await scene.state
            let right = try await scene.keys(1)
            let user = scene.house.identity.user
            let one = try #require(try await scene.store.truth.wraps(of: user, in: scene.tresor, epoch: 1).first)
            let other = try Wrap(
                right, of: scene.tresor, for: scene.house.identity.chain.newest, user: user, history: .all
            ).bytes
            // The ML-KEM ciphertext of the one, and from the point of X25519 on the other.
            let split = one.count - 82 - 32
            let mixed = one[..<split] + other[split...]
            scene.store.showWraps { _, _, _ in [Array(mixed)] }
            await RealAttackTests.expectReal(
                .altered, without: .wrapTag, .epochCommitment, against: [scene.house]
            ) {
                let keys = try await scene.fresh(scene.house).keyRing.keys(of: 1, in: state)
                return !keys.content.matches(right.content)
            }
        }

        /// Bob marks the tresor by a renewal of his own, and begins an epoch that nobody else gets.
        private func lockOut(_ scene: Scene) async throws {
            let next = try scene.bob.identity.renewCard(time: 2).identity
            let first = try await scene.keys(1)
            try await scene.append(.renew(RenewBody(next.chain.newest)), by: scene.bob)
            let statement = try EpochKeys(epoch: 2).statement(of: scene.tresor, linking: [first])
            try await scene.append(.epoch(EpochBody(statement)), by: Session(client: scene.bob.client, identity: next))
        }

        @Test func A200_anEpochTakesAwayWhatIsOlder() async throws {
            let scene = try await Scene()
            try await lockOut(scene)
            let state = try await scene.state
            for person in [scene.anna, scene.house] {
                await RealAttackTests.expectReal(nil, without: .olderWraps, against: [person]) {
                    await failure { _ = try await scene.fresh(person).keyRing.keys(of: 1, in: state) } == .noAccess
                }
            }
        }

        @Test func A200_anEpochStopsAnOwner() async throws {
            await RealAttackTests.expectReal(nil, without: .reachableKeys, isLate: true) {
                let scene = try await Scene()
                try await lockOut(scene)
                let removal = Act.revoke([scene.bob.identity.user])
                let owner = scene.fresh(scene.anna)
                return await failure { try await owner.tresors.perform(removal, on: scene.tresor) } == .noAccess
            }
            await RealAttackTests.expectReal(nil, without: .cutOff, isLate: true) {
                let scene = try await Scene()
                try await lockOut(scene)
                let owner = scene.fresh(scene.anna)
                return await failure { _ = try await owner.seal("x", in: scene.tresor) } == .noAccess
            }
        }

        @Test func A200_anEpochBeginsWhoseKeyItsAuthorDoesNotKeep() async throws {
            await RealAttackTests.expectReal(.failed(.full), without: .keptWrap, isLate: true) {
                let scene = try await Scene()
                let home = try #require(scene.anna.client.home as? MemoryHome)
                let count = scene.store.writeCount
                home.fill(after: 0)
                let error = await failure { try await scene.anna.tresors.perform(.rotate, on: scene.tresor) }
                guard let error, scene.store.writeCount == count else { return error != nil }
                throw error
            }
        }

        @Test func A85_nobodyNoticesAWithheldWrap() async throws {
            let scene = try await Scene()
            let user = scene.house.identity.user
            scene.store.showWraps { wraps, asked, _ in asked == user ? [] : wraps }
            let state = try await scene.state
            await RealAttackTests.expectReal(nil, without: .neededWraps, against: [scene.anna]) {
                try await WrapCheck(client: scene.anna.client).findings(in: state).isEmpty
            }
        }

        @Test func A76_whoWasRemovedReadsOn() async throws {
            await RealAttackTests.expectReal(nil, without: .stayingMembers, isLate: true) {
                let scene = try await Scene()
                let (house, user) = (scene.house, scene.house.identity.user)
                scene.store.keep()
                try await scene.anna.tresors.perform(.revoke([user]), on: scene.tresor)
                let file = try await scene.anna.seal("later", in: scene.tresor)
                // With everything the store was ever given, and a client that asks nobody.
                let state = try await scene.state
                let statement = try #require(state.statement(of: 2))
                for wrap in scene.store.everyWrap where wrap.user == user && wrap.epoch == 2 {
                    let keys = try UnverifiedWrap(wrap.bytes).openWrap(
                        as: house.identity, of: scene.tresor, statement: statement,
                        card: house.identity.chain.newest, history: .all)
                    return try FileOpener.openFile(file, with: keys, in: state).content == Array("later".utf8)
                }
                return false
            }
        }

        @Test func A132_whoLeftReadsByTheApprovalOfBefore() async throws {
            await RealAttackTests.expectReal(nil, without: .freshApprovalKey, isLate: true) {
                let store = EvilStore()
                let world = World(store: store)
                let (anna, house) = (try await world.quick("anna"), try await world.quick("house"))
                let clinic = try await world.quick("clinic")
                try world.introduce(anna, house, clinic)
                let tresor = try await anna.tresors.create(Name(typed: "plans"), approvers: [clinic.chain]).tresor
                let before = try await anna.seal("before", in: tresor)
                try await anna.share(tresor, with: [house], fromNow: true)
                for grant in PendingGrant.all(in: try await clinic.client.logs.state(of: tresor)) {
                    try await Decisions(session: clinic).decide([.approve(grant)], on: tresor)
                }
                try await house.tresors.perform(.leave, on: tresor)
                try await anna.share(tresor, with: [house])
                let entries = try await log(tresor, in: store.truth)
                let found = try Plunder(of: [house.identity], wraps: store.everyWrap.map(\.bytes), log: entries)
                return found.opens(before)
            }
        }

        @Test func A78_theWrapsOfWhoWasRemovedStay() async throws {
            await RealAttackTests.expectReal(nil, without: .departedWraps, isLate: true) {
                let scene = try await Scene()
                let user = scene.house.identity.user
                try await scene.anna.tresors.perform(.revoke([user]), on: scene.tresor)
                return try await !scene.store.truth.wraps(of: user, in: scene.tresor, epoch: nil).isEmpty
            }
        }

        @Test func A79_A80_theKeyIsAnotherThanTheLogSays() async throws {
            let scene = try await Scene()
            let state = try await scene.state
            let evil = try EpochKeys(epoch: 1)
            let wraps = try [scene.anna, scene.house].map { person throws in
                try Wrap(
                    evil, of: scene.tresor, for: person.identity.chain.newest, user: person.identity.user,
                    history: .all
                ).bytes
            }
            let user = scene.house.identity.user
            scene.store.showWraps { _, asked, _ in [asked == user ? wraps[1] : wraps[0]] }
            // The wraps of a home would lead past those of the store.
            for person in [scene.house, scene.anna] { try person.client.home.delete(.wraps) }
            for person in [scene.house, scene.anna] {
                await RealAttackTests.expectReal(.altered, without: .epochCommitment, against: [person]) {
                    let keys = try await scene.fresh(person).keyRing.keys(of: 1, in: state)
                    return keys.content.matches(evil.content)
                }
            }
            // Nothing is sealed under it either.
            await RealAttackTests.expectReal(
                .store(.withheld), without: .epochCommitment, against: [scene.anna]
            ) {
                let file = try await scene.fresh(scene.anna).seal("x", in: scene.tresor)
                return try FileOpener.openFile(file, with: evil, in: state).content == Array("x".utf8)
            }
        }

        @Test func A81_aWrapOfAnotherEpochIsShown() async throws {
            let scene = try await Scene()
            let old = try await scene.keys(1)
            let (user, card) = (scene.house.identity.user, scene.house.identity.chain.newest)
            try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
            let statement = try #require(try await scene.state.statement(of: 2))
            func opens(_ bytes: [UInt8]) throws -> Bool {
                let keys = try UnverifiedWrap(bytes).openWrap(
                    as: scene.house.identity, of: scene.tresor, statement: statement, card: card, history: .all)
                return keys.content.matches(old.content)
            }
            func wrap() throws -> [UInt8] {
                try Wrap(old, of: scene.tresor, for: card, user: user, history: .all).bytes
            }
            let bound = try wrap()
            await RealAttackTests.expectReal(.altered, without: .wrapPlace, .epochCommitment) { try opens(bound) }
            // The store says that it is of the epoch asked for.
            func moved(_ wrap: [UInt8]) -> [UInt8] { wrap[..<41] + bigEndianBytes(UInt64(2)) + wrap[49...] }
            let bare = try Experiment.$current.withValue(Experiment(applying: [.wrapInfo])) { try wrap() }
            await RealAttackTests.expectReal(.altered, without: .wrapInfo, .epochCommitment) {
                try opens(moved(Mutation.wrapInfo.isApplied ? bare : bound))
            }
        }

        @Test func A82_A87_whoReadsFromNowReadsWhatWasBefore() async throws {
            await RealAttackTests.expectReal(nil, without: .contentKeyAlone, isLate: true) {
                let scene = try await Scene()
                let (anna, mallory) = (scene.anna, scene.mallory)
                let file = try await anna.seal("earlier", in: scene.tresor)
                let earlier = try await scene.state
                try anna.client.people.pinBlocking(mallory.identity.chain)
                try await anna.share(scene.tresor, with: [mallory], fromNow: true)
                let state = try await scene.state
                let user = mallory.identity.user
                let bytes = try #require(try await scene.store.wraps(of: user, in: scene.tresor, epoch: 2).first)
                guard try UnverifiedWrap(bytes).opensHistory else { return false }
                let statement = try #require(state.statement(of: 2))
                let keys = try UnverifiedWrap(bytes).openWrap(
                    as: mallory.identity, of: scene.tresor, statement: statement,
                    card: mallory.identity.chain.newest, history: .all)
                let first = try #require(try keys.openBackLink(statement, of: scene.tresor).first)
                return try FileOpener.openFile(file, with: first, in: earlier).content == Array("earlier".utf8)
            }
        }

        @Test func A82_aWrapHoldsMoreThanTheLogGrants() async throws {
            let scene = try await Scene()
            let (anna, mallory) = (scene.anna, scene.mallory)
            try anna.client.people.pinBlocking(mallory.identity.chain)
            try await anna.share(scene.tresor, with: [mallory], fromNow: true)
            let state = try await mallory.client.logs.state(of: scene.tresor)
            let whole = try Wrap(
                try await scene.keys(2), of: scene.tresor, for: mallory.identity.chain.newest,
                user: mallory.identity.user, history: .all
            ).bytes
            scene.store.showWraps { _, _, _ in [whole] }
            await RealAttackTests.expectReal(.altered, without: .wrapHistory, against: [mallory]) {
                try await mallory.keyRing.keys(of: 2, in: state).opensHistory
            }
        }

        @Test func A83_aBackLinkYieldsOtherKeys() async throws {
            let scene = try await Scene()
            let evil = try EpochKeys(epoch: 1)
            let next = try EpochKeys(epoch: 2)
            let statement = try next.statement(of: scene.tresor, linking: [evil])
            let before = try await scene.state
            let drafting = EntryDrafting(session: scene.anna)
            let wraps = try drafting.wraps(next, for: drafting.recipients(in: before), of: before.tresor)
            try await scene.append(.epoch(EpochBody(statement)), by: scene.anna, putting: wraps)
            try await scene.settle()
            let state = try await scene.state
            // No wrap of the first epoch leads past the link.
            scene.store.showWraps { wraps, _, _ in wraps.filter { (try? UnverifiedWrap($0).epoch) != 1 } }
            try scene.house.client.home.delete(.wraps)
            await RealAttackTests.expectReal(.altered, without: .epochCommitment, against: [scene.house]) {
                let keys = try await scene.fresh(scene.house).keyRing.keys(of: 1, in: state)
                return keys.content.matches(evil.content)
            }
        }

        @Test func A86_somebodyWritesAlthoughTheKeyMustChangeFirst() async throws {
            let scene = try await Scene()
            try await scene.house.tresors.perform(.leave, on: scene.tresor)
            try await scene.settle()
            let file = try scene.forge(by: scene.bob, at: try await scene.state, keys: try await scene.keys(1))
            await RealAttackTests.expectReal(.noAccess, without: .fileRekeyPending, against: [scene.anna]) {
                try await scene.anna.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A88_aReaderWrites() async throws {
            let scene = try await Scene()
            let file = try scene.forge(by: scene.house, at: try await scene.state, keys: try await scene.keys(1))
            await RealAttackTests.expectReal(.noAccess, without: .fileRole, against: [scene.anna]) {
                try await scene.anna.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A89_anOldKeyIsUsedBesideANewerOne() async throws {
            let scene = try await Scene()
            try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
            try await scene.settle()
            let file = try scene.forge(by: scene.bob, at: try await scene.state, keys: try await scene.keys(1))
            await RealAttackTests.expectReal(.altered, without: .fileEpoch, against: [scene.house]) {
                try await scene.house.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A91_revokingAStrangerLooksDone() async throws {
            let scene = try await Scene()
            let stranger = scene.mallory.identity.user
            await RealAttackTests.expectReal(.notFound, without: .knownPerson, against: [scene.anna]) {
                try await scene.anna.tresors.perform(.revoke([stranger]), on: scene.tresor).effect.already == [
                    stranger
                ]
            }
        }
    }
}

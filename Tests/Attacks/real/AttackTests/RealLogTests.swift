// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Logs shown by a store or an accomplice.
    @Suite struct Logs {
        @Test func A59_anOlderLogIsBelieved() async throws {
            let scene = try await Scene()
            scene.store.frozen(1)
            await RealAttackTests.expectReal(.forked, without: .pinnedHead, against: [scene.anna]) {
                try await scene.anna.client.logs.state(of: scene.tresor).head.sequence == 0
            }
        }

        @Test func A60_anotherContinuationIsBelieved() async throws {
            let scene = try await Scene()
            let before = try await scene.state
            let other = try scene.entry(.leave, by: scene.bob, after: before).bytes
            try await scene.anna.tresors.perform(.rename(Name(typed: "true")), on: scene.tresor)
            scene.store.fork(Int(before.head.sequence) + 1, [other])
            await RealAttackTests.expectReal(.forked, without: .pinnedHead, against: [scene.anna]) {
                try await scene.anna.client.logs.state(of: scene.tresor).members[scene.bob.identity.user] == nil
            }
        }

        /// A state that only the store's false branch has, made by anna as an accomplice.
        private func branch(_ scene: Scene) async throws -> (state: LogState, entry: [UInt8], count: Int) {
            let before = try await scene.state
            let entry = try scene.entry(.rename(RenameBody(Chronicle.anyName())), by: scene.anna, after: before).bytes
            var fold = Fold(state: before)
            try fold.apply(entry)
            let state = try #require(fold.state)
            return (state, entry, Int(before.head.sequence) + 1)
        }

        @Test func A61_aFileOfTheStoresBranchIsReadWithAcceptForked() async throws {
            let scene = try await Scene()
            let (state, entry, count) = try await branch(scene)
            let file = try scene.forge(by: scene.bob, at: state, keys: try await scene.keys(1))
            try await scene.anna.tresors.perform(.rename(Name(typed: "true")), on: scene.tresor)
            try await scene.settle()
            scene.store.fork(count, [entry])
            var expecting = Expectations.anyTresor
            expecting.acceptingForked = true
            await RealAttackTests.expectReal(.forked, without: .fileHead, against: [scene.house]) {
                try await scene.house.files.open(file, expecting: expecting).content == [1, 2, 3]
            }
        }

        @Test func A62_aFileOfAnotherBranchIsRead() async throws {
            let scene = try await Scene()
            let file = try scene.forge(
                by: scene.bob, at: try await branch(scene).state, keys: try await scene.keys(1))
            try await scene.anna.tresors.perform(.rename(Name(typed: "true")), on: scene.tresor)
            try await scene.settle()
            await RealAttackTests.expectReal(.forked, without: .fileHead, against: [scene.house]) {
                try await scene.house.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A63_aHeadThatNobodyEverSawCounts() async throws {
            let scene = try await Scene()
            let state = try await scene.state
            let head = Head(sequence: state.head.sequence, hash: try anyDigest())
            let file = try scene.forge(by: scene.bob, at: state, head: head, keys: try await scene.keys(1))
            await RealAttackTests.expectReal(.forked, without: .fileHead, against: [scene.house]) {
                try await scene.house.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A65_aFrozenReaderIsNotToldByAFile() async throws {
            let scene = try await Scene()
            let count = Int(try await scene.state.head.sequence) + 1
            try await scene.anna.tresors.perform(.rename(Name(typed: "later")), on: scene.tresor)
            let file = try await scene.anna.seal("news", in: scene.tresor)
            scene.store.frozen(count)
            await RealAttackTests.expectReal(
                .store(.behind), without: .storeBehind, .fileHead, against: [scene.house]
            ) {
                try await scene.house.files.open(file).content == Array("news".utf8)
            }
        }

        @Test func A219_aStoreThatIsBehindLooksLikeLostAccess() async throws {
            let scene = try await Scene()
            let (house, tresor) = (scene.house, scene.tresor)
            let count = Int(try await scene.state.head.sequence) + 1
            try await scene.anna.tresors.perform(.rotate, on: tresor)
            let file = try await scene.anna.seal("news", in: tresor)
            scene.store.frozen(count)
            await RealAttackTests.expectReal(.store(.behind), without: .storeBehind, against: [house]) {
                let error = await failure { _ = try await house.files.open(file) }
                guard let error, error != .noAccess else { return error != nil }
                throw error
            }
            // Now the home has seen it, and a store that is older has no wrap of it.
            scene.store.behave()
            _ = try await house.tresors.name(in: house.client.logs.state(of: tresor))
            scene.store.showWraps { wraps, _, _ in wraps.filter { (try? UnverifiedWrap($0).epoch) == 1 } }
            let known = try #require(try house.client.archive.verifiedState(of: tresor))
            await RealAttackTests.expectReal(nil, without: .homeWraps, against: [house]) {
                await failure { _ = try await scene.fresh(house).keyRing.keys(of: 2, in: known) } == .noAccess
            }
        }

        @Test(.enabled(if: has("sqlite3"), "sqlite3 is not present"))
        func A217_nobodyNoticesThatALogLostItsBeginning() async throws {
            let scratch = try Scratch()
            let world = World(store: try await SQLiteStore.open(at: scratch["store.db"], creating: true))
            let anna = try await world.quick("anna")
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.tresors.perform(.rotate, on: tresor)
            let deletion = "DELETE FROM entries WHERE sequence = x'0000000000000000'"
            _ = try tool("/usr/bin/sqlite3", [scratch["store.db"], deletion])
            await RealAttackTests.expectReal(nil, without: .wholeLog, against: [anna]) {
                let findings = try await anna.client.audit.check([tresor]).filter { $0.subject == .tresor(tresor) }
                return !findings.isEmpty && findings.allSatisfy { $0.level == .ok }
            }
        }

        @Test func A222_aFalseBranchArrivesByMail() async throws {
            let scene = try await Scene()
            let (_, entry, count) = try await branch(scene)
            let whole = try await log(scene.tresor, in: scene.store.truth)
            let export = try TresorExport(
                tresor: scene.tresor, entries: Array(whole.prefix(count)) + [entry], cards: [], wraps: [])
            try await scene.anna.tresors.perform(.rename(Name(typed: "true")), on: scene.tresor)
            try await scene.settle()
            let empty = EvilStore()
            let house = scene.world.session(of: scene.house, seeing: empty)
            await RealAttackTests.expectReal(.forked, without: .exportJudged, against: [house]) {
                let error = await failure { _ = try await house.client.exchange.take(export) }
                if try await log(scene.tresor, in: empty).isEmpty, let error { throw error }
                return true
            }
        }

        @Test func A223_theSilenceOfAStoreIsTakenForThatOfAnother() async throws {
            let scene = try await Scene()
            let (tresor, clock) = (scene.tresor, scene.world.clock)
            let client = Client(
                home: MemoryHome(), store: scene.store, named: StoreName(Array("/one".utf8)), clock: { clock.now })
            try client.people.pinBlocking(scene.anna.identity.chain)
            _ = try await client.logs.state(of: tresor)
            scene.store.frozen(0)
            await RealAttackTests.expectReal(.forked, without: .notedStore) {
                let error = await failure { _ = try await client.logs.state(of: tresor) }
                if let error, error != .notFound { throw error }
                return error != nil
            }
        }

        @Test func A241_aMovedTresorVanishesAndNobodySees() async throws {
            await RealAttackTests.expectReal(.forked, without: .everyStore, isLate: true) {
                let scene = try await Scene()
                let (tresor, clock, home, moved) = (scene.tresor, scene.world.clock, MemoryHome(), EvilStore())
                func client(_ store: any Store, _ name: String) -> Client {
                    Client(home: home, store: store, named: StoreName(Array(name.utf8)), clock: { clock.now })
                }
                let before = client(scene.store, "/one")
                try before.people.pinBlocking(scene.anna.identity.chain)
                let export = try await before.exchange.export(tresor)
                _ = try await before.logs.state(of: tresor)
                let after = client(moved, "/two")
                _ = try await after.exchange.take(export)
                _ = try await after.logs.state(of: tresor)
                moved.frozen(0)
                let error = await failure { _ = try await after.logs.state(of: tresor) }
                if let error, error != .notFound { throw error }
                return error != nil
            }
        }

        @Test func A206_aWrongClockEndsADate() async throws {
            let scene = try await Scene()
            let user = scene.house.identity.user
            let start = scene.world.clock.now
            try await scene.anna.share(scene.tresor, with: [scene.house], notAfter: start + 86_400)
            scene.world.clock.now = start + 64 * 365 * 86_400
            await RealAttackTests.expectReal(.failed(.clock), without: .believedClock, against: [scene.anna]) {
                try await scene.anna.tresors.settle(scene.tresor).members[user] == nil
            }
        }

        @Test func A216_whatAnotherDeviceDidIsReportedAsMine() async throws {
            await RealAttackTests.expectReal(nil, without: .ownEntry, isLate: true) {
                let scene = try await Scene()
                let (anna, tresor) = (scene.anna, scene.tresor)
                let end = scene.world.clock.now + 50
                try await anna.share(tresor, with: [scene.house], notAfter: end)
                let home = try #require(anna.client.home as? MemoryHome).copy()
                let device = scene.world.session(of: anna, home: home)
                scene.world.clock.now = end + 1
                scene.store.beforeNextAppend { _ = try? await device.tresors.settle(tresor) }
                _ = try await anna.tresors.settle(tresor)
                return await anna.takeNotices().map(\.deed) == [.ended([scene.house.identity.user])]
            }
        }

        @Test func A66_anActThatWasNotStoredLooksDone() async throws {
            let scene = try await Scene()
            let name = try Name(typed: "again")
            scene.store.lie(.storesNothing)
            await RealAttackTests.expectReal(
                .store(.notStored), without: .confirmation, against: [scene.anna], isLate: true
            ) {
                let before = try await scene.state.head
                let state = try await scene.anna.tresors.perform(.rename(name), on: scene.tresor).state
                return state.head == before
            }
        }

        @Test func A67_anActIsDoneThoughItNoLongerMeansWhatWasShown() async throws {
            let scene = try await Scene()
            let both = [scene.bob.identity.user, scene.house.identity.user]
            let shown = try scene.anna.tresors.effectBlocking(
                of: .revoke(both), in: try await scene.state)
            try await scene.house.tresors.perform(.leave, on: scene.tresor)
            try await scene.settle()
            await RealAttackTests.expectReal(.busy, without: .meaning, against: [scene.anna]) {
                let done = try await scene.anna.tresors.perform(
                    .revoke(both), on: scene.tresor, expecting: shown
                )
                .effect
                return done.dismissed == [scene.bob.identity.user]
            }
        }

        @Test func A220_aDateForSomebodyWhoWasRemovedBecomesAGrant() async throws {
            let scene = try await Scene()
            let (anna, house) = (scene.anna, scene.house.identity)
            try await anna.share(scene.tresor, with: [scene.bob], as: .owner)
            let date = Act.share(
                with: [house.chain], role: .reader, fromNow: false, notAfter: scene.world.clock.now + 50)
            let shown = try anna.tresors.effectBlocking(of: date, in: try await scene.state)
            try await scene.bob.tresors.perform(.revoke([house.user]), on: scene.tresor)
            try await scene.settle()
            await RealAttackTests.expectReal(.busy, without: .meaning, against: [anna]) {
                try await anna.tresors.perform(date, on: scene.tresor, expecting: shown).effect.admitted == [house.user]
            }
        }

        @Test func A68_aLogOfSomebodyUnknownIsKept() async throws {
            let scene = try await Scene()
            let theirs = try await scene.mallory.tresors.create(Name(typed: "theirs")).tresor
            await RealAttackTests.expectReal(nil, without: .knownFounder, against: [scene.house]) {
                _ = try await scene.house.client.logs.state(of: theirs)
                return try scene.house.client.logs.knownBlocking().contains(theirs)
            }
        }

        @Test func A73_aStoreAnswersMoreThanItWasAskedFor() async throws {
            let scene = try await Scene()
            var log = try Chronicle(founder: scene.anna.identity)
            for _ in 0..<299 { try log.add(.rename(RenameBody(Chronicle.anyName())), by: scene.anna.identity) }
            let (entries, tresor) = (log.entries, log.tresor)
            scene.store.flood()
            scene.store.show { _ in entries }
            await RealAttackTests.expectReal(.store(.other), without: .pageCount, against: [scene.anna]) {
                try await scene.anna.client.logs.state(of: tresor, remembering: .no).head.sequence == 299
            }
        }

        @Test func A74_aPoisonedCacheIsBelieved() async throws {
            let scene = try await Scene()
            let whole = try await log(scene.tresor, in: scene.store.truth)
            let other = try scene.entry(.leave, by: scene.bob, after: try await scene.state).bytes
            try await scene.anna.tresors.perform(.rename(Name(typed: "true")), on: scene.tresor)
            let home = try #require(scene.anna.client.home as? MemoryHome)
            try home.replace(.log(scene.tresor), with: LogCopy(entries: whole + [other]).bytes)
            home.delete(.state(scene.tresor))
            let client = scene.fresh(scene.anna).client
            await RealAttackTests.expectReal(nil, without: .cachedHead, against: [scene.anna]) {
                try client.archive.verifiedState(of: scene.tresor)?.members[scene.bob.identity.user] == nil
                    && client.archive.verifiedState(of: scene.tresor) != nil
            }
        }

        @Test func A75_aNameOfAnotherEntryIsTaken() async throws {
            let scene = try await Scene()
            let keys = try await scene.keys(1)
            let name = try Name(typed: "old")
            await RealAttackTests.expectReal(.altered, without: .sealContext) {
                let sealed = try SealedName(
                    name, under: keys.content, tresor: scene.tresor, epoch: 1, sequence: 0)
                return try sealed.open(with: keys.content, tresor: scene.tresor, epoch: 1, sequence: 7).name == name
            }
        }
    }
}

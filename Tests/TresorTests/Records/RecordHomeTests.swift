// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Records in a home that other programs of the same person change (SPEC §8.5, §19.7).
@Suite struct RecordHomeTests {
    /// Anna's tresor, which bob writes too, with a record that both have.
    private struct Scene {
        let evil = EvilStore(MemoryStore())
        let world: World
        let anna: Session
        let bob: Session
        let clinic: Session
        let home: MemoryHome
        let tresor: TresorID

        init(needsApproval: Bool = false) async throws {
            world = World(store: evil)
            (anna, bob) = (try await world.quick("anna"), try await world.quick("bob"))
            clinic = try await world.quick("clinic")
            try world.introduce(anna, bob, clinic)
            home = try #require(bob.client.home as? MemoryHome)
            let approvers = needsApproval ? [clinic.chain] : []
            tresor = try await anna.tresors.create(Name(typed: "plans"), approvers: approvers).tresor
            try await share()
            try await approve()
            let mine = anna.records(in: tresor)
            try await mine.put("plan", "one".utf8)
            _ = try await mine.sync()
            _ = try await open(home).sync()
        }

        /// Bob's records as another program with this home, or by another way to the store, has them.
        func open(_ home: any Home, _ store: (any Store)? = nil) -> Records {
            var world = world
            if let store { world.store = store }
            return Session(client: world.client(home), identity: bob.identity).records(in: tresor)
        }

        func share() async throws { try await anna.share(tresor, with: [bob], as: .writer) }

        func approve() async throws {
            for grant in PendingGrant.all(in: try await anna.client.logs.state(of: tresor)) {
                try await Decisions(session: clinic).decide([.approve(grant)], on: tresor)
            }
        }

        func revoke() async throws {
            let person = try await anna.people.person(bob.user)
            try await anna.tresor(tresor).perform(.revoke([person]))
        }

        func entryCount() async throws -> Int { Int(try await anna.client.logs.state(of: tresor).entryCount) }

        func keeps(_ home: MemoryHome) -> Bool { home.read(.records(tresor, part: 0)) != nil }
    }

    @Test func aSlowProgramDeletesNothingOfALaterMembership() async throws {
        let scene = try await Scene()
        try await scene.revoke()
        let removed = try await scene.entryCount()
        let (before, after) = (scene.home.copy(), scene.home.copy())
        try await scene.share()
        _ = try await scene.open(after).sync()
        #expect(scene.keeps(after))
        // The slow program was shown the removal, and gets the lock behind the one that saw the return.
        let home = SwitchingHome(before, to: after, at: .lock)
        scene.evil.show { log in home.hasSwitched ? log : Array(log.prefix(removed)) }
        let report = try await scene.open(home).sync()
        #expect(home.hasSwitched && !report.isGone && report.isComplete)
        #expect(scene.keeps(after))
    }

    @Test func whoReturnsMeanwhileDropsNothingThatMayBeInTheLog() async throws {
        let scene = try await Scene()
        let his = scene.open(scene.home, FaultyStore(scene.evil) { $0.name == "append" ? .refusing(.busy) : nil })
        try await his.put("note", "two".utf8)
        #expect(try await his.sync().held == .busy)
        try await scene.revoke()
        _ = try await scene.bob.client.logs.state(of: scene.tresor)
        let (before, after) = (scene.home.copy(), scene.home.copy())
        try await scene.share()
        _ = try await scene.world.session(of: scene.bob, home: after).client.logs.state(of: scene.tresor)
        let slow = scene.open(SwitchingHome(before, to: after, at: .lock))
        #expect(await failure { _ = try await slow.dropUnsent() } == .busy)
        #expect(after.read(.outbox(scene.tresor)) != nil)
        #expect(try await scene.open(scene.home).dropUnsent() == ["note"])
    }

    @Test func whoReturnsReadsAgainWhatAnotherProgramDeleted() async throws {
        let scene = try await Scene()
        let his = scene.open(scene.home)
        _ = try await his.sync()
        try await scene.revoke()
        #expect(try await scene.open(scene.home).sync().isGone)
        #expect(!scene.keeps(scene.home))
        try await scene.share()
        let report = try await his.sync()
        #expect(report.receivedCount == 1 && report.isComplete)
        #expect(try await his.get("plan").content == Array("one".utf8))
    }

    @Test func aLostPackIsReadAgain() async throws {
        let scene = try await Scene()
        let his = scene.open(scene.home)
        _ = try await his.sync()
        let part = HomeObject.records(scene.tresor, part: 0)
        var kept = try KeptPacks(try #require(scene.home.read(part)))
        kept.packs = kept.packs.mapValues { flipped($0, 700) }
        for (damage, expected) in [(nil, TresorError.store(.withheld)), (kept.bytes, .altered)]
            as [([UInt8]?, TresorError)]
        {
            if let damage { try scene.home.replace(part, with: damage) } else { scene.home.delete(part) }
            #expect(await failure { _ = try await his.get("plan") } == expected)
            #expect(try await his.pull().receivedCount == 1)
            #expect(try await his.get("plan").content == Array("one".utf8))
        }
    }

    @Test func whatWasSentIsReadWithoutANetwork() async throws {
        let scene = try await Scene()
        let next = UInt64(try await scene.entryCount())
        let (archive, tresor) = (scene.bob.client.archive, scene.tresor)
        // The network goes once the home has seen the commit in the log.
        let store = FaultyStore(scene.evil) { _ in
            guard let head = try? archive.pinnedHead(of: tresor), head.sequence >= next else { return nil }
            return .refusing(.store(.unreachable))
        }
        let his = scene.open(scene.home, store)
        try await his.put("note", "two".utf8)
        #expect(await failure { _ = try await his.sync() } == .store(.unreachable))
        #expect(try await his.get("plan").content == Array("one".utf8))
        #expect(try await his.get("note").content == Array("two".utf8))
        #expect(try await scene.open(scene.home).sync().unsent == [])
    }

    @Test func aSlowFetchBringsNothingBackBehindARemoval() async throws {
        let scene = try await Scene()
        let mine = scene.anna.records(in: scene.tresor)
        try await mine.put("plan", "two".utf8)
        _ = try await mine.sync()
        let slow = SlowStore(truth: scene.evil) {
            do {
                try await scene.revoke()
                #expect(try await scene.open(scene.home).sync().isGone)
            } catch {
                Issue.record(error)
            }
        }
        #expect(try await scene.open(scene.home, slow).sync().isGone)
        #expect(!scene.keeps(scene.home))
    }

    @Test func aSlowFetchBringsNothingBackBehindADeletion() async throws {
        let scene = try await Scene()
        let his = scene.open(scene.home)
        try await his.put("plan", "two".utf8)
        _ = try await his.sync()
        let home = try #require(scene.anna.client.home as? MemoryHome)
        let slow = SlowStore(truth: scene.evil) {
            do {
                let deletion = Deletion(session: scene.anna)
                try await deletion.perform(try await deletion.plan(scene.tresor))
            } catch {
                Issue.record(error)
            }
        }
        var world = scene.world
        world.store = slow
        let mine = Session(client: world.client(home), identity: scene.anna.identity).records(in: scene.tresor)
        #expect(await failure { _ = try await mine.sync() } == .notFound)
        #expect(!scene.keeps(home))
    }

    @Test func aSlowReaderKeepsNoWrapBehindARemoval() async throws {
        let scene = try await Scene()
        let state = try await scene.bob.client.logs.state(of: scene.tresor)
        let before = scene.home.copy()
        before.delete(.wraps)
        let home = SwitchingHome(before, to: scene.home, at: .lock)
        let slow = scene.world.session(of: scene.bob, home: home)
        _ = try await slow.keyRing.keys(of: state.epoch, in: state)
        try await scene.revoke()
        #expect(try await scene.open(scene.home).sync().isGone)
        _ = try await slow.tresors.name(in: state)
        #expect(home.hasSwitched)
        #expect(scene.bob.client.keptWraps().wraps(of: scene.tresor).isEmpty)
    }

    @Test func whoWaitsAgainKeepsNoPack() async throws {
        let scene = try await Scene(needsApproval: true)
        #expect(scene.keeps(scene.home))
        try await scene.revoke()
        try await scene.share()
        let home = CountingHome(home: scene.home)
        let his = scene.open(home)
        #expect(await failure { _ = try await his.sync() } == .waiting)
        #expect(!scene.keeps(scene.home))
        // There is nothing to delete any more.
        home.tally.reset()
        #expect(await failure { _ = try await his.sync() } == .waiting)
        #expect(home.tally.counts["home deletions"] == nil)
        try await scene.approve()
        #expect(try await his.sync().receivedCount == 1)
    }

    @Test func aChangeOnTopOfWhatAnotherProgramSentIsSentBehindIt() async throws {
        let scene = try await Scene()
        try await scene.open(scene.home).put("plan", "two".utf8)
        let known = try await scene.entryCount()
        let (before, after) = (scene.home.copy(), scene.home.copy())
        let other = scene.open(after)
        #expect(try await other.sync().sentCount == 1)
        try await other.put("plan", "three".utf8)
        // The outbox is read behind that of the other program, and the log before it.
        let home = SwitchingHome(before, to: after, at: .lockedOutbox)
        scene.evil.show { log in home.hasSwitched ? log : Array(log.prefix(known)) }
        let his = scene.open(home)
        let report = try await his.sync()
        #expect(home.hasSwitched && report.held == nil && report.unsent == [])
        #expect(try await his.versions(of: "plan").map(\.content) == [Array("three".utf8)])
    }

    @Test func anOwnerWhoWasNotComparedIsNamed() async throws {
        let scene = try await Scene()
        let eve = try await scene.world.quick("eve")
        try scene.anna.client.people.pinBlocking(eve.identity.chain)
        try await scene.anna.share(scene.tresor, with: [eve])
        let hers = eve.records(in: scene.tresor)
        #expect(await failure { _ = try await hers.sync() } == .unverified)
        #expect(await failure { _ = try await hers.pull() } == .unverified)
        try eve.client.people.pinBlocking(scene.anna.identity.chain)
        #expect(try await hers.sync().receivedCount == 1)
    }

    @Test func versionsAreComparedWithoutReadingAPack() async throws {
        let scene = try await Scene()
        let (one, two) = (scene.open(scene.home), scene.open(scene.home.copy()))
        for records in [one, two] { try await records.put("note", "the same".utf8) }
        for records in [one, two] { _ = try await records.sync() }
        let home = CountingHome(home: scene.home)
        let records = scene.open(home)
        _ = try await records.pull()
        #expect(try await records.view().table.heads(of: Name(text: "note")).count == 2)
        home.tally.reset()
        #expect(try await records.list().records.map(\.state) == [.ok, .ok])
        #expect(home.tally.counts["home records"] == nil)
    }

    /// A large commit lies in the outbox, and each reading opens all of it.
    @Test func theOutboxIsReadAFewTimesForACommit() async throws {
        let scene = try await Scene()
        let home = CountingHome(home: scene.home)
        let records = scene.open(home)
        try await records.change((0..<100).map { .put("event/\($0)", "x".utf8) })
        home.tally.reset()
        _ = try await records.sync()
        // To settle, to see what is unsent, and to freeze it; to settle, twice, and to see what is left; to clean.
        #expect(home.tally.counts["home outbox"] == 7)
    }

    @Test func anUnsentChangeStandsBesideWhatItDoesNotReplace() async throws {
        let scene = try await Scene()
        let (his, other) = (scene.open(scene.home), scene.open(scene.home.copy()))
        try await his.put("plan", "mine".utf8)
        #expect(try await his.versions(of: "plan").map(\.content) == [Array("mine".utf8)])
        try await other.put("plan", "theirs".utf8)
        _ = try await other.sync()
        _ = try await his.pull()
        let versions = try await his.versions(of: "plan")
        #expect(versions.map(\.content) == [Array("mine".utf8), Array("theirs".utf8)])
        #expect(versions.map(\.revision) == [nil, his.cache.view?.state.head.sequence])
        #expect(versions.allSatisfy { $0.versionCount == 2 })
        try await his.delete(["plan"])
        #expect(try await his.versions(of: "plan").map(\.content) == [Array("theirs".utf8)])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Records whose home, log or store changes while they are read and changed.
@Suite struct RecordRaceTests {
    /// One person's tresor with a record, on a store that can refuse.
    private struct Scene {
        let store = FaultyStore()
        let world: World
        let anna: Session
        let home: MemoryHome
        let tresor: TresorID
        let records: Records

        init() async throws {
            world = World(store: store)
            anna = try await world.quick("anna")
            home = try #require(anna.client.home as? MemoryHome)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            records = anna.records(in: tresor)
        }

        /// The records as another program with this home, or one behind which it changes, has them.
        func open(_ home: any Home, _ store: (any Store)? = nil) -> Records {
            var world = world
            if let store { world.store = store }
            return Session(client: world.client(home), identity: anna.identity).records(in: tresor)
        }

        func refusing(_ error: TresorError) -> FaultyStore {
            FaultyStore(store) { $0.name == "append" ? .refusing(error) : nil }
        }

        /// The home while `two` is sent and its answer is lost, and once it is seen in the log.
        func sent() async throws -> (before: MemoryHome, after: MemoryHome, first: UInt64) {
            try await records.put("plan", "one".utf8)
            let first = try #require(try await records.sync().commits.last)
            try await records.put("plan", "two".utf8)
            let losing = FaultyStore(store) { $0.name == "append" ? .losingAnswer(.store(.unreachable)) : nil }
            #expect(try await open(home, losing).sync().held == .store(.unreachable))
            let (before, after) = (home.copy(), home.copy())
            #expect(try await open(after).sync().unsent == [])
            return (before, after, first)
        }
    }

    @Test func whatCannotBeSentStopsNoReading() async throws {
        let scene = try await Scene()
        let other = scene.open(scene.home.copy())
        try await other.put("theirs", "x".utf8)
        _ = try await other.sync()
        let store = scene.refusing(.busy)
        let mine = scene.open(scene.home, store)
        try await mine.put("mine", "y".utf8)
        let report = try await mine.sync()
        #expect(report.held == .busy && report.receivedCount == 1 && report.unsent == ["mine"])
        #expect(try await mine.get("theirs").content == Array("x".utf8))
    }

    @Test func fetchingSendsNothing() async throws {
        let scene = try await Scene()
        let before = scene.store.calls.count { $0.isWrite }
        try await scene.records.put("mine", "y".utf8)
        let report = try await scene.records.pull()
        #expect(report.unsent == ["mine"] && report.held == nil)
        #expect(scene.store.calls.count { $0.isWrite } == before)
        #expect(try await scene.records.get("mine").revision == nil)
        #expect(try await scene.open(scene.home.copy()).unsent() == ["mine"])
    }

    @Test func anEditReplacesWhatTheHomeGotMeanwhile() async throws {
        let scene = try await Scene()
        let (before, after, first) = try await scene.sent()
        let mine = scene.open(SwitchingHome(before.copy(), to: after.copy(), at: .lock))
        try await mine.put("plan", "three".utf8)
        #expect(try await mine.sync().unsent == [])
        #expect(try await mine.versions(of: "plan").map(\.content) == [Array("three".utf8)])
        // A condition is judged by what is shown then.
        let late = scene.open(SwitchingHome(before.copy(), to: after.copy(), at: .lock))
        let refused = await failure {
            try await late.change([.put("plan", "late".utf8)], ifShown: ["plan": first])
        }
        #expect(refused == .busy)
    }

    @Test func nothingOlderIsShownThanWhatWasSent() async throws {
        let scene = try await Scene()
        let (before, after, first) = try await scene.sent()
        let one = scene.open(SwitchingHome(before.copy(), to: after.copy(), at: .outbox))
        #expect(try await one.get("plan").content == Array("two".utf8))
        let two = scene.open(SwitchingHome(before.copy(), to: after.copy(), at: .outbox))
        let listed = try #require(try await two.list().records.first)
        #expect(listed.state == .unsent || listed.revision.map { $0 > first } == true)
    }

    @Test func aConditionCountsForRecordsThatDoNotChangeToo() async throws {
        let scene = try await Scene()
        try await scene.records.put("a", "1".utf8)
        let revision = try #require(try await scene.records.sync().commits.last)
        for (shown, expected) in [(["a": revision + 1], TresorError.busy), (["a": nil], .busy), (["z": 1], .busy)]
            as [([String: UInt64?], TresorError)]
        {
            #expect(await failure { try await scene.records.change([.put("b", "2".utf8)], ifShown: shown) } == expected)
        }
        try await scene.records.change([.put("b", "2".utf8)], ifShown: ["a": revision, "b": nil])
        #expect(try await scene.records.unsent() == ["b"])
    }

    @Test func dropUnsentKeepsWhatMayBeInTheLog() async throws {
        let scene = try await Scene()
        let (before, _, _) = try await scene.sent()
        #expect(await failure { _ = try await scene.open(before).dropUnsent() } == .busy)
        // Without the local log copy nobody knows whether this person is a member.
        before.delete(.log(scene.tresor, part: 0))
        before.delete(.state(scene.tresor))
        #expect(await failure { _ = try await scene.open(before).dropUnsent() } == .busy)
        #expect(before.read(.outbox(scene.tresor)) != nil)
    }

    @Test func manyFullPacksAreSentInOneSync() async throws {
        let scene = try await Scene()
        let content = [UInt8](repeating: 1, count: 60_000)
        for set in 0..<18 { try await scene.records.change((0..<9).map { .put("\(set)/\($0)", content) }) }
        let report = try await scene.records.sync()
        #expect(report.held == nil && report.unsent == [] && report.sentCount == 18 * 9)
        #expect(report.commits.count == 18)
    }

    @Test func othersAreFasterSixteenTimesAtMost() async throws {
        let scene = try await Scene()
        let other = scene.open(scene.home.copy())
        let counts = CallCounts()
        let store = FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            do {
                try await other.put("theirs", "x".utf8)
                _ = try await other.sync()
            } catch {
                Issue.record(error)
            }
            return nil
        }
        let mine = scene.open(scene.home, store)
        try await mine.put("mine", "y".utf8)
        let report = try await mine.sync()
        #expect(report.held == .busy && report.unsent == ["mine"])
        #expect(counts.counts == ["append": 16])
        #expect(try await scene.open(scene.home).sync().unsent == [])
    }

    @Test func aSetFitsWithTheRevisionsThatItWillReplace() async throws {
        let scene = try await Scene()
        let names = (0..<16).map { "record-\($0 + 10)" }
        try await scene.records.change(names.map { .put($0, "first".utf8) })
        let held = scene.open(scene.home, scene.refusing(.store(.unreachable)))
        #expect(try await held.sync().held == .store(.unreachable))
        // As many bytes as a pack takes, but none for the revision of the sent commit.
        let free = Pack.maximumByteCount - 3 - names.reduce(0) { $0 + 2 + $1.utf8.count + 1 + 8 + 1 + 2 + 4 }
        func set(_ count: Int) -> [RecordChange] {
            names.enumerated().map { index, name in
                .put(name, [UInt8](repeating: 2, count: count / 16 + (index < count % 16 ? 1 : 0)))
            }
        }
        #expect(await failure { try await held.change(set(free)) } == .usage(.contentTooLong))
        #expect(await failure { try await held.change(set(free - 16 * 8 + 1)) } == .usage(.contentTooLong))
        try await held.change(set(free - 16 * 8))
        let report = try await scene.records.sync()
        #expect(report.held == nil && report.unsent == [])
        #expect(try await scene.records.versions(of: names[0]).count == 1)
    }

    @Test func aCommitOfAnotherLogIsMadeAgain() async throws {
        let scene = try await Scene()
        try await scene.records.put("plan", "one".utf8)
        #expect(try await scene.open(scene.home, scene.refusing(.busy)).sync().held == .busy)
        let identity = scene.anna.identity
        try await scene.records.outbox.change { (outbox) throws(TresorError) in
            guard let sent = outbox.sent else { throw .failed(.other) }
            let entry = try Entry(
                tresor: sent.entry.tresor, sequence: sent.entry.sequence, previous: try sent.entry.hash(),
                author: identity, time: sent.entry.time, body: try sent.entry.body)
            outbox.giveBack()
            outbox.freeze(Outbox.Sent(entry: entry, pack: sent.pack, items: sent.items))
        }
        let report = try await scene.records.sync()
        #expect(report.held == nil && report.unsent == [] && report.sentCount == 1)
        #expect(try await scene.records.versions(of: "plan").count == 1)
    }

    @Test func aNoticeIsGivenForWhatAnotherProgramFetched() async throws {
        let scene = try await Scene()
        let other = scene.open(scene.home.copy())
        var iterator = scene.records.changes().makeAsyncIterator()
        _ = try await scene.records.sync()
        for name in ["first", "second"] {
            try await other.put(name, "x".utf8)
            _ = try await other.sync()
            if name == "first" { _ = try await scene.open(scene.home).pull() }
            _ = try await scene.records.sync()
            #expect(await iterator.next()?.names == [name])
        }
    }

    @Test func aLockedSessionReadsNoPack() async throws {
        let scene = try await Scene()
        try await scene.records.put("plan", "one".utf8)
        let revision = try #require(try await scene.records.sync().commits.last)
        let view = try await scene.records.view()
        let name = try Name(text: "plan")
        func read() throws -> Item {
            try view.item(of: name, at: revision, from: PackReader(client: scene.anna.client, tresor: scene.tresor))
        }
        #expect(try read().record == name)
        scene.anna.lock()
        #expect(error { _ = try read() } == .usage(.locked))
    }

    @Test func anUnsentChangeCountsItselfAndWhatStaysBesideIt() async throws {
        let scene = try await Scene()
        let other = scene.open(scene.home.copy())
        try await scene.records.put("plan", "one".utf8)
        #expect(try await scene.records.get("plan").versionCount == 1)
        _ = try await scene.records.sync()
        try await scene.records.put("plan", "two".utf8)
        #expect(try await scene.records.get("plan").versionCount == 1)
        try await other.put("plan", "theirs".utf8)
        _ = try await other.sync()
        _ = try await scene.records.pull()
        // Theirs stands beside it; what it replaces does not.
        #expect(try await scene.records.get("plan").versionCount == 2)
    }

    @Test func aMissingPackLetsNothingElseBeReadAgain() async throws {
        let evil = EvilStore(MemoryStore())
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let copy = try #require(anna.client.home as? MemoryHome).copy()
        let mine = anna.records(in: tresor)
        for name in ["a", "b", "c"] {
            try await mine.put(name, "x".utf8)
            _ = try await mine.sync()
        }
        let state = try await anna.client.logs.state(of: tresor)
        let commits = try await CommitReader(client: anna.client).commits(of: state, from: 0)
        guard case .commit(let commit) = try commits[1].body else { throw TresorError.failed(.other) }
        let hash = commit.blobs[0].hash
        evil.showBlobs { $0 == hash ? nil : $1 }
        let home = CountingHome(home: copy)
        let other = Session(client: world.client(home), identity: anna.identity).records(in: tresor)
        #expect(try await other.pull().isComplete == false)
        #expect(try await other.list().records.map(\.name) == ["a", "c"])
        home.tally.reset()
        #expect(try await other.list().isComplete == false)
        #expect(try await other.pull().isComplete == false)
        #expect(home.tally.counts["home log"] == nil)
        // A pack that comes late is seen without a new head.
        evil.behave()
        _ = try await Session(client: world.client(copy), identity: anna.identity).records(in: tresor).pull()
        let list = try await other.list()
        #expect(list.isComplete && list.records.map(\.name) == ["a", "b", "c"])
    }

    @Test func aPackIsOpenedOnceForAllItsRecords() async throws {
        let scene = try await Scene()
        let reader = PackReader(client: scene.anna.client, tresor: scene.tresor)
        var count = 0
        for _ in 0..<100 {
            for sequence: UInt64 in 1...16 {
                _ = try reader.items(of: sequence) { (_) throws(TresorError) in
                    count += 1
                    return []
                }
            }
        }
        #expect(count == 16)
    }

    @Test func ofSeveralDeletionsTheNewestIsListed() async throws {
        let scene = try await Scene()
        let other = scene.open(scene.home.copy())
        try await scene.records.put("plan", "one".utf8)
        _ = try await scene.records.sync()
        _ = try await other.sync()
        scene.world.clock.advance(by: 10)
        try await other.delete(["plan"])
        scene.world.clock.advance(by: 10)
        try await scene.records.delete(["plan"])
        let first = try #require(try await scene.records.sync().commits.last)
        _ = try await other.sync()
        _ = try await scene.records.sync()
        let listed = try #require(try await scene.records.list(includingDeleted: true).records.first)
        #expect(listed.state == .deleted && listed.revision == first && listed.time == scene.world.clock.now)
    }

    /// SPEC §19.3, §10.6.
    @Test func aFormerAuthorIsNamedSo() async throws {
        let world = World()
        let (anna, bob) = (try await world.quick("anna"), try await world.quick("bob"))
        try world.introduce(anna, bob)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let person = try await anna.people.person(bob.user)
        try await anna.tresor(tresor).perform(.share(with: [person], as: .writer))
        let (mine, his) = (anna.records(in: tresor), bob.records(in: tresor))
        try await his.put("plan", "bob's".utf8)
        _ = try await his.sync()
        _ = try await mine.sync()
        #expect(try await mine.get("plan").status == .current)
        #expect(try await mine.list().records.map(\.status) == [.current])
        try await anna.tresor(tresor).perform(.revoke([person]))
        _ = try await mine.sync()
        for status in [try await mine.get("plan").status, try await mine.list().records.first?.status] {
            guard case .former(let former)? = status else {
                Issue.record("\(String(describing: status))")
                continue
            }
            #expect(former.cause == .removed)
        }
    }

    @Test func aPersonRemovedWhileSendingKeepsNothing() async throws {
        let base = FaultyStore()
        let world = World(store: base)
        let (anna, bob) = (try await world.quick("anna"), try await world.quick("bob"))
        try world.introduce(anna, bob)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let person = try await anna.people.person(bob.user)
        try await anna.tresor(tresor).perform(.share(with: [person], as: .writer))
        let mine = anna.records(in: tresor)
        try await mine.put("plan", "secret".utf8)
        _ = try await mine.sync()
        let home = try #require(bob.client.home as? MemoryHome)
        let calls = CallCounts()
        let store = FaultyStore(base) { call in
            guard call.name == "append", calls.counts.isEmpty else { return nil }
            calls.count(call.name)
            do { try await anna.tresor(tresor).perform(.revoke([person])) } catch { Issue.record(error) }
            return nil
        }
        var other = world
        other.store = store
        let his = Session(client: other.client(home), identity: bob.identity).records(in: tresor)
        _ = try await his.pull()
        try await his.put("note", "unsent".utf8)
        let report = try await his.sync()
        #expect(report.isGone && report.unsent == ["note"])
        #expect(home.read(.records(tresor, part: 0)) == nil)
    }
}

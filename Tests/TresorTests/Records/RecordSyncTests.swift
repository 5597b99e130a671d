// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Records as a person uses them: on several devices, with and without a network.
@Suite struct RecordSyncTests {
    /// A person's tresor on several devices, each with a home of its own.
    private struct Devices {
        let world: World
        let store: FaultyStore
        let tresor: TresorID
        let homes: [MemoryHome]
        let sessions: [Session]
        let records: [Records]

        init(_ count: Int) async throws {
            store = FaultyStore()
            world = World(store: store)
            let anna = try await world.quick("anna")
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            let home = try #require(anna.client.home as? MemoryHome)
            homes = [home] + (1..<count).map { _ in home.copy() }
            let world = world
            sessions = homes.map { Session(client: world.client($0), identity: anna.identity) }
            let tresor = tresor
            records = sessions.map { $0.records(in: tresor) }
        }

        func sync(_ index: Int) async throws { _ = try await records[index].sync() }

        /// Lets all devices exchange everything.
        func settle() async throws { for _ in 0..<2 { for records in records { _ = try await records.sync() } } }

        func text(_ index: Int, _ name: String) async throws -> String? {
            do {
                return String(decoding: try await records[index].get(name).content ?? [], as: UTF8.self)
            } catch TresorError.notFound {
                return nil
            }
        }
    }

    @Test func aChangeReachesAnotherDevice() async throws {
        let devices = try await Devices(2)
        try await devices.records[0].put("plan", "one".utf8, type: "text/plain")
        #expect(try await devices.text(0, "plan") == "one")
        #expect(try await devices.records[0].get("plan").revision == nil)
        #expect(try await devices.text(1, "plan") == nil)
        let report = try await devices.records[0].sync()
        #expect(report.sentCount == 1 && report.unsent.isEmpty && report.missing.isEmpty && report.void.isEmpty)
        #expect(devices.homes[0].read(.outbox(devices.tresor)) == nil)
        let received = try await devices.records[1].sync()
        #expect(received.receivedCount == 1 && received.sentCount == 0)
        let record = try await devices.records[1].get("plan")
        #expect(record.content == Array("one".utf8) && record.type == "text/plain" && record.versionCount == 1)
        #expect(record.revision == received.head && record.author == devices.sessions[0].user)
    }

    @Test func manyChangesAreOneCommit() async throws {
        let devices = try await Devices(2)
        let before = try await devices.sessions[0].client.logs.state(of: devices.tresor).entryCount
        try await devices.records[0].change((0..<50).map { .put("event/\($0)", "done".utf8) })
        try await devices.records[0].change([.put("plan", "one".utf8)])
        try await devices.settle()
        #expect(try await devices.sessions[1].client.logs.state(of: devices.tresor).entryCount == before + 1)
        let (list, isComplete) = try await devices.records[1].list(prefix: "event/")
        #expect(list.count == 50 && isComplete && list.allSatisfy { $0.state == .ok })
    }

    @Test func changesThatDidNotSeeEachOtherStandSideBySide() async throws {
        let devices = try await Devices(3)
        try await devices.records[0].put("plan", "first".utf8)
        try await devices.settle()
        devices.world.clock.advance(by: 10)
        try await devices.records[0].put("plan", "by 0".utf8)
        devices.world.clock.advance(by: 10)
        try await devices.records[1].put("plan", "by 1".utf8)
        try await devices.settle()
        for index in 0..<3 {
            #expect(try await devices.records[index].versions(of: "plan").count == 2)
            #expect(try await devices.text(index, "plan") == "by 1")
        }
        try await devices.records[2].put("plan", "both".utf8)
        try await devices.settle()
        for index in 0..<3 {
            #expect(try await devices.records[index].versions(of: "plan").map(\.content) == [Array("both".utf8)])
        }
    }

    @Test func aDeletionHidesARecordAndAnUnseenEditSurvivesIt() async throws {
        let devices = try await Devices(2)
        try await devices.records[0].put("plan", "first".utf8)
        try await devices.settle()
        try await devices.records[0].delete(["plan"])
        #expect(await failure { _ = try await devices.records[0].get("plan") } == .notFound)
        try await devices.records[1].put("plan", "second".utf8)
        try await devices.settle()
        for index in 0..<2 { #expect(try await devices.text(index, "plan") == "second") }
        #expect(await failure { try await devices.records[0].delete(["nothing"]) } == .notFound)
    }

    @Test func editsOnTopOfUnsentOnesTakeTheirPlace() async throws {
        let devices = try await Devices(2)
        for number in 0..<5 { try await devices.records[0].put("plan", "edit \(number)".utf8) }
        try await devices.settle()
        #expect(try await devices.records[1].versions(of: "plan").map(\.content) == [Array("edit 4".utf8)])
    }

    /// A145: an answer is lost, and the change is made on top of what was sent.
    @Test func A145_aLostAnswerSendsNothingTwice() async throws {
        let devices = try await Devices(2)
        let before = try await devices.sessions[0].client.logs.state(of: devices.tresor).entryCount
        try await devices.records[0].put("plan", "one".utf8)
        let store = FaultyStore(devices.store) { call in
            call.name == "append" ? .losingAnswer(.store(.unreachable)) : nil
        }
        var world = devices.world
        world.store = store
        let session = Session(client: world.client(devices.homes[0]), identity: devices.sessions[0].identity)
        #expect(try await session.records(in: devices.tresor).sync().held == .store(.unreachable))
        try await devices.records[0].put("plan", "two".utf8)
        try await devices.settle()
        let state = try await devices.sessions[1].client.logs.state(of: devices.tresor)
        #expect(state.entryCount == before + 2)
        #expect(try await devices.records[1].versions(of: "plan").map(\.content) == [Array("two".utf8)])
    }

    /// A145: another entry takes the place of what was sent; it is sealed again for the next one.
    @Test func A145_aTakenPlaceGivesTheChangesBack() async throws {
        let devices = try await Devices(2)
        try await devices.records[0].put("a", "0".utf8)
        let store = FaultyStore(devices.store) { call in
            call.name == "append" ? .refusing(.store(.unreachable)) : nil
        }
        var world = devices.world
        world.store = store
        let session = Session(client: world.client(devices.homes[0]), identity: devices.sessions[0].identity)
        #expect(try await session.records(in: devices.tresor).sync().held == .store(.unreachable))
        try await devices.records[1].put("b", "1".utf8)
        try await devices.sync(1)
        try await devices.settle()
        for index in 0..<2 {
            #expect(try await devices.text(index, "a") == "0")
            #expect(try await devices.text(index, "b") == "1")
        }
    }

    /// A139, A149: a pack that the store withholds makes nothing else fail, and nothing is shown as the newest.
    @Test func A149_aMissingPackIsNamedAndNothingIsShownAsNewest() async throws {
        let evil = EvilStore(MemoryStore())
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let home = try #require(anna.client.home as? MemoryHome)
        let other = Session(client: world.client(home.copy()), identity: anna.identity).records(in: tresor)
        let mine = anna.records(in: tresor)
        for number in 0..<3 {
            try await mine.put("event/\(number)", "x".utf8)
            _ = try await mine.sync()
        }
        let state = try await anna.client.logs.state(of: tresor)
        let commits = try await CommitReader(client: anna.client).commits(of: state, from: 0)
        guard case .commit(let commit) = try commits[1].body else { throw TresorError.failed(.other) }
        let hash = commit.blobs[0].hash
        for (shown, expected) in [(nil, TresorError.store(.withheld)), ([1, 2, 3], .store(.withheld))]
            as [([UInt8]?, TresorError)]
        {
            evil.showBlobs { $0 == hash ? shown : $1 }
            let report = try await other.sync()
            #expect(report.missing == [commits[1].sequence: expected])
            #expect(await failure { _ = try await other.get("event/0") } == .store(.withheld))
            #expect(try await other.get("event/0", acceptingIncomplete: true).content == Array("x".utf8))
            #expect(try await other.list().isComplete == false)
        }
        evil.behave()
        #expect(try await other.sync().missing.isEmpty)
        #expect(try await other.get("event/1").content == Array("x".utf8))
    }

    /// A143: however few blobs an answer has, all come; an answer without any is the store's fault.
    @Test func A143_shortAnswersAreCompleted() async throws {
        let evil = EvilStore(MemoryStore())
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let home = try #require(anna.client.home as? MemoryHome)
        let copy = home.copy()
        let mine = anna.records(in: tresor)
        for number in 0..<9 {
            try await mine.put("event/\(number)", "x".utf8)
            _ = try await mine.sync()
        }
        for count in 1...4 {
            evil.giveBlobs(count)
            let records = Session(client: world.client(copy.copy()), identity: anna.identity).records(in: tresor)
            #expect(try await records.sync().receivedCount == 9)
            #expect(try await records.list().records.count == 9)
        }
        evil.giveBlobs(0)
        let records = Session(client: world.client(copy), identity: anna.identity).records(in: tresor)
        #expect(await failure { _ = try await records.sync() } == .store(.foreign))
    }

    /// A144: one pack of many is not what the log names. The others apply, and the next pass mends it alone.
    @Test func A144_oneBadPackHarmsNoOther() async throws {
        let count = ProcessInfo.processInfo.environment["TRESOR_EVERY"] == nil ? 100 : 1000
        let evil = EvilStore(MemoryStore())
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let home = try #require(anna.client.home as? MemoryHome)
        let other = Session(client: world.client(home.copy()), identity: anna.identity).records(in: tresor)
        let mine = anna.records(in: tresor)
        for number in 0..<count {
            try await mine.put("event/\(number)", "x".utf8)
            _ = try await mine.sync()
        }
        let state = try await anna.client.logs.state(of: tresor)
        let commits = try await CommitReader(client: anna.client).commits(of: state, from: 0)
        let bad = commits[count / 2]
        guard case .commit(let commit) = try bad.body else { throw TresorError.failed(.other) }
        let hash = commit.blobs[0].hash
        evil.showBlobs { $0 == hash ? $1.map { flipped($0, 700) } : $1 }
        let report = try await other.sync()
        #expect(report.receivedCount == count - 1 && Array(report.missing.keys) == [bad.sequence])
        #expect(try await other.list().records.count == count - 1)
        evil.behave()
        let next = try await other.sync()
        #expect(next.receivedCount == 1 && next.missing.isEmpty)
        #expect(try await other.list().records.count == count)
    }

    @Test func aRemovedPersonKeepsNothingButTheNamesOfUnsentChanges() async throws {
        let world = World()
        let (anna, bob) = (try await world.quick("anna"), try await world.quick("bob"))
        try world.introduce(anna, bob)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let person = try await anna.people.person(bob.user)
        try await anna.tresor(tresor).perform(.share(with: [person], as: .writer))
        let mine = anna.records(in: tresor)
        let his = bob.records(in: tresor)
        try await mine.put("plan", "secret".utf8)
        _ = try await mine.sync()
        _ = try await his.sync()
        #expect(try await his.get("plan").content == Array("secret".utf8))
        _ = try await bob.tresors.name(in: try await bob.client.logs.state(of: tresor))
        #expect(!bob.client.keptWraps().wraps(of: tresor).isEmpty)
        try await his.put("note", "unsent".utf8)
        try await anna.tresor(tresor).perform(.revoke([person]))
        let report = try await his.sync()
        #expect(report.isGone && report.unsent == ["note"])
        let home = try #require(bob.client.home as? MemoryHome)
        #expect(home.read(.records(tresor, part: 0)) == nil && home.read(.state(tresor)) == nil)
        #expect(bob.client.keptWraps().wraps(of: tresor).isEmpty)
        // Whatever is read later brings nothing back.
        _ = try await bob.tresors.all()
        #expect(home.read(.state(tresor)) == nil && bob.client.keptWraps().wraps(of: tresor).isEmpty)
        #expect(await failure { _ = try await his.get("plan") } == .noAccess)
        #expect(try await his.dropUnsent() == ["note"])
        #expect(home.read(.outbox(tresor)) == nil)
    }

    @Test func aReaderChangesNothing() async throws {
        let world = World()
        let (anna, bob) = (try await world.quick("anna"), try await world.quick("bob"))
        try world.introduce(anna, bob)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let person = try await anna.people.person(bob.user)
        try await anna.tresor(tresor).perform(.share(with: [person], as: .reader))
        #expect(await failure { try await bob.records(in: tresor).put("plan", "x".utf8) } == .noAccess)
    }

    @Test func whatIsAnnouncedIsInTheHome() async throws {
        let devices = try await Devices(2)
        let (early, changes) = (devices.records[1].changes(), devices.records[1].changes())
        try await devices.records[0].put("plan", "one".utf8)
        try await devices.sync(0)
        // The home takes the log, and no pack.
        _ = try await devices.sessions[1].client.logs.state(of: devices.tresor)
        devices.homes[1].fill(after: 0)
        #expect(await failure { try await devices.sync(1) } == .failed(.full))
        #expect(devices.homes[1].read(.records(devices.tresor, part: 0)) == nil)
        // Nothing of the sync that failed is told.
        let listener = Task { await early.reduce(into: [String]()) { $0 += $1.names } }
        listener.cancel()
        #expect(await listener.value == [])
        devices.homes[1].fill(after: nil)
        var iterator = changes.makeAsyncIterator()
        for name in ["plan", "note"] {
            if name == "note" {
                try await devices.records[0].put("note", "two".utf8)
                try await devices.sync(0)
            }
            try await devices.sync(1)
            let next = try #require(await iterator.next())
            #expect(next.names == [name])
            let kept = try KeptPacks(try #require(devices.homes[1].read(.records(devices.tresor, part: 0))))
            #expect(kept.packs[next.revision] != nil)
        }
    }

    @Test func aSlowListenerGetsEverythingAsOne() async throws {
        let devices = try await Devices(2)
        let changes = devices.records[1].changes()
        for name in ["b", "a", "b"] {
            try await devices.records[0].put(name, "x".utf8)
            try await devices.sync(0)
            try await devices.sync(1)
        }
        let head = try await devices.records[1].view().state.head.sequence
        var iterator = changes.makeAsyncIterator()
        let notice = try #require(await iterator.next())
        #expect(notice.names == ["a", "b"] && notice.revision == head)
        try await devices.records[0].put("c", "x".utf8)
        try await devices.sync(0)
        try await devices.sync(1)
        #expect(await iterator.next()?.names == ["c"])
    }

    @Test func aViewHoldsTheCommitsOfShownVersionsAlone() async throws {
        let devices = try await Devices(1)
        for text in ["one", "two", "three"] {
            try await devices.records[0].put("plan", text.utf8)
            try await devices.sync(0)
        }
        let view = try await devices.records[0].view()
        #expect(Array(view.commits.keys) == [view.state.head.sequence])
        #expect(try await devices.text(0, "plan") == "three")
    }

    @Test func theOutboxAndThePartsReadAsTheyWereWritten() async throws {
        let devices = try await Devices(1)
        try await devices.records[0].put("plan", "one".utf8)
        let store = FaultyStore(devices.store) { $0.name == "append" ? .refusing(.busy) : nil }
        var world = devices.world
        world.store = store
        let session = Session(client: world.client(devices.homes[0]), identity: devices.sessions[0].identity)
        _ = await failure { _ = try await session.records(in: devices.tresor).sync() }
        try await devices.records[0].change([.put("a", "1".utf8), .put("plan", "two".utf8)])
        let box = try devices.records[0].outbox.read()
        #expect(box.sent != nil && box.pending.count == 1)
        #expect(try Outbox(box.bytes) == box)
        var dice = Dice(seed: 1)
        let part = KeptPacks()
        #expect(try KeptPacks(part.bytes) == part)
        for _ in 0..<500 {
            var changed = box.bytes
            changed[Int.random(in: changed.indices, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            if Bool.random(using: &dice) { changed.removeLast(Int.random(in: 0...40, using: &dice)) }
            if let read = try? Outbox(changed) { #expect(read.bytes == changed) }
        }
    }
}

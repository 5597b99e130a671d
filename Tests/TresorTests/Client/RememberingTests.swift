// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The copy of a log in a home, and its sources.
@Suite struct RememberingTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try anna.client.people.pinBlocking(house.identity.chain)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
    }

    @Test func A68_nothingIsKeptOfATresorWhoseOwnerNobodyCompared() async throws {
        let file = try await anna.seal("x", in: tresor)
        let home = house.home
        let uses: [() async throws -> Void] = [
            { _ = try await house.files.open(file) }, { _ = try await house.seal("y", in: tresor) },
            { try await house.tresors.perform(.rotate, on: tresor) },
        ]
        for use in uses { #expect(await failure(use) == .unverified) }
        #expect(try await house.tresors.all().map(\.founderTrust) == [.unverified])
        #expect(try await house.client.logs.records(of: tresor).records.count == 2)
        #expect(house.home == home)
        try house.client.people.pinBlocking(anna.identity.chain)
        _ = try await house.files.open(file)
        #expect(try house.client.logs.knownBlocking() == [tresor])
    }

    @Test func A68_whoLeavesATresorWhoseOwnerNobodyComparedKeepsNothingOfIt() async throws {
        let home = house.home
        try await house.tresors.perform(.leave, on: tresor)
        #expect(house.home == home)
        #expect(try await anna.client.logs.state(of: tresor).members[house.identity.user] == nil)
    }

    @Test func A42_namesThatOthersCanReadAreNeitherBelievedNorWrittenOver() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tresor-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        let home = DirectoryHome(data: path + "/data", state: path + "/state")
        for (object, bytes) in anna.home { try home.replace(object, with: bytes) }
        let reader = world.session(of: anna, home: home)
        func setMode(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + "/data/names")
        }
        _ = try await reader.tresors.all()
        try setMode(0o644)
        #expect(reader.tresors.knownNameBlocking(of: tresor) == nil)
        try await anna.tresors.perform(.rename(Name(typed: "care")), on: tresor)
        #expect(try await reader.tresors.all().map(\.name) == [Name(typed: "care")])
        try setMode(0o600)
        #expect(reader.tresors.knownNameBlocking(of: tresor) == (try Name(typed: "plans")))
    }

    @Test func A68_knownObjectsStayInTheHome() async throws {
        try house.client.people.pinBlocking(anna.identity.chain)
        let file = try await anna.seal("x", in: tresor)
        _ = try await house.files.open(file)
        let stranger = try identity("anna")
        try house.client.people.pinBlocking(stranger.chain, replacing: true)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(await failure { _ = try await house.files.open(file) } == .unverified)
        #expect(try house.client.heads()[tresor]?.sequence == 2)
        evil.frozen(2)
        #expect(await failure { _ = try await house.files.open(file) } == .forked)
    }

    /// The state of some entries, with the entries as a new reader would hold them.
    private func read(_ entries: [[UInt8]]) throws -> (state: LogState, fresh: FreshEntries) {
        var fresh = FreshEntries(first: 0)
        fresh.add(entries)
        return (try Fold.state(of: entries, tresor: tresor), fresh)
    }

    /// Two processes in one home that read different lengths of the log: the later one to write may be the one that has
    /// read less.
    @Test func A68_A107_whoHasReadLessNeverLowersAHead() async throws {
        try house.client.people.pinBlocking(anna.identity.chain)
        for _ in 0..<2 { try await anna.tresors.perform(.rotate, on: tresor) }
        let entries = try await log(tresor, in: evil.truth)
        let (one, other) = (world.session(of: house).client, world.session(of: house).client)
        for known in [nil, 1, 2] as [Int?] {
            try house.client.home.delete(.heads)
            let before = try known.map { try read(Array(entries.prefix($0))) }
            if let before { try await one.archive.remember(before.state, before.fresh, known: nil) }
            let whole = try read(entries)
            try await one.archive.remember(whole.state, whole.fresh, known: before?.state)
            #expect(try house.client.heads()[tresor] == whole.state.head)
            let home = house.home
            let less = try read(Array(entries.prefix(3)))
            try await other.archive.remember(less.state, less.fresh, known: before?.state)
            #expect(try house.client.heads()[tresor] == whole.state.head)
            #expect(house.home == home)
        }
    }

    /// The same with another history, shorter than, as long as and longer than what is remembered.
    @Test(arguments: 1...3) func A68_A107_whoHasReadAnotherHistoryChangesNothing(length: Int) async throws {
        try house.client.people.pinBlocking(anna.identity.chain)
        for _ in 0..<2 { try await anna.tresors.perform(.rotate, on: tresor) }
        let entries = try await log(tresor, in: evil.truth)
        let (one, other) = (world.session(of: house).client, world.session(of: house).client)
        let common = try read(Array(entries.prefix(2)))
        try await one.archive.remember(common.state, common.fresh, known: nil)
        let whole = try read(entries)
        try await one.archive.remember(whole.state, whole.fresh, known: common.state)
        var branch = Array(entries.prefix(2))
        for _ in 0..<length {
            let state = try Fold.state(of: branch, tresor: tresor)
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: anna.identity,
                time: 5,
                body: .rename(RenameBody(Chronicle.anyName())))
            branch.append(entry.bytes)
        }
        let home = house.home
        let another = try read(branch)
        #expect(
            await failure { try await other.archive.remember(another.state, another.fresh, known: common.state) }
                == .forked)
        #expect(house.home == home)
        #expect(try house.client.heads()[tresor] == whole.state.head)
    }

    /// Another process pins a higher head while this one reads, and nothing is kept that would say what it contains.
    @Test func A60_A107_aReadIsCheckedByAHeadThatIsPinnedDuringIt() async throws {
        try house.client.people.pinBlocking(anna.identity.chain)
        for _ in 0..<2 { try await anna.tresors.perform(.rotate, on: tresor) }
        let entries = try await log(tresor, in: evil.truth)
        let whole = try read(entries).state
        let state = try read(Array(entries.prefix(2))).state
        let entry = try Entry(
            tresor: tresor, sequence: 2, previous: state.head.hash, author: anna.identity, time: 5,
            body: .rename(RenameBody(Chronicle.anyName())))
        var heads = PinnedHeads()
        try heads.raise(to: whole, me: nil)
        let (home, bytes, branch) = (house.client.home, heads.bytes, entries.prefix(2) + [entry.bytes])
        evil.show { _ in
            try? home.replace(.heads, with: bytes)
            return Array(branch)
        }
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .forked)
        #expect(try house.client.heads()[tresor] == whole.head)
        try home.delete(.heads)
        evil.show(once: true) { log in
            try? home.replace(.heads, with: bytes)
            return Array(log.prefix(3))
        }
        #expect(try await house.client.logs.state(of: tresor).head == whole.head)
    }

    /// Another process reads that this person was removed, and deletes what the home must not have any more, or the tresor
    /// is deleted.
    @Test(arguments: [false, true]) func nothingIsKeptBehindAPurge(isDeleted: Bool) async throws {
        try house.client.people.pinBlocking(anna.identity.chain)
        let state = try await house.client.logs.state(of: tresor)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let other = world.session(of: house).client
        _ = try await other.logs.state(of: tresor)
        try other.archive.forgetAccess(to: tresor)
        if isDeleted { try other.archive.forget(state) }
        let home = house.home
        #expect(home[.state(tresor)] == nil)
        // A process that read before that has neither kept a snapshot yet nor noted its store.
        let named = Client(
            home: house.client.home, store: house.client.guardedStore.base, named: StoreName([7]),
            clock: { [clock = world.clock] in clock.now })
        let late = Session(client: named, identity: house.identity).client.archive
        #expect(try await late.remember(state, FreshEntries(first: 0), known: state))
        #expect(house.home == home)
    }

    @Test func A74_aLogIsNotVerifiedTwice() async throws {
        var state = try await anna.client.logs.state(of: tresor)
        state.headTime = 77
        anna.client.folded.keep(state)
        #expect(try await anna.client.logs.state(of: tresor).headTime == 77)
        #expect(try world.session(of: anna).client.archive.verifiedState(of: tresor)?.headTime != 77)
        try await anna.tresors.perform(.rotate, on: tresor)
        let after = try await anna.client.logs.state(of: tresor)
        #expect(anna.client.folded.state(of: tresor, at: after.head)?.head == after.head)
        #expect(anna.client.folded.state(of: tresor, at: state.head) == nil)
    }

    @Test func A74_whatWasFoldedIsBoundToItsHead() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let folded = FoldCache()
        folded.keep(state)
        #expect(folded.state(of: tresor, at: state.head) != nil)
        let other = Head(sequence: state.head.sequence, hash: try anyDigest())
        #expect(folded.state(of: tresor, at: other) == nil)
        #expect(folded.state(of: tresor, at: Head(sequence: 0, hash: state.head.hash)) == nil)
        #expect(folded.state(of: TresorID(try anyDigest()), at: state.head) == nil)
        for _ in 0..<FoldCache.maximumCount {
            folded.keep(try Chronicle(founder: anna.identity).state)
        }
        #expect(folded.state(of: tresor, at: state.head) == nil)
    }
}

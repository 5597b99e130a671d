// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A store that shows another history.
@Suite struct LogViewTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID
    let stranger: Identity

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .owner)
        try await anna.tresors.perform(.rename(Name(typed: "care")), on: tresor)
        _ = try await house.client.logs.state(of: tresor)
        stranger = try identity("stranger")
    }

    /// Every way to use the tresor fails so, writes nothing and changes nothing in the home but the evidence.
    private func expectAll(_ expected: TresorError, by person: Session, evidence: Bool = true) async throws {
        let file = try await honestFile()
        let (home, writes, count) = (person.home, evil.writeCount, person.evidenceCount)
        let uses: [() async throws -> Void] = [
            { _ = try await person.client.logs.state(of: tresor) },
            { _ = try await person.seal("x", in: tresor) },
            { _ = try await person.files.open(file) },
            { try await person.tresors.perform(.rotate, on: tresor) },
            { try await person.tresors.perform(.rename(Name(typed: "evil")), on: tresor) },
            { _ = try await person.files.reseal(file) },
        ]
        for use in uses { #expect(await failure(use) == expected) }
        #expect(person.home == home)
        #expect(evil.writeCount == writes)
        #expect((person.evidenceCount > count) == evidence)
    }

    private func honestFile() async throws -> SealedFile {
        let state = try #require(try anna.client.archive.verifiedState(of: tresor))
        let keys = try await anna.keyRing.keys(of: state.epoch, in: state)
        return try FileSealer.sealFile(
            [1, 2, 3], type: Name(typed: "a"), record: .empty, keys: keys, state: state, author: anna.identity, time: 1)
    }

    @Test(arguments: [0, 1, 2]) func A59_anOlderLogIsForkedAndNeverNotFound(count: Int) async throws {
        evil.frozen(count)
        for person in [house, anna] { try await expectAll(.forked, by: person) }
        evil.behave()
        #expect(try await house.client.logs.state(of: tresor).head.sequence == 2)
    }

    /// The evidence of a lie told once is the log shown then.
    @Test func A59_onceOlderIsEnough() async throws {
        evil.older(1)
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .forked)
        #expect(try await house.client.logs.state(of: tresor).head.sequence == 2)
        let entries = try await log(tresor, in: evil.truth)
        #expect(house.evidence.count == 1)
        #expect(house.evidence.allSatisfy { contains($0, entries[2]) && $0.suffix(4) == [0, 0, 0, 0] })
        evil.show(once: true) { log in Array(log.dropLast()) + [log[1]] }
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .forked)
        #expect(house.evidence.contains { contains($0, entries[2]) && $0.suffix(entries[1].count) == entries[1] })
        evil.older(2)
        #expect(try await house.client.audit.check().allSatisfy { if case .forked = $0.remark { false } else { true } })
    }

    /// Another process holds the lock of the home: the fork is reported nevertheless.
    @Test func A60_aForkIsSaidThoughNothingCanBeKeptOfIt() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tresor-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        let home = DirectoryHome(data: path + "/data", state: path + "/state", patience: .zero)
        for (object, bytes) in house.home { try home.replace(object, with: bytes) }
        let reader = world.session(of: house, home: home, seeing: evil)
        evil.frozen(1)
        let lock = open(path + "/data/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(lock) }
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        #expect(await failure { _ = try await reader.client.logs.state(of: tresor) } == .forked)
    }

    @Test func A59_anEmptyStoreIsForked() async throws {
        let empty = world.session(of: house, seeing: StageStores.make())
        #expect(await failure { _ = try await empty.client.logs.state(of: tresor) } == .forked)
        #expect(try await empty.tresors.all().map(\.error) == [.forked])
        #expect(await failure { _ = try await empty.client.logs.state(of: TresorID(anyDigest())) } == .notFound)
    }

    /// The entries that an accomplice with an owner's keys would have written from `count` on.
    private func branch(from count: Int, entries: Int) async throws -> [[UInt8]] {
        var shown = Array(try await log(tresor, in: evil.truth).prefix(count))
        var branch: [[UInt8]] = []
        for _ in 0..<entries {
            let state = try Fold.state(of: shown, tresor: tresor)
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: house.identity,
                time: 5, body: .epoch(EpochBody(Chronicle.epoch(state.epoch + 1))))
            branch.append(entry.bytes)
            shown.append(entry.bytes)
        }
        return branch
    }

    @Test(arguments: [1, 2, 4]) func A60_anotherContinuationIsForkedWithBothSidesKept(length: Int) async throws {
        let branch = try await branch(from: 2, entries: length)
        evil.fork(2, branch)
        try await expectAll(.forked, by: anna)
        let head = try #require(try anna.client.heads()[tresor])
        let verified = try #require(try anna.client.archive.entry(at: head, of: tresor))
        let evidence = (anna.client.home as? MemoryHome)?.contents.filter {
            if case .evidence = $0.key.kind { true } else { false }
        }
        #expect(evidence?.isEmpty == false)
        for bytes in evidence?.values.map(\.self) ?? [] {
            #expect(contains(bytes, verified) && contains(bytes, branch[0]))
        }
        evil.behave()
        #expect(try await anna.client.logs.state(of: tresor).head.sequence == 2)
    }

    /// A store that shows another branch at each question.
    @Test func A60_theEvidenceThatACheckNamesLiesInTheHome() async throws {
        var branches: [[[UInt8]]] = []
        for _ in 0..<6 { branches.append(try await branch(from: 2, entries: 1)) }
        let shown = branches
        let turn = Mutex(0)
        evil.show { log in
            let next = turn.withLock { turn in
                turn += 1
                return turn
            }
            return Array(log.prefix(2)) + shown[next % shown.count]
        }
        let named = try await anna.client.audit.check([tresor]).compactMap { finding -> Hash256? in
            if case .forked(_, _, let evidence) = finding.remark { evidence } else { nil }
        }
        let home = try #require(anna.client.home as? MemoryHome)
        #expect(named.count == 1)
        for name in named { #expect(home.contents[.evidence(name)] != nil) }
    }

    @Test func A60_evidenceKeepsNothingLongerThanAnEntry() async throws {
        evil.show(once: true) { log in
            Array(log.dropLast()) + [[UInt8](repeating: 7, count: Entry.maximumByteCount + 1)]
        }
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .forked)
        let isWithoutIt = house.evidence.allSatisfy {
            $0.count < Entry.maximumByteCount && $0.suffix(4) == [0, 0, 0, 0]
        }
        #expect(house.evidence.count == 1 && isWithoutIt)
    }

    /// Of a log that cannot be read the home still knows who founded it and what it was called.
    @Test func aForkedTresorOfYoursHasItsName() async throws {
        for person in [anna, house] { _ = try await person.tresors.all() }
        evil.frozen(1)
        #expect(await failure { _ = try await anna.tresors.create(Name(typed: "care")) } == .usage(.tresorExists))
        _ = try await anna.tresors.create(Name(typed: "other"))
        _ = try await house.tresors.create(Name(typed: "care"))
    }

    /// Another beginning of a tresor by its own founder, with the same root and another first epoch, continued.
    private func beginning(of tresor: TresorID, length: Int) async throws -> [[UInt8]] {
        let first = try Entry(try #require(try await log(tresor, in: evil.truth).first))
        guard case .genesis(let body) = try first.body else {
            throw TresorError.failed(.other)
        }
        let genesis = EntryBody.genesis(
            GenesisBody(
                root: body.root, founder: body.founder, approvers: body.approvers, sealedName: body.sealedName,
                epoch: try Chronicle.epoch(1)))
        var shown = [
            try Entry(
                tresor: tresor, sequence: 0, previous: .zero, author: anna.identity, time: first.time, body: genesis
            ).bytes
        ]
        while shown.count < length {
            let state = try Fold.state(of: shown, tresor: tresor)
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: anna.identity,
                time: first.time, body: .epoch(EpochBody(Chronicle.epoch(state.epoch + 1))))
            shown.append(entry.bytes)
        }
        // By itself it is valid: only who has seen the other knows.
        _ = try Fold.state(of: shown, tresor: tresor)
        return shown
    }

    /// Leaves of a tresor the pinned head alone.
    private func forget(_ tresor: TresorID, in person: Session) throws {
        let home = try #require(person.client.home as? MemoryHome)
        for object in [HomeObject.log(tresor), .state(tresor)] { home.delete(object) }
    }

    @Test(arguments: [1, 3, 5], [true, false])
    func A55_anotherGenesisOfTheSameRootIsForked(length: Int, isCached: Bool) async throws {
        evil.fork(0, try await beginning(of: tresor, length: length))
        if !isCached { try forget(tresor, in: house) }
        try await expectAll(.forked, by: house)
        if isCached { try await expectAll(.forked, by: anna) }
        evil.behave()
        #expect(try await house.client.logs.state(of: tresor).head.sequence == 2)
    }

    /// If only the genesis was seen, no later entry exposes the other one.
    @Test(arguments: [true, false]) func A55_anotherGenesisAloneIsForked(isCached: Bool) async throws {
        let other = try await anna.tresors.create(Name(typed: "other")).tresor
        let head = try await anna.client.logs.state(of: other).head
        evil.fork(0, try await beginning(of: other, length: 1))
        if !isCached { try forget(other, in: anna) }
        let home = anna.home
        #expect(await failure { _ = try await anna.client.logs.state(of: other) } == .forked)
        #expect(await failure { try await anna.tresors.perform(.rotate, on: other) } == .forked)
        #expect(anna.home == home)
        evil.behave()
        #expect(try await anna.client.logs.state(of: other).head == head)
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    @Test func A60_aForkIsNoticedWithoutTheCachedLog() async throws {
        evil.fork(2, try await branch(from: 2, entries: 3))
        (anna.client.home as? MemoryHome)?.delete(.log(tresor))
        let home = anna.home
        #expect(await failure { _ = try await anna.client.logs.state(of: tresor) } == .forked)
        #expect(anna.home == home)
    }

    /// Makes somebody a member who has seen nothing yet.
    private func admit(_ person: Session) async throws {
        try world.introduce(anna, person)
        try await anna.share(tresor, with: [person])
    }

    @Test func A56_mangledLogsAreRefusedAsAWhole() async throws {
        let fresh = try await world.quick("fresh", seeing: evil)
        let mangles: [() -> Void] = [
            { evil.drop(1) }, { evil.repeat(1) }, { evil.swap(1, 2) }, { evil.cut(entry: 1, to: 60) },
            { evil.flip(entry: 0, bit: 700) }, { evil.append([1, 2, 3]) },
        ]
        try await admit(fresh)
        let home = fresh.home
        for mangle in mangles {
            mangle()
            #expect(await failure { _ = try await fresh.client.logs.state(of: tresor) } == .altered)
        }
        #expect(fresh.home == home)
    }

    /// An owner's, in the right place and rightly signed, that says what only a later release knows.
    @Test(arguments: [0, 11, 12, 14, 127] as [UInt16])
    func A70_anEntryOfALaterReleaseBehindAKnownHeadStopsEverything(code: UInt16) async throws {
        let head = try await house.client.logs.state(of: tresor).head
        let leave = try Entry(
            tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: anna.identity, time: 5,
            body: .leave)
        let body = [UInt8](repeating: 1, count: 40)
        let signed = leave.signed.dropLast(6) + bigEndianBytes(code) + bigEndianBytes(UInt32(body.count)) + body
        let entry = try anna.identity.entry(Array(signed))
        evil.append(entry)
        try await expectAll(.unsupported, by: house, evidence: false)
        try await expectAll(.unsupported, by: anna, evidence: false)
        #expect(try await house.tresors.all().map(\.error) == [.unsupported])
        evil.show { log in log + [entry, leave.bytes] }
        try await expectAll(.unsupported, by: house, evidence: false)
        evil.behave()
        #expect(try await house.client.logs.state(of: tresor).head == head)
    }

    /// The store has dropped an entry: a member with the keys learns that it is behind, and reads on by the home.
    @Test func A219_aStoreThatIsBehindIsNoLossOfAccess() async throws {
        let old = try await log(tresor, in: evil.truth).count
        try await anna.tresors.perform(.rotate, on: tresor)
        let file = try await anna.seal("new", in: tresor)
        evil.frozen(old)
        let reader = world.session(of: house, seeing: evil)
        #expect(await failure { _ = try await reader.files.open(file) } == .store(.behind))
        evil.behave()
        _ = try await reader.tresors.name(in: reader.client.logs.state(of: tresor))
        // Now this home has seen it: the store is older than that, and its wraps are too.
        evil.frozen(old)
        evil.showWraps { wraps, _, epoch in epoch == 2 ? [] : wraps.filter { (try? UnverifiedWrap($0).epoch) == 1 } }
        let again = world.session(of: house, seeing: evil)
        #expect(await failure { _ = try await again.files.open(file) } == .forked)
        var accepting = Expectations.anyTresor
        accepting.acceptingForked = true
        #expect(try await again.files.open(file, expecting: accepting).content == Array("new".utf8))
        // Of a file that no entry could make true nothing is said of the store.
        var bytes = file.bytes
        bytes.replaceSubrange(42..<50, with: bigEndianBytes(UInt64(1)))
        bytes.replaceSubrange(50..<58, with: bigEndianBytes(UInt64(99)))
        evil.behave()
        #expect(await failure { _ = try await anna.files.open(SealedFile(bytes)) } == .altered)
        // A non-member learns that, whatever the file names.
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let later = try await anna.seal("later", in: tresor)
        evil.frozen(old + 2)
        #expect(await failure { _ = try await world.session(of: house, seeing: evil).files.open(later) } == .noAccess)
    }

    @Test func A73_aPageLongerThanAskedForIsTheStoresFault() async throws {
        let fresh = try await world.quick("fresh", seeing: evil)
        try await admit(fresh)
        evil.flood()
        #expect(await failure { _ = try await fresh.client.logs.state(of: tresor) } == .store(.other))
    }

    @Test func A61_acceptingForkedReadsAndDoesNothingElse() async throws {
        let file = try await honestFile()
        let entries = try await branch(from: 2, entries: 1)
        let shown = try await log(tresor, in: evil.truth).prefix(2) + entries
        let state = try Fold.state(of: Array(shown), tresor: tresor)
        let known = try #require(try house.client.archive.verifiedState(of: tresor))
        let keys = try await house.keyRing.keys(of: 1, in: known)
        let onBranch = try FileSealer.sealFile(
            [9], type: .empty, record: .empty, keys: keys, state: state, author: house.identity, time: 1)
        evil.fork(2, entries)
        var expecting = Expectations.anyTresor
        expecting.acceptingForked = true
        let (home, writes) = (anna.home, evil.writeCount)
        #expect(await failure { _ = try await anna.files.open(file) } == .forked)
        #expect(try await anna.files.open(file, expecting: expecting).content == [1, 2, 3])
        #expect(await failure { _ = try await anna.files.open(onBranch, expecting: expecting) } == .forked)
        #expect(await failure { _ = try await anna.files.reseal(file, expecting: expecting) } == .forked)
        #expect(anna.home == home)
        #expect(evil.writeCount == writes)
        // An invalid log is no obstacle, and a longer continuation is not read.
        evil.behave()
        evil.append([1])
        #expect(await failure { _ = try await world.session(of: anna, seeing: evil).files.open(file) } == .altered)
        #expect(try await anna.files.open(file, expecting: expecting).content == [1, 2, 3])
        evil.behave()
        _ = try await house.tresors.perform(.leave, on: tresor)
        #expect(try await anna.files.open(file, expecting: expecting).content == [1, 2, 3])
        #expect(anna.home == home)
        let kept = try #require(anna.client.home as? MemoryHome)
        for object in [.log(tresor), .state(tresor)] as [HomeObject] { kept.delete(object) }
        let forgetful = world.session(of: anna)
        #expect(await failure { _ = try await forgetful.files.open(file, expecting: expecting) } == .forked)
    }

    @Test func A62_aFileFromTheOtherBranchIsForked() async throws {
        let log = try await log(tresor, in: evil.truth)
        let known = try #require(try house.client.archive.verifiedState(of: tresor))
        let keys = try await house.keyRing.keys(of: 1, in: known)
        let home = anna.home
        // A head at a known place is of another history; one beyond the log may be one that the store hides.
        for (shown, refusal) in [
            (try await log.prefix(2) + branch(from: 2, entries: 1), TresorError.forked),
            (try await log + branch(from: 3, entries: 1), .store(.behind)),
        ] {
            let file = try FileSealer.sealFile(
                [9], type: .empty, record: .empty, keys: keys, state: Fold.state(of: Array(shown), tresor: tresor),
                author: house.identity, time: 1)
            #expect(await failure { _ = try await anna.files.open(file) } == refusal)
        }
        #expect(anna.home == home)
        #expect(try await anna.files.open(try await honestFile()).content == [1, 2, 3])
    }

    @Test func A74_aPoisonedCacheNeverChangesTheState() async throws {
        let state = try await house.client.logs.state(of: tresor)
        let home = try #require(house.client.home as? MemoryHome)
        let good = try #require(home.read(.log(tresor)))
        let entries = try LogCopy(good).entries
        let longer = LogCopy(entries: entries + (try await branch(from: 3, entries: 1))).bytes
        let poisons = [
            [], [1], Array(good.dropLast(1)), flipped(good, good.count * 4), LogCopy(entries: []).bytes,
            LogCopy(entries: Array(entries.dropLast())).bytes, LogCopy(entries: entries.reversed()).bytes, longer,
            LogCopy(entries: Array(entries.prefix(2)) + (try await branch(from: 2, entries: 1))).bytes,
        ]
        for poison in poisons + [nil] {
            if let poison { try home.replace(.log(tresor), with: poison) } else { home.delete(.log(tresor)) }
            #expect(try await house.client.logs.state(of: tresor).head == state.head)
        }
    }
}

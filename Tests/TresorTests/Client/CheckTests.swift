// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// The findings of `check` about the log and the wraps that a store shows, and their repair.
@Suite struct CheckTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let late: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        late = try await world.quick("late")
        try world.introduce(anna, house, late)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
        try await anna.share(tresor, with: [late], fromNow: true)
        try await anna.tresors.perform(.rotate, on: tresor)
    }

    /// The findings about wraps, by member.
    private func remarks() async throws -> [UserID: [Finding.Remark]] {
        var remarks: [UserID: [Finding.Remark]] = [:]
        for finding in try await anna.client.audit.check([tresor]) {
            if case .member(let user, of: tresor) = finding.subject {
                remarks[user, default: []].append(finding.remark)
            }
        }
        return remarks
    }

    private func wrap(epoch: UInt64, for person: Session, history: History = .all) async throws -> StoredWrap {
        let keys = try await anna.keyRing.keys(of: epoch, in: anna.client.logs.state(of: tresor))
        let user = person.identity.user
        let wrap = try Wrap(keys, of: tresor, for: person.identity.chain.newest, user: user, history: history)
        return StoredWrap(user: user, epoch: epoch, bytes: wrap.bytes)
    }

    @Test func anHonestStoreHasNeitherTooFewNorTooMany() async throws {
        #expect(try await remarks() == [:])
        try await anna.tresors.perform(.revoke([late.identity.user]), on: tresor)
        try await house.tresors.perform(.leave, on: tresor)
        #expect(try await remarks() == [:])
    }

    /// Nobody's card is bad because the store could not be asked for it.
    @Test func aStoreThatFailsIsNoFaultOfAPerson() async throws {
        evil.goDown()
        let findings = try await anna.client.audit.check([tresor])
        #expect(evil.refusedCount > 0)
        #expect(findings.contains(Finding(subject: .identity, remark: .failed(.store(.inputOutput)))))
        let people = findings.filter { if case .person = $0.subject { true } else { false } }
        #expect(people == [])
    }

    @Test func A65_aFrozenReaderIsToldByTheHeadOfAFile() async throws {
        let state = try await house.client.logs.state(of: tresor)
        let head = state.head
        evil.frozen(Int(head.sequence) + 1)
        let findings = try await house.client.audit.check([tresor])
        #expect(findings.contains { if case .head(let shown, _) = $0.remark { shown == head } else { false } })
        let honest = world.session(of: anna, seeing: evil.truth)
        try await honest.tresors.perform(.rotate, on: tresor)
        let newer = try await honest.seal("new", in: tresor)
        #expect(await failure { _ = try await house.files.open(newer) } == .store(.behind))
        let opened = try await honest.files.open(try await house.seal("old", in: tresor))
        #expect((opened.epoch, opened.sealer.head) == (state.epoch, head))
    }

    @Test func A58_surplusWrapsAreReported() async throws {
        let ghost = try await world.quick("ghost")
        try await evil.truth.putWraps([wrap(epoch: 1, for: ghost)], in: tresor)
        #expect(try await remarks() == [ghost.identity.user: [.surplusWrap]])
        try await evil.truth.putWraps([wrap(epoch: 1, for: late, history: .from(epoch: 1))], in: tresor)
        #expect(try await remarks()[late.identity.user] == [.surplusWrap])
    }

    @Test func A78_wrapsOfWhoWasRemovedAreReportedAndGoWithTheNextKey() async throws {
        let user = house.identity.user
        evil.keep()
        try await anna.tresors.perform(.revoke([user]), on: tresor)
        #expect(try await remarks() == [user: [.surplusWrap]])
        evil.behave()
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await remarks() == [:])
        #expect(try await evil.truth.wraps(of: user, in: tresor, epoch: nil).isEmpty)
    }

    @Test func A85_missingAndSpoiledWrapsAreReportedAndRestored() async throws {
        let (member, reader) = (house.identity.user, late.identity.user)
        let file = try await anna.seal("now", in: tresor)
        evil.showWraps { wraps, user, _ in user == member ? Array(wraps.dropLast()) : wraps }
        #expect(try await remarks() == [member: [.missingWrap]])
        evil.showWraps { wraps, user, _ in user == reader ? Array(wraps.dropFirst()) : wraps }
        #expect(try await remarks() == [reader: [.missingWrap]])
        evil.behave()
        let spoiled = [2, 3].map { StoredWrap(user: reader, epoch: $0, bytes: [1]) }
        try await evil.truth.putWraps(spoiled, in: tresor)
        #expect(try await remarks() == [reader: [.failed(.altered), .missingWrap]])
        #expect(await failure { _ = try await world.session(of: late).files.open(file) } == .altered)
        let count = try await log(tresor, in: evil.truth).count
        try await world.session(of: anna).audit.restoreWraps(of: tresor)
        #expect(try await remarks() == [:])
        #expect(try await log(tresor, in: evil.truth).count == count)
        let state = try await late.client.logs.state(of: tresor)
        for epoch in 2...3 as ClosedRange<UInt64> {
            #expect(try await !world.session(of: late).keyRing.keys(of: epoch, in: state).opensHistory)
        }
    }

    @Test func A85_wrapsThatBelongElsewhereAreReported() async throws {
        let user = house.identity.user
        let other = try await wrap(epoch: 3, for: late)
        evil.showWraps { wraps, asked, _ in asked == user ? [other.bytes] : wraps }
        #expect(try await remarks() == [user: [.failed(.altered), .missingWrap]])
        let withoutHistory = try await wrap(epoch: 3, for: house, history: .from(epoch: 3))
        evil.showWraps { wraps, asked, _ in asked == user ? [withoutHistory.bytes] : wraps }
        #expect(try await remarks() == [user: [.failed(.altered), .missingWrap]])
    }

    @Test func aLogIsReadOnceFromItsBeginning() async throws {
        let count = try await log(tresor, in: evil.truth).count
        let before = evil.shownCount
        _ = try await anna.client.audit.check([tresor])
        // Its newest entry is read before, with the pinned head.
        #expect(evil.shownCount - before == count + 1)
    }

    @Test func A217_restoringReadsAKeptPartOnce() async throws {
        let whole = try await log(tresor, in: evil.truth)
        let home = try #require(anna.client.home as? MemoryHome)
        func restore(_ lost: ClosedRange<Int>) async throws -> Int {
            evil.show { log in log.indices.filter { !lost.contains($0) }.map { log[$0] } }
            evil.restored = []
            let before = home.readCount
            #expect(try await anna.client.audit.restoreEntries(of: tresor) == lost.count)
            #expect(evil.restored == Array(whole[lost]))
            return home.readCount - before
        }
        #expect(try await restore(1...1) == (try await restore(0...2)))
    }

    @Test func keptWrapsThatDoNotReadAreNamed() async throws {
        try anna.client.home.replace(.wraps, with: [1])
        let findings = try await anna.client.audit.check([tresor])
        #expect(findings.contains { $0.subject == .file(.wraps) && $0.remark == .failed(.altered) })
    }

    @Test func A85_whoReadsFromNowPutsNothingBack() async throws {
        let writes = evil.writeCount
        #expect(await failure { try await late.audit.restoreWraps(of: tresor) } == .noAccess)
        #expect(evil.writeCount == writes)
    }

    @Test func aRestoredStoreLosesTheWrapsOfMembersRemovedSince() async throws {
        let backup = StageStores.make()
        var previous: [UInt8]?
        for (index, entry) in try await log(tresor, in: evil.truth).enumerated() {
            _ = try await backup.append(
                LogChange(tresor: tresor, sequence: UInt64(index), after: previous, entry: entry))
            previous = entry
        }
        for person in [anna, house, late] {
            let user = person.identity.user
            for bytes in try await evil.truth.wraps(of: user, in: tresor, epoch: nil) {
                let epoch = try UnverifiedWrap(bytes).epoch
                try await backup.putWraps([StoredWrap(user: user, epoch: epoch, bytes: bytes)], in: tresor)
            }
        }
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        try await late.tresors.perform(.leave, on: tresor)
        let file = try await anna.seal("after", in: tresor)
        let restored = world.session(of: anna, seeing: backup)
        #expect(await failure { _ = try await restored.client.logs.state(of: tresor) } == .forked)
        #expect(try await restored.client.audit.restoreEntries(of: tresor) == 3)
        for person in [house, late] {
            #expect(try await backup.wraps(of: person.identity.user, in: tresor, epoch: nil).isEmpty)
        }
        let kept = try #require(anna.home[.wraps])
        try anna.client.home.delete(.wraps)
        #expect(await failure { try await restored.audit.restoreWraps(of: tresor) } == .noAccess)
        try anna.client.home.replace(.wraps, with: kept)
        try await restored.audit.restoreWraps(of: tresor)
        for person in [house, late] {
            #expect(try await backup.wraps(of: person.identity.user, in: tresor, epoch: nil).isEmpty)
        }
        #expect(try await world.session(of: anna, seeing: backup).files.open(file).content == Array("after".utf8))
        #expect(try await restored.client.audit.restoreEntries(of: tresor) == 0)
    }

    @Test func keptWrapsHaveOneEncoding() throws {
        var wraps = KeptWraps()
        for epoch in 1..<4 { wraps[TresorID(try anyDigest()), UInt64(epoch)] = [1, 2, 3] }
        #expect(try KeptWraps(wraps.bytes) == wraps)
        #expect(try KeptWraps(KeptWraps().bytes) == KeptWraps())
        #expect(error { _ = try KeptWraps(wraps.bytes + [0]) } == .altered)
        let (head, rest) = (wraps.bytes.prefix(10), wraps.bytes.dropFirst(10))
        #expect(error { _ = try KeptWraps(head + rest.suffix(45) + rest.prefix(45)) } == .altered)
    }

    /// Another process of the same person, whose log ends before the newest key.
    @Test func A85_anOlderWrapIsNotKeptInThePlaceOfANewerOne() async throws {
        let older = world.session(of: anna)
        let state = try await older.client.logs.state(of: tresor)
        _ = try await older.tresors.name(in: state)
        try await anna.tresors.perform(.rotate, on: tresor)
        _ = try await older.tresors.name(in: state)
        let kept = anna.client.keptWraps().wraps(of: tresor)
        #expect(try kept.first.map { try UnverifiedWrap($0.bytes).epoch } == 4)
    }

    @Test func headsThatDoNotReadAreNoErrorOfADeepCheck() async throws {
        try anna.client.home.replace(.heads, with: [1])
        #expect(try await anna.audit.check([tresor]).map(\.level) == [.bad])
        #expect(try await anna.audit.check() == [])
        let findings = try await anna.client.audit.check()
        let isNamed = findings.contains { $0.subject == .file(.heads) && $0.level == .bad }
        #expect(isNamed)
    }

    @Test func A85_aSpoiledKeptWrapIsNotBelieved() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let user = anna.identity.user
        try await evil.truth.putWraps([StoredWrap(user: user, epoch: state.epoch, bytes: [1])], in: tresor)
        var wraps = anna.client.keptWraps()
        let mine = try #require(wraps[tresor, state.epoch])
        for bytes in [flipped(mine, 700), try await wrap(epoch: 1, for: anna).bytes, []] {
            wraps[tresor, state.epoch] = bytes.isEmpty ? nil : bytes
            try anna.client.home.replace(.wraps, with: wraps.bytes)
            #expect(await failure { try await world.session(of: anna).audit.restoreWraps(of: tresor) } == .altered)
        }
        wraps[tresor, state.epoch] = mine
        try anna.client.home.replace(.wraps, with: wraps.bytes)
        try await world.session(of: anna).audit.restoreWraps(of: tresor)
        #expect(try await remarks() == [:])
    }

    @Test func A78_evidenceAlwaysCarriesThePinnedHead() async throws {
        let head = try await anna.client.logs.state(of: tresor).head
        let home = try #require(anna.client.home as? MemoryHome)
        for withCache in [true, false] {
            if !withCache { home.delete(.log(tresor)) }
            evil.frozen(1)
            #expect(await failure { _ = try await anna.client.logs.state(of: tresor) } == .forked)
            evil.behave()
        }
        let evidence = home.contents.filter { if case .evidence = $0.key.kind { true } else { false } }.values
        #expect(evidence.count == 2)
        for bytes in evidence {
            var decoder = ByteDecoder(bytes)
            try decoder.preamble(.evidence)
            #expect(TresorID(try decoder.digest()) == tresor)
            #expect(try decoder.integer(UInt64.self) == head.sequence)
            #expect(try decoder.digest() == head.hash)
        }
    }
}

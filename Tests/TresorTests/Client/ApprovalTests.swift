// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// People who wait for an approver (SPEC §9.11): nobody reads before the approval, and no approver ever.
@Suite(EvilServer()) struct ApprovalTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let clinic: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        clinic = try await world.quick("clinic")
        try world.introduce(anna, house, clinic)
        tresor = try await anna.tresors.create(Name(typed: "plans"), approvers: [clinic.chain]).tresor
    }

    func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    func pending() async throws -> [PendingGrant] {
        PendingGrant.all(in: try await clinic.client.logs.state(of: tresor))
    }

    func approve(_ approver: Session? = nil) async throws {
        for grant in try await pending() {
            try await Decisions(session: approver ?? clinic).decide([.approve(grant)], on: tresor)
        }
    }

    /// The error with which a person refuses the log with one more entry, which the store really shows them.
    private func refusal(by person: Session, of entry: [UInt8]) async -> TresorError? {
        await refusal(by: person) { $0 + [entry] }
    }

    /// The error with which a person refuses what the store makes of the log, and really shows them.
    private func refusal(
        by person: Session, shown transform: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]
    ) async -> TresorError? {
        let served = evil.lieAboutLog(transform)
        let error = await failure { _ = try await person.client.logs.state(of: tresor) }
        #expect(served.count > 0)
        evil.behave()
        return error
    }

    /// The approval key of the house, as anybody with full history computes it.
    func approvalKey(of epoch: UInt64) async throws -> [UInt8] {
        let keys = try await anna.keyRing.keys(of: epoch, in: state())
        let key = try keys.approvalKey(of: tresor).key(of: house.user)
        return key.span.publicBytes
    }

    /// An approval whose release to the house holds these keys, signed by the clinic or somebody else.
    func approval(
        of grant: Hash256, epoch: UInt64, holding keys: [UInt8], by author: Identity? = nil
    ) async throws -> [UInt8] {
        let release = try Release(
            SecretBytes(copying: keys.span), grant: grant, epoch: epoch, of: tresor, for: house.chain.newest,
            user: house.user)
        return try await entry(
            .approve(ApproveBody(grant: grant, epoch: epoch, releases: [release])), by: author ?? clinic.identity)
    }

    func plunder(_ people: Session...) async throws -> Plunder {
        try Plunder(
            of: people.map(\.identity), wraps: evil.everyWrap.map(\.bytes), log: await log(tresor, in: evil.truth))
    }

    @Test func aPersonWaitsIsApprovedAndReads() async throws {
        let before = try await anna.seal("before", in: tresor)
        try await anna.share(tresor, with: [house], as: .writer)
        let asked = try await state()
        #expect(asked.waiting.keys.elementsEqual([house.user]) && asked.members[house.user] == nil)
        #expect(await failure { _ = try await house.files.open(before) } == .waiting)
        #expect(await failure { _ = try await house.seal("x", in: tresor) } == .waiting)
        #expect(await failure { try await house.tresors.perform(.rotate, on: tresor) } == .waiting)
        try await approve()
        let admitted = try await state()
        #expect(admitted.waiting.isEmpty && admitted.members[house.user]?.approvedBy == clinic.user)
        #expect(admitted.members[house.user]?.admittedBy == anna.user)
        #expect(try await house.files.open(before).content == Array("before".utf8))
        let reply = try await house.seal("reply", in: tresor)
        #expect(try await anna.files.open(reply).content == Array("reply".utf8))
        #expect(try await evil.truth.wraps(of: clinic.user, in: tresor, epoch: nil).isEmpty)
        #expect(try await !evil.truth.tresors(of: clinic.user).contains(tresor))
        try await anna.tresors.perform(.rotate, on: tresor)
        let after = try await anna.seal("after", in: tresor)
        #expect(try await world.session(of: house).files.open(after).content == Array("after".utf8))
        #expect(try await world.session(of: house).files.open(before).content == Array("before".utf8))
    }

    @Test func aPersonFromNowOnReadsEachEpochSince() async throws {
        let before = try await anna.seal("before", in: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        let first = try await anna.seal("first", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let second = try await anna.seal("second", in: tresor)
        try await approve()
        for (file, text) in [(first, "first"), (second, "second")] {
            #expect(try await house.files.open(file).content == Array(text.utf8))
        }
        #expect(await failure { _ = try await house.files.open(before) } == .noAccess)
    }

    @Test func A132_whoWaitsReadsNothingWithAllThatTheStoreHas() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let newer = try await anna.seal("newer", in: tresor)
        let found = try await plunder(house)
        #expect(!found.opens(file) && !found.opens(newer) && found.keys.isEmpty)
        let wraps = evil.everyWrap.filter { $0.user == house.user }.map(\.bytes)
        #expect(!wraps.isEmpty)
        // The log says that house waits, so that no wrap is even asked for.
        let served = evil.lieAboutWraps(of: house.user) { _ in wraps }
        let shown = evil.shownCount
        for file in [file, newer] {
            #expect(await failure { _ = try await house.files.open(file) } == .waiting)
        }
        #expect(served.count == 0 && evil.shownCount > shown)
        evil.behave()
        #expect(await refusal(by: house) { Array($0.prefix(1)) } == .forked)
        try await approve()
        #expect(try await plunder(house).opens(newer))
    }

    @Test func A133_anApproverReadsNothingAndAddsNobody() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        #expect(try await plunder(clinic).keys.isEmpty)
        try await approve()
        try await anna.tresors.perform(.rotate, on: tresor)
        let found = try await plunder(clinic)
        #expect(found.keys.isEmpty && !found.opens(file))
        #expect(await failure { _ = try await clinic.files.open(file) } == .noAccess)
        let friend = try await world.quick("friend")
        let grant = GrantBody(people: [friend.chain], role: .reader, notAfter: nil, fromNow: nil)
        let forged = try await entry(.grant(grant), by: clinic.identity)
        #expect(await refusal(by: anna, of: forged) == .noAccess)
        let invented = try await approval(of: anyDigest(), epoch: 2, holding: [UInt8](repeating: 0, count: 32))
        #expect(await refusal(by: anna, of: invented) == .altered)
    }

    private func entry(_ body: EntryBody, by author: Identity) async throws -> [UInt8] {
        let state = try Fold.state(of: await log(tresor, in: evil.truth), tresor: tresor)
        return try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author,
            time: world.clock.now, body: body
        ).bytes
    }

    @Test func A134_theStoreApprovesNothingAndReplaysNothing() async throws {
        try await anna.share(tresor, with: [house])
        let waiting = try await state()
        let grant = waiting.head.hash
        let key = try await approvalKey(of: 1)
        let mallory = try await world.quick("mallory")
        for author in [mallory, anna, house] {
            let entry = try await approval(of: grant, epoch: waiting.epoch, holding: key, by: author.identity)
            #expect(await refusal(by: anna, of: entry) == .noAccess)
        }
        func replay() async throws -> TresorError? {
            try await refusal(by: house, of: approval(of: grant, epoch: state().epoch, holding: key))
        }
        let refused = try #require(try await pending().first)
        try await Decisions(session: clinic).decide([.refuse(refused)], on: tresor)
        #expect(try await replay() == .altered)
        // After a refusal the same people may be granted again, and that is another grant.
        try await anna.share(tresor, with: [house])
        #expect(try await replay() == .altered)
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        #expect(try await replay() == .altered)
    }

    @Test func A136_keysChangeBetweenGrantAndApproval() async throws {
        try await anna.share(tresor, with: [house])
        let grant = try #require(try await pending().first).grant
        let key = try await approvalKey(of: 1)
        for _ in 0..<3 { try await anna.tresors.perform(.rotate, on: tresor) }
        let file = try await anna.seal("plan", in: tresor)
        // Wraps that the approver would have signed for the keys of before (R36), and too many keys (R37).
        let old = try await approval(of: grant, epoch: 1, holding: key)
        let long = try await approval(of: grant, epoch: 4, holding: key + key)
        for entry in [old, long] {
            #expect(await refusal(by: house, of: entry) == .altered)
            #expect(await refusal(by: anna, of: entry) == .altered)
        }
        // The store shows the approver older keys in the place of the current ones, or an older log.
        let first = evil.everyWrap.filter { $0.user == clinic.user && $0.epoch == 1 }.map(\.bytes)
        try #require(!first.isEmpty)
        let served = evil.lieAboutWraps(of: clinic.user) { _ in first }
        #expect(await failure { try await approve() } == .altered)
        #expect(served.count > 0)
        evil.behave()
        #expect(await refusal(by: clinic) { Array($0.prefix(2)) } == .forked)
        try await approve()
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    @Test func A136_anApproverRenewsOrIsReplacedWhilePeopleWait() async throws {
        try await anna.share(tresor, with: [house], fromNow: true)
        let file = try await anna.seal("plan", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let renewed = try clinic.identity.renewCard(time: world.clock.now)
        let old = try #require(try await pending().first)
        let newer = try await world.settle(renewed.identity, previous: [renewed.previous])
        try await newer.tresors.perform(.renew, on: tresor)
        #expect(try await !state().isRekeyPending)
        #expect(await failure { try await Decisions(session: clinic).decide([.approve(old)], on: tresor) } == .noAccess)
        // The older keys of the approver sign nothing that the store could show (R14), nor does who was dropped (R13).
        let keys = try await approvalKey(of: 2) + approvalKey(of: 3)
        let stale = try await approval(of: old.grant, epoch: 3, holding: keys)
        #expect(await refusal(by: anna, of: stale) == .noAccess)
        let other = try await world.quick("other")
        try world.introduce(anna, other)
        try await anna.tresors.perform(.setApprovers([other.chain]), on: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await evil.truth.wraps(of: clinic.user, in: tresor, epoch: nil).isEmpty)
        #expect(try await evil.truth.wraps(of: other.user, in: tresor, epoch: nil).count == 3)
        #expect(await failure { try await Decisions(session: newer).decide([.approve(old)], on: tresor) } == .noAccess)
        let all = try await keys + approvalKey(of: 4)
        let dropped = try await approval(of: old.grant, epoch: 4, holding: all, by: newer.identity)
        #expect(await refusal(by: anna, of: dropped) == .noAccess)
        let lost = evil.lieAboutWraps(of: other.user) { _ in [] }
        #expect(await failure { try await approve(other) } == .store(.withheld))
        #expect(lost.count > 0)
        evil.behave()
        try await approve(other)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    @Test func A137_anOwnerNeedsNobodyToWithdraw() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let shown = try #require(try await pending().first)
        // A store that does not keep the removal says so against its will.
        evil.lie(.storesNothing)
        let writes = evil.writeCount
        let refused = await failure { try await anna.tresors.perform(.revoke([house.user]), on: tresor) }
        #expect(refused == .store(.notStored) && evil.writeCount > writes)
        evil.behave()
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        // An approval that comes later is none, whoever of the approver and the store shows it (R35).
        let late = try await approval(of: shown.grant, epoch: 2, holding: approvalKey(of: 2))
        for person in [anna, house] { #expect(await refusal(by: person, of: late) == .altered) }
        _ = try await house.client.logs.state(of: tresor)
        #expect(await refusal(by: house) { Array($0.prefix(2)) } == .forked)
        #expect(try await state().waiting.isEmpty)
        #expect(try await evil.truth.wraps(of: house.user, in: tresor, epoch: nil).isEmpty)
        #expect(await failure { try await Decisions(session: clinic).decide([.approve(shown)], on: tresor) } == .busy)
        #expect(await failure { _ = try await house.files.open(file) } == .noAccess)
        // An approved doctor is removed as any other.
        try await anna.share(tresor, with: [house])
        try await approve()
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        let later = try await anna.seal("later", in: tresor)
        #expect(await failure { _ = try await house.files.open(later) } == .noAccess)
        #expect(try await !plunder(house, clinic).opens(later))
    }

    @Test func A138_whatIsApprovedIsWhatWasShown() async throws {
        try await anna.share(tresor, with: [house])
        // The approver sees the log for the first time: a grant that the store changed is none.
        #expect(await refusal(by: clinic) { Array($0.dropLast()) + $0.suffix(1).map(damaged) } == .altered)
        let shown = try #require(try await pending().first)
        #expect(await refusal(by: clinic) { Array($0.prefix(1)) } == .forked)
        #expect(shown.people == [house.chain] && shown.role == .reader && shown.history == .all)
        #expect(shown.author == anna.chain && shown.founder == anna.chain && shown.notAfter == nil)
        // Another epoch means the same; other rights, or other keys, do not.
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await pending().first == shown)
        let writes = evil.writeCount
        let renewed = try house.identity.renewCard(time: world.clock.now)
        let home = try #require(house.client.home as? MemoryHome)
        let newer = try await world.settle(renewed.identity, previous: [renewed.previous], home: home)
        try await newer.tresors.perform(.renew, on: tresor)
        #expect(await failure { try await Decisions(session: clinic).decide([.approve(shown)], on: tresor) } == .busy)
        #expect(evil.writeCount <= writes + 2)
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        try world.introduce(anna, newer)
        let pinned = try anna.client.pins()[newer.user]?.chain
        try #require(pinned == newer.chain)
        try await anna.tresors.perform(
            .share(with: [newer.chain], role: .owner, fromNow: false, notAfter: nil), on: tresor)
        #expect(await failure { try await Decisions(session: clinic).decide([.approve(shown)], on: tresor) } == .busy)
        #expect(try await state().members[newer.user] == nil)
        try await approve()
        #expect(try await state().members[newer.user]?.role == .owner)
    }

    @Test func aRefusedPersonReadsNothingAndTheKeyChanges() async throws {
        try await anna.share(tresor, with: [house])
        let shown = try #require(try await pending().first)
        try await Decisions(session: clinic).decide([.refuse(shown)], on: tresor)
        let refused = try await state()
        #expect(
            refused.isRekeyPending && refused.waiting.isEmpty && refused.departure(of: house.user)?.change == .refused)
        let file = try await anna.seal("plan", in: tresor)
        #expect(try await !state().isRekeyPending)
        #expect(try await !plunder(house, clinic).opens(file))
        #expect(await failure { _ = try await house.files.open(file) } == .noAccess)
    }

    @Test func wrapsThatAStoreLostAreRestored() async throws {
        try await anna.share(tresor, with: [house], fromNow: true)
        try await anna.tresors.perform(.rotate, on: tresor)
        let file = try await anna.seal("plan", in: tresor)
        let lost = try await evil.truth.wraps(of: clinic.user, in: tresor, epoch: nil)
        #expect(lost.count == 2)
        try await anna.audit.restoreWraps(of: tresor)
        let findings = try await anna.client.audit.check([tresor])
        #expect(findings.allSatisfy { if case .failed = $0.remark { false } else { true } })
        try await approve()
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }
}

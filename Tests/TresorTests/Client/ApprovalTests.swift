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

    private func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    private func pending() async throws -> [PendingGrant] {
        PendingGrant.all(in: try await clinic.client.logs.state(of: tresor))
    }

    private func approve(_ approver: Session? = nil) async throws {
        for grant in try await pending() { try await (approver ?? clinic).tresors.perform(.approve(grant), on: tresor) }
    }

    private func plunder(_ people: Session...) async throws -> Plunder {
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
        evil.showWraps { _, _, _ in wraps }
        for file in [file, newer] {
            #expect(await failure { _ = try await house.files.open(file) } == .waiting)
        }
        evil.behave()
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
        evil.append(forged)
        #expect(await failure { _ = try await anna.client.logs.state(of: tresor) } == .noAccess)
        let release = try Release(
            SecretBytes(count: 32), grant: anyDigest(), epoch: 1, of: tresor, for: friend.chain.newest,
            user: friend.user)
        let invented = ApproveBody(grant: try anyDigest(), epoch: 2, releases: [release])
        evil.append(try await entry(.approve(invented), by: clinic.identity))
        #expect(await failure { _ = try await anna.client.logs.state(of: tresor) } == .altered)
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
        let keys = try await anna.keyRing.keys(of: 1, in: waiting)
        func approval(_ state: LogState) throws -> EntryBody {
            let key = try keys.approvalKey(of: tresor).key(of: house.user)
            let release = try Release(
                SecretBytes(copying: key.span), grant: grant, epoch: state.epoch, of: tresor,
                for: house.chain.newest, user: house.user)
            return .approve(ApproveBody(grant: grant, epoch: state.epoch, releases: [release]))
        }
        let mallory = try await world.quick("mallory")
        for (author, error) in [(mallory, TresorError.noAccess), (anna, .noAccess), (house, .noAccess)] {
            evil.append(try await entry(approval(waiting), by: author.identity))
            #expect(await failure { _ = try await anna.client.logs.state(of: tresor) } == error)
        }
        evil.behave()
        let refusal = try #require(try await pending().first)
        try await clinic.tresors.perform(.refuse(refusal), on: tresor)
        evil.append(try await entry(approval(try await state()), by: clinic.identity))
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .altered)
        evil.behave()
        // After a refusal the same people may be granted again, and that is another grant.
        try await anna.share(tresor, with: [house])
        evil.append(try await entry(approval(try await state()), by: clinic.identity))
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .altered)
        evil.behave()
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        evil.append(try await entry(approval(try await state()), by: clinic.identity))
        #expect(await failure { _ = try await house.client.logs.state(of: tresor) } == .altered)
    }

    @Test func A135_aWrongKeyIsRefusedAndProved() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let waiting = try await state()
        let grant = try #require(PendingGrant.all(in: waiting).first).grant
        let release = try Release(
            SecretBytes(randomCount: 32), grant: grant, epoch: waiting.epoch, of: tresor, for: house.chain.newest,
            user: house.user)
        try await world.append(
            .approve(ApproveBody(grant: grant, epoch: waiting.epoch, releases: [release])), by: clinic.identity,
            to: tresor, in: evil)
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let evidence = try ApprovalEvidence(try #require(house.evidence.first))
        #expect(try Entry(evidence.approval).author == clinic.user && evidence.opened.count == 32)
        #expect(try Wrap(evidence.wrap).user == house.user && evidence.tresor == tresor)
        let notices = await house.takeNotices()
        #expect(notices.contains { if case .approvalSpoiled(clinic.user, _) = $0.deed { true } else { false } })
        // The next epoch wraps plainly.
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    @Test func A136_keysChangeBetweenGrantAndApproval() async throws {
        try await anna.share(tresor, with: [house])
        for _ in 0..<3 { try await anna.tresors.perform(.rotate, on: tresor) }
        let file = try await anna.seal("plan", in: tresor)
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
        #expect(await failure { try await clinic.tresors.perform(.approve(old), on: tresor) } == .noAccess)
        let other = try await world.quick("other")
        try world.introduce(anna, other)
        try await anna.tresors.perform(.setApprovers([other.chain]), on: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await evil.truth.wraps(of: clinic.user, in: tresor, epoch: nil).isEmpty)
        #expect(try await evil.truth.wraps(of: other.user, in: tresor, epoch: nil).count == 3)
        #expect(await failure { try await newer.tresors.perform(.approve(old), on: tresor) } == .noAccess)
        try await approve(other)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    @Test func A137_anOwnerNeedsNobodyToWithdraw() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let shown = try #require(try await pending().first)
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        #expect(try await state().waiting.isEmpty)
        #expect(try await evil.truth.wraps(of: house.user, in: tresor, epoch: nil).isEmpty)
        #expect(await failure { try await clinic.tresors.perform(.approve(shown), on: tresor) } == .busy)
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
        let shown = try #require(try await pending().first)
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
        #expect(await failure { try await clinic.tresors.perform(.approve(shown), on: tresor) } == .busy)
        #expect(evil.writeCount <= writes + 2)
        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
        try world.introduce(anna, newer)
        let pinned = try anna.client.pins()[newer.user]?.chain
        try #require(pinned == newer.chain)
        try await anna.tresors.perform(
            .share(with: [newer.chain], role: .owner, fromNow: false, notAfter: nil), on: tresor)
        #expect(await failure { try await clinic.tresors.perform(.approve(shown), on: tresor) } == .busy)
        #expect(try await state().members[newer.user] == nil)
        try await approve()
        #expect(try await state().members[newer.user]?.role == .owner)
    }

    @Test func aRefusedPersonReadsNothingAndTheKeyChanges() async throws {
        try await anna.share(tresor, with: [house])
        let shown = try #require(try await pending().first)
        try await clinic.tresors.perform(.refuse(shown), on: tresor)
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

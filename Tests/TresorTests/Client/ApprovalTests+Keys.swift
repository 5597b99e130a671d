// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Keys of an epoch that serve again, and wraps that do not open (SPEC §9.11).
extension ApprovalTests {
    /// House has the approval key of an epoch in which it left, and is asked again in that epoch with more.
    @Test func A132_whoLeftReadsNothingByTheApprovalOfBefore() async throws {
        let before = try await anna.seal("before", in: tresor)
        try await anna.share(tresor, with: [house], fromNow: true)
        let since = try await anna.seal("since", in: tresor)
        try await approve()
        try await house.tresors.perform(.leave, on: tresor)
        let left = try await state()
        try #require(left.isRekeyPending && left.epoch == 2)
        try await anna.share(tresor, with: [house])
        let asked = try await state()
        #expect(asked.waiting[house.user]?.history == .all && asked.epoch == 3 && !asked.isRekeyPending)
        let found = try await plunder(house)
        #expect(found.opens(since) && !found.opens(before) && Set(found.keys.keys) == [2])
        let hasHistory = found.keys.values.joined().contains { $0.opensHistory }
        #expect(!hasHistory)
        #expect(await failure { _ = try await house.files.open(before) } == .waiting)
        try await approve()
        #expect(try await world.session(of: house).files.open(before).content == Array("before".utf8))
    }

    /// An approver who was dropped has the approval key of the epoch, until the rotation that follows is made.
    @Test func A132_whoWaitsReadsNothingWithAnApproverOfBefore() async throws {
        let file = try await anna.seal("plan", in: tresor)
        try await anna.share(tresor, with: [house])
        let (friend, other) = (try await world.quick("friend"), try await world.quick("other"))
        try world.introduce(anna, friend, other)
        try await anna.tresors.perform(.setApprovers([other.chain]), on: tresor)
        let replaced = try await state()
        try #require(replaced.isRekeyPending && replaced.epoch == 1)
        try await anna.share(tresor, with: [friend])
        let asked = try await state()
        #expect(asked.epoch == 2 && asked.waiting.count == 2)
        let found = try await plunder(clinic, friend)
        #expect(found.keys.isEmpty && !found.opens(file))
        try await approve(other)
        #expect(try await friend.files.open(file).content == Array("plan".utf8))
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
        #expect(try UnverifiedWrap(evidence.wrap).user == house.user && evidence.tresor == tresor)
        let notices = await house.takeNotices()
        #expect(notices.contains { if case .approvalSpoiled(clinic.user, _) = $0.deed { true } else { false } })
        // A member with full history sees that it is not the key; who made it another, nobody sees.
        let key = try await approvalKey(of: 1)
        #expect(evidence.opened != key)
        // The next epoch wraps plainly.
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    /// The store damages and invents wraps of the approver and of the person: nothing opens, and an approver who told no
    /// lie can be cleared.
    @Test func A135_aWrapOfTheStoreIsRefusedAndBlamesNoApprover() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let damagingKey = evil.lieAboutWraps(of: clinic.user) { $0.map(damaged) }
        #expect(await failure { try await approve() } == .altered)
        let withholding = evil.lieAboutWraps(of: clinic.user) { _ in [] }
        #expect(await failure { try await approve() } == .store(.withheld))
        #expect(damagingKey.count > 0 && withholding.count > 0)
        evil.behave()
        try await approve()
        let hiding = evil.lieAboutWraps(of: house.user) { _ in [] }
        #expect(await failure { _ = try await house.files.open(file) } == .noAccess)
        #expect(hiding.count > 0 && house.evidence.isEmpty)
        let damaging = evil.lieAboutWraps(of: house.user) { $0.map(damaged) }
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let notices = await house.takeNotices()
        #expect(damaging.count > 0 && house.evidence.isEmpty && notices.isEmpty)
        let invented = try Wrap(
            waiting: EpochKeys(epoch: 1), of: tresor, for: house.chain.newest, user: house.user, history: .all)
        let inventing = evil.lieAboutWraps(of: house.user) { [bytes = invented.bytes] _ in [bytes] }
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        #expect(inventing.count > 0)
        let evidence = try ApprovalEvidence(try #require(house.evidence.first))
        let key = try await approvalKey(of: 1)
        #expect(evidence.wrap == invented.bytes && evidence.opened == key)
        // Another invented wrap of the epoch is no more evidence.
        let other = try Wrap(
            waiting: EpochKeys(epoch: 1), of: tresor, for: house.chain.newest, user: house.user, history: .all)
        let again = evil.lieAboutWraps(of: house.user) { [bytes = other.bytes] _ in [bytes] }
        #expect(await failure { _ = try await world.session(of: house).files.open(file) } == .altered)
        #expect(again.count > 0 && house.evidenceCount == 1)
        evil.behave()
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    /// The store makes a wrap for the approver too: who approved by it released a wrong key, and told no lie.
    @Test func A135_aWrapThatTheStoreMadeForTheApproverConvictsNobody() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let wrong = try EpochKeys(epoch: 1).approvalKey(of: tresor)
        let invented = try Wrap(approval: wrong, of: tresor, for: clinic.chain.newest, user: clinic.user)
        let served = evil.lieAboutWraps(of: clinic.user) { [bytes = invented.bytes] _ in [bytes] }
        try await approve()
        #expect(served.count > 0)
        evil.behave()
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let evidence = try ApprovalEvidence(try #require(house.evidence.first))
        let released = try wrong.key(of: house.user)
        let (key, wrongKey) = (try await approvalKey(of: 1), released.span.publicBytes)
        #expect(evidence.opened == wrongKey && evidence.opened != key)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    /// A release that does not open for the person stands in an entry that the approver signed.
    @Test func A135_aReleaseThatDoesNotOpenIsProved() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let grant = try #require(try await pending().first).grant
        // For other keys than those of the house, whose generation is the same.
        let release = try Release(
            SecretBytes(randomCount: 32), grant: grant, epoch: 1, of: tresor, for: clinic.chain.newest, user: house.user
        )
        try await world.append(
            .approve(ApproveBody(grant: grant, epoch: 1, releases: [release])), by: clinic.identity, to: tresor,
            in: evil)
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let evidence = try ApprovalEvidence(try #require(house.evidence.first))
        #expect(try Entry(evidence.approval).author == clinic.user && evidence.opened.isEmpty)
        let notices = await house.takeNotices()
        #expect(notices.contains { if case .approvalSpoiled(clinic.user, _) = $0.deed { true } else { false } })
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    /// The store answers the search for the keys of one tresor late, and another search of the session ends in between.
    @Test func A135_searchesAtOnceProveBoth() async throws {
        let other = try await anna.tresors.create(Name(typed: "notes"), approvers: [clinic.chain]).tresor
        var files: [SealedFile] = []
        for tresor in [tresor, other] {
            try await anna.share(tresor, with: [house])
            files.append(try await anna.seal("plan", in: tresor))
            let state = try await anna.client.logs.state(of: tresor)
            let grant = try #require(PendingGrant.all(in: state).first).grant
            let release = try Release(
                SecretBytes(randomCount: 32), grant: grant, epoch: 1, of: tresor, for: house.chain.newest,
                user: house.user)
            try await world.append(
                .approve(ApproveBody(grant: grant, epoch: 1, releases: [release])), by: clinic.identity, to: tresor,
                in: evil)
        }
        let (first, second) = (files[0], files[1])
        let late = LateWraps(truth: evil, tresor: tresor)
        let session = world.session(of: house, seeing: late)
        late.act { #expect(await failure { _ = try await session.files.open(second) } == .altered) }
        #expect(await failure { _ = try await session.files.open(first) } == .altered)
        let notices = await session.takeNotices()
        let spoiled = notices.filter { if case .approvalSpoiled(clinic.user, _) = $0.deed { true } else { false } }
        #expect(Set(spoiled.map(\.tresor)) == [tresor, other] && house.evidenceCount == 2)
    }

    /// The store shows the person the wrap of an epoch whose key was not to be released.
    @Test func A135_aWrapOfAnEpochWithoutReleaseIsNoEvidence() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        try await approve()
        let first = evil.everyWrap.filter { $0.user == house.user && $0.epoch == 1 }.map(\.bytes)
        try #require(!first.isEmpty)
        let served = evil.lieAboutWraps(of: house.user) { _ in first }
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let notices = await house.takeNotices()
        #expect(served.count > 0 && house.evidence.isEmpty && notices.isEmpty)
        evil.behave()
        #expect(try await house.files.open(file).content == Array("plan".utf8))
    }

    /// A wrap that this session has opened before clears the one that the store invents beside it, although a link that
    /// does not open ends the search with an error.
    @Test func A135_aWrapBesideOneThatOpenedBeforeIsNoEvidence() async throws {
        try await anna.share(tresor, with: [house])
        let file = try await anna.seal("plan", in: tresor)
        let drafting = EntryDrafting(session: anna)
        let (asked, next) = (try await state(), try EpochKeys(epoch: 2))
        let statement = try next.statement(of: tresor, linking: [EpochKeys(epoch: 1)])
        try await world.append(
            .epoch(EpochBody(statement)), by: anna.identity, to: tresor, in: evil,
            wraps: drafting.wraps(next, for: drafting.recipients(in: asked), of: tresor))
        try await approve()
        _ = try await house.keyRing.keys(of: 2, in: house.client.logs.state(of: tresor))
        let invented = try Wrap(
            waiting: EpochKeys(epoch: 2), of: tresor, for: house.chain.newest, user: house.user, history: .all)
        let good = evil.everyWrap.filter { $0.user == house.user && $0.epoch == 2 }.map(\.bytes)
        try #require(!good.isEmpty)
        let served = evil.lieAboutWraps(of: house.user) { [bytes = invented.bytes] _ in [bytes] + good }
        #expect(await failure { _ = try await house.files.open(file) } == .altered)
        let notices = await house.takeNotices()
        #expect(served.count > 0 && house.evidence.isEmpty && notices.isEmpty)
    }
}

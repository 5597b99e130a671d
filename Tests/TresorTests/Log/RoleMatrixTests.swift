// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The permissions: every kind of author with every body.
@Suite struct RoleMatrixTests {
    enum Author: CaseIterable, Sendable {
        case founder, owner, writer, newWriter, reader, removed, outsider, waiting, approver
    }

    enum Body: CaseIterable, Sendable {
        case grant, grantFromNow, remove, leave, renew, epoch, role, rename, approvers, approve, refuse, commit
        case checkpoint
    }

    /// The table of the design: who may, by the letter of it.
    private func isAllowed(_ author: Author, _ body: Body, isRekeyPending: Bool) -> Bool {
        switch (author, body) {
        case (.removed, _), (.outsider, _): false
        case (.approver, .approve), (.approver, .refuse), (.approver, .renew): true
        case (.waiting, .leave), (.waiting, .renew): true
        case (.approver, _), (.waiting, _), (_, .approve), (_, .refuse): false
        case (_, .leave), (_, .renew): true
        case (.founder, _), (.owner, _): true
        case (.writer, .epoch): isRekeyPending
        // A checkpoint of a writer is accepted, and void.
        case (.writer, .commit), (.newWriter, .commit), (.writer, .checkpoint), (.newWriter, .checkpoint): true
        default: false
        }
    }

    @Test(arguments: [false, true]) func A57_rolesAreJudgedInTheLog(isRekeyPending: Bool) throws {
        let anna = try identity("anna")
        let target = try identity("target")
        let stranger = try identity("stranger")
        var people: [Author: Identity] = [.founder: anna]
        var log = try Chronicle(founder: anna)
        for (author, role) in [(Author.owner, Role.owner), (.writer, .writer), (.reader, .reader), (.removed, .owner)] {
            let person = try identity("\(author)")
            people[author] = person
            try log.admit(person, as: role)
        }
        let late = try identity("late")
        people[.newWriter] = late
        try log.admit(late, as: .writer, fromNow: true)
        people[.outsider] = try identity("outsider")
        try log.admit(target, as: .writer)
        let removed = try #require(people[.removed])
        try log.add(.remove(RemoveBody(users: [removed.user], epoch: log.nextEpoch())), by: anna)
        let (approver, waiting) = (try identity("approver"), try identity("waiting"))
        people[.approver] = approver
        people[.waiting] = waiting
        try log.add(.approvers(ApproversBody([Approver(approver.chain)])), by: anna)
        try log.add(.epoch(EpochBody(log.nextEpoch())), by: anna)
        try log.add(Chronicle.grant([waiting.chain], .owner), by: anna)
        let grant = log.state.head.hash
        if isRekeyPending {
            let leaver = try identity("leaver")
            try log.admit(leaver, as: .reader)
            try log.add(.leave, by: leaver)
        }
        #expect(log.state.isRekeyPending == isRekeyPending)
        for author in Author.allCases {
            let person = try #require(people[author])
            for body in Body.allCases {
                let entry = try entryBody(body, in: log, by: person, target, stranger, waiting, grant)
                let verdict = try log.verdict(entry, by: person)
                if isAllowed(author, body, isRekeyPending: isRekeyPending) {
                    #expect(verdict == .valid, "\(author) \(body)")
                    let rule = try voidRule(of: entry, by: person, log)
                    switch body {
                    case .checkpoint where author != .founder && author != .owner: #expect(rule == .r15)
                    case .commit, .checkpoint: #expect(rule == (isRekeyPending ? .r40 : nil))
                    default: #expect(rule == nil)
                    }
                } else {
                    #expect(verdict.error == .noAccess, "\(author) \(body)")
                    #expect(verdict.isUnchanged)
                }
            }
        }
    }

    private func voidRule(of body: EntryBody, by author: Identity, _ log: Chronicle) throws -> Rule? {
        var fold = Fold(state: log.state)
        try fold.apply(try log.entry(body, by: author).bytes)
        return fold.voidRule
    }

    private func entryBody(
        _ body: Body, in log: Chronicle, by author: Identity, _ target: Identity, _ stranger: Identity,
        _ waiting: Identity, _ grant: Hash256
    ) throws -> EntryBody {
        switch body {
        case .grant: try Chronicle.grant([stranger.chain], .reader)
        case .grantFromNow: try Chronicle.grant([stranger.chain], .reader, fromNow: log.state.epoch + 1)
        case .remove: .remove(RemoveBody(users: [target.user], epoch: try log.nextEpoch()))
        case .leave: .leave
        case .renew: .renew(RenewBody(try author.renewCard(time: 9).identity.chain.newest))
        case .epoch: .epoch(EpochBody(try log.nextEpoch()))
        case .role: .role(RoleBody(user: target.user, role: .reader, notAfter: nil))
        case .rename: .rename(RenameBody(try Chronicle.anyName()))
        case .approvers: .approvers(ApproversBody([]))
        case .refuse: .refuse(RefuseBody(grant: grant))
        case .approve:
            .approve(
                ApproveBody(
                    grant: grant, epoch: log.state.epoch,
                    releases: [
                        try Release(
                            SecretBytes(count: 32), grant: grant, epoch: log.state.epoch, of: log.tresor,
                            for: waiting.chain.newest, user: waiting.user)
                    ]))
        case .commit: .commit(CommitBody(epoch: log.state.epoch, blobs: [Blob(hash: .zero, size: 674)]))
        case .checkpoint:
            .checkpoint(
                CheckpointBody(upto: 1, epoch: log.state.epoch, volumes: [Blob(hash: .zero, size: 674)]))
        }
    }

    @Test func A57_ownAttemptsAreRefusedBeforeAnythingIsSent() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let writer = try await world.quick("writer")
        let reader = try await world.quick("reader")
        let outsider = try await world.quick("outsider")
        let former = try await world.quick("former")
        try world.introduce(anna, writer, reader, outsider, former)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [writer], as: .writer)
        try await anna.share(tresor, with: [reader])
        let stranger = outsider.identity.chain
        let acts: [Act] = [
            .share(with: [stranger], role: .reader, fromNow: false, notAfter: nil),
            .revoke([reader.identity.user]),
            .rotate, .rename(try Name(typed: "mine")),
            .share(with: [stranger], role: .reader, fromNow: true, notAfter: nil),
            .share(with: [reader.identity.chain], role: .owner, fromNow: false, notAfter: nil),
        ]
        try await anna.share(tresor, with: [former], as: .owner)
        try await anna.tresors.perform(.revoke([former.identity.user]), on: tresor)
        for person in [writer, reader, outsider, former] {
            _ = await failure { _ = try await person.client.logs.state(of: tresor) }
            let (home, writes) = (person.home, evil.writeCount)
            let isStranger = person.user == outsider.user
            for act in acts {
                let refused = await failure { try await person.tresors.perform(act, on: tresor) }
                #expect(refused == (isStranger ? StageStores.errorOfStrangers : .noAccess))
            }
            #expect(person.home == home)
            #expect(evil.writeCount == writes)
        }
        let refused = await failure { try await outsider.tresors.perform(.leave, on: tresor) }
        #expect(refused == StageStores.errorOfStrangers)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The rules of single bodies, each broken alone.
@Suite struct FoldBodyRuleTests {
    let anna: Identity
    let bob: Identity
    let eve: Identity
    let log: Chronicle

    init() throws {
        anna = try identity("anna")
        bob = try identity("bob")
        eve = try identity("eve")
        var log = try Chronicle(founder: anna)
        try log.admit(bob, as: .owner)
        self.log = log
    }

    @Test func R21_theFounderComesBackAsOwnerWithoutADate() throws {
        var log = log
        try log.add(.leave, by: anna)
        for role in Role.allCases {
            #expect(try log.verdict(Chronicle.grant([anna.chain], role, notAfter: 9), by: bob) == .broken(.r21))
            let expected = role == .owner ? Verdict.valid : .broken(.r21)
            #expect(try log.verdict(Chronicle.grant([anna.chain], role), by: bob) == expected)
        }
        let both = rising(anna, eve).map(\.chain)
        #expect(try log.verdict(Chronicle.grant(both, .reader), by: bob) == .broken(.r21))
        #expect(try log.verdict(Chronicle.grant(both, .owner), by: bob) == .valid)
    }

    @Test(arguments: [0, 1, 3, UInt64.max]) func A84_R23_epochsHaveNoGaps(number: UInt64) throws {
        let epoch = try Chronicle.epoch(number, links: 1)
        #expect(try log.verdict(.epoch(EpochBody(epoch)), by: anna) == .broken(.r23))
        #expect(
            try log.verdict(.remove(RemoveBody(users: [bob.user], epoch: epoch)), by: anna) == .broken(.r23)
        )
        #expect(try log.verdict(Chronicle.grant([eve.chain], .reader, fromNow: number), by: anna) == .broken(.r23))
    }

    @Test func A77_R23_anEpochHasABackLink() throws {
        #expect(try log.verdict(.epoch(EpochBody(Chronicle.epoch(2, links: 0))), by: anna) == .broken(.r23))
        #expect(
            try log.verdict(
                .remove(RemoveBody(users: [bob.user], epoch: Chronicle.epoch(2, links: 0))), by: anna)
                == .broken(.r23))
    }

    /// A removal without the key that belongs to it: the body ends where the epoch begins, or somewhere in it.
    @Test func A77_aRemovalWithoutAnEpochIsNoRemoval() throws {
        let whole = try log.entry(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: anna)
            .signed
        let head = Array(try log.entry(.leave, by: anna).signed.dropLast(4))
        let code = head.count - 2
        let body = Array(whole.dropFirst(head.count + 4))
        let users = 2 + 1 + 32
        for count in [users, users + 1, users + 8, users + 72, body.count - 1] {
            var signed = head + bigEndianBytes(UInt32(count)) + body.prefix(count)
            signed[code...code + 1] = whole[code...code + 1]
            #expect(try log.verdict(anna.entry(signed)) == .broken(.r2), "\(count)")
        }
        #expect(try log.verdict(anna.entry(whole)) == .valid)
    }

    @Test func A69_R24_aStrangerIsNotRemoved() throws {
        #expect(
            try log.verdict(.remove(RemoveBody(users: [eve.user], epoch: log.nextEpoch())), by: anna)
                == .broken(.r24))
        let both = [bob.user, eve.user].sorted()
        #expect(
            try log.verdict(.remove(RemoveBody(users: both, epoch: log.nextEpoch())), by: anna)
                == .broken(.r24))
    }

    @Test func A64_R25_nobodyRemovesTheFounderOrThemselves() throws {
        #expect(
            try log.verdict(.remove(RemoveBody(users: [anna.user], epoch: log.nextEpoch())), by: bob)
                == .broken(.r25))
        #expect(
            try log.verdict(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: bob)
                == .broken(.r25))
        #expect(
            try log.verdict(.remove(RemoveBody(users: [anna.user], epoch: log.nextEpoch())), by: anna)
                == .broken(.r25))
    }

    @Test func A69_R26_theLastOwnerStays() throws {
        var log = log
        try log.add(.leave, by: anna)
        #expect(try log.verdict(.leave, by: bob) == .broken(.r26))
    }

    @Test func A69_R26_anOwnerWithADateIsNotTheOneWhoRemains() throws {
        var log = log
        #expect(try log.verdict(.leave, by: anna) == .valid)
        try log.add(.role(RoleBody(user: bob.user, role: .owner, notAfter: 9_000_000_000)), by: anna)
        #expect(try log.verdict(.leave, by: anna) == .broken(.r26))
        #expect(try log.verdict(.leave, by: bob) == .valid)
    }

    @Test func A72_R27_aRenewalIsTheNextCardOfItsUser() throws {
        let next = try bob.renewCard(time: 5).identity
        let afterNext = try next.renewCard(time: 6).identity
        let another = try eve.renewCard(time: 5).identity
        for card in [bob.chain.newest, afterNext.chain.newest, another.chain.newest, eve.chain.newest] {
            #expect(try log.verdict(.renew(RenewBody(card)), by: bob) == .broken(.r27))
        }
        #expect(try log.verdict(.renew(RenewBody(next.chain.newest)), by: anna) == .valid)
        #expect(try log.verdict(.renew(RenewBody(afterNext.chain.newest)), by: anna) == .broken(.r27))
        var log = log
        try log.add(.renew(RenewBody(next.chain.newest)), by: bob)
        #expect(try log.verdict(.renew(RenewBody(next.chain.newest)), by: next) == .broken(.r27))
        #expect(
            try log.verdict(.renew(RenewBody(bob.renewCard(time: 7).identity.chain.newest)), by: next) == .broken(.r27))
        #expect(try log.verdict(.renew(RenewBody(afterNext.chain.newest)), by: next) == .valid)
    }

    @Test func A69_R28_aStrangerHasNoRole() throws {
        #expect(
            try log.verdict(.role(RoleBody(user: eve.user, role: .reader, notAfter: nil)), by: anna)
                == .broken(.r28))
    }

    @Test func R29_theFoundersRoleDoesNotChange() throws {
        #expect(
            try log.verdict(.role(RoleBody(user: anna.user, role: .reader, notAfter: nil)), by: bob)
                == .broken(.r29))
        #expect(
            try log.verdict(.role(RoleBody(user: anna.user, role: .owner, notAfter: 9)), by: anna)
                == .broken(.r29))
    }

    @Test func A69_R30_aChangeChangesSomething() throws {
        #expect(
            try log.verdict(.role(RoleBody(user: bob.user, role: .owner, notAfter: nil)), by: anna)
                == .broken(.r30))
        #expect(
            try log.verdict(
                .role(RoleBody(user: bob.user, role: .owner, notAfter: 9_000_000_000)), by: anna)
                == .valid)
    }

    @Test func A69_R31_withoutFullHistoryNobodyOwns() throws {
        var log = log
        try log.admit(eve, as: .writer, fromNow: true)
        #expect(
            try log.verdict(.role(RoleBody(user: eve.user, role: .owner, notAfter: nil)), by: anna)
                == .broken(.r31))
        #expect(
            try log.verdict(.role(RoleBody(user: eve.user, role: .reader, notAfter: nil)), by: anna)
                == .valid)
    }

    @Test func A69_R32_anOwnerRemains() throws {
        var log = log
        try log.add(.leave, by: anna)
        #expect(
            try log.verdict(.role(RoleBody(user: bob.user, role: .writer, notAfter: nil)), by: bob)
                == .broken(.r32))
    }

    @Test func A69_R32_theLastLastingOwnerTakesNoDate() throws {
        var log = log
        try log.admit(eve, as: .owner, notAfter: 9_000_000_000)
        try log.add(.leave, by: anna)
        #expect(
            try log.verdict(.role(RoleBody(user: bob.user, role: .owner, notAfter: 9)), by: eve)
                == .broken(.r32))
        #expect(
            try log.verdict(.role(RoleBody(user: eve.user, role: .reader, notAfter: nil)), by: bob)
                == .valid)
        try log.add(.role(RoleBody(user: eve.user, role: .owner, notAfter: nil)), by: bob)
        #expect(
            try log.verdict(.role(RoleBody(user: bob.user, role: .owner, notAfter: 9)), by: eve) == .valid)
    }

    @Test func A69_R33_theLastLastingOwnerIsNotRemoved() throws {
        var log = log
        try log.admit(eve, as: .owner, notAfter: 9_000_000_000)
        try log.add(.leave, by: anna)
        #expect(
            try log.verdict(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: eve)
                == .broken(.r33))
        try log.add(.role(RoleBody(user: eve.user, role: .owner, notAfter: nil)), by: bob)
        #expect(
            try log.verdict(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: eve)
                == .valid)
    }

    @Test func A73_R22_atMostTenThousandAreIn() throws {
        var state = log.state
        let member = try #require(state.members[bob.user])
        for _ in state.members.count..<LogState.maximumMemberCount { state.members[UserID(try anyDigest())] = member }
        let entry = try log.entry(Chronicle.grant([eve.chain], .reader), by: anna)
        var fold = Fold(state: state)
        #expect(throws: TresorError.altered) { try fold.apply(entry) }
        #expect(fold.brokenRule == .r22)
        state.members[state.members.keys.first { $0 != anna.user && $0 != bob.user } ?? bob.user] = nil
        var roomier = Fold(state: state)
        #expect(throws: Never.self) { try roomier.apply(entry) }
    }

    /// Former members count, since every state holds their chains.
    @Test func A73_R49_aLogKnowsAtMost16384People() throws {
        var state = log.state
        let chain = try #require(state.chains[bob.user])
        for _ in state.chains.count..<LogState.maximumKnownCount { state.chains[UserID(try anyDigest())] = chain }
        for body in [try Chronicle.grant([eve.chain], .reader), .approvers(ApproversBody([Approver(eve.chain)]))] {
            let entry = try log.entry(body, by: anna)
            var fold = Fold(state: state)
            #expect(throws: TresorError.altered) { try fold.apply(entry) }
            #expect(fold.brokenRule == .r49)
            var roomier = state
            roomier.chains[state.chains.keys.first { $0 != anna.user && $0 != bob.user } ?? bob.user] = nil
            fold = Fold(state: roomier)
            #expect(throws: Never.self) { try fold.apply(entry) }
            // Whom the log knows may come back.
            var known = state
            known.chains[state.chains.keys.first { $0 != anna.user && $0 != bob.user } ?? bob.user] = nil
            known.chains[eve.user] = eve.chain
            fold = Fold(state: known)
            #expect(throws: Never.self) { try fold.apply(entry) }
        }
    }

    @Test func A69_everyRuleHasAnErrorOfTheVocabulary() {
        for rule in Rule.allCases {
            #expect([.altered, .noAccess, .unsupported].contains(rule.error))
        }
        #expect(Rule.allCases.count == 43)
    }
}

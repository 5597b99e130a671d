// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Every rule of the log, each broken alone.
@Suite struct FoldRuleTests {
    let anna: Identity
    let bob: Identity
    let eve: Identity
    let log: Chronicle

    init() throws {
        anna = try identity("anna")
        bob = try identity("bob")
        eve = try identity("eve")
        var log = try Chronicle(founder: anna)
        try log.admit(bob, as: .reader)
        self.log = log
    }

    private func genesis(
        root: Root? = nil, founder: CardChain? = nil, approvers: [Approver] = [], epoch: Epoch? = nil,
        author: Identity? = nil, in tresor: TresorID? = nil
    ) throws -> Entry {
        let root = try root ?? Root.make(founder: anna.chain)
        return try Entry(
            tresor: try tresor ?? root.tresorID(), sequence: 0, previous: .zero, author: author ?? anna, time: 1,
            body: .genesis(
                GenesisBody(
                    root: root, founder: founder ?? anna.chain, approvers: approvers, sealedName: Chronicle.anyName(),
                    epoch: epoch ?? Chronicle.epoch(1))))
    }

    private func verdict(_ entry: Entry) -> Verdict { Chronicle.firstVerdict(entry.bytes, tresor: entry.tresor) }

    @Test func honestEntriesBreakNoRule() throws {
        #expect(verdict(try genesis()) == .valid)
        #expect(try log.verdict(.rename(RenameBody(Chronicle.anyName())), by: anna) == .valid)
    }

    @Test func R1_everyPartIsKnown() throws {
        let bytes = try log.entry(.leave, by: bob).bytes
        for (offset, value) in [(7, UInt8(0x32)), (8, 2), (9, 2)] {
            var other = Array(bytes.dropLast(64))
            other[offset] = value
            #expect(log.verdict(try bob.entry(other)) == .broken(.r1))
        }
    }

    @Test func R2_theFormIsCanonical() throws {
        let signed = try log.entry(.leave, by: bob).signed
        #expect(log.verdict(try bob.entry(signed + [0])) == .broken(.r2))
        var late = signed
        late.replaceSubrange(118..<126, with: bigEndianBytes(Format.latestTime + 1))
        #expect(log.verdict(try bob.entry(late)) == .broken(.r2))
    }

    @Test func R3_itNamesThisTresor() throws {
        let other = try Root.make(founder: anna.chain).tresorID()
        #expect(log.verdict(try log.entry(.leave, by: bob, in: other).bytes) == .broken(.r3))
    }

    @Test(arguments: [0, 1, 3, UInt64.max]) func R4_theSequenceIsItsPlace(sequence: UInt64) throws {
        #expect(log.verdict(try log.entry(.leave, by: bob, sequence: sequence).bytes) == .broken(.r4))
    }

    @Test func R5_itNamesTheEntryBefore() throws {
        #expect(log.verdict(try log.entry(.leave, by: bob, previous: .zero).bytes) == .broken(.r5))
        let root = try Root.make(founder: anna.chain)
        let entry = try Entry(
            tresor: root.tresorID(), sequence: 0, previous: anyDigest(), author: anna, time: 1,
            body: .genesis(
                GenesisBody(
                    root: root, founder: anna.chain, approvers: [], sealedName: Chronicle.anyName(),
                    epoch: Chronicle.epoch(1))))
        #expect(verdict(entry) == .broken(.r5))
    }

    @Test func R6_aGenesisStandsFirstAndNowhereElse() throws {
        let second = EntryBody.genesis(
            GenesisBody(
                root: log.root, founder: anna.chain, approvers: [], sealedName: try Chronicle.anyName(),
                epoch: try Chronicle.epoch(1)))
        #expect(try log.verdict(second, by: anna) == .broken(.r6))
        let entry = try log.entry(.leave, by: anna, sequence: 0, previous: .zero)
        #expect(verdict(entry) == .broken(.r6))
    }

    @Test func A55_R7_theTresorIsTheHashOfItsRoot() throws {
        let root = try Root.make(founder: anna.chain)
        #expect(verdict(try genesis(root: root, in: Root.make(founder: anna.chain).tresorID())) == .broken(.r7))
        for byte in 0..<32 {
            let random = try #require(Hash256(flipped(root.random.bytes, byte * 8)))
            let other = Root(founder: root.founder, cardHash: root.cardHash, random: random)
            #expect(verdict(try genesis(root: other, in: root.tresorID())) == .broken(.r7))
        }
    }

    @Test func A55_R8_theFounderIsTheAuthor() throws {
        #expect(verdict(try genesis(author: eve)) == .broken(.r8))
        #expect(verdict(try genesis(founder: eve.chain)) == .broken(.r8))
        #expect(verdict(try genesis(root: Root.make(founder: eve.chain))) == .broken(.r8))
        let renewed = try anna.renewCard(time: 5).identity
        #expect(verdict(try genesis(founder: renewed.chain)) == .broken(.r8))
        #expect(verdict(try genesis(root: Root.make(founder: renewed.chain))) == .broken(.r8))
    }

    @Test func R9_theFirstEpochIsOneAndHasNoBackLink() throws {
        for epoch in [
            try Chronicle.epoch(1, links: 1), try Chronicle.epoch(0, links: 0), try Chronicle.epoch(2, links: 0),
        ] {
            #expect(verdict(try genesis(epoch: epoch)) == .broken(.r9))
        }
    }

    @Test func R34_approversAreFewOrderedAndNoMembers() throws {
        let people = [bob, eve].sorted { $0.user < $1.user }.map { Approver($0.chain) }
        #expect(verdict(try genesis(approvers: people)) == .valid)
        #expect(verdict(try genesis(approvers: people.reversed())) == .broken(.r34))
        #expect(verdict(try genesis(approvers: [people[0], people[0]])) == .broken(.r34))
        #expect(verdict(try genesis(approvers: [Approver(anna.chain)])) == .broken(.r34))
    }

    @Test func R11_theLogHoldsTheAuthorsCard() throws {
        #expect(try log.verdict(.leave, by: eve) == .broken(.r11))
        let renewed = try bob.renewCard(time: 5).identity
        #expect(try log.verdict(.leave, by: renewed) == .broken(.r11))
    }

    @Test func R12_theSignatureIsThatCards() throws {
        let honest = try log.entry(.leave, by: bob)
        #expect(log.verdict(try eve.entry(honest.signed)) == .broken(.r12))
        #expect(log.verdict(honest.signed + (try bob.sign(.fileSignature, honest.signed))) == .broken(.r12))
        let first = try genesis()
        #expect(Chronicle.firstVerdict(try eve.entry(first.signed), tresor: first.tresor) == .broken(.r12))
    }

    @Test func R13_theAuthorIsIn() throws {
        var log = log
        try log.add(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: anna)
        #expect(try log.verdict(.leave, by: bob) == .broken(.r13))
    }

    @Test func A72_R14_theGenerationIsTheNewest() throws {
        var log = log
        let renewed = try bob.renewCard(time: 5).identity
        try log.add(.renew(RenewBody(renewed.chain.newest)), by: bob)
        #expect(try log.verdict(.leave, by: bob) == .broken(.r14))
        #expect(try log.verdict(.leave, by: renewed, generation: 0) == .broken(.r14))
        #expect(try log.verdict(.leave, by: renewed) == .valid)
    }

    @Test func R15_theRolePermitsTheBody() throws {
        #expect(try log.verdict(.rename(RenameBody(Chronicle.anyName())), by: bob) == .broken(.r15))
    }

    @Test func A71_R16_nothingIsDatedAfterTheAuthorsOwnNotAfter() throws {
        var log = log
        try log.admit(eve, as: .writer, notAfter: 2_000_000_000)
        let renewal = EntryBody.renew(RenewBody(try eve.renewCard(time: 5).identity.chain.newest))
        #expect(try log.verdict(renewal, by: eve, time: 2_000_000_000) == .valid)
        #expect(try log.verdict(renewal, by: eve, time: 2_000_000_001) == .broken(.r16))
        #expect(try log.verdict(.leave, by: eve, time: 2_000_000_001) == .valid)
    }

    @Test func A69_R17_peopleRise() throws {
        let two = rising(try identity("x"), try identity("y")).map(\.chain)
        #expect(try log.verdict(Chronicle.grant([], .reader), by: anna) == .broken(.r17))
        #expect(try log.verdict(Chronicle.grant([two[1], two[0]], .reader), by: anna) == .broken(.r17))
        #expect(try log.verdict(Chronicle.grant([two[0], two[0]], .reader), by: anna) == .broken(.r17))
        #expect(try log.verdict(Chronicle.grant(two, .reader), by: anna) == .valid)
        let epoch = try log.nextEpoch()
        #expect(try log.verdict(.remove(RemoveBody(users: [], epoch: epoch)), by: anna) == .broken(.r17))
        #expect(
            try log.verdict(
                .remove(RemoveBody(users: [bob.user, bob.user], epoch: epoch)), by: anna)
                == .broken(.r17))
    }

    @Test func A69_R18_aMemberIsNotGrantedAgain() throws {
        #expect(try log.verdict(Chronicle.grant([bob.chain], .writer), by: anna) == .broken(.r18))
        #expect(try log.verdict(Chronicle.grant([anna.chain], .owner), by: anna) == .broken(.r18))
    }

    @Test func A52_R19_aGrantKnowsEveryCardTheLogKnows() throws {
        var log = log
        let one = try bob.renewCard(time: 5).identity
        let other = try bob.renewCard(time: 5).identity
        try log.add(.renew(RenewBody(one.chain.newest)), by: bob)
        try log.add(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: anna)
        #expect(try log.verdict(Chronicle.grant([bob.chain], .reader), by: anna) == .broken(.r19))
        #expect(try log.verdict(Chronicle.grant([other.chain], .reader), by: anna) == .broken(.r19))
        #expect(try log.verdict(Chronicle.grant([one.chain], .reader), by: anna) == .valid)
        #expect(try log.verdict(Chronicle.grant([one.renewCard(time: 6).identity.chain], .reader), by: anna) == .valid)
    }

    @Test func A69_R20_anOwnerHasFullHistory() throws {
        #expect(try log.verdict(Chronicle.grant([eve.chain], .owner, fromNow: 2), by: anna) == .broken(.r20))
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Entries that a rule of the log refuses.
    @Suite struct Rules {
        let anna: Identity
        let bob: Identity
        let eve: Identity
        /// Founded by anna; bob is an owner too, eve is not in.
        let log: Chronicle

        init() throws {
            anna = try identity("anna")
            bob = try identity("bob")
            eve = try identity("eve")
            var log = try Chronicle(founder: anna)
            try log.admit(bob, as: .owner)
            self.log = log
        }

        /// Tries to append an entry to a log. Success is that the log accepts it.
        private func expectReal(withoutRule rule: Rule, _ entry: Entry, after log: Chronicle) async {
            await RealAttackTests.expectReal(withoutRule: rule) {
                var fold = Fold(state: log.state)
                try fold.apply(entry.bytes)
                return try fold.state?.head.hash == entry.hash()
            }
        }

        private func expectReal(
            withoutRule rule: Rule, _ body: EntryBody, by author: Identity, after log: Chronicle? = nil
        ) async throws {
            let log = log ?? self.log
            await expectReal(withoutRule: rule, try log.entry(body, by: author), after: log)
        }

        private func genesis(
            _ root: Root, by author: Identity, approvers: [Approver] = [], in tresor: TresorID? = nil
        ) throws -> Entry {
            try Entry(
                tresor: tresor ?? root.tresorID(), sequence: 0, previous: .zero, author: author, time: 1,
                body: .genesis(
                    GenesisBody(
                        root: root, founder: author.chain, approvers: approvers, sealedName: Chronicle.anyName(),
                        epoch: Chronicle.epoch(1))))
        }

        private func expectReal(withoutRule rule: Rule, genesis entry: Entry) async {
            await RealAttackTests.expectReal(withoutRule: rule) {
                try Fold.state(of: [entry.bytes], tresor: entry.tresor).tresor == entry.tresor
            }
        }

        @Test func A55_aTresorIsBegunAgainOrInAnothersName() async throws {
            let root = try Root.make(founder: anna.chain)
            await expectReal(withoutRule: .r7, genesis: try genesis(root, by: anna, in: log.tresor))
            await expectReal(withoutRule: .r8, genesis: try genesis(root, by: eve))
        }

        @Test func A56_anEntryStandsWhereItDoesNotBelong() async throws {
            let other = try Root.make(founder: anna.chain).tresorID()
            let name = EntryBody.rename(RenameBody(try Chronicle.anyName()))
            await expectReal(withoutRule: .r3, try log.entry(name, by: anna, in: other), after: log)
            await expectReal(withoutRule: .r4, try log.entry(name, by: anna, sequence: 7), after: log)
            await expectReal(withoutRule: .r5, try log.entry(name, by: anna, previous: .zero), after: log)
            try await expectReal(withoutRule: .r6, genesis(log.root, by: anna).body, by: anna)
            var forged = try log.entry(name, by: anna).bytes
            forged[forged.count - 1] ^= 1
            await expectReal(withoutRule: .r12, try Entry(forged), after: log)
        }

        @Test func A57_A58_somebodySaysWhatTheyMayNot() async throws {
            var log = log
            try log.admit(eve, as: .reader)
            try await expectReal(withoutRule: .r15, .rename(RenameBody(Chronicle.anyName())), by: eve, after: log)
            let ghost = try identity("ghost")
            try await expectReal(withoutRule: .r15, Chronicle.grant([ghost.chain], .owner), by: eve, after: log)
            try log.add(.remove(RemoveBody(users: [eve.user], epoch: log.nextEpoch())), by: anna)
            try await expectReal(
                withoutRule: .r13, .renew(RenewBody(eve.renewCard(time: 2).identity.chain.newest)), by: eve, after: log)
            // A person without a card in the log adds a member.
            let own = try log.entry(Chronicle.grant([ghost.chain], .owner), by: identity("nobody"))
            await RealAttackTests.expectReal(withoutRule: .r11) {
                var fold = Fold(state: log.state)
                try fold.apply(own.bytes)
                return fold.state?.members[ghost.user] != nil
            }
        }

        @Test func A64_aCoOwnerRemovesTheFounder() async throws {
            try await expectReal(
                withoutRule: .r25, .remove(RemoveBody(users: [anna.user], epoch: log.nextEpoch())), by: bob)
        }

        @Test func A69_absurdActsAreTaken() async throws {
            let two = rising(try identity("x"), try identity("y")).map(\.chain)
            try await expectReal(withoutRule: .r17, Chronicle.grant([two[1], two[0]], .reader), by: anna)
            try await expectReal(withoutRule: .r18, Chronicle.grant([bob.chain], .reader), by: anna)
            try await expectReal(withoutRule: .r20, Chronicle.grant([eve.chain], .owner, fromNow: 2), by: anna)
            try await expectReal(
                withoutRule: .r24, .remove(RemoveBody(users: [eve.user], epoch: log.nextEpoch())), by: anna)
            try await expectReal(
                withoutRule: .r28, .role(RoleBody(user: eve.user, role: .reader, notAfter: nil)), by: anna)
            try await expectReal(
                withoutRule: .r29, .role(RoleBody(user: anna.user, role: .reader, notAfter: nil)), by: bob)
            try await expectReal(
                withoutRule: .r30, .role(RoleBody(user: bob.user, role: .owner, notAfter: nil)), by: anna)
            var late = log
            try late.admit(eve, as: .writer, fromNow: true)
            try await expectReal(
                withoutRule: .r31, .role(RoleBody(user: eve.user, role: .owner, notAfter: nil)), by: anna,
                after: late
            )
        }

        @Test func A69_nobodyIsLeftWhoCouldLetSomebodyIn() async throws {
            var log = log
            try log.add(.leave, by: anna)
            try await expectReal(withoutRule: .r26, .leave, by: bob, after: log)
            try await expectReal(
                withoutRule: .r32, .role(RoleBody(user: bob.user, role: .writer, notAfter: nil)), by: bob,
                after: log)
            // The founder alone may come back, and only as an owner for good.
            try await expectReal(withoutRule: .r21, Chronicle.grant([anna.chain], .reader), by: bob, after: log)
            try log.add(Chronicle.grant([eve.chain], .owner, notAfter: 9_000_000_000), by: bob)
            try await expectReal(
                withoutRule: .r33, .remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: eve,
                after: log)
        }

        @Test func A70_whatALaterReleaseMeansIsSkipped() async throws {
            var unknown = try log.entry(.leave, by: bob).signed
            unknown[unknown.count - 5] = 11
            let entry = try bob.entry(unknown)
            await RealAttackTests.expectReal(withoutRule: .r1) {
                var fold = Fold(state: log.state)
                try fold.apply(entry)
                return fold.state?.head == log.state.head
            }
        }

        @Test func A71_anEntryIsDatedAfterItsAuthorsEnd() async throws {
            var log = log
            try log.admit(eve, as: .writer, notAfter: 2_000_000_000)
            let renewal = EntryBody.renew(RenewBody(try eve.renewCard(time: 5).identity.chain.newest))
            await expectReal(withoutRule: .r16, try log.entry(renewal, by: eve, time: 2_000_000_001), after: log)
        }

        @Test func A72_anOldGenerationStaysInUseAndAForeignCardReplacesIt() async throws {
            let skipped = try bob.renewCard(time: 5).identity.renewCard(time: 6).identity.chain.newest
            let leap = try log.entry(.renew(RenewBody(skipped)), by: bob)
            await RealAttackTests.expectReal(withoutRule: .r27) {
                var fold = Fold(state: log.state)
                try fold.apply(leap.bytes)
                return fold.state?.isRekeyPending == true
            }
            var renewed = log
            try renewed.add(.renew(RenewBody(bob.renewCard(time: 5).identity.chain.newest)), by: bob)
            try await expectReal(withoutRule: .r14, .rename(RenameBody(Chronicle.anyName())), by: bob, after: renewed)
        }

        @Test func A52_aGrantForgetsCardsThatTheLogKnows() async throws {
            var log = log
            try log.add(.renew(RenewBody(bob.renewCard(time: 5).identity.chain.newest)), by: bob)
            try log.add(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: anna)
            try await expectReal(withoutRule: .r19, Chronicle.grant([bob.chain], .reader), by: anna, after: log)
        }

        @Test func A73_moreAreInThanATresorHolds() async throws {
            var state = log.state
            let member = try #require(state.members[bob.user])
            for _ in state.members.count..<LogState.maximumMemberCount {
                state.members[UserID(try anyDigest())] = member
            }
            let entry = try log.entry(Chronicle.grant([eve.chain], .reader), by: anna)
            await RealAttackTests.expectReal(withoutRule: .r22) {
                var fold = Fold(state: state)
                try fold.apply(entry)
                return fold.state?.members[eve.user] != nil
            }
        }

        @Test func A73_moreAreKnownThanALogMayKnow() async throws {
            var state = log.state
            let chain = try #require(state.chains[bob.user])
            for _ in state.chains.count..<LogState.maximumKnownCount { state.chains[UserID(try anyDigest())] = chain }
            let entry = try log.entry(Chronicle.grant([eve.chain], .reader), by: anna)
            await RealAttackTests.expectReal(withoutRule: .r49) {
                var fold = Fold(state: state)
                try fold.apply(entry)
                return fold.state?.members[eve.user] != nil
            }
        }

        @Test func A77_A84_anEpochOutOfTurn() async throws {
            for number in [1, 3] as [UInt64] {
                let epoch = try Chronicle.epoch(number, links: 1)
                try await expectReal(withoutRule: .r23, .epoch(EpochBody(epoch)), by: anna)
                try await expectReal(
                    withoutRule: .r23, .remove(RemoveBody(users: [bob.user], epoch: epoch)), by: anna)
            }
        }

        @Test func A205_aBodyOfNobodyEntitledNamesANewerRelease() async throws {
            let signed = try log.entry(.leave, by: eve).signed.dropLast(6)
            let strange = try eve.entry(signed + bigEndianBytes(UInt16(99)) + bigEndianBytes(UInt32(0)))
            await RealAttackTests.expectReal(.noAccess, without: .authorFirst) { try isOfANewerRelease(strange) }
            // A reader skips the additions of an entitled writer, and no log ends there.
            let additive = try log.entry(.additive(AdditiveBody(type: 128, [1])), by: anna).bytes
            await RealAttackTests.expectReal(nil, without: .additiveBody) { try isOfANewerRelease(additive) }
        }

        private func isOfANewerRelease(_ entry: [UInt8]) throws -> Bool {
            var fold = Fold(state: log.state)
            do throws(TresorError) {
                try fold.apply(entry)
                return false
            } catch {
                guard error == .unsupported else { throw error }
                return true
            }
        }

        @Test func A84_A207_anEpochTakesUpAKeyOfTheLog() async throws {
            let first = try #require(log.state.statement(of: 1))
            let next = try log.nextEpoch()
            let same = Epoch(
                number: 2, contentCommitment: first.contentCommitment, historyCommitment: next.historyCommitment,
                backLink: next.backLink)
            try await expectReal(withoutRule: .r48, .epoch(EpochBody(same)), by: anna)
        }
    }
}

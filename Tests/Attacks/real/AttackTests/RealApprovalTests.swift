// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Entries about people who wait, which a rule of the log refuses.
    @Suite struct Approvals {
        let anna: Identity
        let house: Identity
        let clinic: Identity
        /// Founded by anna; house waits for the clinic.
        let log: Chronicle
        let grant: Hash256

        init() throws {
            anna = try identity("anna")
            house = try identity("house")
            clinic = try identity("clinic")
            var log = try Chronicle(founder: anna)
            try log.add(.approvers(ApproversBody([Approver(clinic.chain)])), by: anna)
            try log.add(.epoch(EpochBody(log.nextEpoch())), by: anna)
            try log.add(Chronicle.grant([house.chain], .reader), by: anna)
            self.log = log
            grant = log.state.head.hash
        }

        private func expectReal(withoutRule rule: Rule, _ entry: Entry, after log: Chronicle) async {
            await RealAttackTests.expectReal(withoutRule: rule) {
                var fold = Fold(state: log.state)
                try fold.apply(entry.bytes)
                return try fold.state?.head.hash == entry.hash()
            }
        }

        private func approval(epoch: UInt64? = nil, in log: Chronicle, isEmpty: Bool = false) throws -> EntryBody {
            let epoch = epoch ?? log.state.epoch
            let release = try Release(
                SecretBytes(count: 32), grant: grant, epoch: epoch, of: log.tresor, for: house.chain.newest,
                user: house.user)
            return .approve(ApproveBody(grant: grant, epoch: epoch, releases: isEmpty ? [] : [release]))
        }

        @Test func A133_anApproverAddsSomebody() async throws {
            let friend = try identity("friend")
            let entry = try log.entry(Chronicle.grant([friend.chain], .owner), by: clinic)
            await expectReal(withoutRule: .r13, entry, after: log)
            let invented = ApproveBody(grant: try anyDigest(), epoch: log.state.epoch, releases: [])
            await expectReal(withoutRule: .r35, try log.entry(.approve(invented), by: clinic), after: log)
        }

        @Test func A134_theStoreApprovesAndReplays() async throws {
            let honest = try log.entry(approval(in: log), by: clinic)
            let forged = try Entry(honest.signed + house.sign(.entrySignature, honest.signed))
            await expectReal(withoutRule: .r12, forged, after: log)
            var refused = log
            try refused.add(.refuse(RefuseBody(grant: grant)), by: clinic)
            let replayed = try refused.entry(approval(in: refused, isEmpty: true), by: clinic)
            await expectReal(withoutRule: .r35, replayed, after: refused)
        }

        @Test func A136_anApprovalOfOtherKeys() async throws {
            await expectReal(
                withoutRule: .r36, try log.entry(approval(epoch: 1, in: log), by: clinic), after: log)
            await expectReal(
                withoutRule: .r37, try log.entry(approval(in: log, isEmpty: true), by: clinic), after: log)
            var renewed = log
            let newer = try clinic.renewCard(time: 9).identity
            try renewed.add(.renew(RenewBody(newer.chain.newest)), by: clinic)
            await expectReal(
                withoutRule: .r14, try renewed.entry(approval(in: renewed), by: clinic, generation: 0), after: renewed)
        }
    }
}

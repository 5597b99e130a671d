// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Bodies unknown to this release (SPEC §9.3): checked after their author, and from 128 on accepted from any permitted
/// writer.
@Suite struct OpaqueBodyTests {
    private var log: Chronicle
    private let anna: Identity
    private let reader: Identity

    init() throws {
        anna = try identity("anna")
        reader = try identity("reader")
        log = try Chronicle(founder: anna)
        try log.admit(reader, as: .reader)
    }

    /// The next entry with any body, signed or not.
    private func entry(_ type: UInt16, by author: Identity, isSigned: Bool = true) throws -> [UInt8] {
        let leave = try log.entry(.leave, by: author)
        let body = [UInt8](repeating: 1, count: 40)
        let signed = Array(leave.signed.dropLast(6)) + bigEndianBytes(type) + bigEndianBytes(UInt32(body.count)) + body
        return isSigned ? try author.entry(signed) : signed + [UInt8](repeating: 0, count: 64)
    }

    private func refusal(_ entry: [UInt8]) -> (error: TresorError?, rule: Rule?) {
        var fold = Fold(state: log.state)
        let error = error { try fold.apply(entry) }
        return (error, fold.brokenRule)
    }

    @Test(arguments: [0, 11, 12, 14, 127] as [UInt16])
    func A205_anUnknownBodyOfNobodyEntitledEndsNoTresor(type: UInt16) throws {
        let stranger = try identity("stranger")
        #expect(refusal(try entry(type, by: stranger)) == (.noAccess, .r11))
        #expect(refusal(try entry(type, by: anna, isSigned: false)) == (.altered, .r12))
        #expect(refusal(try entry(type, by: anna)) == (.unsupported, .r1))
    }

    @Test(arguments: [128, 129, 4711, 65_535] as [UInt16])
    func A205_anAdditiveBodyIsAcceptedFromEveryPermittedWriter(type: UInt16) throws {
        var fold = Fold(state: log.state)
        let bytes = try entry(type, by: anna)
        try fold.apply(bytes)
        let after = try #require(fold.state)
        #expect(after.head == Head(sequence: 2, hash: try Entry(bytes).hash()))
        #expect(after.members == log.state.members && after.epoch == 1 && !after.isRekeyPending)
        // A body that this release knows and cannot read is void.
        #expect(after.floor == 0 && fold.voidRule == (type <= 129 ? .r2 : nil))
        #expect(refusal(try entry(type, by: reader)) == (.noAccess, .r15))
        #expect(refusal(try entry(type, by: identity("stranger"))) == (.noAccess, .r11))
        #expect(refusal(try entry(type, by: anna, isSigned: false)) == (.altered, .r12))
    }

    /// Two programs, one of which knows an additive body, keep states that they do not take for each other's.
    @Test func A205_aSnapshotOfWhoKnewLessIsNone() throws {
        let keeper = try Snapshots(anna)
        let bytes = try keeper.bytes(of: log.state)
        var decoder = ByteDecoder(Array(bytes.dropLast(32)))
        #expect(try LogState(from: &decoder).head == log.state.head)
        var newer = ByteDecoder(Array(bytes.dropLast(32)))
        #expect(error { _ = try LogState(from: &newer, knowing: 130) } == .unsupported)
    }

    @Test func A205_oneRowOfGarbageNamesNoNewerRelease() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let owner = try await world.quick("owner")
        let house = try await world.quick("house")
        try world.introduce(owner, house)
        let tresor = try await owner.tresors.create(Name(typed: "plans")).tresor
        try await owner.share(tresor, with: [house])
        let head = try await owner.client.logs.state(of: tresor).head
        var row = try Entry(
            tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: house.identity, time: 5,
            body: .leave
        ).bytes
        row.replaceSubrange(126..<128, with: [0, 99])
        evil.append(row)
        #expect(await failure { _ = try await owner.client.logs.state(of: tresor) } == .altered)
        evil.behave()
        // The additions of an entitled writer stop nothing, and check names them.
        let additive = try Entry(
            tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: owner.identity, time: 5,
            body: .additive(AdditiveBody(type: 130, [1])))
        let change = LogChange(
            tresor: tresor, sequence: additive.sequence, previous: additive.previous, entry: additive.bytes)
        #expect(try await evil.append(change) == .done)
        try await owner.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let findings = try await owner.client.audit.check([tresor]).map(\.remark)
        #expect(findings.contains(.unknownBody(sequence: 2, type: 130)))
    }

    @Test func A207_aKeyThatTheLogHasHadIsRefusedByTheLogAlone() async throws {
        let first = try #require(log.state.statement(of: 1))
        let next = try log.nextEpoch()
        for (content, history) in [
            (first.contentCommitment, next.historyCommitment), (next.contentCommitment, first.historyCommitment),
        ] {
            let same = Epoch(
                number: 2, contentCommitment: content, historyCommitment: history, backLink: next.backLink)
            #expect(refusal(try log.entry(.epoch(EpochBody(same)), by: anna).bytes) == (.altered, .r48))
        }
        // The commitment of a key is the same in every epoch, so that reuse shows.
        let keys = try EpochKeys(epoch: 1)
        let secret = try keys.secret()
        let again = try EpochKeys(epoch: 2, unwrapped: secret.span)
        let one = try keys.statement(of: log.tresor, linking: [])
        let two = try again.statement(of: log.tresor, linking: [])
        #expect(one.contentCommitment == two.contentCommitment && one.historyCommitment == two.historyCommitment)
    }
}

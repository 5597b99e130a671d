// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The first author of a resealed file is verified as its sealer is (SPEC §10.5).
@Suite struct OriginTests {
    private let world: World
    private let anna: Session
    private let writer: Session
    private let reader: Session
    private let tresor: TresorID

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        writer = try await world.quick("writer")
        reader = try await world.quick("reader")
        try world.introduce(anna, writer, reader)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [writer], as: .writer)
        try await anna.share(tresor, with: [reader])
    }

    /// A content of `writer` at one state, sealed by `anna` at another.
    private func file(writtenAt first: LogState, sealedAt second: LogState) async throws -> SealedFile {
        let content: [UInt8] = [1, 2, 3]
        let header = FileHeader(tresor: tresor, epoch: 1, head: first.head)
        let unsigned = Authorship(header: header, author: writer.identity.user, generation: 0, time: 5)
        let message = FileFields(unsigned, type: .empty, record: .empty, origin: nil)
            .message(contentHash: try ContentHash.hash(content.span))
        let origin = Authorship(
            header: header, author: writer.identity.user, generation: 0, time: 5,
            signature: try writer.identity.sign(.fileSignature, message))
        return try FileSealer.sealFile(
            content, type: .empty, record: .empty, origin: origin, keys: try await anna.keyRing.keys(of: 1, in: second),
            state: second, author: anna.identity, time: 9)
    }

    /// No one can have resealed a content written later.
    @Test func anOriginWithALaterHeadIsAltered() async throws {
        let early = try await anna.client.logs.state(of: tresor)
        let guest = try await world.quick("guest")
        try world.introduce(anna, guest)
        try await anna.share(tresor, with: [guest])
        let late = try await anna.client.logs.state(of: tresor)
        #expect(late.epoch == early.epoch && late.head.sequence == early.head.sequence + 1)
        _ = try await reader.files.open(file(writtenAt: early, sealedAt: late))
        _ = try await reader.files.open(file(writtenAt: late, sealedAt: late))
        #expect(await failure { _ = try await reader.files.open(file(writtenAt: late, sealedAt: early)) } == .altered)
    }

    /// Step 14a: whom this home has compared counts up to the generation that was, as the first author too.
    @Test func anOriginsNewerGenerationIsUnverified() async throws {
        let kit: RecoveryKit? = try RecoveryKit()
        let renewed = try await writer.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        #expect(try await renewed.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        try anna.client.people.pinBlocking(renewed.identity.chain)
        try await anna.tresors.perform(.rotate, on: tresor)
        let file = try await renewed.seal("plan", in: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
        let again = try #require(try await anna.files.reseal(file))
        #expect(await failure { _ = try await reader.files.open(file) } == .unverified)
        #expect(await failure { _ = try await reader.files.open(again) } == .unverified)
        var expecting = Expectations.anyTresor
        expecting.acceptingUnverified = true
        let opened = try await reader.files.open(again, expecting: expecting)
        #expect(opened.origin?.generation == 1 && opened.sealer.user == anna.identity.user)
        try reader.client.people.pinBlocking(renewed.identity.chain)
        #expect(try await reader.files.open(again).content == Array("plan".utf8))
    }
}

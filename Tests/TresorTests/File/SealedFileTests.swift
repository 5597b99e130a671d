// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Invalid files by a holder of the keys.
@Suite struct SealedFileTests {
    let world: World
    let anna: Session
    let writer: Session
    let reader: Session
    let tresor: TresorID
    let state: LogState
    let keys: EpochKeys

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        writer = try await world.quick("writer")
        reader = try await world.quick("reader")
        try world.introduce(anna, writer, reader)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [writer], as: .writer)
        try await anna.share(tresor, with: [reader])
        state = try await anna.client.logs.state(of: tresor)
        keys = try await anna.keyRing.keys(of: 1, in: state)
        for person in [writer, reader] { _ = try await person.client.logs.state(of: tresor) }
    }

    private func head(_ sequence: UInt64) -> Head { Head(sequence: sequence, hash: state.hashes[Int(sequence)]) }

    /// A file by anybody, at any head, with anything in it.
    private func forge(
        by author: Identity, at head: Head? = nil, epoch: UInt64 = 1, claiming user: UserID? = nil,
        generation: UInt32? = nil, time: UInt64 = 5, content: [UInt8] = [1, 2, 3], origin: Authorship? = nil,
        in other: TresorID? = nil, keys: EpochKeys? = nil, edit: (inout [UInt8]) -> Void = { _ in }
    ) throws -> SealedFile {
        let header = FileHeader(tresor: other ?? tresor, epoch: epoch, head: head ?? state.head)
        let authorship = Authorship(
            header: header, author: user ?? author.user, generation: generation ?? author.generation, time: time)
        var payload = try FilePayload.encode(
            FileFields(authorship, type: .empty, record: .empty, origin: origin), content: content, signedBy: author)
        edit(&payload)
        let context = header.bytes
        let keys = keys ?? self.keys
        let sealed = try TC1.seal(payload.span, with: keys.content, label: .fileSeal, context: context.span)
        return try SealedFile(context + sealed)
    }

    private func verdict(_ file: SealedFile) async -> TresorError? {
        let home = anna.home
        let error = await failure { _ = try await anna.files.open(file) }
        #expect(anna.home == home)
        return error
    }

    @Test func A88_aReadersFileIsRefusedByEverybody() async throws {
        let file = try forge(by: reader.identity)
        for person in [anna, writer, reader] {
            #expect(await failure { _ = try await person.files.open(file) } == .noAccess)
        }
        #expect(await verdict(try forge(by: writer.identity)) == nil)
        #expect(await verdict(try forge(by: identity("nobody"))) == .noAccess)
        #expect(await verdict(try forge(by: writer.identity, at: head(0))) == .noAccess)
    }

    @Test func A88_aDemotedWriterIsRefused() async throws {
        try await anna.share(tresor, with: [writer], as: .reader)
        let now = try await anna.client.logs.state(of: tresor)
        #expect(await verdict(try forge(by: writer.identity, at: now.head)) == .noAccess)
        let old = try await anna.files.open(try forge(by: writer.identity))
        #expect(old.author.status == .former(.init(cause: .roleChanged, time: now.headTime)))
    }

    @Test func A89_theEpochIsCurrentAtTheNamedHead() async throws {
        try await anna.tresors.perform(.rotate, on: tresor)
        let now = try await anna.client.logs.state(of: tresor)
        let second = try await anna.keyRing.keys(of: 2, in: now)
        #expect(await verdict(try forge(by: anna.identity, at: now.head)) == .altered)
        #expect(await verdict(try forge(by: anna.identity, epoch: 2, keys: second)) == .altered)
        #expect(await verdict(try forge(by: anna.identity, at: now.head, epoch: 2, keys: second)) == nil)
        for epoch in [0, 3, UInt64.max] {
            #expect(await verdict(try forge(by: anna.identity, epoch: epoch)) == .noAccess)
        }
    }

    @Test func A9_paddingIsReadInOneWayOnly() async throws {
        let count = FilePayload.fixedCount
        for edit: (inout [UInt8]) -> Void in [
            { $0[count + 3] = 1 }, { $0[$0.count - 73] = 1 }, { $0[$0.count - 65] = 4 }, { $0[$0.count - 65] = 2 },
            { $0.insert(contentsOf: [UInt8](repeating: 0, count: 16), at: count + 3) },
            { $0.insert(contentsOf: [UInt8](repeating: 0, count: 512), at: count + 3) },
        ] {
            #expect(await verdict(try forge(by: anna.identity, edit: edit)) == .altered)
        }
        let content = [UInt8](repeating: 7, count: 600)
        #expect(await verdict(try forge(by: anna.identity, content: content)) == nil)
        let shorter = try forge(by: anna.identity, content: content) { $0.remove(at: count + 600) }
        #expect(await verdict(shorter) == .altered)
    }

    @Test(arguments: [513, 1 << 31, 1 << 40, 1 << 63, UInt64.max])
    func A98_lyingLengthsAreAltered(length: UInt64) async throws {
        let file = try forge(by: anna.identity) {
            $0.replaceSubrange(($0.count - 72)..<($0.count - 64), with: bigEndianBytes(length))
        }
        #expect(await verdict(file) == .altered)
    }

    @Test func A63_aHeadCountsOnlyFromSomebodyWhoWrote() async throws {
        let false_ = Head(sequence: 2, hash: try anyDigest())
        let beyond = Head(sequence: .max, hash: state.head.hash)
        #expect(await verdict(try forge(by: writer.identity, at: false_)) == .forked)
        #expect(await verdict(try forge(by: reader.identity, at: false_)) == .noAccess)
        for author in [writer, reader] {
            #expect(await verdict(try forge(by: author.identity, at: beyond)) == .store(.behind))
        }
        #expect(await verdict(try forge(by: anna.identity)) == nil)
        #expect(await verdict(try forge(by: anna.identity, in: TresorID(anyDigest()))) == .noAccess)
    }

    @Test func A94_anotherAuthorCannotBeClaimed() async throws {
        #expect(await verdict(try forge(by: writer.identity, claiming: anna.identity.user)) == .altered)
        #expect(await verdict(try forge(by: writer.identity, generation: 1)) == .noAccess)
        #expect(
            await verdict(
                try forge(by: anna.identity) { bytes in
                    bytes.replaceSubrange((bytes.count - 64)..., with: [UInt8](repeating: 0, count: 64))
                }) == .altered)
        let honest = try forge(by: anna.identity, at: head(2))
        let context = honest.header.bytes
        let sealed = Array(honest.bytes[90...])
        let plain = try TC1.open(
            sealed.span, with: keys.content, label: .fileSeal, context: context.span)
        let header = FileHeader(tresor: tresor, epoch: 1, head: head(1)).bytes
        let moved = try SealedFile(
            header + TC1.seal(plain.span, with: keys.content, label: .fileSeal, context: header.span))
        #expect(await verdict(moved) == .altered)
    }

    @Test func A13_aSignatureOfAnotherKindIsNoFileSignature() async throws {
        let file = try forge(by: anna.identity) { bytes in
            let signature = (try? anna.identity.sign(.entrySignature, bytes)) ?? []
            bytes.replaceSubrange((bytes.count - 64)..., with: signature)
        }
        #expect(await verdict(file) == .altered)
    }

    @Test func A71_aFileDatedAfterItsAuthorsEndIsRefused() async throws {
        let end = world.clock.now + 100
        try await anna.share(tresor, with: [writer], as: .writer, notAfter: end)
        let now = try await anna.client.logs.state(of: tresor)
        #expect(await verdict(try forge(by: writer.identity, at: now.head, time: end)) == nil)
        #expect(await verdict(try forge(by: writer.identity, at: now.head, time: end + 1)) == .noAccess)
        world.clock.advance(by: 101)
        #expect(await failure { _ = try await writer.seal("late", in: tresor) } == .noAccess)
    }

    @Test func A93_expectationsHold() async throws {
        let file = try await anna.seal("x", in: tresor, record: "one")
        let wishes: [(inout Expectations) throws -> Void] = [
            { $0.record = try Name(typed: "two") }, { $0.author = writer.identity.user },
            { $0.tresor = TresorID(try anyDigest()) },
        ]
        for wish in wishes {
            var expecting = Expectations.anyTresor
            try wish(&expecting)
            #expect(await failure { _ = try await reader.files.open(file, expecting: expecting) } == .altered)
        }
        var expecting = Expectations.anyTresor
        expecting.record = try Name(typed: "one")
        expecting.author = anna.identity.user
        expecting.tresor = tresor
        #expect(try await reader.files.open(file, expecting: expecting).record == Name(typed: "one"))
    }

    @Test func A102_theHeaderIsAClaim() async throws {
        let header = FileHeader(
            tresor: TresorID(try anyDigest()), epoch: .max, head: Head(sequence: .max, hash: try anyDigest()))
        let file = try SealedFile(header.bytes + randomBytes(TC1.sealedByteCount(512)))
        #expect(file.header == header)
        #expect(await verdict(file) == .noAccess)
    }

    /// The last byte of a payload is its signature's, which is zero one time in sixteen, and never padding.
    @Test func A9_signaturesThatEndInZeroOpen() throws {
        let header = FileHeader(tresor: tresor, epoch: 1, head: state.head)
        let context = header.bytes
        let author = anna.identity
        let authorship = Authorship(header: header, author: author.user, generation: 0, time: 5)
        let count = LongRun.isOn ? 1000 : 100
        var (opened, number) = (0, UInt64(0))
        while opened < count {
            number += 1
            let content = bigEndianBytes(number)
            let payload = try FilePayload.encode(
                FileFields(authorship, type: .empty, record: .empty, origin: nil), content: content, signedBy: author)
            guard payload.last == 0 else { continue }
            opened += 1
            let file = try SealedFile(
                context + TC1.seal(payload.span, with: keys.content, label: .fileSeal, context: context.span))
            #expect(try FileOpener.openFile(file, with: keys, in: state).content == content)
        }
        #expect((8 * count...32 * count).contains(Int(number)))
    }
}

extension FilePayload {
    /// Bytes before the content when type and record are empty and there is no origin.
    fileprivate static let fixedCount = 32 + 4 + 8 + 2 + 2 + 1
}

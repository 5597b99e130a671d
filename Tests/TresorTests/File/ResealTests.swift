// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Files that were sealed again, and files of people who are no longer in.
@Suite struct ResealTests {
    let world: World
    let anna: Session
    let writer: Session
    let reader: Session
    let tresor: TresorID

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

    @Test func A96_theFirstAuthorStaysThroughEveryResealing() async throws {
        let file = try await writer.seal("plan", in: tresor, record: "r")
        #expect(try await anna.files.reseal(file) == nil)
        try await anna.tresors.perform(.revoke([writer.identity.user]), on: tresor)
        let second = try #require(try await anna.files.reseal(file))
        try await anna.tresors.perform(.rotate, on: tresor)
        let third = try #require(try await anna.files.reseal(second))
        let opened = try await reader.files.open(third)
        #expect(opened.content == Array("plan".utf8))
        #expect(opened.epoch == 3)
        #expect(opened.sealer.user == anna.identity.user)
        #expect(opened.origin?.user == writer.identity.user)
        #expect(opened.author.status == .former(.init(cause: .removed, time: world.clock.now)))
        var expecting = Expectations.anyTresor
        expecting.currentAuthor = true
        #expect(await failure { _ = try await reader.files.open(third, expecting: expecting) } == .noAccess)
        expecting = Expectations.anyTresor
        expecting.author = anna.identity.user
        #expect(await failure { _ = try await reader.files.open(third, expecting: expecting) } == .altered)
        #expect(await failure { _ = try await reader.files.reseal(file) } == .noAccess)
    }

    /// Resealing would move a file past the grant of a member from now on.
    @Test func A210_resealingOpensThePastToNobody() async throws {
        let late = try await world.quick("late")
        try world.introduce(anna, writer, late)
        let old = try await writer.seal("old", in: tresor)
        try await anna.share(tresor, with: [late], fromNow: true)
        let recent = try await writer.seal("recent", in: tresor)
        #expect(await failure { _ = try await anna.files.reseal(old) } == .usage(.newcomers))
        #expect(await failure { _ = try await anna.files.resealingEpoch(of: old) } == .usage(.newcomers))
        #expect(try await anna.files.reseal(recent) == nil)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(state.newcomers(after: 1) == [late.identity.user])
        #expect(state.newcomers(after: 2) == [])
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(await failure { _ = try await writer.files.reseal(old) } == .usage(.newcomers))
        let resealed = try #require(try await anna.files.reseal(recent))
        #expect(try await late.files.open(resealed).content == Array("recent".utf8))
        let stored = try await StoredFile(MemorySource(old.bytes))
        var sink = MemorySink()
        #expect(await failure { _ = try await anna.files.reseal(stored, to: &sink) } == .usage(.newcomers))
        #expect(sink.bytes.isEmpty)
        #expect(await failure { _ = try await anna.files.resealingEpoch(of: stored) } == .usage(.newcomers))
        #expect(try await anna.files.resealingEpoch(of: old, acceptingNewcomers: true) == 3)
        #expect(try await anna.files.resealingEpoch(of: stored, acceptingNewcomers: true) == 3)
        #expect(await failure { _ = try await late.files.open(old) } == .noAccess)
        let accepted = try #require(try await anna.files.reseal(old, acceptingNewcomers: true))
        #expect(try await late.files.open(accepted).content == Array("old".utf8))
        #expect(try await anna.files.reseal(stored, to: &sink, acceptingNewcomers: true) != nil)
        try await anna.tresors.perform(.revoke([late.identity.user]), on: tresor)
        #expect(try await anna.files.reseal(old) != nil)
    }

    @Test func A95_whatARemovedWriterBackdatesIsNeverCurrent() async throws {
        let state = try await writer.client.logs.state(of: tresor)
        let keys = try await writer.keyRing.keys(of: 1, in: state)
        try await anna.tresors.perform(.revoke([writer.identity.user]), on: tresor)
        let now = try await anna.client.logs.state(of: tresor)
        func seal(at state: LogState) throws -> SealedFile {
            try FileSealer.sealFile(
                [1], type: .empty, record: .empty, keys: keys, state: state, author: writer.identity, time: 1)
        }
        #expect(await failure { _ = try await anna.files.open(seal(at: now)) } == .noAccess)
        let backdated = try seal(at: state)
        #expect(
            try await anna.files.open(backdated).author.status == .former(.init(cause: .removed, time: now.headTime)))
        var expecting = Expectations.anyTresor
        expecting.currentAuthor = true
        #expect(await failure { _ = try await anna.files.open(backdated, expecting: expecting) } == .noAccess)
    }

    @Test func standingNamesWhatHappened() async throws {
        let file = try await writer.seal("x", in: tresor)
        #expect(try await anna.files.open(file).author.status == .current)
        try await writer.tresors.perform(.leave, on: tresor)
        let left = try await anna.client.logs.state(of: tresor).headTime
        #expect(try await anna.files.open(file).author.status == .former(.init(cause: .left, time: left)))
        try await anna.share(tresor, with: [writer], as: .reader)
        #expect(try await anna.files.open(file).author.status == .former(.init(cause: .roleChanged, time: left)))
        try await anna.share(tresor, with: [writer], as: .writer)
        #expect(try await anna.files.open(file).author.status == .former(.init(cause: .roleChanged, time: left)))
        let later = try await writer.seal("y", in: tresor)
        #expect(try await anna.files.open(later).author.status == .current)
    }

    /// A return does not restore the status of files sealed before the departure.
    @Test func A208_aReturnMakesNothingCurrentAgain() async throws {
        let file = try await writer.seal("x", in: tresor)
        try await anna.tresors.perform(.revoke([writer.identity.user]), on: tresor)
        let removed = try await anna.client.logs.state(of: tresor).headTime
        world.clock.advance(by: 10)
        try await anna.share(tresor, with: [writer], as: .writer)
        let former = AuthorStatus.former(.init(cause: .removed, time: removed))
        #expect(try await anna.files.open(file).author.status == former)
        var wanted = Expectations.anyTresor
        wanted.currentAuthor = true
        #expect(await failure { _ = try await anna.files.open(file, expecting: wanted) } == .noAccess)
        // Sealed again, it is still of the head at which its author first signed it.
        let resealed = try #require(try await anna.files.reseal(file))
        let opened = try await anna.files.open(resealed)
        #expect(opened.author.status == former && opened.sealer.status == .current)
        #expect(await failure { _ = try await anna.files.open(resealed, expecting: wanted) } == .noAccess)
        let later = try await writer.seal("y", in: tresor)
        #expect(try await anna.files.open(later, expecting: wanted).author.status == .current)
        // A writer who becomes an owner has not gone.
        try await anna.share(tresor, with: [writer], as: .owner)
        #expect(try await anna.files.open(later, expecting: wanted).author.status == .current)
    }

    enum Edit: CaseIterable, Sendable {
        case signature, author, generation, time, head, epoch, tresor, content, record, reader
    }

    @Test(arguments: Edit.allCases) func A94_anOriginIsCheckedLikeAFilesOwnAuthor(edit: Edit) async throws {
        let first = try await writer.client.logs.state(of: tresor)
        let keys = try await writer.keyRing.keys(of: 1, in: first)
        let author = edit == .reader ? reader.identity : writer.identity
        var header = FileHeader(tresor: tresor, epoch: 1, head: first.head)
        if edit == .tresor { header = FileHeader(tresor: TresorID(try anyDigest()), epoch: 1, head: first.head) }
        if edit == .epoch { header = FileHeader(tresor: tresor, epoch: 2, head: first.head) }
        if edit == .head {
            header = FileHeader(tresor: tresor, epoch: 1, head: Head(sequence: 1, hash: try anyDigest()))
        }
        var origin = Authorship(header: header, author: author.user, generation: 0, time: 5)
        let content = edit == .content ? [9] : [1, 2, 3] as [UInt8]
        let record = edit == .record ? try Name(typed: "x") : .empty
        origin.signature = try author.sign(
            .fileSignature,
            FileFields(origin, type: .empty, record: record, origin: nil)
                .message(contentHash: ContentHash.hash(content.span)))
        origin = Authorship(
            header: origin.header, author: edit == .author ? anna.identity.user : origin.author,
            generation: edit == .generation ? 1 : 0, time: edit == .time ? 6 : 5,
            signature: edit == .signature ? flipped(origin.signature, 77) : origin.signature)
        let file = try FileSealer.sealFile(
            [1, 2, 3], type: .empty, record: .empty, origin: origin, keys: keys, state: first, author: anna.identity,
            time: 9)
        let expected: TresorError =
            switch edit {
            case .generation, .reader: .noAccess
            case .head: .forked
            default: .altered
            }
        #expect(await failure { _ = try await reader.files.open(file) } == expected)
    }
}

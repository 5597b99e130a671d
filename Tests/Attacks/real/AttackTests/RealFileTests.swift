// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Bytes that an attacker replaces.
private final class ExchangedSource: SealedSource {
    let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }

    var byteCount: Int { bytes.withLock { $0.count } }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        try MemorySource(bytes.withLock { $0 }).read(from: offset, into: &output)
    }
}

extension RealAttackTests {
    /// The sealed file.
    @Suite struct Files {
        /// Work on other threads counts too, and its checks are disabled too.
        @Test func theCountersSeeAllCores() async throws {
            let scene = try await Scene()
            let contents = (0..<40).map { NamedContent([UInt8($0)], type: .empty) }
            let watched = Experiment()
            let files = try await Experiment.$current.withValue(watched) {
                try await scene.bob.files.seal(contents, in: scene.tresor)
            }
            #expect(watched.counts.signatures == 40)
            let reading = Experiment()
            let opened = await Experiment.$current.withValue(reading) { await scene.house.files.open(files) }
            #expect(opened.count == 40)
            #expect(reading.counts.releasedBytes == 40)
            let crowd = try (0..<20).map { try identity("person \($0)").chain }
            for chain in crowd { try scene.anna.client.people.pinBlocking(chain) }
            let sharing = Experiment()
            let act = Act.share(with: crowd, role: .reader, fromNow: false, notAfter: nil)
            _ = try await Experiment.$current.withValue(sharing) {
                try await scene.anna.tresors.perform(act, on: scene.tresor)
            }
            #expect(sharing.counts.wraps == 20)
            #expect(sharing.counts.signatures == 1)
        }

        @Test func A210_resealingOpensThePastToANewcomer() async throws {
            let scene = try await Scene()
            let (anna, mallory) = (scene.anna, scene.mallory)
            let file = try await anna.seal("earlier", in: scene.tresor)
            try anna.client.people.pinBlocking(mallory.identity.chain)
            try await anna.share(scene.tresor, with: [mallory], fromNow: true)
            // A person who reseals a file has read it.
            await RealAttackTests.expectReal(.usage(.newcomers), without: .newcomers, against: [anna], isLate: true) {
                let resealed = try #require(try await anna.files.reseal(file))
                return try await mallory.files.open(resealed).content == Array("earlier".utf8)
            }
        }

        @Test func A6_whatWasVerifiedIsExchangedBeforeItIsRead() async throws {
            let scene = try await Scene()
            let (state, keys) = (try await scene.state, try await scene.keys(1))
            let good = try scene.forge(by: scene.bob, at: state, keys: keys)
            let context = good.header.bytes
            let sealed = good.bytes.span.extracting(FileHeader.byteCount..<good.bytes.count)
            var payload = try TC1.open(sealed, with: keys.content, label: .fileSeal, context: context.span)
            payload[Scene.fieldsByteCount] = 9
            // With the key and the salt of the message, a reader can exchange what lies there.
            let salt = Array(good.bytes[FileHeader.byteCount..<(FileHeader.byteCount + TC1.saltByteCount)])
            let evil = try TC1.seal(
                payload.span, with: keys.content, label: .fileSeal, context: context.span, salt: salt)
            await RealAttackTests.expectReal(.altered, without: .verifiedPart, isLate: true) {
                let source = ExchangedSource(good.bytes)
                let verified = try await scene.house.files.verify(StoredFile(source))
                source.bytes.withLock { $0 = context + evil }
                return try await verified.read(0..<1) == [9]
            }
        }

        @Test func A71_aFileIsDatedAfterItsAuthorsEnd() async throws {
            let scene = try await Scene()
            let end = scene.world.clock.now + 100
            try await scene.anna.share(scene.tresor, with: [scene.bob], as: .writer, notAfter: end)
            try await scene.settle()
            let file = try scene.forge(
                by: scene.bob, at: try await scene.state, keys: try await scene.keys(1), time: end + 1)
            await RealAttackTests.expectReal(.noAccess, without: .fileDate, against: [scene.house]) {
                try await scene.house.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A72_anOldGenerationWrites() async throws {
            let scene = try await Scene()
            let next = try scene.bob.identity.renewCard(time: 2).identity
            try await scene.append(.renew(RenewBody(next.chain.newest)), by: scene.bob)
            try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
            try await scene.settle()
            let file = try scene.forge(by: scene.bob, at: try await scene.state, keys: try await scene.keys(2))
            await RealAttackTests.expectReal(.noAccess, without: .fileGeneration, against: [scene.house]) {
                try await scene.house.files.open(file).content == [1, 2, 3]
            }
        }

        @Test func A92_theHeaderIsEdited() async throws {
            let scene = try await Scene()
            let (state, keys) = (try await scene.state, try await scene.keys(1))
            func moved() throws -> [UInt8] {
                let file = try scene.forge(by: scene.anna, at: state, keys: keys)
                let first = Head(sequence: 0, hash: state.hashes[0])
                let header = FileHeader(tresor: scene.tresor, epoch: 1, head: first)
                return header.bytes + file.bytes[FileHeader.byteCount...]
            }
            let bound = try moved()
            let bare = try Experiment.$current.withValue(Experiment(applying: [.sealContext])) { try moved() }
            await RealAttackTests.expectReal(.altered, without: .sealContext, .signature, against: [scene.house]) {
                let file = try SealedFile(Mutation.sealContext.isApplied ? bare : bound)
                return try await scene.house.files.open(file).sealer.head.sequence == 0
            }
        }

        @Test func A93_anotherFileIsServed() async throws {
            let scene = try await Scene()
            let file = try await scene.bob.seal("other", in: scene.tresor, record: "other.json")
            var record = Expectations.anyTresor
            record.record = try Name(typed: "plan.json")
            var author = Expectations.anyTresor
            author.author = scene.anna.identity.user
            var tresor = Expectations.anyTresor
            tresor.tresor = TresorID(try anyDigest())
            for expecting in [record, author, tresor] {
                await RealAttackTests.expectReal(.altered, without: .expectation, against: [scene.house]) {
                    try await scene.house.files.open(file, expecting: expecting).content == Array("other".utf8)
                }
            }
        }

        @Test func A94_anotherAuthorIsClaimed() async throws {
            let scene = try await Scene()
            let user = scene.bob.identity.user
            let file = try scene.forge(by: scene.mallory, at: try await scene.state, keys: try await scene.keys(1)) {
                $0.replaceSubrange(0..<32, with: user.digest.bytes)
            }
            await RealAttackTests.expectReal(.altered, without: .signature, against: [scene.house]) {
                try await scene.house.files.open(file).author.user == user
            }
        }

        @Test func A95_A96_aRemovedWriterWritesOn() async throws {
            let scene = try await Scene()
            let (anna, bob, house) = (scene.anna, scene.bob, scene.house)
            let old = try await bob.seal("old", in: scene.tresor)
            try await anna.tresors.perform(.revoke([bob.identity.user]), on: scene.tresor)
            try await scene.settle()
            let late = try scene.forge(by: bob, at: try await scene.state, keys: try await scene.keys(2))
            await RealAttackTests.expectReal(.noAccess, without: .fileRole, against: [house]) {
                try await house.files.open(late).content == [1, 2, 3]
            }
            let laundered = try #require(try await anna.files.reseal(old))
            var current = Expectations.anyTresor
            current.currentAuthor = true
            for file in [old, laundered] {
                await RealAttackTests.expectReal(.noAccess, without: .currentAuthor, against: [house]) {
                    try await house.files.open(file, expecting: current).content == Array("old".utf8)
                }
            }
        }

        @Test func A208_aReturnMakesAnOldFileCurrent() async throws {
            let scene = try await Scene()
            let file = try await scene.bob.seal("old", in: scene.tresor)
            try await scene.anna.tresors.perform(.revoke([scene.bob.identity.user]), on: scene.tresor)
            try await scene.anna.share(scene.tresor, with: [scene.bob], as: .writer)
            try await scene.settle()
            var current = Expectations.anyTresor
            current.currentAuthor = true
            await RealAttackTests.expectReal(.noAccess, without: .unbrokenTime, against: [scene.house]) {
                try await scene.house.files.open(file, expecting: current).content == Array("old".utf8)
            }
        }

        @Test func A98_aFileLiesAboutItsLength() async throws {
            let scene = try await Scene()
            let content = [UInt8](repeating: 0, count: 600)
            let file = try scene.forge(
                by: scene.bob, at: try await scene.state, keys: try await scene.keys(1), content: content
            ) {
                $0.replaceSubrange(($0.count - 72)..<($0.count - 64), with: bigEndianBytes(UInt64(10)))
            }
            await RealAttackTests.expectReal(.altered, without: .paddedLength, .signature, against: [scene.house]) {
                try await scene.house.files.open(file).content.count == 10
            }
        }
    }
}

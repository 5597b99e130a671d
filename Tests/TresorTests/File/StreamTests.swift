// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Files that do not pass through memory as a whole.
@Suite struct StreamTests {
    let world: World
    let anna: Session
    let reader: Session
    let tresor: TresorID
    let state: LogState
    let keys: EpochKeys

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        reader = try await world.quick("reader")
        try world.introduce(anna, reader)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [reader])
        state = try await anna.client.logs.state(of: tresor)
        keys = try await anna.keyRing.keys(of: 1, in: state)
        _ = try await reader.client.logs.state(of: tresor)
    }

    /// Around chunks, parts, pieces, and where fields and tail straddle them.
    static let sizes: [Int] = {
        let chunk = TC1.chunkByteCount
        let piece = ChunkBuffer.byteCount
        let fields = 49 + 10
        let edges = [0, chunk, 2 * chunk, piece, 2 * piece, 3 * piece + chunk]
        let offsets = [-73, -72, -1, 0, 1, 71, 72, 73]
        let sizes = edges.flatMap { edge in offsets.flatMap { [edge + $0, edge + $0 - fields] } }
        return Array(Set(sizes + [5_000_000])).filter { $0 >= 0 }.sorted()
    }()

    private static let noise: [UInt8] = {
        var state: UInt64 = 1
        return (0..<5_000_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }()

    private func content(_ count: Int) -> [UInt8] { Array(Self.noise.suffix(count)) }

    private func fields(by author: Identity, origin: Authorship? = nil) throws -> FileFields {
        let header = FileHeader(tresor: tresor, epoch: 1, head: state.head)
        let authorship = Authorship(header: header, author: author.user, generation: 0, time: 5)
        return FileFields(authorship, type: try Name(typed: "text/plain"), record: .empty, origin: origin)
    }

    /// Sealed in one piece.
    private func sealed(
        _ content: [UInt8], by author: Identity, salt: [UInt8]? = nil, edit: (inout [UInt8]) -> Void = { _ in }
    ) throws -> [UInt8] {
        let fields = try fields(by: author)
        var payload = try FilePayload.encode(fields, content: content, signedBy: author)
        edit(&payload)
        let context = fields.authorship.header.bytes
        return try context
            + TC1.seal(
                payload.span, with: keys.content, label: .fileSeal, context: context.span,
                salt: salt ?? randomBytes(24))
    }

    @Test func sealedAsStreamAndInOnePieceTheBytesAreEqual() async throws {
        let salt = try randomBytes(24)
        for size in Self.sizes {
            let content = content(size)
            let fields = try fields(by: anna.identity)
            let context = fields.authorship.header.bytes
            var sealing = try TC1.Sealing(with: keys.content, label: .fileSeal, context: context.span, salt: salt)
            var source = MemorySource(content)
            var sink = MemorySink()
            let stream = try await FileSealer.sealFile(&source, to: &sink, fields, &sealing, author: anna.identity)
            let whole = try sealed(content, by: anna.identity, salt: salt)
            #expect(sink.bytes == whole, "\(size)")
            #expect(stream.contentByteCount == size)
            #expect(stream.byteCount == whole.count)
        }
    }

    @Test func openedAsStreamTheContentIsEqual() async throws {
        for size in Self.sizes {
            let content = content(size)
            let bytes = try sealed(content, by: anna.identity)
            var sink = MemorySink()
            let verified = try await reader.files.open(StoredFile(MemorySource(bytes)), to: &sink)
            #expect(sink.bytes == content, "\(size)")
            let opened = try await reader.files.open(SealedFile(bytes))
            #expect(opened.content == content)
            #expect(verified.proof == opened.proof)
        }
    }

    @Test func aSequenceOfAnyGrainIsSealed() async throws {
        let content = content(1_200_000)
        for grain in [1000, 65536, 600_000, 2_000_000] {
            let parts = stride(from: 0, to: content.count, by: grain).map {
                Array(content[$0..<min($0 + grain, content.count)])
            }
            var source = SequenceSource(
                AsyncStream { continuation in
                    for part in parts + [[]] { continuation.yield(part) }
                    continuation.finish()
                })
            var sink = MemorySink()
            _ = try await anna.files.seal(&source, to: &sink, type: Name(typed: "text/plain"), in: tresor)
            #expect(try await reader.files.open(SealedFile(sink.bytes)).content == content)
        }
    }

    @Test func rangesAreEqualToTheFullRead() async throws {
        for size in [1, 70_000, 1_500_000] {
            let content = content(size)
            let file = try await StoredFile(MemorySource(try sealed(content, by: anna.identity)))
            let verified = try await reader.files.verify(file)
            var generator = SeededGenerator(seed: LongRun.seed)
            let edges = [0, 1, 65535, 65536, 65537, size - 1, size].filter { (0...size).contains($0) }
            let random = (0..<40).map { _ in Int.random(in: 0...size, using: &generator) }
            for start in edges + random {
                let end = Int.random(in: start...size, using: &generator)
                #expect(try await verified.read(start..<end) == Array(content[start..<end]))
            }
            #expect(try await verified.read(0..<size) == content)
            #expect(await failure { _ = try await verified.read(0..<(size + 1)) } == .usage(.outOfBounds))
            #expect(await failure { _ = try await verified.read(-1..<1) } == .usage(.outOfBounds))
        }
    }

    @Test func A6_aPartChangedAfterVerificationIsRefused() async throws {
        let bytes = try sealed(content(1_000_000), by: anna.identity)
        let source = ChangingSource(bytes)
        let verified = try await reader.files.verify(StoredFile(source))
        #expect(try await verified.read(300_000..<300_010).count == 10)
        source.change { $0[90 + 56 + 5 * 65552 + 100] ^= 1 }
        #expect(await failure { _ = try await verified.read(330_000..<330_010) } == .altered)
        #expect(try await verified.read(0..<10).count == 10)
        // A part that is genuine, sealed by a holder of the key under the same message key, but not the part that was
        // verified.
        let other = try sealed(content(1_000_001), by: anna.identity, salt: Array(bytes[90..<114]))
        source.change { $0 = other }
        #expect(await failure { _ = try await verified.read(0..<10) } == .altered)
        source.change { $0 = bytes }
        #expect(try await verified.read(330_000..<330_010).count == 10)
    }

    @Test func A6_nothingIsReleasedWhenTheLastCheckFails() async throws {
        let content = content(1_300_000)
        let whole = try sealed(content, by: anna.identity)
        let start = try fields(by: anna.identity).bytes.count
        var damaged: [([UInt8], TresorError)] = [
            (Array(whole.dropLast()), .altered), (whole + [0], .altered), (whole.dropLast(65552) + [], .altered),
            (try sealed(content, by: anna.identity) { $0[$0.count - 1] ^= 1 }, .altered),
            (try sealed(content, by: anna.identity) { $0[$0.count - 70] ^= 1 }, .altered),
            (try sealed(content, by: anna.identity) { $0[$0.count - 73] = 1 }, .altered),
            (try sealed(content, by: anna.identity) { $0[start + content.count] = 1 }, .altered),
            (try sealed(content, by: anna.identity) { $0[start + 700_000] ^= 1 }, .altered),
            (try sealed(content, by: reader.identity), .noAccess),
            (try sealed(content, by: identity("nobody")), .noAccess),
        ]
        for place in [90, 113, 114, 146, 90 + 56 + 65551, whole.count - 65552, whole.count - 1] {
            var bytes = whole
            bytes[place] ^= 1
            damaged.append((bytes, .altered))
        }
        for (number, (bytes, error)) in damaged.enumerated() {
            let released = await failure { _ = try await anna.files.verify(StoredFile(MemorySource(bytes))) }
            #expect(released == error, "\(number)")
            #expect(await failure { _ = try await anna.files.open(SealedFile(bytes)) } == error, "\(number)")
        }
        #expect(await failure { _ = try await anna.files.verify(StoredFile(MemorySource(whole))) } == nil)
        var expecting = Expectations.anyTresor
        expecting.record = try Name(typed: "another")
        #expect(
            await failure { _ = try await anna.files.verify(StoredFile(MemorySource(whole)), expecting: expecting) }
                == .altered)
    }

    @Test func resealedAsStreamTheFirstAuthorStays() async throws {
        let content = content(900_000)
        let file = try await StoredFile(MemorySource(try sealed(content, by: anna.identity)))
        var sink = MemorySink()
        let untouched = try await anna.files.reseal(file, to: &sink)
        #expect(untouched == nil && sink.bytes.isEmpty)
        try await anna.tresors.perform(.rotate, on: tresor)
        #expect(try await anna.files.resealingEpoch(of: file) == 2)
        let stream = try await anna.files.reseal(file, to: &sink)
        #expect(stream?.header.epoch == 2)
        let opened = try await reader.files.open(SealedFile(sink.bytes))
        #expect(opened.content == content)
        #expect(opened.origin?.user == anna.identity.user)
        #expect(opened.author.time == 5)
    }

    @Test func failuresOfSourceAndSinkComeThrough() async throws {
        let content = content(3_000_000)
        let broken = SequenceSource(
            AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(content)
                continuation.finish(throwing: TresorError.failed(.readOnly))
            })
        #expect(await sealing(broken, to: MemorySink()) == .failed(.readOnly))
        #expect(await sealing(MemorySource(content), to: FullSink(room: 700_000)) == .failed(.full))
        #expect(await sealing(MemorySource(content), to: FullSink(room: 4_000_000)) == nil)
        let file = try await StoredFile(MemorySource(try sealed(content, by: anna.identity)))
        var sink = FullSink(room: 700_000)
        do throws(TresorError) {
            _ = try await anna.files.open(file, to: &sink)
            Issue.record("it fits")
        } catch {
            #expect(error == .failed(.full))
        }
    }

    /// All buffers of the pipeline wait for their bytes at once, and there are more of them than threads.
    @Test func aSourceThatWaitsHoldsUpNoThread() async throws {
        let count = Cores.count + 2
        let content = content((count + 1) * ChunkBuffer.byteCount)
        let source = DistantSource(try sealed(content, by: anna.identity), readers: count)
        let verified = try await reader.files.verify(StoredFile(source))
        #expect(verified.proof.contentByteCount == content.count)
        #expect(try await verified.read(70_000..<70_100) == Array(content[70_000..<70_100]))
    }

    private func sealing(_ source: some ContentSource, to sink: some ByteSink) async -> TresorError? {
        var source = source
        var sink = sink
        do throws(TresorError) {
            _ = try await FileSealer.sealFile(
                &source, to: &sink, type: .empty, record: .empty, keys: keys, state: state, author: anna.identity,
                time: 5)
            return nil
        } catch {
            return error
        }
    }
}

/// A file that changes while it is used.
private final class ChangingSource: SealedSource {
    private let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }

    var byteCount: Int { bytes.withLock { $0.count } }

    func change(_ edit: (inout [UInt8]) -> Void) { bytes.withLock { edit(&$0) } }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        try MemorySource(bytes.withLock { $0 }).read(from: offset, into: &output)
    }
}

/// A source that sends the first pieces when so many of them are asked for at once.
private final class DistantSource: SealedSource {
    private actor Gate {
        private let width: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var isOpen = false

        init(width: Int) { self.width = width }

        func pass() async {
            guard !isOpen, waiting.count + 1 < width else {
                isOpen = true
                for waiter in waiting { waiter.resume() }
                waiting = []
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private let base: MemorySource
    private let gate: Gate

    init(_ bytes: [UInt8], readers: Int) {
        base = MemorySource(bytes)
        gate = Gate(width: readers)
    }

    var byteCount: Int { base.byteCount }

    func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError) {
        if output.freeCapacity > ChunkBuffer.byteCount { await gate.pass() }
        try base.read(from: offset, into: &output)
    }
}

/// A disk with little room.
private struct FullSink: ByteSink {
    var room: Int

    mutating func write(_ bytes: Span<UInt8>) throws(TresorError) {
        room -= bytes.count
        guard room >= 0 else { throw .failed(.full) }
    }
}

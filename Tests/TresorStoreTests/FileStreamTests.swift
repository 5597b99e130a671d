// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// Files as sources and sinks.
@Suite struct FileStreamTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// The sizes around the pieces that are read at once.
    @Test(arguments: [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
    func aFileGoesThroughATresor(_ count: Int) async throws {
        let cast = PreviewCast()
        let anna = try await cast.person("anna")
        let plans = try await cast.tresor("plans", of: anna).id
        let content = random(count)
        try write(content, to: scratch["plan"])
        var source = try FileSource(at: scratch["plan"])
        #expect(source.byteCount == count)
        var sink = try FileSink(at: scratch["plan.tresor"])
        let stream = try await anna.files.seal(&source, to: &sink, type: Name(typed: "text/plain"), in: plans)
        #expect(try scratch.names.contains("plan.tresor") == false)
        try await sink.commit()
        let sealed = try await SealedFileSource(at: scratch["plan.tresor"])
        #expect(sealed.byteCount == stream.byteCount)
        let verified = try await anna.files.verify(StoredFile(sealed), expecting: Expectations(tresor: plans))
        var opened = VerifiedContent(verified)
        let copy = try FileSink(at: scratch["copy"])
        try await copy.write(contentOf: &opened)
        try await copy.commit()
        #expect(try bytes(at: scratch["copy"]) == content)
        #expect(try scratch.names == ["copy", "plan", "plan.tresor"])
    }

    @Test func anArmouredFileIsReadAsItsBinaryForm() async throws {
        let binary = random(100_000)
        try write(Armour.file.armour(binary), to: scratch["text"])
        let source = try await SealedFileSource(at: scratch["text"])
        #expect(source.byteCount == binary.count)
        #expect(try await read(source, 50_000..<50_100) == Array(binary[50_000..<50_100]))
        #expect(try await read(source, 0..<binary.count) == binary)
    }

    @Test func aFileThatBecameShorterIsAltered() async throws {
        try write(random(1000), to: scratch["file"])
        let source = try await SealedFileSource(at: scratch["file"])
        #expect(truncate(scratch["file"], 500) == 0)
        #expect(await errorOf { _ = try await read(source, 0..<1000) } == .altered)
        #expect(try await read(source, 0..<500).count == 500)
    }

    @Test func aSinkWithoutACommitLeavesNothing() throws {
        do {
            let sink = try FileSink(at: scratch["file"])
            try sink.write([1, 2, 3].span)
            #expect(try scratch.names.count == 1)
        }
        #expect(try scratch.names == [])
    }

    @Test func anExistingFileIsReplacedAtTheEnd() async throws {
        try write([9], to: scratch["file"])
        let sink = try FileSink(at: scratch["file"])
        try sink.write([1].span)
        try sink.write([2].span)
        #expect(try bytes(at: scratch["file"]) == [9])
        try await sink.commit()
        #expect(try bytes(at: scratch["file"]) == [1, 2])
        #expect(try mode(of: scratch["file"]) == 0o600)
        #expect(throws: TresorError.usage(.outOfOrder)) { try sink.write([3].span) }
        await #expect(throws: TresorError.usage(.outOfOrder)) { try await sink.commit() }
    }

    @Test func whatIsMissingOrNoFileHasItsError() async throws {
        let (missing, inside) = (scratch["none"], scratch["none/file"])
        #expect(await errorOf { _ = try FileSource(at: missing) } == .notFound)
        #expect(await errorOf { _ = try await SealedFileSource(at: missing) } == .notFound)
        #expect(await errorOf { _ = try FileSink(at: inside) } == .notFound)
        let directory = scratch.path
        #expect(await errorOf { _ = try FileSource(at: directory) } == .failed(.inputOutput))
        #expect(await errorOf { _ = try await SealedFileSource(at: directory) } == .failed(.inputOutput))
        #expect(await errorOf { _ = try FileSink(at: directory) } == .failed(.inputOutput))
        #expect(await errorOf { _ = try await SealedFileSource(at: "/dev/null") } == .failed(.inputOutput))
        #expect(try FileSource(at: "/dev/null").byteCount == nil)
    }

    private func read(_ source: some SealedSource, _ range: Range<Int>) async throws(TresorError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 1)
        defer { buffer.deallocate() }
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        try await source.read(from: range.lowerBound, into: &output)
        return Array(buffer[..<output.byteCount])
    }
}

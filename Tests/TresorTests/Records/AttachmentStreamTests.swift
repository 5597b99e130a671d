// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Contents as streams, as an app has them: from a file, and into one (SPEC §19.7).
@Suite struct AttachmentStreamTests {
    private typealias Scene = AttachmentScene

    private let folder = FileManager.default.temporaryDirectory.appending(path: "tresor-stream-\(UUID())")

    private func path(_ name: String) throws -> String {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appending(path: name).path(percentEncoded: false)
    }

    @Test(arguments: [0, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 3_000_000])
    func aFileBecomesARecordAndAFileAgain(_ count: Int) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let scene = try await Scene()
        let content = Scene.content(count)
        try Data(content).write(to: URL(filePath: try path("scan")))
        var source = try FileSource(at: try path("scan"))
        try await scene.records.attachments.put("scan", &source, type: "image/png")
        // Before it is sent, it is read from the home.
        var mine = try FileSink(at: try path("mine"))
        let unsent = try await scene.records.attachments.get("scan", to: &mine)
        try await mine.commit()
        #expect(unsent.revision == nil && unsent.type == "image/png")
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(try await scene.newest().count == (count > 65_536 ? 2 : 1))
        let second = scene.device(scene.other)
        _ = try await second.sync()
        var theirs = try FileSink(at: try path("theirs"))
        let sent = try await second.attachments.get("scan", to: &theirs)
        try await theirs.commit()
        #expect(sent.author == scene.anna.user && sent.revision != nil)
        for name in ["mine", "theirs"] {
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: try path(name))))
            #expect(bytes == content)
        }
    }

    /// Each version is written by itself.
    @Test func everyVersionIsRead() async throws {
        let scene = try await Scene()
        let contents = [Scene.content(70_000, 1), Scene.content(80_000, 2)]
        try await scene.records.put("scan", contents[0])
        try await scene.theirs.put("scan", contents[1])
        _ = try await scene.records.sync()
        _ = try await scene.theirs.sync()
        _ = try await scene.records.sync()
        var found: [[UInt8]] = []
        for version in try await scene.records.versions(of: "scan") {
            var sink = MemorySink()
            try await scene.records.attachments.get(version, to: &sink)
            found.append(sink.bytes)
        }
        #expect(Set(found) == Set(contents))
    }

    /// One author has the handle of somebody else who was compared. The version of the other one is read.
    @Test func aVersionThatCannotBeReadKeepsNoOtherBack() async throws {
        let scene = try await Scene()
        let carl = try await scene.world.quick("carl")
        try scene.world.introduce(scene.anna, carl)
        let namesake = try Identity.make(handle: try Name(typed: "carl"), time: scene.world.clock.now)
        try scene.house.client.people.pinBlocking(namesake.chain)
        try await scene.anna.share(scene.tresor, with: [carl], as: .writer)
        let his = carl.records(in: scene.tresor)
        try await scene.records.put("scan", Scene.content(70_000, 1))
        try await his.put("scan", Scene.content(70_000, 2))
        _ = try await scene.records.sync()
        _ = try await his.sync()
        _ = try await scene.theirs.sync()
        #expect(await failure { _ = try await scene.theirs.versions(of: "scan") } == .unverified)
        var (authors, errors): ([UserID], [TresorError]) = ([], [])
        for version in try await scene.theirs.readings(of: "scan") {
            do throws(TresorError) {
                authors.append(try await version.record().author)
            } catch {
                errors.append(error)
            }
        }
        #expect(authors == [scene.anna.user] && errors == [.unverified])
    }

    /// A fault that no content could mend is refused before any of it is read.
    @Test func refusalsComeBeforeTheContent() async throws {
        let scene = try await Scene()
        func refused(_ records: Records, _ name: String, _ type: String) async -> TresorError? {
            var source = UnreadSource()
            do throws(TresorError) {
                try await records.attachments.put(name, &source, type: type)
                return nil
            } catch {
                return error
            }
        }
        #expect(await refused(scene.records, "scan", "tresor/pack") == .usage(.nameCharacters))
        #expect(await refused(scene.records, "tresor/scan", "") == .usage(.nameCharacters))
        #expect(await refused(scene.records, "", "") == .usage(.nameEmpty))
        let bob = try await scene.world.quick("bob")
        try scene.world.introduce(scene.anna, bob)
        try await scene.anna.share(scene.tresor, with: [bob], as: .reader)
        #expect(await refused(bob.records(in: scene.tresor), "scan", "") == .noAccess)
        let changes = [RecordChange.put("scan", [UInt8](), type: "")]
        let busy = await failure { try await scene.records.attachments.check(changes, ifShown: ["scan": 7]) }
        #expect(busy == .busy)
        let fine = await failure { try await scene.records.attachments.check(changes, ifShown: ["scan": nil]) }
        #expect(fine == nil)
        #expect(scene.isClean())
    }

    /// A source that fails leaves nothing, and a sink that fails gets nothing more.
    @Test func failuresLeaveNothing() async throws {
        let scene = try await Scene()
        var source = UnreadSource()
        let broken = await failure { try await scene.records.attachments.put("scan", &source) }
        #expect(broken == .failed(.inputOutput))
        #expect(scene.isClean())
        try await scene.records.put("scan", Scene.content(3_000_000))
        _ = try await scene.records.sync()
        var sink = FullSink(room: 300_000)
        let full = await failure { _ = try await scene.records.attachments.get("scan", to: &sink) }
        #expect(full == .failed(.full))
        #expect(await failure { _ = try await scene.records.attachments.get("film", to: &sink) } == .notFound)
    }

    /// Where as many contents wait as there may be, the next one says so.
    @Test func oneContentTooManyIsNamed() async throws {
        let scene = try await Scene()
        try await scene.records.outbox.change { (outbox) throws(TresorError) in
            for number in UInt16(1)...1023 { outbox[HeldNumber(number, mark: 7)] = .content(byteCount: 70_000) }
        }
        var source = MemorySource(Scene.content(70_000))
        let error = await failure { _ = try await scene.records.attachments.hold(&source) }
        #expect(error == .usage(.tooManyContents))
    }
}

/// A content that cannot be read.
private struct UnreadSource: ContentSource {
    mutating func read(into output: inout OutputRawSpan) throws(TresorError) { throw .failed(.inputOutput) }
}

/// A sink that takes some bytes.
private struct FullSink: DraftSink {
    var room: Int

    mutating func write(_ bytes: Span<UInt8>) throws(TresorError) {
        guard bytes.count <= room else { throw .failed(.full) }
        room -= bytes.count
    }
}

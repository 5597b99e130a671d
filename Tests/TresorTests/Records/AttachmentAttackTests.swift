// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Attachments that the store or their author exchanges, cuts or withholds (SPEC §19.2).
@Suite struct AttachmentAttackTests {
    private typealias Scene = AttachmentScene

    /// A second device, which has the packs of three attachments, and these: two versions of a record, and another one.
    private func readers(_ scene: Scene) async throws -> (device: Records, blobs: [Blob]) {
        var blobs: [Blob] = []
        for (name, mark) in [("scan", 1), ("film", 2), ("scan", 3)] as [(String, UInt8)] {
            try await scene.records.put(name, Scene.content(600_000, mark), type: "image/png")
            _ = try await scene.records.sync()
            blobs.append(try #require(try await scene.newest().last))
        }
        #expect(Set(blobs.map(\.size)).count == 1)
        let device = scene.device(scene.other)
        #expect(try await device.sync().isComplete)
        return (device, blobs)
    }

    /// A140: the entry names the hash, and the file names its record, its epoch, a head and its author.
    @Test func A140_anotherAttachmentInItsPlaceIsRefused() async throws {
        let scene = try await Scene()
        let (device, blobs) = try await readers(scene)
        #expect(try await device.get("scan").content == Scene.content(600_000, 3))
        let others = [blobs[0], blobs[1]]
        for other in others {
            var parts: [UInt32: [UInt8]] = [:]
            for part in 0..<other.partCount {
                parts[part] = try await scene.store.blob(other.hash, part: part, in: scene.tresor)
            }
            scene.evil.showParts { [parts] hash, part, bytes in hash == blobs[2].hash ? parts[part] : bytes }
            #expect(await failure { _ = try await device.get("scan") } == .altered)
        }
        // The record is there, and so are the others.
        #expect(try await device.find("scan").content == nil)
        #expect(try await device.get("film").content == Scene.content(600_000, 2))
    }

    @Test func A140_changedPartsAreRefused() async throws {
        let scene = try await Scene()
        let (device, blobs) = try await readers(scene)
        let hash = blobs[2].hash
        for number in 0..<blobs[2].partCount {
            let lies: [(@Sendable ([UInt8]) -> [UInt8]?, TresorError)] = [
                ({ _ in nil }, .store(.withheld)), ({ Array($0.dropLast()) }, .altered), ({ $0 + [0] }, .altered),
                ({ flipped($0, 8 * 1000) }, .altered), ({ flipped($0, 8 * $0.count - 1) }, .altered),
                ({ _ in [] }, .altered),
            ]
            for (lie, error) in lies {
                scene.evil.showParts { $0 == hash && $1 == number ? $2.flatMap(lie) : $2 }
                #expect(await failure { _ = try await device.get("scan") } == error)
            }
        }
        scene.evil.showParts { $2 }
        #expect(try await device.get("scan").content == Scene.content(600_000, 3))
    }

    /// A140: the bytes that are opened are those whose hash is compared, however often a part is asked for.
    @Test func A140_aPartIsTheSameEveryTime() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Scene.content(5 << 20))
        _ = try await scene.records.sync()
        let blob = try #require(try await scene.newest().last)
        let asked = CallCounts()
        scene.evil.showParts { _, part, bytes in
            asked.count("\(part)")
            return asked.counts["\(part)"] == 1 ? bytes : bytes.map { flipped($0, 80) }
        }
        let source = try BlobSource(blob, in: scene.store, of: scene.tresor, cores: 1)
        let start = try await source.bytes(0..<100)
        for part in 1..<Int(blob.partCount) {
            let offset = part * StoredBlob.partByteCount
            _ = try await source.bytes(offset..<(offset + 1))
        }
        try await source.checkWhole()
        #expect(asked.counts.count == Int(blob.partCount) && asked.counts.values.allSatisfy { $0 == 1 })
        // More parts came than are held, so the first one is asked for again.
        #expect(await failure { _ = try await source.bytes(0..<100) } == .altered)
        #expect(asked.counts["0"] == 2 && start.starts(with: Array("tresorF1".utf8)))
    }

    /// Many cores read at as many places, and no part is asked for twice.
    @Test func manyCoresAskForEachPartOnce() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Scene.content(10 << 20))
        _ = try await scene.records.sync()
        let blob = try #require(try await scene.newest().last)
        let asked = CallCounts()
        scene.evil.showParts { _, part, bytes in
            asked.count("\(part)")
            return bytes
        }
        let source = try BlobSource(blob, in: scene.store, of: scene.tresor, cores: 20)
        for _ in 0..<2 {
            for part in (0..<Int(blob.partCount)).reversed() {
                let offset = part * StoredBlob.partByteCount
                _ = try await source.bytes(offset..<(offset + 1))
            }
        }
        #expect(asked.counts.count > 40 && asked.counts.values.allSatisfy { $0 == 1 })
    }

    /// A140, A150: a member commits an attachment that is not what the item says. The table stays; its content is refused.
    @Test func A140_anAttachmentThatDoesNotFitItsCommitIsRefused() async throws {
        let scene = try await Scene()
        let state = try await scene.state()
        let keys = try await scene.anna.keyRing.keys(of: state.epoch, in: state)
        let content = Scene.content(70_000)
        func sealed(_ record: String, _ type: String, by author: Session) throws -> [UInt8] {
            try FileSealer.sealFile(
                content, type: Name(typed: type), record: Name(typed: record), keys: keys, state: state,
                author: author.identity, time: scene.world.clock.now
            ).bytes
        }
        let lies = [
            try sealed("other", "image/png", by: scene.anna), try sealed("scan", "image/jpeg", by: scene.anna),
            try sealed("scan", "image/png", by: scene.house), [UInt8](repeating: 7, count: 70_000),
        ]
        for lie in lies + [try sealed("scan", "image/png", by: scene.anna)] {
            let blob = try Blob(of: lie)
            let now = try await scene.state()
            let item = Item(
                record: try Name(typed: "scan"), replaces: [], time: scene.world.clock.now,
                content: .attachment(blob: 1, type: try Name(typed: "image/png")))
            let pack = try Pack.sealPack(
                [item], with: keys, at: now, by: scene.anna.identity, time: scene.world.clock.now
            ).bytes
            let entry = try Entry(
                tresor: scene.tresor, sequence: now.head.sequence + 1, previous: now.head.hash,
                author: scene.anna.identity, time: scene.world.clock.now,
                body: .commit(CommitBody(epoch: now.epoch, blobs: [try Blob(of: pack), blob])))
            let change = LogChange(
                tresor: scene.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
                blobs: [
                    StoredBlob(hash: try Blob(of: pack).hash, size: UInt64(pack.count), bytes: pack),
                    StoredBlob(hash: blob.hash, size: blob.size, bytes: lie),
                ])
            #expect(try await scene.store.append(change) == .done)
            let device = scene.device(scene.other.copy())
            #expect(try await device.sync().isComplete)
            let version = try #require(try await device.versions(of: "scan").first { $0.revision == entry.sequence })
            var sink = MemorySink()
            let error = await failure { try await device.attachments.read(version, to: &sink) }
            #expect(error == (lies.contains(lie) ? .altered : nil))
        }
    }

    /// A member who was removed reads nothing of what was attached later, whatever the store gives them.
    @Test func A150_aRemovedReaderCannotReadWhatCameLater() async throws {
        let scene = try await Scene()
        _ = try await scene.theirs.sync()
        let before = try await scene.state()
        let keys = try await scene.house.keyRing.keys(of: before.epoch, in: before)
        try await scene.revoke()
        try await scene.records.put("scan", Scene.content(70_000))
        _ = try await scene.records.sync()
        let state = try await scene.state()
        let commits = try await CommitReader(client: scene.anna.client).commits(of: state, from: 0)
        let entry = try #require(commits.last)
        let item = Item(
            record: try Name(typed: "scan"), replaces: [], time: 0,
            content: .attachment(blob: 1, type: .empty))
        let attachment = try #require(Attachment(of: item, in: entry))
        #expect(attachment.epoch > before.epoch)
        let source = try BlobSource(attachment.blob, in: scene.store, of: scene.tresor)
        var sink = MemorySink()
        let error = await failure {
            _ = try await attachment.openAttachment(source, with: keys, in: state, to: &sink)
        }
        #expect(error == .altered && sink.bytes.isEmpty)
    }
}

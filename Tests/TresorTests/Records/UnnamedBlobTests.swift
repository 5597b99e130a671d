// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// What a program put into a store of its own accord, and was killed before it sent the entry (SPEC §19.7).
@Suite struct UnnamedBlobTests {
    let store = MemoryStore()
    let anna: Session
    let tresor: TresorID
    let killed: Hash256

    init() async throws {
        let world = World(store: store)
        anna = try await world.quick("anna")
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let left = [UInt8](repeating: 7, count: 1000)
        killed = try Blob(of: left).hash
        try await anna.records(in: tresor).put("scan", AttachmentScene.content(70_000))
        _ = try await anna.records(in: tresor).sync()
        await store.putBlob(0, left, of: killed, in: tresor)
    }

    @Test func aCompactionDeletesWhatNoEntryNames() async throws {
        let records = anna.records(in: tresor)
        _ = try await records.compact()
        #expect(await store.blob(killed, part: 0, in: tresor) == nil)
        #expect(try await records.get("scan").content == AttachmentScene.content(70_000))
        await store.putBlob(0, [7], of: killed, in: tresor)
        // Nothing is to gain here.
        _ = try await records.compact()
        #expect(await store.blob(killed, part: 0, in: tresor) == nil)
        #expect(try await records.get("scan").content == AttachmentScene.content(70_000))
    }

    @Test func aCompactionIsDoneWhereTheStoreKeepsThem() async throws {
        let world = World(store: KeepingStore(truth: store))
        let records = Session(client: world.client(anna.client.home), identity: anna.identity).records(in: tresor)
        _ = try await records.compact()
        #expect(await store.blob(killed, part: 0, in: tresor) != nil)
        #expect(try await anna.client.logs.state(of: tresor).checkpoint > 0)
    }

    @Test func aRepairDeletesWhatNoEntryNames() async throws {
        let records = anna.records(in: tresor)
        _ = try await records.restore()
        #expect(await store.blob(killed, part: 0, in: tresor) == nil)
        #expect(try await records.get("scan").content == AttachmentScene.content(70_000))
    }

    /// A newer program may name blobs in a body of its own.
    @Test func nothingIsDeletedWhileABodyIsUnknown() async throws {
        let state = try await anna.client.logs.state(of: tresor)
        let draft = EntryDraft(body: .additive(AdditiveBody(type: 200, [1])))
        #expect(try await LogWriter(session: anna).append(draft, Effect(), to: state) != nil)
        let records = anna.records(in: tresor)
        _ = try await records.restore()
        _ = try await records.compact()
        #expect(await store.blob(killed, part: 0, in: tresor) != nil)
        #expect(try await records.get("scan").content == AttachmentScene.content(70_000))
    }

    /// An upload whose commit is not in the log yet is about to be named.
    @Test func whatIsOnItsWayStays() async throws {
        let records = anna.records(in: tresor)
        try await records.put("film", AttachmentScene.content(80_000, 9))
        let world = World(store: FaultyStore(store) { $0.name == "append" ? .refusing(.store(.unreachable)) : nil })
        let breaking = Session(client: world.client(anna.client.home), identity: anna.identity).records(in: tresor)
        #expect(try await breaking.sync().held == .store(.unreachable))
        let film = try #require(try await records.outbox.present().sent?.entry.body.blobs.last)
        _ = try await records.restore()
        #expect(await store.blob(film.hash, part: 0, in: tresor) != nil)
        #expect(await store.blob(killed, part: 0, in: tresor) == nil)
    }

    /// A commit comes into the log between the reading of the log and the deletion of what it names.
    @Test func A145_whatAnEntryNamesByThenStays() async throws {
        let records = anna.records(in: tresor)
        let content = AttachmentScene.content(80_000, 9)
        try await records.put("film", content)
        let world = World(store: LateStore(store))
        let late = Session(client: world.client(anna.client.home), identity: anna.identity).records(in: tresor)
        let report = try await late.sync()
        #expect(report.held == nil && report.sentCount == 1 && report.unsent == [])
        #expect(try await records.get("film").content == content)
    }
}

/// A store that has no room for the first append by its word, and takes it before it deletes blobs.
private final class LateStore: FrontStore, UnnamedBlobStore {
    let truth: any Store
    private let memory: MemoryStore
    private let held = Mutex<(isFirst: Bool, change: LogChange?)>((true, nil))

    init(_ memory: MemoryStore) { (truth, self.memory) = (memory, memory) }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let isFirst = held.withLock { held in
            guard held.isFirst else { return false }
            held = (false, change)
            return true
        }
        guard !isFirst else { throw .store(.full) }
        return try await memory.append(change)
    }

    private func appendLate() async throws(TresorError) {
        let change = held.withLock { held in
            defer { held.change = nil }
            return held.change
        }
        if let change { _ = try await memory.append(change) }
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        try await appendLate()
        await memory.deleteBlobs(hashes, in: tresor)
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) async throws(TresorError) {
        try await appendLate()
        try await memory.deleteBlobs(hashes, in: tresor, while: head)
    }

    func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) async throws(TresorError) { try await memory.deleteBlobs(besides: named, in: tresor, while: head) }
}

/// A store that fails to delete what no entry names.
private struct KeepingStore: FrontStore, UnnamedBlobStore {
    let truth: any Store

    func deleteBlobs(
        besides named: Set<Hash256>, in tresor: TresorID, while head: Hash256
    ) async throws(TresorError) { throw .store(.full) }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID, while head: Hash256) async throws(TresorError) {
        throw .store(.full)
    }
}

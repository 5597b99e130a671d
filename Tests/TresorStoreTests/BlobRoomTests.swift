// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import TresorSQLite

/// The room that the blobs of a store in a file take on its disk.
@Suite struct BlobRoomTests {
    /// A disk that tells how much it has left, and notes how many pages of the file are free when it is asked.
    private final class Disk: Sendable {
        private let state: Mutex<(room: UInt64, mostFree: Int)>

        init(room: UInt64) { state = Mutex((room, 0)) }

        /// The most of them so far.
        var mostFree: Int { state.withLock { $0.mostFree } }
        func fill(leaving room: UInt64) { state.withLock { $0 = (room, 0) } }
        func tell(_ path: String) -> UInt64 {
            // The number stands in the first page.
            let free = (try? bytes(at: path))?.dropFirst(36).prefix(4).reduce(0) { $0 << 8 | Int($1) } ?? 0
            return state.withLock {
                $0.mostFree = max($0.mostFree, free)
                return $0.room
            }
        }
    }

    let scratch: Scratch
    var path: String { scratch["store.db"] }

    init() throws { scratch = try Scratch() }

    private func size() throws -> Int { try bytes(at: path).count }

    private func put(_ parts: UInt32, of hash: Hash256, to store: SQLiteStore) async throws {
        for part in 0..<parts {
            try await store.putBlob(part, random(StoredBlob.partByteCount), of: hash, in: tresor(1))
        }
    }

    @Test func aDeletionGivesItsRoomBackToTheDisk() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let before = try size()
        try await put(8, of: digest(1), to: store)
        try await put(1, of: digest(2), to: store)
        try await store.deleteBlobs([digest(1)], in: tresor(1))
        #expect(try size() < before + 2 * StoredBlob.partByteCount)
        #expect(try await store.blob(digest(1), part: 0, in: tresor(1)) == nil)
        #expect(try await store.blob(digest(2), part: 0, in: tresor(1))?.count == StoredBlob.partByteCount)
        try await store.deleteTresor(tresor(1))
        #expect(try size() < before + StoredBlob.partByteCount / 2)
    }

    /// What a deletion needs is left, and so is room for a small change.
    @Test func A106_aDiskIsNotFilledWithParts() async throws {
        let disk = Disk(room: 1 << 30)
        let store = try SQLiteStore.openBlocking(at: path, creating: true) { disk.tell($0) }
        try await put(2, of: digest(1), to: store)
        disk.fill(leaving: 1 << 20)
        let part = random(StoredBlob.partByteCount)
        let refusal = await errorOf { try await store.putBlob(2, part, of: digest(1), in: tresor(1)) }
        #expect(refusal == .store(.full))
        let pack = StoredBlob(hash: digest(3), size: 1000, bytes: random(1000))
        let entry = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [0], blobs: [pack])
        #expect(try await store.append(entry) == .done)
        disk.fill(leaving: 100 << 10)
        let next = try LogChange(tresor: tresor(1), sequence: 1, after: [0], entry: [1], blobs: [pack])
        #expect(await errorOf { _ = try await store.append(next) } == .store(.full))
        // An act without a blob may take the rest.
        let act = try LogChange(tresor: tresor(1), sequence: 1, after: [0], entry: [1])
        #expect(try await store.append(act) == .done)
    }

    /// The write-ahead log of a deletion takes about what it overwrites, so it deletes as much as there is room for.
    @Test func A106_aFullDiskIsFreedPartByPart() async throws {
        let disk = Disk(room: 1 << 30)
        let store = try SQLiteStore.openBlocking(at: path, creating: true) { disk.tell($0) }
        let before = try size()
        try await put(8, of: digest(1), to: store)
        disk.fill(leaving: 300 << 10)
        try await store.deleteBlobs([digest(1), digest(2)], in: tresor(1))
        #expect((16..<64).contains(disk.mostFree), "a part has 32 pages")
        for part in UInt32(0)..<8 {
            #expect(try await store.blob(digest(1), part: part, in: tresor(1)) == nil)
        }
        #expect(try size() < before + StoredBlob.partByteCount)
    }

    /// A deletion by a log that has grown would take what its newest entry names.
    @Test func A145_whatNoEntryNamesGoesOnlyFromTheLogThatWasRead() async throws {
        let stores: [any Store & UnnamedBlobStore] = [
            MemoryStore(), try await SQLiteStore.open(at: path, creating: true),
        ]
        let head = try BLAKE2b.hash(.entryHash, [0])
        for store in stores {
            let first = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [0])
            #expect(try await store.append(first) == .done)
            for blob in UInt8(1)...3 { try await store.putBlob(0, [blob], of: digest(blob), in: tresor(1)) }
            try await store.putBlob(0, [9], of: digest(1), in: tresor(2))
            try await store.deleteBlobs(besides: [digest(2), digest(3)], in: tresor(1), while: head)
            #expect(try await store.blob(digest(1), part: 0, in: tresor(1)) == nil)
            #expect(try await store.blob(digest(1), part: 0, in: tresor(2)) == [9])
            let named = StoredBlob(hash: digest(3), size: 1, bytes: nil)
            let next = try LogChange(tresor: tresor(1), sequence: 1, after: [0], entry: [1], blobs: [named])
            #expect(try await store.append(next) == .done)
            let refusal = await errorOf {
                try await store.deleteBlobs(besides: [digest(2)], in: tresor(1), while: head)
            }
            #expect(refusal == .busy)
            #expect(try await store.blob(digest(3), part: 0, in: tresor(1)) == [3])
            #expect(try await store.blob(digest(2), part: 0, in: tresor(1)) == [2])
        }
    }
}

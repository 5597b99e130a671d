// SPDX-License-Identifier: Apache-2.0

import CProbe
import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Very long logs. Twenty thousand entries, or as many as `TRESOR_ENTRIES` says.
@Suite struct LongLogTests {
    /// Signs entry after entry and keeps none.
    private struct Author {
        let founder: Identity
        let reader: Identity
        var chronicle: Chronicle
        var head: Head
        var epoch: UInt64 = 1
        var role = Role.reader

        init() throws {
            (founder, reader) = (try identity("anna"), try identity("bob"))
            chronicle = try Chronicle(founder: founder)
            try chronicle.admit(reader, as: .reader)
            head = chronicle.state.head
        }

        /// Names, commits, checkpoints, then a role, then a key, and so on.
        mutating func next() throws -> [UInt8] {
            let body: EntryBody
            switch head.sequence % 9 {
            case 1, 3, 5:
                body = .commit(CommitBody(epoch: epoch, blobs: [Blob(hash: .zero, size: 674)]))
            case 6:
                body = .checkpoint(
                    CheckpointBody(upto: head.sequence, epoch: epoch, volumes: [Blob(hash: .zero, size: 674)]))
            case 7:
                role = role == .reader ? .writer : .reader
                body = .role(RoleBody(user: reader.user, role: role, notAfter: nil))
            case 8:
                epoch += 1
                body = .epoch(EpochBody(try Chronicle.epoch(epoch)))
            default: body = .rename(RenameBody(try Chronicle.anyName()))
            }
            let entry = try Entry(
                tresor: chronicle.tresor, sequence: head.sequence + 1, previous: head.hash, author: founder,
                time: 1_777_730_400, body: body)
            head = Head(sequence: entry.sequence, hash: try entry.hash())
            return entry.bytes
        }
    }

    /// The storage of the parts of a state that grow with the log: it moves when it is copied.
    private static func places(_ state: LogState?, _ user: UserID) -> [UInt] {
        guard let state else { return [] }
        return [
            state.hashes.pages.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) },
            state.epochs.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) },
            (state.changes[user] ?? []).withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) },
        ]
    }

    /// Work is counted in copies of the state: as many as doubling needs, whatever the length. Memory is that of the
    /// state, some hundred bytes for an entry; the entries themselves are not kept.
    @Test(.disabled(if: isSanitized, "a sanitizer has a heap of its own"))
    func A73_aLongLogIsFoldedWithoutCopyingTheState() async {
        await #expect(processExitsWith: .success) {
            let count = repetitions("TRESOR_ENTRIES", else: 20_000)
            var author = try Author()
            let user = author.reader.user
            var fold = Fold(state: author.chronicle.state)
            try author.chronicle.forget()
            let before = probe_used_memory()
            var places = Self.places(fold.state, user)
            var moveCount = 0
            var byteCount = 0
            for step in 0..<(2 * count / 256) {
                // A page and a single entry in turns: both ways of taking entries.
                let page = try (0..<(step.isMultiple(of: 2) ? 255 : 1)).map { _ in try author.next() }
                byteCount += page.reduce(0) { $0 + $1.count }
                try fold.apply(page)
                let now = Self.places(fold.state, user)
                moveCount += zip(places, now).count { $0 != $1 }
                places = now
            }
            #expect(fold.state?.head == author.head)
            #expect(fold.state?.epoch == author.epoch)
            #expect(moveCount <= 3 * (count.bitWidth - count.leadingZeroBitCount), "\(moveCount) copies")
            let used = Int(probe_used_memory()) - Int(before)
            #expect(used < 300 * count && used < byteCount, "\(used) bytes of \(byteCount)")
        }
    }

    /// Entries beyond one part of the local log copy are fetched again for the copy, so that the client holds no more
    /// than one part (SPEC §9.8).
    @Test(arguments: [(500, 500), (1000, 1999)])
    func A73_everyEntryIsFetchedOnceOrToBeKeptTwiceAndThenTheLastAlone(count: Int, fetchedCount: Int) async throws {
        let store = StageStores.make()
        let view = ScheduledStore(store, Schedule(of: 1, seed: 0), person: 0)
        let world = World(store: store)
        let anna = try await world.quick("anna", seeing: view)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        var state = try await anna.client.logs.state(of: tresor)
        for _ in 1..<count {
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: anna.identity,
                time: 1_777_730_400, body: .rename(RenameBody(try Chronicle.anyName())))
            let change = LogChange(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes)
            #expect(try await store.append(change) == .done)
            var fold = Fold(state: state)
            try fold.apply(entry.bytes)
            state = try #require(fold.state)
        }
        _ = view.takeNotes()
        #expect(try await anna.client.logs.state(of: tresor).head == state.head)
        #expect(view.takeNotes().fetchedCount == fetchedCount)
        #expect(try await anna.client.logs.state(of: tresor).head == state.head)
        #expect(view.takeNotes().fetchedCount == 1)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRecords

extension RealAttackTests {
    /// Commits, packs and checkpoints.
    @Suite struct Records {
        let anna: Identity
        let bob: Identity
        let eve: Identity
        /// Anna's; bob writes, eve reads.
        let book: RecordBook
        let name: Name

        init() throws {
            (anna, bob, eve) = (try identity("anna"), try identity("bob"), try identity("eve"))
            var book = try RecordBook(anna)
            try book.admit(bob, as: .writer)
            try book.admit(eve, as: .reader)
            self.book = book
            name = try Name(typed: "plan")
        }

        /// Whether a pack counts for this entry; its error if it is missing.
        private static func counts(_ bytes: [UInt8], as sequence: UInt64, in book: RecordBook) throws -> Bool {
            switch book.outcome(of: try book.entry(at: sequence), bytes) {
            case .items: true
            case .missing(let error): throw error
            case .void, .notMine: false
            }
        }

        /// A commit of bob's and another pack of bob's, of the same head.
        private func told() throws -> (book: RecordBook, sequence: UInt64, other: [UInt8]) {
            var book = book
            let other = try book.pack([Item("plan", "never committed")], by: bob)
            let sequence = try book.put(Item("plan", "committed"), by: bob)
            return (book, sequence, other)
        }

        @Test func A139_A140_anotherPackCountsInThePlaceOfTheCommitted() async throws {
            let (book, sequence, other) = try told()
            await RealAttackTests.expectReal(.altered, without: .blobHash) {
                try Self.counts(other, as: sequence, in: book)
            }
        }

        @Test func A146_A149_anOlderPackIsShownAsTheNewest() async throws {
            var book = book
            let old = try book.pack([Item("plan", "one")], by: bob)
            let sequence = try book.put(Item("plan", nil), by: bob)
            let (told, name) = (book, name)
            await RealAttackTests.expectReal(nil, without: .blobHash) {
                let table = try told.table(packs: [sequence: old])
                return table.isComplete && table.shown(of: name) != nil
            }
        }

        @Test func A140_A150_whatSomebodyElseSealedIsCommitted() async throws {
            var book = book
            let stolen = try book.pack([Item("plan", "by bob")], by: bob)
            let sequence = try book.add(book.commit(stolen), by: anna)
            let told = book
            await RealAttackTests.expectReal(nil, without: .packAuthor) {
                try Self.counts(stolen, as: sequence, in: told)
            }
        }

        private func expectReal(withoutRule rule: Rule, by author: Identity, in book: RecordBook) async throws {
            let entry = try book.entry(book.commit(book.pack([Item("plan", "one")])), by: author)
            await RealAttackTests.expectReal(withoutRule: rule) {
                var fold = Fold(state: book.state)
                try fold.apply(entry.bytes)
                return fold.state?.head.sequence == entry.sequence
            }
        }

        @Test func A141_A150_aReaderARemovedAndARenewedWriterCommit() async throws {
            try await expectReal(withoutRule: .r15, by: eve, in: book)
            var removed = book
            try removed.remove(bob)
            try await expectReal(withoutRule: .r13, by: bob, in: removed)
            var renewed = book
            try renewed.add(.renew(RenewBody(bob.renewCard(time: 5).identity.chain.newest)), by: bob)
            try await expectReal(withoutRule: .r14, by: bob, in: renewed)
        }

        @Test func A142_anotherContentOfARevisionIsBelieved() async throws {
            let scene = try await Scene()
            let before = try await scene.state
            func commit(_ size: UInt64) throws -> EntryBody {
                .commit(CommitBody(epoch: before.epoch, blobs: [Blob(hash: .zero, size: size)]))
            }
            let other = try scene.entry(commit(700), by: scene.bob, after: before)
            try await scene.append(commit(674), by: scene.bob)
            try await scene.settle()
            scene.store.fork(Int(before.head.sequence) + 1, [other.bytes])
            await RealAttackTests.expectReal(.forked, without: .pinnedHead, against: [scene.anna]) {
                try await scene.anna.client.logs.state(of: scene.tresor).head.hash == other.hash()
            }
        }

        @Test func A143_A149_anIncompleteAnswerShowsAnOlderVersionAsTheNewest() async throws {
            let scene = try await Scene()
            let mine = scene.anna.records(in: scene.tresor)
            for text in ["one", "two"] {
                try await mine.put("plan", text.utf8)
                _ = try await mine.sync()
            }
            let state = try await scene.state
            let commits = try await CommitReader(client: scene.anna.client).commits(of: state, from: 0)
            guard case .commit(let commit)? = try commits.last?.body else { throw TresorError.failed(.other) }
            let newest = commit.blobs[0].hash
            scene.store.showBlobs { $0 == newest ? nil : $1 }
            await RealAttackTests.expectReal(.store(.withheld), without: .wholeRecords, isLate: true) {
                let seen = scene.fresh(scene.house).records(in: scene.tresor)
                _ = try await seen.sync()
                return try await seen.get("plan").content == Array("one".utf8)
            }
        }

        /// The thief of a former seed leaves a record out of the index.
        @Test func A149_anIndexOfAFormerSeedHidesARecord() async throws {
            let scene = try await Scene()
            let mine = scene.anna.records(in: scene.tresor)
            try await mine.put("plan", "one".utf8)
            _ = try await mine.sync()
            let state = try await scene.state
            let member = try #require(state.members[scene.anna.user])
            let forged = try IndexFile(session: scene.anna, tresor: scene.tresor).sealed(
                RecordIndex(head: state.head, epochs: [], checkpoints: [], table: RecordTable()), for: member)
            try scene.anna.client.home.replace(.recordIndex(scene.tresor), with: forged)
            let renewed = try scene.anna.identity.renewCard(time: 5).identity
            let session = Session(client: scene.world.client(scene.anna.client.home), identity: renewed)
            await RealAttackTests.expectReal(nil, without: .indexKey) {
                try await RecordView.indexed(at: state, of: session)?.table.names.isEmpty == true
            }
        }

        @Test func A140_anOlderAttachmentIsReadInThePlaceOfTheNewest() async throws {
            let scene = try await Scene()
            let mine = scene.anna.records(in: scene.tresor)
            var blobs: [Blob] = []
            for mark: UInt8 in [1, 2] {
                try await mine.put("scan", [UInt8](repeating: mark, count: 70_000))
                _ = try await mine.sync()
                let state = try await scene.state
                let commits = try await CommitReader(client: scene.anna.client).commits(of: state, from: 0)
                guard case .commit(let commit)? = try commits.last?.body else { throw TresorError.failed(.other) }
                blobs.append(commit.blobs[1])
            }
            let (old, new) = (blobs[0].hash, blobs[1].hash)
            let first = try #require(try await scene.store.truth.blob(old, part: 0, in: scene.tresor))
            scene.store.showParts { hash, _, bytes in hash == new ? first : bytes }
            await RealAttackTests.expectReal(.altered, without: .blobHash, isLate: true) {
                let seen = scene.fresh(scene.house).records(in: scene.tresor)
                _ = try await seen.sync()
                return try await seen.get("scan").content == [UInt8](repeating: 1, count: 70_000)
            }
        }

        @Test func A245_aCheckReadsABlobAgainForEachItem() async throws {
            let scene = try await Scene()
            let mine = scene.anna.records(in: scene.tresor)
            try await mine.put("scan", [UInt8](repeating: 1, count: 70_000))
            _ = try await mine.sync()
            let state = try await scene.state
            let commits = try await CommitReader(client: scene.anna.client).commits(of: state, from: 0)
            guard case .commit(let commit)? = try commits.last?.body else { throw TresorError.failed(.other) }
            let keys = try await scene.keys(state.epoch)
            let blob = commit.blobs[1]
            var items: [Item] = []
            for place in UInt16(1)...20 {
                items.append(
                    Item(
                        record: try Name(typed: "copy \(100 + place)"), replaces: [], time: 5,
                        content: .attachment(blob: place, type: .empty)))
            }
            let pack = try Pack.sealPack(items, with: keys, at: state, by: scene.bob.identity, time: 5).bytes
            let named = try Blob(of: pack)
            // Of two that are the same in size and hash, an export asks for one anyhow.
            let blobs = [named] + (1...items.count).map { Blob(hash: blob.hash, size: blob.size + UInt64($0)) }
            try await scene.append(
                .commit(CommitBody(epoch: state.epoch, blobs: blobs)), by: scene.bob,
                blobs: [StoredBlob(hash: named.hash, size: named.size, bytes: pack)])
            let reads = Mutex(0)
            scene.store.showParts { hash, _, bytes in
                if hash == blob.hash { reads.withLock { $0 += 1 } }
                return bytes
            }
            await RealAttackTests.expectReal(nil, without: .readOnce, isLate: true) {
                let seen = scene.fresh(scene.house).records(in: scene.tresor)
                _ = try await seen.sync()
                reads.withLock { $0 = 0 }
                _ = try await seen.check()
                return reads.withLock { $0 } > 20
            }
            scene.store.showBlobs { hash, bytes in
                if hash == blob.hash { reads.withLock { $0 += 1 } }
                return bytes
            }
            await RealAttackTests.expectReal(nil, without: .readOnce, isLate: true) {
                reads.withLock { $0 = 0 }
                _ = try await scene.anna.client.exchange.export(scene.tresor)
                return reads.withLock { $0 } > 20
            }
        }

        @Test func A145_aLateAppendMakesAChangeTwice() async throws {
            await RealAttackTests.expectReal(nil, without: .frozenCommit, isLate: true) {
                let scene = try await Scene()
                let before = try await scene.state.entryCount
                let late = LateStore(truth: scene.store)
                var world = scene.world
                world.store = late
                let client = world.client(scene.anna.client.home)
                let records = Session(client: client, identity: scene.anna.identity).records(in: scene.tresor)
                try await records.put("plan", "one".utf8)
                _ = try? await records.sync()
                world.clock.advance(by: 1)
                _ = try await records.sync()
                return try await scene.state.entryCount == before + 2
            }
        }

        @Test func A145_aCommitOnItsWayIsSentAgainForLackOfRoom() async throws {
            await RealAttackTests.expectReal(nil, without: .namedRoom, isLate: true) {
                let scene = try await Scene()
                let before = try await scene.state.entryCount
                var world = scene.world
                world.store = FullStore(truth: scene.store, behind: Int(before))
                let client = world.client(scene.anna.client.home)
                let records = Session(client: client, identity: scene.anna.identity).records(in: scene.tresor)
                try await records.put("scan", [UInt8](repeating: 1, count: 70_000))
                _ = try? await records.sync()
                _ = try await records.sync()
                return try await scene.state.entryCount == before + 2
            }
        }

        @Test func A147_aFalseItemIsKept() async throws {
            var book = book
            let sequence = try book.put(Item("plan", "one"))
            let kept = [
                KeptItem(sequence: sequence, item: try Item("plan", "one")),
                KeptItem(sequence: sequence, item: try Item("z", "false")),
            ]
            let items = try book.items()
            await RealAttackTests.expectReal(.altered, without: .keptItems) {
                try RecordTable.comparePacks(kept, upto: sequence, commits: items.keys.sorted()) {
                    (sequence) throws(TresorError) in try PackItem.all(items[sequence] ?? [])
                }
                return true
            }
        }
    }
}

/// A store at which the first append arrives after its answer, just before the second.
private final class LateStore: FrontStore {
    let truth: any Store
    private let held = Mutex<(isFirst: Bool, change: LogChange?)>((true, nil))

    init(truth: any Store) { self.truth = truth }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let (isFirst, earlier) = held.withLock { held in
            defer { held = (false, held.isFirst ? change : nil) }
            return (held.isFirst, held.change)
        }
        guard !isFirst else { throw .store(.unreachable) }
        if let earlier { _ = try await truth.append(earlier) }
        return try await truth.append(change)
    }
}

/// A store that has no room for the first append by its word, takes it, and does not show it in the next reading.
private final class FullStore: FrontStore {
    let truth: any Store
    private let evil: EvilStore
    private let before: Int
    private let isFirst = Mutex(true)

    /// - Parameter before: the number of entries before the append.
    init(truth: EvilStore, behind before: Int) { (self.truth, evil, self.before) = (truth, truth, before) }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let isFirst = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        guard isFirst else { return try await truth.append(change) }
        evil.older(before)
        _ = try await truth.append(change)
        throw .store(.full)
    }
}

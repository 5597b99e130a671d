// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The packs that a home keeps (SPEC §8.5): in parts of 64 entries, and pieces of few bytes.
@Suite struct KeptPackTests {
    private let evil = EvilStore(MemoryStore())
    private let world: World
    private let anna: Session
    private let home: MemoryHome
    private let tresor: TresorID
    private let files: PackFiles

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        home = try #require(anna.client.home as? MemoryHome)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        files = PackFiles(anna.client, tresor)
    }

    /// A pack of more than half of what fills a piece.
    private func pack(_ sequence: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(sequence), count: 600_000) }

    /// The sequences in each piece of the first part.
    private func pieces() throws -> [[UInt64]] {
        var pieces: [[UInt64]] = []
        while let bytes = home.read(.records(tresor, part: 0, piece: UInt64(pieces.count))) {
            pieces.append(try KeptPacks(bytes).packs.keys.sorted())
        }
        return pieces
    }

    @Test func aFullPieceIsNotWrittenAgain() async throws {
        for sequence: UInt64 in 1...5 {
            home.fill(after: 1)
            try await files.keep([sequence: pack(sequence)], for: anna.user)
        }
        #expect(try pieces() == [[1, 2], [3, 4], [5]])
        home.fill(after: 2)
        try await files.keep([6: pack(6), 7: pack(7)], for: anna.user)
        home.fill(after: nil)
        #expect(try pieces() == [[1, 2], [3, 4], [5, 6], [7]])
        let reader = PackReader(client: anna.client, tresor: tresor)
        for sequence: UInt64 in [7, 1, 4, 6, 2, 5, 3] { #expect(try reader.pack(of: sequence) == pack(sequence)) }
        #expect(try reader.pack(of: 8) == nil)
    }

    @Test func whoWantsOnePackReadsNoPieceBehindIt() async throws {
        for sequence: UInt64 in 1...6 { try await files.keep([sequence: pack(sequence)], for: anna.user) }
        let counting = CountingHome(home: home)
        let reader = PackReader(client: world.client(counting), tresor: tresor)
        for (sequence, count) in [(1, 1), (2, 1), (3, 2), (9, 4), (8, 4)] as [(UInt64, Int)] {
            #expect(try reader.pack(of: sequence) == (sequence <= 6 ? pack(sequence) : nil))
            #expect(counting.tally.counts["home records"] == count)
        }
    }

    @Test func anotherPackOfAnEntryTakesThePlaceOfTheFirst() async throws {
        for sequence: UInt64 in 1...4 { try await files.keep([sequence: pack(sequence)], for: anna.user) }
        try await files.keep([2: [7], 5: pack(5)], for: anna.user)
        #expect(try pieces() == [[1, 2], [3, 4], [5]])
        #expect(try PackReader(client: anna.client, tresor: tresor).pack(of: 2) == [7])
    }

    @Test func whatACutPieceHadIsKeptAgain() async throws {
        for sequence: UInt64 in 1...3 { try await files.keep([sequence: pack(sequence)], for: anna.user) }
        try home.replace(.records(tresor, part: 0), with: [1, 2, 3])
        let packs = try (1...3).reduce(into: [UInt64: Blob]()) { $0[$1] = try Blob(of: pack($1)) }
        #expect(try files.kept(packs, of: 0) == [3])
        try await files.keep([1: pack(1), 2: pack(2)], for: anna.user)
        #expect(try files.kept(packs, of: 0) == [1, 2, 3])
    }

    /// Keeps two pieces in each of three parts.
    ///
    /// - Returns: an entry of the last part.
    private func fillThreeParts() async throws -> UInt64 {
        for part: UInt64 in 0...2 {
            for place: UInt64 in 1...3 {
                try await files.keep([part * LogArchive.packPartCount + place: pack(place)], for: anna.user)
            }
        }
        #expect(keptCount == 6)
        return 2 * LogArchive.packPartCount + 1
    }

    /// The number of pieces in the home, of whatever part.
    private var keptCount: Int {
        home.contents.keys.count { if case .records = $0.kind { true } else { false } }
    }

    @Test func whatAnAnswerHasIsKeptAtOnce() async throws {
        let counting = CountingHome(home: home)
        let packs = (UInt64(0)...2).reduce(into: [UInt64: [UInt8]]()) { $0[$1 * LogArchive.packPartCount + 1] = [7] }
        try await PackFiles(world.client(counting), tresor).keep(packs, for: anna.user)
        #expect(keptCount == 3)
        #expect(counting.tally.counts["home locks"] == 1)
    }

    @Test func everyPieceIsDeletedUpToAnEntry() async throws {
        try anna.client.archive.forgetPacks(of: tresor, upTo: try await fillThreeParts())
        #expect(keptCount == 0)
    }

    @Test func othersGetTheHomeBetweenTwoParts() async throws {
        let last = try await fillThreeParts()
        let watched = DeletionCountingHome(base: home)
        try world.client(watched).archive.forgetPacks(of: tresor, upTo: last)
        #expect(watched.counts == [2, 2, 2])
        #expect(keptCount == 0)
    }

    /// A log in the home of more than 600 entries, of which one is a checkpoint.
    private func longLog() throws -> (book: RecordBook, checkpoint: UInt64) {
        var book = try RecordBook(anna.identity)
        func grow(by count: Int) throws {
            for _ in 0..<count { try book.add(.rename(RenameBody(try Chronicle.anyName()))) }
        }
        try grow(by: 300)
        let commit = try book.put(try Item("plan", "text"))
        let checkpoint = try book.checkpoint([], upto: commit)
        try grow(by: 300)
        return (book, checkpoint)
    }

    /// Gives the home a copy of a log.
    private func keep(_ copy: [[UInt8]], of book: RecordBook) throws {
        for start in stride(from: 0, through: 512, by: 512) {
            let part = LogCopy(entries: Array(copy.dropFirst(start).prefix(512)))
            try home.replace(.log(book.tresor, part: UInt64(start / 512)), with: part.bytes)
        }
    }

    /// Forgets a log that the home has in this copy, with two volumes of a checkpoint.
    ///
    /// - Returns: the number of reads that it took.
    private func forget(_ book: RecordBook, _ copy: [[UInt8]], withVolumesOf checkpoint: UInt64) throws -> Int {
        let volumes = ([0, 1] as [UInt64]).map { HomeObject.volume(book.tresor, checkpoint: checkpoint, number: $0) }
        for volume in volumes { try home.replace(volume, with: [7]) }
        try keep(copy, of: book)
        let before = home.readCount
        try anna.client.archive.forgetPacks(of: book.tresor, upTo: book.state.head.sequence)
        let count = home.readCount - before
        for volume in volumes { #expect(home.read(volume) == nil) }
        return count
    }

    @Test func volumesAreLookedForAtCheckpoints() throws {
        let (book, checkpoint) = try longLog()
        // Ten parts, of the log and of packs, then the volumes, and what has no next entry in the copy.
        #expect(try forget(book, book.entries, withVolumesOf: checkpoint) < 80)
    }

    @Test func aDamagedCopyOfTheLogHidesNoVolumes() throws {
        let (book, checkpoint) = try longLog()
        let place = Int(checkpoint)
        let other = try Entry(
            tresor: book.tresor, sequence: checkpoint, previous: try Entry(book.entries[place]).previous,
            author: anna.identity, time: book.time, body: .rename(RenameBody(try Chronicle.anyName())))
        var (replaced, cut) = (book.entries, book.entries)
        replaced[place] = other.bytes
        cut[place].removeLast()
        for copy in [replaced, cut, [], Array(book.entries.prefix(place)), Array(book.entries.dropFirst())] {
            _ = try forget(book, copy, withVolumesOf: checkpoint)
        }
        try home.replace(.log(book.tresor, part: 0), with: [1, 2, 3])
        try home.replace(.volume(book.tresor, checkpoint: checkpoint, number: 0), with: [7])
        try anna.client.archive.forgetPacks(of: book.tresor, upTo: book.state.head.sequence)
        #expect(home.read(.volume(book.tresor, checkpoint: checkpoint, number: 0)) == nil)
    }

    /// Somebody who was removed loses everything they kept, also where a file of their home cannot be read.
    @Test func anUnreadableCopyOfTheLogHidesNoVolumes() throws {
        let (book, checkpoint) = try longLog()
        let volume = HomeObject.volume(book.tresor, checkpoint: checkpoint, number: 0)
        try home.replace(volume, with: [7])
        let archive = world.client(UnreadableLogHome(base: home)).archive
        try archive.forgetPacks(of: book.tresor, upTo: book.state.head.sequence)
        #expect(home.read(volume) == nil)
    }

    @Test func aDeletionReadsEachPartOfTheLogOnce() throws {
        let (book, checkpoint) = try longLog()
        let volume = HomeObject.volume(book.tresor, checkpoint: checkpoint, number: 0)
        try home.replace(volume, with: [7])
        try keep(book.entries, of: book)
        let counting = CountingHome(home: home)
        try world.client(counting).archive.forget(book.state)
        #expect(counting.tally.counts["home log"] == 2)
        #expect(home.read(volume) == nil)
    }

    @Test func aDeletionGivesTheHomeToOthersBehindThePacks() async throws {
        for sequence: UInt64 in 1...3 { try await files.keep([sequence: pack(sequence)], for: anna.user) }
        let watched = DeletionCountingHome(base: home)
        let deletion = Deletion(session: Session(client: world.client(watched), identity: anna.identity))
        try await deletion.perform(try await deletion.plan(tresor))
        #expect(watched.counts.first { $0 > 0 } == 2)
        #expect(keptCount == 0)
    }

    @Test func anInterruptedDeletionIsEndedByTheNextOne() async throws {
        let last = try await fillThreeParts()
        // Each deletion has a point before it and one behind it.
        let stopping = StoppingHome(home, stoppingAt: 5)
        let stopped = world.client(stopping)
        #expect(error { try stopped.archive.forgetPacks(of: tresor, upTo: last) } == .failed(.inputOutput))
        #expect(keptCount == 3)
        try anna.client.archive.forgetPacks(of: tresor, upTo: last)
        #expect(keptCount == 0)
    }

    /// Versions are compared by the table: nobody has a list, or a change that is not sent yet, open their packs.
    @Test func versionsAreComparedWithoutTheirPacks() async throws {
        let copy = home.copy()
        let counting = CountingHome(home: copy)
        let mine = anna.records(in: tresor)
        let theirs = Session(client: world.client(counting), identity: anna.identity).records(in: tresor)
        func readsOfPacks(_ body: () async throws -> Void) async throws -> Int {
            counting.tally.reset()
            try await body()
            return counting.tally.counts["home records", default: 0]
        }
        try await mine.put("plan", "one".utf8)
        try await theirs.put("plan", "two".utf8)
        _ = try await mine.sync()
        _ = try await theirs.pull()
        func expectVersions() async throws { #expect(try await theirs.get("plan").versionCount == 2) }
        try await expectVersions()
        #expect(try await readsOfPacks(expectVersions) == 0)
        _ = try await theirs.sync()
        func expectList() async throws { #expect(try await theirs.list().records.map(\.state) == [.versions]) }
        try await expectList()
        #expect(try await readsOfPacks(expectList) == 0)
    }

    @Test func whatCameIsKeptAlthoughALaterAnswerFails() async throws {
        let copy = home.copy()
        let mine = anna.records(in: tresor)
        for number in 0..<9 {
            try await mine.put("event/\(number)", "x".utf8)
            _ = try await mine.sync()
        }
        evil.giveBlobs(2)
        let answers = CallCounts()
        let store = FaultyStore(evil) { call in
            guard call.name == "blobs" else { return nil }
            answers.count("blobs")
            return answers.counts["blobs"] == 3 ? .refusing(.store(.unreachable)) : nil
        }
        var other = world
        other.store = store
        let records = Session(client: other.client(copy), identity: anna.identity).records(in: tresor)
        #expect(await failure { _ = try await records.pull() } == .store(.unreachable))
        let kept = try KeptPacks(try #require(copy.read(.records(tresor, part: 0))))
        #expect(kept.packs.count == 4)
        let report = try await records.pull()
        #expect(report.receivedCount == 5 && report.isComplete)
    }
}

/// A home that counts what is deleted under each lock.
private final class DeletionCountingHome: ForwardingHome {
    let base: MemoryHome
    private let locks = Mutex<[Int]>([])

    init(base: MemoryHome) { self.base = base }

    /// The number of deletions, by lock.
    var counts: [Int] { locks.withLock { $0 } }

    func look() {}

    func delete(_ object: HomeObject) throws(TresorError) {
        locks.withLock { if !$0.isEmpty { $0[$0.count - 1] += 1 } }
        base.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        locks.withLock { $0.append(0) }
        return try base.exclusively(body)
    }
}

/// A home whose copies of logs cannot be read.
private final class UnreadableLogHome: ForwardingHome {
    let base: MemoryHome

    init(base: MemoryHome) { self.base = base }

    func look() {}

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        if case .log = object.kind { throw .failed(.inputOutput) }
        return base.read(object)
    }
}

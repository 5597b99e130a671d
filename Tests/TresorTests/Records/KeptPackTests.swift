// SPDX-License-Identifier: Apache-2.0

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

    @Test func everyPieceIsDeletedUpToAnEntry() async throws {
        for part: UInt64 in 0...2 {
            for place: UInt64 in 1...3 {
                try await files.keep([part * LogArchive.packPartCount + place: pack(place)], for: anna.user)
            }
        }
        let last = 2 * LogArchive.packPartCount + 1
        try anna.client.archive.forgetPacks(of: tresor, upTo: last)
        for part: UInt64 in 0...2 {
            for piece: UInt64 in 0...1 { #expect(home.read(.records(tresor, part: part, piece: piece)) == nil) }
        }
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

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Records on their way to a store that lost them, or never had them (SPEC §9.9, §11.1).
@Suite struct RecordRepairTests {
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World()
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
        let records = anna.records(in: tresor)
        for name in ["a", "b", "c"] {
            try await records.put(name, name.utf8)
            _ = try await records.sync()
        }
    }

    private func house(over store: any Store) -> Session {
        let client = Client(home: house.client.home, store: store, clock: { [clock = world.clock] in clock.now })
        return Session(client: client, identity: house.identity)
    }

    private func packs() async throws -> [Blob] {
        let state = try await anna.client.logs.state(of: tresor)
        return try await CommitReader(client: anna.client).commits(of: state, from: 0).compactMap { entry in
            guard case .commit(let commit) = try entry.body else { return nil }
            return commit.blobs[0]
        }
    }

    @Test func lostPacksAreRestored() async throws {
        let packs = try await packs()
        #expect(packs.count == 3)
        try await world.store.deleteBlobs([packs[0].hash, packs[2].hash], in: tresor)
        #expect(try await house.records(in: tresor).sync().missing.count == 2)
        #expect(try await anna.records(in: tresor).restorePacks() == 2)
        #expect(try await anna.records(in: tresor).restorePacks() == 0)
        let records = house.records(in: tresor)
        #expect(try await records.sync().missing.isEmpty)
        #expect(try await records.get("c").content == Array("c".utf8))
    }

    /// A writer names blobs of any size, which nobody has, and one of them twice: what is there counts.
    @Test func claimedSizesStopNoExport() async throws {
        let state = try await house.client.logs.state(of: tresor)
        let claims = try (0..<1_000).map { number in
            let hash = [UInt8](repeating: 7, count: 28) + [0, 0, UInt8(number >> 8), UInt8(number & 0xff)]
            return Blob(hash: try #require(Hash256(hash)), size: Blob.greatestPackSize)
        }
        let pack = try await packs()[0]
        let body = EntryBody.commit(CommitBody(epoch: state.epoch, blobs: [pack] + claims + [pack]))
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: house.identity,
            time: world.clock.now, body: body)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes)
        #expect(try await world.store.append(change) == .done)
        #expect(try await anna.client.exchange.export(tresor).blobs.count == 3)
    }

    @Test func alteredPacksAreReplaced() async throws {
        let packs = try await packs()
        try await world.store.putBlob(0, [1, 2, 3], of: packs[1].hash, in: tresor)
        #expect(try await anna.records(in: tresor).restorePacks() == 1)
        #expect(try await BlobReader(world.store, tresor).read(packs).count == 3)
    }

    @Test func anExportHasTheRecords() async throws {
        let export = try TresorExport(try await anna.client.exchange.export(tresor).bytes)
        #expect(export.blobs.count == 3)
        let other = MemoryStore()
        let reader = house(over: other)
        let arrival = try await reader.client.exchange.take(export)
        #expect(arrival.blobCount == 3)
        let records = reader.records(in: tresor)
        #expect(try await records.sync().missing.isEmpty)
        #expect(try await records.get("b").content == Array("b".utf8))
        #expect(try await reader.client.exchange.take(export).isNothing)
    }

    @Test func A222_blobsThatNobodyNamedAreRefused() async throws {
        let export = try await anna.client.exchange.export(tresor)
        var blobs = try export.namedBlobs()
        let foreign = [UInt8](repeating: 7, count: 700)
        blobs[try Blob(of: foreign)] = foreign
        let forged = try TresorExport(
            tresor: tresor, entries: export.entries, cards: export.cards, wraps: export.wraps, blobs: blobs)
        let other = MemoryStore()
        let reader = house(over: other)
        await #expect(throws: TresorError.altered) { try await reader.client.exchange.take(forged) }
        #expect(await other.entries(of: tresor, from: 0, limit: 1).isEmpty)
    }
}

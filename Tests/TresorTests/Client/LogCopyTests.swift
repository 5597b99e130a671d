// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A log of several parts.
@Suite struct LogCopyTests {
    let store = StageStores.make()
    let world: World
    let anna: Session
    let home: MemoryHome
    let tresor: TresorID

    init() async throws {
        world = World(store: store)
        anna = try await world.quick("anna")
        home = try #require(anna.client.home as? MemoryHome)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await grow(to: 1100)
    }

    /// Appends names, as another device of the same person would.
    private func grow(to count: UInt64) async throws {
        var last = try Entry(try #require(try await log(tresor, in: store).last))
        while last.sequence + 1 < count {
            last = try Entry(
                tresor: tresor, sequence: last.sequence + 1, previous: try last.hash(), author: anna.identity, time: 5,
                body: .rename(RenameBody(try Chronicle.anyName())))
            _ = try await store.append(
                LogChange(tresor: tresor, sequence: last.sequence, previous: last.previous, entry: last.bytes))
        }
    }

    private func parts() throws -> [[[UInt8]]] {
        try (0..<4).compactMap { home.read(.log(tresor, part: $0)) }.map { try LogCopy($0).entries }
    }

    /// Without snapshots: it folds the local log copy.
    private var locked: Client { world.client(home, asking: anna.identity) }

    private func later() -> Session { Session(client: world.client(home), identity: anna.identity) }

    @Test func itIsKeptInPartsThatFoldToTheSame() async throws {
        let state = try await later().client.logs.state(of: tresor)
        let entries = try await log(tresor, in: store)
        #expect(try parts().map(\.count) == [512, 512, 76])
        #expect(try parts().flatMap { $0 } == entries)
        let folded = try #require(try world.client(home).archive.verifiedState(of: tresor))
        #expect(folded.head == state.head && folded.hashes == state.hashes)
        #expect(try await anna.client.logs.records(of: tresor).records.map(\.sequence) == Array(0..<1100))
    }

    @Test func aChangeWritesTheLastPartAlone() async throws {
        _ = try await later().client.logs.state(of: tresor)
        for part in [UInt64(0), 1] { try home.replace(.log(tresor, part: part), with: [7]) }
        try await grow(to: 1101)
        #expect(try await later().client.logs.state(of: tresor).head.sequence == 1100)
        #expect(home.read(.log(tresor, part: 0)) == [7] && home.read(.log(tresor, part: 1)) == [7])
        #expect(try LogCopy(#require(home.read(.log(tresor, part: 2)))).entries.count == 77)
        // Folding the local log copy finds the damage and repairs it.
        #expect(try await locked.logs.state(of: tresor).head.sequence == 1100)
        #expect(try await parts().flatMap { $0 } == log(tresor, in: store))
        try await grow(to: 1537)
        #expect(try await later().client.logs.state(of: tresor).head.sequence == 1536)
        #expect(try parts().map(\.count) == [512, 512, 512, 1])
        #expect(try await parts().flatMap { $0 } == log(tresor, in: store))
    }

    @Test func A74_aPoisonedPartNeverChangesTheState() async throws {
        let head = try await later().client.logs.state(of: tresor).head
        let good = try parts()
        let poisons: [[[UInt8]]] = [
            [], Array(good[2].dropLast()), good[2].reversed(), good[1], Array(good[2].dropFirst()), good[2] + good[1],
        ]
        for part in [UInt64(0), 1, 2] {
            for poison in poisons {
                try home.replace(.log(tresor, part: part), with: LogCopy(entries: poison).bytes)
                #expect(try await locked.logs.state(of: tresor).head == head)
                #expect(try Array(parts().prefix(2)) == Array(good.prefix(2)))
            }
        }
        for part in [UInt64(2), 0] {
            home.delete(.log(tresor, part: part))
            #expect(try await locked.logs.state(of: tresor).head == head)
            #expect(try parts() == good)
        }
    }

    /// A process that dies between two parts, or before the head is written, loses nothing, and its parts do not count.
    @Test(arguments: 0..<6) func anInterruptedWritingIsGoneOnWith(writes: Int) async throws {
        home.fill(after: writes)
        let seen = await failure { _ = try await later().client.logs.state(of: tresor) }
        home.fill(after: nil)
        #expect(seen == (writes < 5 ? .failed(.full) : nil))
        #expect(try anna.client.heads()[tresor]?.sequence == (writes < 5 ? 0 : 1099))
        #expect(try world.client(home).archive.verifiedState(of: tresor)?.head.sequence == (writes < 5 ? 0 : 1099))
        #expect(try await later().client.logs.state(of: tresor).head.sequence == 1099)
        #expect(try await parts().flatMap { $0 } == log(tresor, in: store))
    }

    @Test func A74_aStoreThatShowsOthersWhenAskedAgainIsTheStoresFault() async throws {
        let evil = EvilStore(store)
        let client = world.client(home, asking: anna.identity, seeing: evil)
        let state = try await client.logs.state(of: tresor, remembering: .no)
        evil.flip(entry: 3, bit: 900)
        #expect(await failure { _ = try await client.logs.entries(0..<9, of: state) } == .store(.other))
        evil.frozen(9)
        #expect(await failure { _ = try await client.logs.entries(0..<10, of: state) } == .store(.other))
        #expect(try await client.logs.entries(0..<9, of: state).count == 9)
    }
}

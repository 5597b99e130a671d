// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Contents that are too large for a pack: on several devices, with and without a network (SPEC §8.5, §19.7).
@Suite struct AttachmentTests {
    /// Anna's tresor, which house writes too, and a second device of anna's.
    struct Scene {
        let store: FaultyStore
        let evil = EvilStore(MemoryStore())
        let world: World
        let anna: Session
        let house: Session
        let tresor: TresorID
        let home: MemoryHome
        let other: MemoryHome

        init() async throws {
            store = FaultyStore(evil)
            world = World(store: store)
            (anna, house) = (try await world.quick("anna"), try await world.quick("house"))
            try world.introduce(anna, house)
            home = try #require(anna.client.home as? MemoryHome)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            other = home.copy()
            try await anna.share(tresor, with: [house], as: .writer)
        }

        var records: Records { anna.records(in: tresor) }

        /// Anna's records in a home, over a store.
        func device(_ home: any Home, over store: (any Store)? = nil) -> Records {
            var world = world
            if let store { world.store = store }
            return Session(client: world.client(home), identity: anna.identity).records(in: tresor)
        }

        func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

        /// The blobs that the newest commit names.
        func newest() async throws -> [Blob] {
            let commits = try await CommitReader(client: anna.client).commits(of: try await state(), from: 0)
            guard case .commit(let commit)? = try commits.last?.body else { return [] }
            return commit.blobs
        }

        /// The pieces that a home holds beside its outbox.
        func pieces(_ home: MemoryHome? = nil) -> Set<HomeObject> {
            Set((home ?? self.home).contents.keys.filter { if case .unsent = $0.kind { true } else { false } })
        }

        /// Nothing unsent lies in a home, neither an outbox nor what it held.
        func isClean(_ home: MemoryHome? = nil) -> Bool {
            pieces(home).isEmpty && (home ?? self.home).read(.outbox(tresor)) == nil
        }
    }

    /// A content that does not repeat.
    static func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var dice = Dice(seed: seed)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &dice) }
    }

    @Test(arguments: [65_536, 65_537, 300_000, 1 << 20, (1 << 20) + 1])
    func aLargeContentReachesAnotherDevice(_ count: Int) async throws {
        let scene = try await Scene()
        let content = Self.content(count)
        try await scene.records.put("scan", content, type: "image/png")
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(scene.isClean())
        #expect(try await scene.newest().count == (count > 65_536 ? 2 : 1))
        let second = scene.device(scene.other)
        #expect(try await second.sync().isComplete)
        let record = try await second.get("scan")
        #expect(record.content == content && record.type == "image/png" && record.author == scene.anna.user)
        #expect(scene.isClean(scene.other))
        // A second reading asks the store again: nothing of it was kept.
        scene.store.fail(by: .refusing(.store(.unreachable)), isLasting: true)
        let without = await failure { _ = try await second.get("scan") }
        #expect(without == (count > 65_536 ? .store(.unreachable) : nil))
    }
}

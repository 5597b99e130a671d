// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Anna's tresor, which house writes too, and a second device of anna's that has read nothing of it.
struct AttachmentScene {
    let evil = EvilStore(MemoryStore())
    let store: FaultyStore
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID
    let home: MemoryHome
    let houseHome: MemoryHome
    let other: MemoryHome

    init() async throws {
        store = FaultyStore(evil)
        world = World(store: store)
        (anna, house) = (try await world.quick("anna"), try await world.quick("house"))
        try world.introduce(anna, house)
        home = try #require(anna.client.home as? MemoryHome)
        houseHome = try #require(house.client.home as? MemoryHome)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        other = home.copy()
        try await share()
    }

    /// A content of any size that does not repeat from one part of a blob to the next.
    static func content(_ count: Int, _ mark: UInt8 = 0) -> [UInt8] {
        var (bytes, block) = ([UInt8](), mark)
        while bytes.count < count {
            bytes += [UInt8](repeating: block, count: min(1000, count - bytes.count))
            block &+= 1
        }
        return bytes
    }

    var records: Records { anna.records(in: tresor) }
    var theirs: Records { house.records(in: tresor) }

    func share() async throws { try await anna.share(tresor, with: [house], as: .writer) }

    func revoke() async throws {
        let person = try await anna.people.person(house.user)
        try await anna.tresor(tresor).perform(.revoke([person]))
    }

    /// The records of a person in a home, over a store.
    func device(_ home: any Home, over store: (any Store)? = nil, of person: Session? = nil) -> Records {
        var world = world
        if let store { world.store = store }
        return Session(client: world.client(home), identity: (person ?? anna).identity).records(in: tresor)
    }

    /// The store, which refuses some calls.
    func refusing(_ name: String, _ error: TresorError = .store(.unreachable)) -> FaultyStore {
        FaultyStore(store) { $0.name == name ? .refusing(error) : nil }
    }

    /// How often the store was called.
    func calls(_ name: String) -> Int { store.calls.count { $0.name == name } }

    func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    /// The blobs of the newest commit.
    func newest() async throws -> [Blob] {
        let commits = try await CommitReader(client: anna.client).commits(of: try await state(), from: 0)
        guard case .commit(let commit)? = try commits.last?.body else { return [] }
        return commit.blobs
    }

    /// Commits items and attachments, as a writer does who keeps no rule but those of the log.
    func commit(_ items: [Item], naming attachments: [Blob], pack other: Blob? = nil, by author: Session) async throws {
        let now = try await state()
        let keys = try await author.keyRing.keys(of: now.epoch, in: now)
        let time = world.clock.now
        let bytes = try Pack.sealPack(items, with: keys, at: now, by: author.identity, time: time).bytes
        let pack = try Blob(of: bytes)
        let body = EntryBody.commit(CommitBody(epoch: now.epoch, blobs: [other ?? pack] + attachments))
        let entry = try Entry(
            tresor: tresor, sequence: now.head.sequence + 1, previous: now.head.hash, author: author.identity,
            time: time, body: body)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
            blobs: [StoredBlob(hash: pack.hash, size: pack.size, bytes: bytes)])
        let outcome = try await store.append(change)
        #expect(outcome == .done)
    }

    /// The numbers under which a home holds pieces beside its outbox, each with the number of its pieces.
    func pieces(_ home: MemoryHome? = nil) -> [UInt16: Int] {
        var pieces: [UInt16: Int] = [:]
        for object in (home ?? self.home).contents.keys {
            if case .unsent(_, let number, _) = object.kind { pieces[number, default: 0] += 1 }
        }
        return pieces
    }

    /// Whether a home has no outbox, and nothing that one held.
    func isClean(_ home: MemoryHome? = nil) -> Bool {
        pieces(home).isEmpty && (home ?? self.home).read(.outbox(tresor)) == nil
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Anna's tresor, in which bob writes and which house reads, on a store that can misbehave. They know one another.
/// Mallory knows them all, and no one has compared mallory's safety number.
struct Scene {
    let store: EvilStore
    let world: World
    let anna: Session
    let bob: Session
    let house: Session
    let mallory: Session
    let tresor: TresorID

    init() async throws {
        store = EvilStore()
        world = World(store: store)
        anna = try await world.quick("anna")
        bob = try await world.quick("bob")
        house = try await world.quick("house")
        mallory = try await world.quick("mallory")
        try world.introduce(anna, bob, house)
        for person in [anna, bob, house] { try mallory.client.people.pinBlocking(person.identity.chain) }
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [bob], as: .writer)
        try await anna.share(tresor, with: [house])
        try await settle()
    }

    /// Lets everybody's home see the newest log.
    func settle() async throws {
        for person in [anna, bob, house] { _ = try await person.client.logs.state(of: tresor) }
    }

    var state: LogState { get async throws { try await anna.client.logs.state(of: tresor) } }

    func keys(_ epoch: UInt64) async throws -> EpochKeys { try await anna.keyRing.keys(of: epoch, in: state) }

    /// The same person with no keys in memory.
    func fresh(_ person: Session) -> Session { world.session(of: person) }

    /// The next entry, by any signer.
    func entry(_ body: EntryBody, by author: Session, after state: LogState) throws -> Entry {
        try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author.identity,
            time: world.clock.now, body: body)
    }

    /// Puts an entry into the store past its author's own client.
    func append(
        _ body: EntryBody, by author: Session, putting wraps: [StoredWrap] = [], blobs: [StoredBlob] = []
    ) async throws {
        let entry = try entry(body, by: author, after: try await state)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, putting: wraps,
            blobs: blobs)
        #expect(try await store.append(change) == .done)
    }

    /// A file by any holder of the keys, with any content.
    func forge(
        by author: Session, at state: LogState, head: Head? = nil, keys: EpochKeys, time: UInt64 = 5,
        content: [UInt8] = [1, 2, 3], edit: (inout [UInt8]) -> Void = { _ in }
    ) throws -> SealedFile {
        let header = FileHeader(tresor: tresor, epoch: keys.epoch, head: head ?? state.head)
        let authorship = Authorship(
            header: header, author: author.identity.user, generation: author.identity.generation, time: time)
        var payload = try FilePayload.encode(
            FileFields(authorship, type: .empty, record: .empty, origin: nil), content: content,
            signedBy: author.identity)
        edit(&payload)
        let context = header.bytes
        let sealed = try TC1.seal(payload.span, with: keys.content, label: .fileSeal, context: context.span)
        return try SealedFile(context + sealed)
    }

    /// The bytes that stand before the content of such a file.
    static let fieldsByteCount = 49
}

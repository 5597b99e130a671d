// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// A new identity outside any home.
func identity(_ handle: String) throws -> Identity {
    try Identity.make(handle: try Name(typed: handle), time: 1_777_730_400)
}

/// Any 32 bytes.
func anyDigest() throws -> Hash256 {
    guard let digest = Hash256(try randomBytes(32)) else { throw TresorError.failed(.other) }
    return digest
}

/// The bytes with one bit changed.
func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
    return bytes
}

extension World {
    /// A person whose identity file has a kit as its only key slot: made in milliseconds, without Argon2id.
    func quick(
        _ handle: String, home: MemoryHome = MemoryHome(), seeing view: (any Store)? = nil
    ) async throws -> Session {
        let identity = try Identity.make(handle: try Name(typed: handle), time: clock.now)
        return try await settle(identity, home: home, seeing: view)
    }

    /// A home for an identity, published.
    func settle(
        _ identity: Identity, previous: [[UInt8]] = [], home: MemoryHome = MemoryHome(), seeing view: (any Store)? = nil
    ) async throws -> Session {
        let kit = try RecoveryKit()
        let slot = try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: clock.now)
        try home.replace(.identity, with: try IdentityFile(of: identity, previous: previous, slots: [slot]).bytes)
        let session = Session(client: client(home, seeing: view), identity: identity)
        try await session.client.people.publishCard()
        return session
    }

    /// - Parameter turns: the turns for which it holds what it read; `nil` where every step reads home and store.
    func client(_ home: any Home, seeing view: (any Store)?, turns: Turns? = nil) -> Client {
        Client(
            home: home, store: StageStores.seen(view ?? store), named: nil, turns: turns,
            clock: { [clock] in clock.now })
    }

    /// The same person and home on another view of the store, with no keys in memory.
    func session(of other: Session, home: (any Home)? = nil, seeing view: (any Store)? = nil) -> Session {
        var store = other.client.guardedStore.base
        if let view { store = StageStores.seen(view) }
        let client = Client(home: home ?? other.client.home, store: store, clock: { [clock] in clock.now })
        return Session(client: client, identity: other.identity)
    }
}

extension World {
    /// Appends an entry that its author signs with their own keys, whatever it says, behind what the store really has.
    @discardableResult func append(
        _ body: EntryBody, by author: Identity, generation: UInt32? = nil, to tresor: TresorID, in store: EvilStore,
        wraps: [StoredWrap] = []
    ) async throws -> LogState {
        let entries = try await log(tresor, in: store.truth)
        let state = try Fold.state(of: entries, tresor: tresor)
        let entry = try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author,
            generation: generation, time: clock.now, body: body)
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, putting: wraps)
        let outcome = try await StageStores.byHand { () async throws(TresorError) in try await store.append(change) }
        #expect(outcome == .done)
        return try Fold.state(of: entries + [entry.bytes], tresor: tresor)
    }
}

extension Session {
    /// All of the home but the evidence, to show that nothing changed. The home without the note of what an interrupted
    /// change must still take away, which is written before the change.
    var homeBesidesCleanupJournal: [HomeObject: [UInt8]] {
        home.filter { $0.key != .cleanupJournal }
    }

    /// The home without the wraps it keeps: that of an epoch about to begin is kept before anything is sent.
    var homeBesidesWraps: [HomeObject: [UInt8]] {
        home.filter { $0.key != .wraps }
    }

    var home: [HomeObject: [UInt8]] {
        ((client.home as? MemoryHome)?.contents ?? [:]).filter { object, _ in
            if case .evidence = object.kind { false } else { true }
        }
    }

    /// How much evidence the home holds.
    var evidenceCount: Int { evidence.count }

    var evidence: [[UInt8]] {
        ((client.home as? MemoryHome)?.contents ?? [:]).compactMap { object, bytes in
            if case .evidence = object.kind { bytes } else { nil }
        }
    }

    func share(
        _ tresor: TresorID, with people: [Session], as role: Role = .reader, fromNow: Bool = false,
        notAfter: UInt64? = nil
    ) async throws {
        let chains = people.map(\.identity.chain)
        try await tresors.perform(
            .share(with: chains, role: role, fromNow: fromNow, notAfter: notAfter), on: tresor)
    }

    func seal(_ text: String, in tresor: TresorID, record: String? = nil) async throws -> SealedFile {
        let record = try record.map { name throws in try Name(typed: name) } ?? .empty
        return try await files.seal(Array(text.utf8), record: record, type: Name(typed: "text/plain"), in: tresor)
    }
}

/// The log of a tresor as an honest store holds it.
func log(_ tresor: TresorID, in store: any Store) async throws -> [[UInt8]] {
    try await StageStores.byHand { () async throws(TresorError) in
        try await store.entries(of: tresor, from: 0, limit: .max)
    }
}

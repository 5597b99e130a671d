// SPDX-License-Identifier: Apache-2.0

import Serving
import TresorStore

@testable import TresorCore
@testable import TresorCrypto

/// A log that somebody writes entry by entry without a client: into a store, or by requests.
final class WrittenLog: @unchecked Sendable {
    let tresor: TresorID
    private let founder: Identity
    private let keys: EpochKeys
    private var head: Head

    /// Founds a tresor in a store.
    init(by founder: Identity, in store: any Store) async throws {
        let root = try Root.make(founder: founder.chain)
        let tresor = try root.tresorID()
        let keys = try EpochKeys(epoch: 1)
        let name = try SealedName(
            Name(text: "notes"), kind: .empty, under: keys.content, tresor: tresor, epoch: 1, sequence: 0)
        let genesis = GenesisBody(
            root: root, founder: founder.chain, approvers: [], sealedName: name,
            epoch: try keys.statement(of: tresor, linking: []))
        let entry = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: founder, time: Site.clock(), body: .genesis(genesis))
        self.tresor = tresor
        self.founder = founder
        self.keys = keys
        head = Head(sequence: 0, hash: try entry.hash())
        let wrap = StoredWrap(user: founder.user, epoch: 1, bytes: try wrapOfFounder())
        let change = LogChange(tresor: tresor, sequence: 0, previous: .zero, entry: entry.bytes, putting: [wrap])
        guard try await store.append(change) == .done else { throw LoadFailure("the store refuses a tresor") }
    }

    /// A new wrap of the founder, which the log needs.
    func wrapOfFounder() throws -> [UInt8] {
        try Wrap(keys, of: tresor, for: founder.chain.newest, user: founder.user, history: .all).bytes
    }

    /// Makes people members in a store, two in an entry: so many of those with the longest chains fit.
    func grant(_ people: [CardChain], _ role: Role, in store: any Store) async throws {
        let chains = people.sorted { $0.user < $1.user }
        for start in stride(from: 0, to: chains.count, by: 2) {
            let entry = try grant(Array(chains[start..<min(start + 2, chains.count)]), role, after: head)
            let change = LogChange(tresor: tresor, sequence: entry.sequence, previous: head.hash, entry: entry.bytes)
            guard try await store.append(change) == .done else { throw LoadFailure("the store refuses an entry") }
            try advance(to: entry)
        }
    }

    /// An entry that makes people members, behind any head.
    ///
    /// - Parameter people: by rising user id.
    func grant(_ people: [CardChain], _ role: Role, after head: Head) throws -> Entry {
        let body = GrantBody(people: people, role: role, notAfter: nil, fromNow: nil)
        return try entry(.grant(body), by: founder, after: head)
    }

    /// The founder's entry that names the tresor anew.
    func naming(_ text: String) throws -> Entry {
        let name = try SealedName(
            Name(text: text), kind: .empty, under: keys.content, tresor: tresor, epoch: 1, sequence: head.sequence + 1)
        return try entry(.rename(RenameBody(name)), by: founder, after: head)
    }

    /// An entry with bytes that nobody reads.
    func unread(_ bytes: [UInt8], by author: Identity) throws -> Entry {
        try entry(.additive(AdditiveBody(type: 130, bytes)), by: author, after: head)
    }

    /// Notes that an entry was taken.
    func advance(to entry: Entry) throws { head = Head(sequence: entry.sequence, hash: try entry.hash()) }

    private func entry(_ body: EntryBody, by author: Identity, after head: Head) throws -> Entry {
        try Entry(
            tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: author, time: Site.clock(),
            body: body)
    }
}

extension Entry {
    /// The request that appends it, without wraps.
    var request: AppendRequest {
        AppendRequest(tresor: tresor, sequence: sequence, previous: previous, entry: bytes, wraps: [], removing: [])
    }
}

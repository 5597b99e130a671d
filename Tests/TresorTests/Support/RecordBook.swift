// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

/// A tresor with real keys whose members commit records, and all that a store ever had of it.
struct RecordBook {
    let owner: Identity
    let tresor: TresorID
    private(set) var entries: [[UInt8]]
    private(set) var state: LogState
    private(set) var keys: [UInt64: EpochKeys]
    private(set) var packs: [UInt64: [UInt8]] = [:]
    private(set) var volumes: [UInt64: [[UInt8]]] = [:]
    var time: UInt64 = 1_777_730_400

    init(_ owner: Identity) throws {
        self.owner = owner
        let root = try Root.make(founder: owner.chain)
        tresor = try root.tresorID()
        let first = try EpochKeys(epoch: 1)
        let body = EntryBody.genesis(
            GenesisBody(
                root: root, founder: owner.chain, approvers: [], sealedName: try Chronicle.anyName(),
                epoch: try first.statement(of: tresor, linking: [])))
        let entry = try Entry(tresor: tresor, sequence: 0, previous: .zero, author: owner, time: time, body: body)
        (entries, keys) = ([entry.bytes], [1: first])
        state = try Fold.state(of: entries, tresor: tresor)
    }

    func entry(_ body: EntryBody, by author: Identity) throws -> Entry {
        try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author, time: time,
            body: body)
    }

    @discardableResult mutating func add(_ body: EntryBody, by author: Identity? = nil) throws -> UInt64 {
        let entry = try entry(body, by: author ?? owner)
        var fold = Fold(state: state)
        try fold.apply(entry.bytes)
        guard let after = fold.state else { throw TresorError.altered }
        entries.append(entry.bytes)
        state = after
        return entry.sequence
    }

    private mutating func nextEpoch() throws -> Epoch {
        let next = try EpochKeys(epoch: state.epoch + 1)
        keys[next.epoch] = next
        return try next.statement(of: tresor, linking: [try key(state.epoch)])
    }

    func key(_ epoch: UInt64) throws -> EpochKeys {
        guard let key = keys[epoch] else { throw TresorError.noAccess }
        return key
    }

    mutating func admit(_ person: Identity, as role: Role, fromNow: Bool = false) throws {
        let next = fromNow ? try nextEpoch() : nil
        let now = try next.map { GrantBody.FromNow(epoch: $0, sealedName: try Chronicle.anyName()) }
        try add(.grant(GrantBody(people: [person.chain], role: role, notAfter: nil, fromNow: now)))
    }

    mutating func remove(_ person: Identity) throws {
        try add(.remove(RemoveBody(users: [person.user], epoch: try nextEpoch())))
    }

    mutating func rotate() throws { try add(.epoch(EpochBody(try nextEpoch()))) }

    /// A pack under the current key.
    func pack(_ items: [Item], by author: Identity? = nil) throws -> [UInt8] {
        try Pack.sealPack(items, with: try key(state.epoch), at: state, by: author ?? owner, time: time).bytes
    }

    func commit(_ pack: [UInt8], attachments: [Blob] = []) throws -> EntryBody {
        .commit(CommitBody(epoch: state.epoch, blobs: [try Blob(of: pack)] + attachments))
    }

    @discardableResult mutating func put(_ items: Item..., by author: Identity? = nil) throws -> UInt64 {
        try put(items, by: author)
    }

    @discardableResult mutating func put(_ items: [Item], by author: Identity? = nil) throws -> UInt64 {
        let pack = try pack(items, by: author)
        let sequence = try add(commit(pack), by: author)
        packs[sequence] = pack
        return sequence
    }

    /// A checkpoint with one volume.
    @discardableResult mutating func checkpoint(_ kept: [KeptItem], upto: UInt64) throws -> UInt64 {
        let volume = try Volume(of: kept).seal(with: try key(state.epoch), at: state, by: owner, time: time).bytes
        let sequence = try add(
            .checkpoint(CheckpointBody(upto: upto, epoch: state.epoch, volumes: [try Blob(of: volume)])))
        volumes[sequence] = [volume]
        return sequence
    }

    func entry(at sequence: UInt64) throws -> Entry { try Entry(entries[Int(sequence)]) }

    var commits: [Entry] {
        get throws { try entries.map { try Entry($0) }.filter(\.isCommit) }
    }

    /// The outcome of a commit for a reader of these keys, with these bytes as its pack.
    func outcome(
        of entry: Entry, _ bytes: [UInt8]?, history: History? = .all, keys: [UInt64: EpochKeys]? = nil
    ) -> PackOutcome {
        PackOutcome.openPack(bytes, of: entry, history: history, in: state) { () throws(TresorError) in
            guard case .commit(let commit) = try entry.body, let key = (keys ?? self.keys)[commit.epoch] else {
                throw .noAccess
            }
            return key
        }
    }

    /// The items of all packs that open.
    func items(upto limit: UInt64 = .max) throws -> [UInt64: [Item]] {
        var found: [UInt64: [Item]] = [:]
        for entry in try commits where entry.sequence <= limit {
            if case .items(let items) = outcome(of: entry, packs[entry.sequence]) { found[entry.sequence] = items }
        }
        return found
    }

    /// The versions that the newest checkpoint keeps, for a reader of these keys.
    func kept(_ keys: [UInt64: EpochKeys]? = nil) throws(TresorError) -> [KeptItem] {
        guard let bytes = volumes[state.checkpoint], let entry = try? entry(at: state.checkpoint),
            case .checkpoint(let checkpoint) = try entry.body
        else { throw .store(.withheld) }
        guard let key = (keys ?? self.keys)[checkpoint.epoch] else { throw .noAccess }
        var kept: [KeptItem] = []
        for index in checkpoint.volumes.indices {
            kept += try Volume.openVolume(bytes[index], at: index, of: entry, in: state, with: key).kept
        }
        try RecordTable.checkVolumes(kept, upto: checkpoint.upto) { sequence in
            guard let entry = try? self.entry(at: sequence), case .commit(let commit) = try? entry.body,
                state.voidRule(of: entry) == nil
            else { return nil }
            return commit.blobs.count
        }
        return kept
    }

    /// The table of a reader.
    func table(
        history: History? = .all, keys: [UInt64: EpochKeys]? = nil, packs: [UInt64: [UInt8]]? = nil
    ) throws -> RecordTable {
        RecordTable.readRecords(try commits, floor: state.floor) { entry in
            outcome(of: entry, (packs ?? self.packs)[entry.sequence], history: history, keys: keys)
        } volumes: { () throws(TresorError) in
            try kept(keys)
        }
    }
}

extension Item {
    /// A text, a deletion for none.
    init(_ record: String, _ text: String?, replacing: [UInt64] = [], at time: UInt64 = 1_777_730_400) throws {
        let content = try text.map { Content.bytes(Array($0.utf8), type: try Name(typed: "text/plain")) }
        self.init(
            record: try Name(typed: record), replaces: replacing, time: time, content: content ?? .deleted)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Packs, volumes, and the table of records (SPEC §19).
enum RecordOperations {
    static func openPack(_ input: VectorFields) throws -> VectorFields {
        let (state, entry) = try lastEntry(input)
        let outcome = PackOutcome.openPack(
            try input.optional("pack"), of: entry, history: try history(input), in: state
        ) { () throws(TresorError) in try keys(of: try epoch(of: entry), try? input.optional("keys"), in: state) }
        switch outcome {
        case .items(let items): return try named("items", items)
        case .notMine: return try named("not mine", [])
        case .missing(let error): throw error
        case .void: return try named("void", [])
        }
    }

    static func openAttachment(_ input: VectorFields) async throws -> VectorFields {
        let (state, entry) = try lastEntry(input)
        var decoder = ByteDecoder(try input.bytes("item"))
        let item = try Item(from: &decoder, replacingUpTo: .max, blobCount: nil)
        guard case .attachment = item.content else { throw VectorProblem("no attachment") }
        guard let attachment = Attachment(of: item, in: entry) else { throw TresorError.altered }
        guard let bytes = try input.optional("attachment") else { throw TresorError.store(.withheld) }
        guard try Blob(of: bytes) == attachment.blob else { throw TresorError.altered }
        let keys = try keys(of: attachment.epoch, input.optional("keys"), in: state)
        var sink = MemorySink()
        let count = try await attachment.openAttachment(MemorySource(bytes), with: keys, in: state, to: &sink)
        return VectorFields([
            "content hash": try plainHash(sink.bytes), "content size": bigEndianBytes(UInt64(count)),
        ])
    }

    static func openVolume(_ input: VectorFields) throws -> VectorFields {
        let (state, entry) = try lastEntry(input)
        let keys = try keys(of: try epoch(of: entry), input.optional("keys"), in: state)
        let volume = try Volume.openVolume(
            input.optional("volume"), at: Int(try input.integer("index")), of: entry, in: state, with: keys)
        return try fields(of: volume.kept)
    }

    static func readRecords(_ input: VectorFields) throws -> VectorFields {
        let scene = try RecordScene(input)
        let table = scene.table
        let names = table.names
        var aside: [[UInt8]] = []
        var contents: [[UInt8]] = []
        for name in names {
            aside.append(table.different(of: name).dropFirst().flatMap { bigEndianBytes($0.revision) })
            guard let shown = table.shown(of: name),
                case .bytes(let bytes, _) = try scene.item(name, shown.revision).content
            else {
                contents.append([])
                continue
            }
            contents.append(try plainHash(bytes))
        }
        return VectorFields([
            "void": table.void.flatMap { bigEndianBytes($0) },
            "missing volume": Array((table.missingVolume?.name ?? "").utf8), "by volumes": [table.isByVolumes ? 1 : 0],
        ])
        .with("names", names.map(\.bytes))
        .with("heads", names.map { table.heads(of: $0).flatMap { bigEndianBytes($0.revision) } })
        .with("shown", names.map { bigEndianBytes(table.shown(of: $0)?.revision ?? 0) })
        .with("put aside", aside).with("content hashes", contents)
        .with(
            "missing",
            table.missing.sorted { $0.key < $1.key }.map { bigEndianBytes($0.key) + Array($0.value.name.utf8) })
    }

    static func comparePacks(_ input: VectorFields) throws -> VectorFields {
        let scene = try RecordScene(input)
        let kept = try scene.kept()
        let packs = scene.items.filter { $0.key < scene.state.checkpoint }
        try RecordTable.comparePacks(kept, upto: scene.state.floor, commits: packs.keys.sorted()) {
            (sequence) throws(TresorError) in try PackItem.all(packs[sequence] ?? [])
        }
        return try fields(of: kept)
    }

    private static func named(_ outcome: String, _ items: [Item]) throws -> VectorFields {
        VectorFields(["outcome": Array(outcome.utf8)]).with("item hashes", try items.map { try plainHash($0.bytes) })
    }

    private static func fields(of kept: [KeptItem]) throws -> VectorFields {
        VectorFields(["sequences": kept.flatMap { bigEndianBytes($0.sequence) }])
            .with("item hashes", try kept.map { try plainHash($0.item.bytes) })
    }

    /// BLAKE2b-256 without a label.
    private static func plainHash(_ bytes: [UInt8]) throws -> [UInt8] {
        var hash = try BLAKE2b(outputCount: 32)
        try hash.update(bytes.span)
        return try hash.finalize()
    }

    /// The state after the entry of a test, and that entry.
    private static func lastEntry(_ input: VectorFields) throws -> (LogState, Entry) {
        var fold = Fold(state: try input.state())
        let entry = try Entry(input.bytes("entry"))
        try fold.apply(entry)
        guard let state = fold.state else { throw VectorProblem("no state") }
        return (state, entry)
    }

    /// The epoch that the entry names.
    static func epoch(of entry: Entry) throws(TresorError) -> UInt64 {
        switch try entry.body {
        case .commit(let commit): commit.epoch
        case .checkpoint(let checkpoint): checkpoint.epoch
        default: throw .altered
        }
    }

    /// The history of the member who reads; `nil` for nobody.
    static func history(_ input: VectorFields) throws -> History? {
        guard try input.optional("history") != nil else { return nil }
        let first = try input.integer("history")
        return first == 0 ? .all : .from(epoch: first)
    }

    /// Keys of an epoch, checked against the log.
    static func keys(of epoch: UInt64, _ bytes: [UInt8]??, in state: LogState) throws(TresorError) -> EpochKeys {
        guard let bytes = bytes ?? nil, let statement = state.statement(of: epoch) else { throw .noAccess }
        let keys = try EpochKeys(epoch: epoch, unwrapped: bytes.span)
        try keys.checkKeys(against: statement, of: state.tresor)
        return keys
    }
}

/// A log, and what a reader has of its packs and volumes.
private struct RecordScene {
    let state: LogState
    let table: RecordTable
    /// The items of the packs that open.
    private(set) var items: [UInt64: [Item]] = [:]
    private let entries: [Entry]
    private let volumes: [[UInt8]]
    private let keys: [UInt64: [UInt8]]

    init(_ input: VectorFields) throws {
        let state = try input.state()
        let entries = try input.list("log").map { try Entry($0) }
        let (keys, packs) = (try Self.byNumber(input.list("keys")), try Self.byNumber(input.list("packs")))
        let volumes = try input.list("volumes")
        let history = try RecordOperations.history(input)
        let commits = entries.filter { $0.isCommit }
        var outcomes: [UInt64: PackOutcome] = [:]
        for entry in commits {
            let outcome = PackOutcome.openPack(packs[entry.sequence], of: entry, history: history, in: state) {
                () throws(TresorError) in
                let epoch = try RecordOperations.epoch(of: entry)
                return try RecordOperations.keys(of: epoch, keys[epoch], in: state)
            }
            outcomes[entry.sequence] = outcome
            if case .items(let items) = outcome { self.items[entry.sequence] = items }
        }
        let opened = outcomes
        table = RecordTable.readRecords(commits, floor: state.floor) {
            opened[$0.sequence] ?? .void
        } volumes: {
            () throws(TresorError) in
            try Self.kept(in: entries, state, volumes, keys)
        }
        (self.state, self.entries, self.volumes, self.keys) = (state, entries, volumes, keys)
    }

    func kept() throws -> [KeptItem] { try Self.kept(in: entries, state, volumes, keys) }

    /// Reads the versions that the newest checkpoint keeps.
    private static func kept(
        in entries: [Entry], _ state: LogState, _ volumes: [[UInt8]], _ keys: [UInt64: [UInt8]]
    ) throws(TresorError) -> [KeptItem] {
        let entry = entries[Int(state.checkpoint)]
        guard case .checkpoint(let checkpoint) = try entry.body else { throw .altered }
        let keys = try RecordOperations.keys(of: checkpoint.epoch, keys[checkpoint.epoch], in: state)
        var kept: [KeptItem] = []
        for index in checkpoint.volumes.indices {
            let bytes = volumes.indices.contains(index) ? volumes[index] : nil
            kept += try Volume.openVolume(bytes, at: index, of: entry, in: state, with: keys).kept
        }
        try RecordTable.checkVolumes(kept, upto: checkpoint.upto) { sequence in
            guard let index = Int(exactly: sequence), entries.indices.contains(index),
                case .commit(let commit) = try? entries[index].body, state.voidRule(of: entries[index]) == nil
            else { return nil }
            return commit.blobs.count
        }
        return kept
    }

    /// A version of a record, from its pack or from a volume.
    func item(_ name: Name, _ revision: UInt64) throws -> Item {
        if let item = items[revision]?.first(where: { $0.record == name }) { return item }
        guard let kept = try kept().first(where: { $0.sequence == revision && $0.item.record == name }) else {
            throw VectorProblem("a version of nothing")
        }
        return kept.item
    }

    /// Rows of u64 ‖ bytes.
    private static func byNumber(_ rows: [[UInt8]]) throws -> [UInt64: [UInt8]] {
        var found: [UInt64: [UInt8]] = [:]
        for row in rows {
            guard row.count >= 8 else { throw VectorProblem("a row without its number") }
            found[row[..<8].reduce(0) { $0 << 8 | UInt64($1) }] = Array(row[8...])
        }
        return found
    }
}

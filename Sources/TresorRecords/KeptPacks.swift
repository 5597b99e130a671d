// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
package import TresorCrypto

/// A piece of a part of the packs that a home keeps of a tresor (SPEC §8.5), as the store had them. The log judges them.
package struct KeptPacks: Hashable, Sendable {
    /// The number of bytes of packs with which a piece takes no more: 1 MiB.
    static let fullByteCount = 1 << 20

    /// The packs, by the sequence number of their entry.
    var packs: [UInt64: [UInt8]] = [:]

    /// Begins with nothing.
    init() {}

    /// Whether further packs go into another piece.
    var isFull: Bool { packs.values.reduce(0) { $0 + $1.count } >= Self.fullByteCount }

    /// Reads a piece.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.records)
        var last: UInt64?
        while decoder.remaining > 0 {
            let sequence = try decoder.integer(UInt64.self)
            if let last, sequence <= last { throw .altered }
            last = sequence
            packs[sequence] = try decoder.vector32(1...Int(Blob.greatestPackSize))
        }
    }

    /// The encoded piece.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.records)
        for (sequence, pack) in packs.sorted(by: { $0.key < $1.key }) {
            encoder.integer(sequence)
            encoder.vector32(pack)
        }
        return encoder.bytes
    }
}

/// The kept packs of one tresor in a home, in parts of as many entries, and those in pieces.
struct PackFiles: Sendable {
    let client: Client
    let tresor: TresorID

    private var home: any Home { client.home }

    init(_ client: Client, _ tresor: TresorID) {
        self.client = client
        self.tresor = tresor
    }

    /// The part in which the pack of an entry is.
    static func part(of sequence: UInt64) -> UInt64 { sequence / LogArchive.packPartCount }

    /// Returns values in the shares that one reader each reads best: those of one part, with rising sequence numbers.
    static func byPart<Value>(_ values: [Value], _ sequence: (Value) -> UInt64) -> [[Value]] {
        var (parts, last): ([[Value]], UInt64?) = ([], nil)
        for value in values {
            let part = Self.part(of: sequence(value))
            if part != last { parts.append([]) }
            parts[parts.count - 1].append(value)
            last = part
        }
        return parts
    }

    /// Reads a piece; `nil` for none. One that cannot be read counts as empty: its packs are read from the store again.
    func piece(_ number: UInt64, of part: UInt64) throws(TresorError) -> KeptPacks? {
        guard let bytes = try home.read(.records(tresor, part: part, piece: number)) else { return nil }
        return (try? KeptPacks(bytes)) ?? KeptPacks()
    }

    /// Reads the pieces of a part, one after another.
    func forEachPiece(
        of part: UInt64, _ body: (UInt64, KeptPacks) throws(TresorError) -> Void
    ) throws(TresorError) {
        var number: UInt64 = 0
        while let piece = try piece(number, of: part) {
            try body(number, piece)
            number += 1
        }
    }

    /// Returns those of some commits of a part whose packs are kept, as the log names them.
    func kept(_ packs: [UInt64: Blob], of part: UInt64) throws(TresorError) -> Set<UInt64> {
        var kept: Set<UInt64> = []
        try forEachPiece(of: part) { (_, piece) throws(TresorError) in
            for (sequence, bytes) in piece.packs {
                if let pack = packs[sequence], try Blob(of: bytes) == pack { kept.insert(sequence) }
            }
        }
        return kept
    }

    /// Keeps packs durably for a member: each in the last piece of its part, or in a new one if that is full.
    ///
    /// - Throws: ``TresorError/noAccess`` where another program has seen by now that this person is out of the tresor, or
    ///   has deleted it; the errors of the home.
    func keep(_ packs: [UInt64: [UInt8]], for user: UserID) async throws(TresorError) {
        let parts = Dictionary(grouping: packs) { Self.part(of: $0.key) }.sorted { $0.key < $1.key }
        try await Cores.apart { () throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                guard try client.archive.verifiedState(of: tresor)?.members[user] != nil else { throw .noAccess }
                for (part, packs) in parts { try keep(packs, in: part) }
            }
        }
    }

    private func keep(_ packs: [(key: UInt64, value: [UInt8])], in part: UInt64) throws(TresorError) {
        var fresh = packs.reduce(into: [UInt64: [UInt8]]()) { $0[$1.key] = $1.value }
        var (last, number) = (KeptPacks(), UInt64(0))
        try forEachPiece(of: part) { (place, piece) throws(TresorError) in
            (last, number) = (piece, place)
            // A pack that was kept with other bytes is replaced where it lies.
            for sequence in piece.packs.keys {
                if let pack = fresh.removeValue(forKey: sequence) { last.packs[sequence] = pack }
            }
            if last != piece { try replace(last, number, of: part) }
        }
        let order = fresh.keys.sorted()
        for sequence in order {
            if last.isFull { (last, number) = (KeptPacks(), number + 1) }
            last.packs[sequence] = fresh[sequence]
            if last.isFull || sequence == order.last { try replace(last, number, of: part) }
        }
    }

    private func replace(_ piece: KeptPacks, _ number: UInt64, of part: UInt64) throws(TresorError) {
        try home.replace(.records(tresor, part: part, piece: number), with: piece.bytes)
    }
}

/// Reads kept packs and entries one after another, and holds one piece, what the last few packs say, and the entries.
final class PackReader {
    /// The most packs whose items are held: at most 1 MiB each.
    private static let openedCount = 16

    /// Reads what volumes have in place of packs.
    let volumes: VolumeReader
    private let files: PackFiles
    /// Which piece of a part has the pack of an entry, and the next piece to look at; `nil` behind the last.
    private var places: (part: UInt64, pieces: [UInt64: UInt64], next: UInt64?)?
    private var held: (part: UInt64, number: UInt64, piece: KeptPacks)?
    /// The parts of the log copy that were read, each by its first entry.
    private var log: [UInt64: [[UInt8]]] = [:]
    /// The entries that were read.
    private var entries: [UInt64: Entry] = [:]
    /// The last used one last.
    private var opened: [(sequence: UInt64, items: [Item])] = []
    private let noted: OpenedPacks?

    /// - Parameter noted: takes what each pack says that is opened.
    init(client: Client, tresor: TresorID, noting noted: OpenedPacks? = nil) {
        self.noted = noted
        files = PackFiles(client, tresor)
        volumes = VolumeReader(VolumeFiles(client: client, tresor: tresor))
    }

    /// Returns the pack of an entry, as the home has it.
    func pack(of sequence: UInt64) throws(TresorError) -> [UInt8]? {
        let part = PackFiles.part(of: sequence)
        if places?.part != part { places = (part, [:], 0) }
        // A call for one pack reads no piece behind it.
        while places?.pieces[sequence] == nil, let next = places?.next {
            guard let piece = try files.piece(next, of: part) else {
                places?.next = nil
                break
            }
            for sequence in piece.packs.keys { places?.pieces[sequence] = next }
            held = (part, next, piece)
            places?.next = next + 1
        }
        guard let number = places?.pieces[sequence] else { return nil }
        if held?.part != part || held?.number != number {
            held = try files.piece(number, of: part).map { (part, number, $0) }
        }
        return held?.piece.packs[sequence]
    }

    /// Returns an entry of a state, as the home has it.
    ///
    /// - Throws: ``TresorError/store(_:)`` where the home lacks it.
    func entry(_ sequence: UInt64, of state: LogState) throws(TresorError) -> Entry {
        if let entry = entries[sequence] { return entry }
        let first = LogCopy.end(ofPartWith: sequence) - LogCopy.partCount
        let part: [[UInt8]]
        if let read = log[first] {
            part = read
        } else {
            do throws(TresorError) {
                part = try files.client.archive.entries(of: state, from: first)
            } catch {
                throw error == .notFound ? .store(.withheld) : error
            }
            log[first] = part
        }
        guard sequence - first < UInt64(part.count) else { throw .store(.withheld) }
        let entry = try Entry(part[Int(sequence - first)])
        entries[sequence] = entry
        return entry
    }

    /// Returns the items of the pack of an entry.
    ///
    /// - Parameter open: opens it, if it is not among the last few.
    func items(
        of sequence: UInt64, _ open: ([UInt8]?) throws(TresorError) -> [Item]
    ) throws(TresorError) -> [Item] {
        if let index = opened.lastIndex(where: { $0.sequence == sequence }) {
            let pack = opened.remove(at: index)
            opened.append(pack)
            return pack.items
        }
        let items = try open(try pack(of: sequence))
        try noted?.note(items, of: sequence)
        if opened.count == Self.openedCount { opened.removeFirst() }
        opened.append((sequence, items))
        return items
    }
}

/// The items of the packs that a compaction has opened, without their contents. It opens none of them twice: its volumes
/// are later compared with these.
final class OpenedPacks: Sendable {
    private let packs = Mutex<[UInt64: [PackItem]]>([:])

    /// The items of a pack; `nil` for one that was not opened.
    subscript(sequence: UInt64) -> [PackItem]? { packs.withLock { $0[sequence] } }

    func note(_ items: [Item], of sequence: UInt64) throws(TresorError) {
        let items = try PackItem.all(items)
        packs.withLock { $0[sequence] = items }
    }
}

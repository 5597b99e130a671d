// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
package import TresorCrypto

/// A part of the packs that a home keeps of a tresor (SPEC §8.5), as the store had them. The log judges them.
package struct KeptPacks: Hashable, Sendable {
    /// The number of entries whose packs are in one part: 512.
    static let partCount: UInt64 = 512

    /// The packs, by the sequence number of their entry.
    var packs: [UInt64: [UInt8]] = [:]

    /// Begins with nothing.
    init() {}

    /// Reads a part.
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

    /// The encoded part.
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

/// The parts of the kept packs of one tresor in a home.
struct PackFiles: Sendable {
    let home: any Home
    let tresor: TresorID

    init(_ client: Client, _ tresor: TresorID) {
        home = client.home
        self.tresor = tresor
    }

    /// Reads a part. One that cannot be read counts as none: it is read from the store again.
    func part(_ number: UInt64) throws(TresorError) -> KeptPacks {
        guard let bytes = try home.read(.records(tresor, part: number)) else { return KeptPacks() }
        return (try? KeptPacks(bytes)) ?? KeptPacks()
    }

    /// Adds packs to a part, durably.
    func keep(_ packs: [UInt64: [UInt8]], in number: UInt64) async throws(TresorError) {
        guard !packs.isEmpty else { return }
        try await Cores.apart { () throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                var kept = try part(number)
                kept.packs.merge(packs) { $1 }
                try home.replace(.records(tresor, part: number), with: kept.bytes)
            }
        }
    }

    /// Deletes the packs of all entries up to one.
    func delete(upTo sequence: UInt64) throws(TresorError) {
        for number in 0...(sequence / KeptPacks.partCount) { try home.delete(.records(tresor, part: number)) }
    }
}

/// Reads kept packs one after another, and holds one part, and what the last few packs say.
final class PackReader {
    /// The most packs whose items are held: at most 1 MiB each.
    private static let openedCount = 16

    private let files: PackFiles
    private var held: (part: UInt64, packs: KeptPacks)?
    /// The last used one last.
    private var opened: [(sequence: UInt64, items: [Item])] = []

    init(client: Client, tresor: TresorID) {
        files = PackFiles(client, tresor)
    }

    /// Returns the pack of an entry, as the home has it.
    func pack(of sequence: UInt64) throws(TresorError) -> [UInt8]? {
        let part = sequence / KeptPacks.partCount
        if let held, held.part == part { return held.packs.packs[sequence] }
        let packs = try files.part(part)
        held = (part, packs)
        return packs.packs[sequence]
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
        if opened.count == Self.openedCount { opened.removeFirst() }
        opened.append((sequence, items))
        return items
    }
}

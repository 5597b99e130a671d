// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Opens the packs of commits on all cores, some ahead of who asks for them in their order. One reader reads them before: it
/// goes on behind the last ones, and so reads each piece of the home once.
final class PackOpener {
    /// The most bytes of packs whose items are held, unless one alone has more: 4 MiB.
    private static let heldByteCount: UInt64 = 1 << 22

    private let entries: [Entry]
    private let packs: PackReader
    private let open: @Sendable (Entry, [UInt8]?) -> PackOutcome
    private var opened: [UInt64: PackOutcome] = [:]

    /// - Parameters:
    ///   - entries: the commits that are asked for, by rising number.
    ///   - packs: reads their packs.
    ///   - open: opens a pack; `nil` for one that the home lacks.
    init(
        _ entries: [Entry], _ packs: PackReader, _ open: @escaping @Sendable (Entry, [UInt8]?) -> PackOutcome
    ) {
        (self.entries, self.packs, self.open) = (entries, packs, open)
    }

    func outcome(of entry: Entry) -> PackOutcome {
        if opened[entry.sequence] == nil { openNext(from: entry.sequence) }
        return opened.removeValue(forKey: entry.sequence) ?? open(entry, try? packs.pack(of: entry.sequence))
    }

    private func openNext(from first: UInt64) {
        var (next, left): ([(entry: Entry, pack: [UInt8]?)], UInt64) = ([], Self.heldByteCount)
        for entry in entries[entries.partitioningIndex { $0.sequence >= first }...] {
            let size = (try? entry.body)?.blobs.first?.size ?? 0
            guard next.isEmpty || size <= left else { break }
            left -= min(size, left)
            next.append((entry, try? packs.pack(of: entry.sequence)))
        }
        let (read, open) = (next, open)
        let grain = max(1, (read.count + Cores.count - 1) / Cores.count)
        let outcomes = try? Cores.map(read.count, grain: grain) { (range) throws(TresorError) in
            read[range].map { (sequence: $0.entry.sequence, outcome: open($0.entry, $0.pack)) }
        }
        opened = [:]
        for (sequence, outcome) in outcomes ?? [] { opened[sequence] = outcome }
    }
}

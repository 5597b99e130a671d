// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Opens the packs of commits on all cores, some ahead of who asks for them in their order.
final class PackOpener {
    /// The most bytes of packs whose items are held, unless one alone has more: 4 MiB.
    private static let heldByteCount: UInt64 = 1 << 22

    private let entries: [Entry]
    private let reader: @Sendable () -> PackReader
    private let open: @Sendable (Entry, PackReader) -> PackOutcome
    private var opened: [UInt64: PackOutcome] = [:]

    /// - Parameters:
    ///   - entries: the commits that are asked for, by rising number.
    ///   - reader: makes what reads the packs of one part.
    ///   - open: opens a pack.
    init(
        _ entries: [Entry], reader: @escaping @Sendable () -> PackReader,
        _ open: @escaping @Sendable (Entry, PackReader) -> PackOutcome
    ) {
        (self.entries, self.reader, self.open) = (entries, reader, open)
    }

    func outcome(of entry: Entry) -> PackOutcome {
        if opened[entry.sequence] == nil { openNext(from: entry.sequence) }
        return opened.removeValue(forKey: entry.sequence) ?? open(entry, reader())
    }

    private func openNext(from first: UInt64) {
        var (next, left): ([Entry], UInt64) = ([], Self.heldByteCount)
        for entry in entries[entries.partitioningIndex { $0.sequence >= first }...] {
            let size = (try? entry.body)?.blobs.first?.size ?? 0
            guard next.isEmpty || size <= left else { break }
            left -= min(size, left)
            next.append(entry)
        }
        let (shares, reader, open) = (PackFiles.byPart(next, \.sequence), reader, open)
        let outcomes = try? Cores.map(shares.count, grain: 1) { (range) throws(TresorError) in
            let packs = reader()
            return shares[range].joined().map { (sequence: $0.sequence, outcome: open($0, packs)) }
        }
        opened = [:]
        for (sequence, outcome) in outcomes ?? [] { opened[sequence] = outcome }
    }
}

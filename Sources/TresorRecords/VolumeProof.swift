// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Proves what the newest checkpoint says (SPEC §19.5).
struct VolumeProof: Sendable {
    let session: Session
    let view: RecordView
    let checkpoint: Checkpoint
    /// At least all entries with the type of a commit, in order.
    let entries: [Entry]
    /// The items of packs that were opened before.
    var opened: OpenedPacks?

    private var client: Client { session.client }
    private var state: LogState { view.state }
    private var files: VolumeFiles { VolumeFiles(client: client, tresor: state.tresor) }
    private var commits: [UInt64: Entry] {
        entries.reduce(into: [:]) { if $1.isCommit { $0[$1.sequence] = $1 } }
    }

    /// Makes sure that the home has all volumes.
    ///
    /// - Throws: ``TresorError/store(_:)`` for a volume that the store has not either.
    func fetch() async throws(TresorError) {
        let pull = RecordPull(session: session, state: state)
        _ = try await pull.fetchVolumes(of: checkpoint)
        guard try await pull.lackingVolumes(of: checkpoint).isEmpty else { throw .store(.withheld) }
    }

    /// Opens all volumes, from the home, and compares them with the base.
    ///
    /// - Throws: the errors of ``Checkpoint/kept(with:commits:_:)`` and of the comparison.
    func kept() async throws(TresorError) -> [KeptItem] {
        try await kept { (place) throws(TresorError) in try files.volume(place, of: checkpoint) }
    }

    /// Opens all volumes, and compares them with the packs or with the earlier volumes by which the view is read; with nothing
    /// where it is read by these very volumes.
    ///
    /// - Parameters:
    ///   - isCompared: whether to compare them.
    ///   - read: reads the volume at a place.
    func kept(
        comparing isCompared: Bool = true, _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [KeptItem] {
        let kept = try await kept(of: checkpoint, read)
        if isCompared, !view.isByNewestVolumes { try await compare(kept) }
        return kept
    }

    private func kept(
        of checkpoint: Checkpoint, _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [KeptItem] {
        let keys = try await session.keyRing.keys(of: checkpoint.body.epoch, in: state)
        return try await Cores.apart { () throws(TresorError) in
            Array(try checkpoint.kept(with: keys, commits: commits, read).joined())
        }
    }

    /// Compares what the volumes keep with the packs, or with the earlier volumes by which the view is read. What cannot be
    /// told hides nothing that can: each item is compared whose pack is at hand, or that the earlier volumes keep. Which
    /// versions have to be kept is told only where no pack from before the checkpoint is missing.
    ///
    /// - Throws: ``TresorError/altered`` for volumes that are not what the packs say; ``TresorError/store(_:)`` for a
    ///   version that earlier volumes have left out, where nothing else is wrong: only its pack could tell.
    private func compare(_ kept: [KeptItem]) async throws(TresorError) {
        let base = view.volumes?.checkpoint
        let floor = base?.body.upto ?? 0
        var earlier: [UInt64: [Item]] = [:]
        if let base {
            let volumes = try await self.kept(of: base) { (place) throws(TresorError) in
                try files.volume(place, of: base)
            }
            for kept in volumes { earlier[kept.sequence, default: []].append(kept.item) }
        }
        // A version that the base left out is replaced, so that no rule wants it to be kept.
        let judged = kept.filter { kept in
            kept.sequence > floor || earlier[kept.sequence]?.contains { $0.record == kept.item.record } ?? false
        }
        let commits = commits
        let later = commits.keys.filter { $0 > floor && $0 < checkpoint.entry.sequence }.sorted()
        let opened = opened ?? OpenedPacks()
        try await open(later.compactMap { commits[$0] }, noting: opened)
        try await Cores.apart { [earlier] () throws(TresorError) in
            let packs = PackReader(client: client, tresor: state.tresor)
            let sequences = earlier.keys.sorted() + later
            try RecordTable.comparePacks(judged, upto: checkpoint.body.upto, commits: sequences) {
                (sequence) throws(TresorError) in
                guard sequence > floor, let entry = commits[sequence] else {
                    return try PackItem.all(earlier[sequence] ?? [])
                }
                guard view.table.missing[sequence] == nil else { return nil }
                if let items = opened[sequence] { return items }
                do throws(TresorError) {
                    return try PackItem.all(try view.items(of: entry, from: packs))
                } catch {
                    // A void commit changes nothing.
                    guard error == .notFound else { throw error }
                    return []
                }
            }
        }
        guard judged.count == kept.count else { throw .store(.withheld) }
    }

    /// Opens the packs that were not opened before, on all cores. One that does not open is judged in its place.
    private func open(_ entries: [Entry], noting opened: OpenedPacks) async throws(TresorError) {
        let closed = entries.filter { view.table.missing[$0.sequence] == nil && opened[$0.sequence] == nil }
        let parts = PackFiles.byPart(closed, \.sequence)
        @Sendable func open(_ entries: [Entry]) {
            let packs = PackReader(client: client, tresor: state.tresor, noting: opened)
            for entry in entries { _ = try? view.items(of: entry, from: packs) }
        }
        // One part would be opened on the thread of the caller.
        guard parts.count > 1 else {
            return try await Cores.apart { () throws(TresorError) in open(closed) }
        }
        _ = try await Cores.mapApart(parts.count, grain: 1) { (range) throws(TresorError) -> [Never] in
            open(Array(parts[range].joined()))
            return []
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// What a store has of the records up to the floor, and nobody needs (SPEC §19.5).
struct UnneededBlobs: Sendable {
    let session: Session
    let view: RecordView
    /// The commits and checkpoints of the log, in order.
    let entries: [Entry]

    private var client: Client { session.client }
    private var state: LogState { view.state }

    /// Whether the store still has packs up to an entry. They are deleted in order, so the last one tells.
    func areThere(upto last: UInt64) async throws(TresorError) -> Bool {
        try await isThere(lastPack(upto: last))
    }

    /// Finds the packs and earlier volumes up to the floor, and the attachments that no kept item names, if the newest
    /// checkpoint stands for them: home or store have its volumes, and these are what the packs say.
    ///
    /// - Returns: the blobs, the pack of the newest commit last, without those that went for an earlier checkpoint; and
    ///   whether the store has shown all volumes just now.
    /// - Throws: the errors of ``VolumeProof/kept()`` and of ``VolumeProof/compare(_:_:)``.
    func proved() async throws(TresorError) -> (blobs: [Hash256], isShown: Bool) {
        guard let checkpoint = view.checkpoint else { return ([], true) }
        let proof = VolumeProof(session: session, view: view, checkpoint: checkpoint, entries: entries)
        let isShown = try await proof.fetch()
        let kept = try await proof.kept()
        if !view.isByNewestVolumes { try await proof.compare(kept) }
        return (try await blobs(upto: state.floor, keeping: kept), isShown)
    }

    /// Whether the store has a blob.
    func isThere(_ blob: Hash256?) async throws(TresorError) -> Bool {
        guard let blob else { return false }
        return try await client.store.blob(blob, part: 0, in: state.tresor) != nil
    }

    private func hasPack(_ entry: Entry) -> Bool { entry.isCommit && state.voidRule(of: entry) == nil }

    /// The pack of the newest commit up to an entry.
    private func lastPack(upto last: UInt64) -> Hash256? {
        let commit = entries.last { $0.sequence <= last && hasPack($0) }
        return (try? commit?.body)?.blobs.first?.hash
    }

    /// Those that nobody would need with a checkpoint up to an entry, the pack of the newest commit last; without the packs
    /// that went for an earlier checkpoint.
    ///
    /// - Parameter kept: at least all attachments that it keeps.
    func blobs(upto last: UInt64, keeping kept: [Kept]) async throws(TresorError) -> [Hash256] {
        let former = view.checkpoints.last { $0.body.upto < last }?.body.upto ?? 0
        let gone = try await isThere(lastPack(upto: former)) ? 0 : former
        var attachments: [UInt64: Set<Int>] = [:]
        for kept in kept {
            guard case .attachment(let place, _) = kept.item.content else { continue }
            attachments[kept.sequence, default: []].insert(Int(place))
        }
        var (going, packs): ([Hash256], [Hash256]) = ([], [])
        var needed: Set<Hash256> = []
        for entry in entries {
            guard let body = try? entry.body else { continue }
            let hashes = body.blobs.map(\.hash)
            guard entry.sequence <= last else {
                needed.formUnion(hashes)
                continue
            }
            guard hasPack(entry) else {
                // Like a pack, an earlier volume may be the last one.
                packs += hashes
                continue
            }
            if entry.sequence > gone { packs += hashes.prefix(1) }
            for (place, hash) in hashes.enumerated().dropFirst() {
                if attachments[entry.sequence]?.contains(place) == true {
                    needed.insert(hash)
                } else {
                    going.append(hash)
                }
            }
        }
        return (going + packs).filter { needed.insert($0).inserted }
    }
}

/// Proves what the newest checkpoint says (SPEC §19.5).
struct VolumeProof: Sendable {
    let session: Session
    let view: RecordView
    let checkpoint: Checkpoint
    /// At least all entries with the type of a commit, in order.
    let entries: [Entry]

    private var client: Client { session.client }
    private var state: LogState { view.state }
    private var files: VolumeFiles { VolumeFiles(client: client, tresor: state.tresor) }
    private var commits: [UInt64: Entry] {
        entries.reduce(into: [:]) { if $1.isCommit { $0[$1.sequence] = $1 } }
    }

    /// Makes sure that the home has all volumes.
    ///
    /// - Returns: whether all of them came from the store just now.
    /// - Throws: ``TresorError/store(_:)`` for a volume that neither has.
    func fetch() async throws(TresorError) -> Bool {
        let pull = RecordPull(session: session, state: state)
        let count = try await pull.fetchVolumes(of: checkpoint)
        guard try await pull.lackingVolumes(of: checkpoint).isEmpty else { throw .store(.withheld) }
        return count == checkpoint.body.volumes.count
    }

    /// Opens all volumes that the home has.
    ///
    /// - Throws: the errors of ``Checkpoint/kept(with:commits:_:)``.
    func kept() async throws(TresorError) -> [Kept] {
        try await kept { (place) throws(TresorError) in try files.volume(place, of: checkpoint) }
    }

    /// Opens all volumes.
    ///
    /// - Parameter read: reads the volume at a place.
    func kept(
        _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [Kept] {
        try await kept(of: checkpoint, read)
    }

    private func kept(
        of checkpoint: Checkpoint, _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [Kept] {
        let keys = try await session.keyRing.keys(of: checkpoint.body.epoch, in: state)
        return try await Cores.apart { () throws(TresorError) in
            Array(try checkpoint.kept(with: keys, commits: commits, read).joined())
        }
    }

    /// Compares what the volumes keep with the packs, or with the earlier volumes by which the view is read. A view that
    /// lacks a pack from before the checkpoint cannot tell.
    ///
    /// - Throws: ``TresorError/altered`` for volumes that are not what the packs say; ``TresorError/store(_:)`` for a
    ///   version that earlier volumes have left out: only its pack could tell.
    func compare(_ kept: [Kept]) async throws(TresorError) {
        guard !view.table.missing.keys.contains(where: { $0 < checkpoint.entry.sequence }) else { return }
        let base = view.volumes?.checkpoint
        let floor = base?.body.upto ?? 0
        var earlier: [UInt64: [Item]] = [:]
        if let base {
            let volumes = try await self.kept(of: base) { (place) throws(TresorError) in
                try files.volume(place, of: base)
            }
            for kept in volumes { earlier[kept.sequence, default: []].append(kept.item) }
            let isKnown = kept.prefix { $0.sequence <= floor }.allSatisfy { kept in
                earlier[kept.sequence]?.contains { $0.record == kept.item.record } ?? false
            }
            guard isKnown else { throw .store(.withheld) }
        }
        try await Cores.apart { [earlier] () throws(TresorError) in
            let commits = commits
            let later = commits.keys.filter { $0 > floor && $0 < checkpoint.entry.sequence }
            let packs = PackReader(client: client, tresor: state.tresor)
            let sequences = earlier.keys.sorted() + later.sorted()
            try RecordTable.comparePacks(kept, upto: checkpoint.body.upto, commits: sequences) {
                (sequence) throws(TresorError) in
                guard sequence > floor, let entry = commits[sequence] else { return earlier[sequence] ?? [] }
                do throws(TresorError) {
                    return try view.items(of: entry, from: packs)
                } catch {
                    // A void commit changes nothing.
                    guard error == .notFound else { throw error }
                    return []
                }
            }
        }
    }
}

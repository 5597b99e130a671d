// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// What a store has of the records up to the floor, and nobody needs (SPEC §19.5).
struct UnneededBlobs: Sendable {
    /// The most blobs that are deleted at once.
    private static let batchCount = 256

    let session: Session
    let view: RecordView

    private var client: Client { session.client }
    private var state: LogState { view.state }

    /// Whether the store still has packs up to the floor. They are deleted in order, so the last one tells.
    func areThere() async throws(TresorError) -> Bool {
        try await isThere(lastPack(of: try await entries(), upto: state.floor))
    }

    /// The number of blobs that nobody would need with a checkpoint up to an entry, as far as the store may have them.
    ///
    /// - Parameter kept: at least all attachments that it would keep.
    func count(upto last: UInt64, keeping kept: [Kept]) async throws(TresorError) -> Int {
        try await blobs(of: try await entries(), upto: last, keeping: kept).count
    }

    /// Deletes packs and earlier volumes up to the floor, and the attachments that no kept item names: once the store gives
    /// the volumes, and if they are what the packs say.
    ///
    /// - Parameters:
    ///   - isFirst: whether nothing was deleted for this checkpoint yet. Otherwise, a store that lacks the last one lacks all.
    ///   - isDryRun: whether only to count them.
    /// - Returns: the number of blobs that the store was asked to delete, or would be.
    /// - Throws: ``TresorError/store(_:)`` for a store that lacks a volume; ``TresorError/altered`` for volumes that are not
    ///   what the packs say. Nothing is deleted then.
    func delete(isFirst: Bool = false, isDryRun: Bool = false) async throws(TresorError) -> Int {
        guard let checkpoint = view.checkpoint else { return 0 }
        let entries = try await entries()
        let proof = VolumeProof(session: session, view: view, checkpoint: checkpoint)
        let going = try await blobs(
            of: entries, upto: state.floor, keeping: try await proof.kept(entries, restoring: !isDryRun))
        guard let last = going.last else { return 0 }
        let isThere = try await isFirst ? true : self.isThere(last)
        if isDryRun { return isThere ? going.count : 0 }
        try await VolumeFiles(client: client, tresor: state.tresor).forget(view.checkpoints.dropLast())
        if !isThere {
            // Its bytes may still lie in the store's files, if the last deletion ended with `busy`.
            try await client.store.deleteBlobs([last], in: state.tresor)
            return 0
        }
        for start in stride(from: 0, to: going.count, by: Self.batchCount) {
            try Cancellation.check()
            let next = Array(going[start..<min(start + Self.batchCount, going.count)])
            try await client.store.deleteBlobs(next, in: state.tresor)
        }
        return going.count
    }

    private func entries() async throws(TresorError) -> [Entry] {
        try await CommitReader(client: client).entries(of: state, from: 0) { $0.isCommit || $0.isCheckpoint }
    }

    private func isThere(_ blob: Hash256?) async throws(TresorError) -> Bool {
        guard let blob else { return false }
        return try await client.store.blob(blob, part: 0, in: state.tresor) != nil
    }

    private func hasPack(_ entry: Entry) -> Bool { entry.isCommit && state.voidRule(of: entry) == nil }

    /// The pack of the newest commit up to an entry.
    private func lastPack(of entries: [Entry], upto last: UInt64) -> Hash256? {
        let commit = entries.last { $0.sequence <= last && hasPack($0) }
        return (try? commit?.body)?.blobs.first?.hash
    }

    /// Those that nobody needs, the pack of the newest commit last; without the packs that went for an earlier checkpoint.
    private func blobs(
        of entries: [Entry], upto last: UInt64, keeping kept: [Kept]
    ) async throws(TresorError) -> [Hash256] {
        let former = view.checkpoints.last { $0.body.upto < last }?.body.upto ?? 0
        let gone = try await isThere(lastPack(of: entries, upto: former)) ? 0 : former
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

    private var client: Client { session.client }
    private var state: LogState { view.state }

    /// Makes sure that home and store have all volumes, and returns what they keep, proved.
    ///
    /// - Parameters:
    ///   - entries: at least all with the type of a commit.
    ///   - restoring: whether to put what the store lacks.
    /// - Throws: ``TresorError/store(_:)`` for a volume that neither has; ``TresorError/altered`` for volumes that are not
    ///   what the packs say.
    func kept(_ entries: [Entry], restoring: Bool) async throws(TresorError) -> [Kept] {
        let pull = RecordPull(session: session, state: state)
        let count = try await pull.fetchVolumes(of: checkpoint)
        guard try await pull.lackingVolumes(of: checkpoint).isEmpty else { throw .store(.withheld) }
        let files = VolumeFiles(client: client, tresor: state.tresor)
        // What the home had before, the store may have lost since.
        if restoring, count < checkpoint.body.volumes.count { _ = try await files.restore(checkpoint) }
        return try await kept(entries) { (place) throws(TresorError) in
            try files.volume(place, of: checkpoint)
        }
    }

    /// Opens all volumes, and compares them with the packs if the home has those.
    ///
    /// - Parameters:
    ///   - entries: at least all with the type of a commit.
    ///   - read: reads the volume at a place.
    /// - Throws: the errors of ``Checkpoint/kept(with:commits:_:)``; ``TresorError/altered`` for volumes that are not what
    ///   the packs say.
    func kept(
        _ entries: [Entry], _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [Kept] {
        let keys = try await session.keyRing.keys(of: checkpoint.body.epoch, in: state)
        return try await Cores.apart { () throws(TresorError) in
            var commits: [UInt64: Entry] = [:]
            for entry in entries where entry.isCommit { commits[entry.sequence] = entry }
            let kept = Array(try checkpoint.kept(with: keys, commits: commits, read).joined())
            let isMissing = view.table.missing.keys.contains { $0 < checkpoint.entry.sequence }
            guard view.volumes == nil, !isMissing else { return kept }
            let reader = PackReader(client: client, tresor: state.tresor)
            var packs: [UInt64: [Item]] = [:]
            for (sequence, entry) in commits.sorted(by: { $0.key < $1.key }) where sequence < checkpoint.entry.sequence
            {
                do throws(TresorError) {
                    packs[sequence] = try view.items(of: entry, from: reader)
                } catch {
                    // A void commit changes nothing.
                    guard error == .notFound else { throw error }
                }
            }
            try RecordTable.comparePacks(kept, upto: checkpoint.body.upto, with: packs)
            return kept
        }
    }
}

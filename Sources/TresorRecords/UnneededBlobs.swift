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
    /// The commits and checkpoints of the log, in order.
    let entries: [Entry]

    private var client: Client { session.client }
    private var state: LogState { view.state }

    /// Whether the store still has packs up to an entry. They are deleted in order, so the last one tells.
    func hasPacks(upto last: UInt64) async throws(TresorError) -> Bool {
        try await isThere(lastPack(upto: last))
    }

    /// Finds the packs and earlier volumes up to the floor, and the attachments that no kept item names, if the newest
    /// checkpoint stands for them: home and store give its volumes, and these are what the packs say.
    ///
    /// - Parameter restoring: whether to put the volumes that the store lacks.
    /// - Returns: them all, the pack of the newest commit last; without those that went for an earlier checkpoint.
    /// - Throws: ``TresorError/store(_:)`` for a volume that neither has; ``TresorError/altered`` for volumes that are not
    ///   what the packs say.
    func proved(restoring: Bool = false) async throws(TresorError) -> [Hash256] {
        guard let checkpoint = view.checkpoint else { return [] }
        let proof = VolumeProof(session: session, view: view, checkpoint: checkpoint)
        return try await blobs(upto: state.floor, keeping: try await proof.kept(entries, restoring: restoring))
    }

    /// Deletes blobs, and the home's volumes of earlier checkpoints before them.
    func delete(_ blobs: [Hash256]) async throws(TresorError) {
        guard !blobs.isEmpty else { return }
        try await VolumeFiles(client: client, tresor: state.tresor).forget(view.checkpoints.dropLast())
        for start in stride(from: 0, to: blobs.count, by: Self.batchCount) {
            try Cancellation.check()
            let next = Array(blobs[start..<min(start + Self.batchCount, blobs.count)])
            try await client.store.deleteBlobs(next, in: state.tresor)
        }
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

    /// Opens all volumes, and compares them with the packs, or with what the view has in their place.
    ///
    /// - Parameters:
    ///   - entries: at least all with the type of a commit.
    ///   - read: reads the volume at a place.
    /// - Throws: the errors of ``Checkpoint/kept(with:commits:_:)``; ``TresorError/altered`` for volumes that are not what
    ///   the packs say; ``TresorError/store(_:)`` for a version that the volumes of the view have left out: only its pack
    ///   could tell.
    func kept(
        _ entries: [Entry], _ read: @escaping @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) async throws(TresorError) -> [Kept] {
        let keys = try await session.keyRing.keys(of: checkpoint.body.epoch, in: state)
        let base = view.volumes?.checkpoint
        let baseKeys: EpochKeys? =
            if let base { try await session.keyRing.keys(of: base.body.epoch, in: state) } else { nil }
        return try await Cores.apart { () throws(TresorError) in
            var commits: [UInt64: Entry] = [:]
            for entry in entries where entry.isCommit { commits[entry.sequence] = entry }
            let kept = Array(try checkpoint.kept(with: keys, commits: commits, read).joined())
            let isMissing = view.table.missing.keys.contains { $0 < checkpoint.entry.sequence }
            guard !view.isByNewestVolumes, !isMissing else { return kept }
            let floor = base?.body.upto ?? 0
            var items: [UInt64: [Item]] = [:]
            if let base, let baseKeys {
                let files = VolumeFiles(client: client, tresor: state.tresor)
                let volumes = try base.kept(with: baseKeys, commits: commits) { (place) throws(TresorError) in
                    try files.volume(place, of: base)
                }
                for kept in volumes.joined() { items[kept.sequence, default: []].append(kept.item) }
                let isKnown = kept.prefix { $0.sequence <= floor }.allSatisfy { kept in
                    items[kept.sequence]?.contains { $0.record == kept.item.record } ?? false
                }
                guard isKnown else { throw .store(.withheld) }
            }
            let later = commits.keys.filter { $0 > floor && $0 < checkpoint.entry.sequence }
            let reader = PackReader(client: client, tresor: state.tresor)
            let known = items.keys.sorted() + later.sorted()
            try RecordTable.comparePacks(kept, upto: checkpoint.body.upto, commits: known) {
                (sequence) throws(TresorError) in
                guard sequence > floor, let entry = commits[sequence] else { return items[sequence] ?? [] }
                do throws(TresorError) {
                    return try view.items(of: entry, from: reader)
                } catch {
                    // A void commit changes nothing.
                    guard error == .notFound else { throw error }
                    return []
                }
            }
            return kept
        }
    }
}

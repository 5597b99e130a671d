// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The blobs that a store has of the records up to the floor, and nobody needs (SPEC §19.5).
struct UnneededBlobs: Sendable {
    let session: Session
    let view: RecordView
    /// The commits and checkpoints of the log, in order.
    let entries: [Entry]
    /// The items of packs that were opened before.
    var opened: OpenedPacks?

    private var client: Client { session.client }
    private var state: LogState { view.state }

    /// Whether the store still has packs, or volumes of checkpoints, up to an entry. They are deleted in order, so the last
    /// ones tell; the first one tells where the store has lost the last.
    func areThere(upto last: UInt64) async throws(TresorError) -> Bool {
        let commits = entries.prefix { $0.sequence <= last }.filter(hasPack)
        let checkpoint = view.checkpoints.last { $0.entry.sequence <= last }
        let packs = [commits.last, commits.first].compactMap { (try? $0?.body)?.blobs.first }
        let ends = packs + (checkpoint?.body.volumes.suffix(1) ?? [])
        for blob in ends where try await isThere(blob.hash) { return true }
        return false
    }

    /// Finds the packs and earlier volumes up to the floor, and the attachments that no kept item names, if the newest
    /// checkpoint stands for them: home or store have its volumes, and these are what the base says.
    ///
    /// - Returns: the blobs, the pack of the newest commit last, without those that went for an earlier checkpoint.
    /// - Throws: the errors of ``VolumeProof/fetch()`` and of ``VolumeProof/kept()``.
    func proved() async throws(TresorError) -> [Blob] {
        guard let checkpoint = view.checkpoint else { return [] }
        let proof = VolumeProof(
            session: session, view: view, checkpoint: checkpoint, entries: entries, opened: opened)
        try await proof.fetch()
        return try await blobs(upto: state.floor, keeping: KeptAttachments(of: try await proof.kept()))
    }

    /// Whether the store has a blob.
    private func isThere(_ blob: Hash256) async throws(TresorError) -> Bool {
        try await client.store.blob(blob, part: 0, in: state.tresor) != nil
    }

    private func hasPack(_ entry: Entry) -> Bool { entry.isCommit && state.voidRule(of: entry) == nil }

    /// Those that nobody would need with a checkpoint up to an entry, the pack of the newest commit last; without the packs
    /// and attachments that went for an earlier checkpoint.
    ///
    /// - Parameter kept: the attachments that it keeps.
    func blobs(upto last: UInt64, keeping kept: KeptAttachments) async throws(TresorError) -> [Blob] {
        let former = view.checkpoints.last { $0.body.upto < last }?.body.upto ?? 0
        let gone = try await areThere(upto: former) ? 0 : former
        var (going, packs): ([Blob], [Blob]) = ([], [])
        var needed: Set<Hash256> = []
        for entry in entries {
            guard let blobs = try? entry.body.blobs else { continue }
            guard entry.sequence <= last else {
                needed.formUnion(blobs.map(\.hash))
                continue
            }
            guard hasPack(entry) else {
                // Like a pack, an earlier volume may be the last one.
                if entry.sequence > gone { packs += blobs }
                continue
            }
            if entry.sequence > gone { packs += blobs.prefix(1) }
            for (place, blob) in blobs.enumerated().dropFirst() {
                if kept.contains(place, of: entry.sequence) {
                    needed.insert(blob.hash)
                } else if entry.sequence > gone {
                    going.append(blob)
                } else if try await isThere(blob.hash) {
                    // The checkpoint before kept it, or its deletion was not ended.
                    going.append(blob)
                }
            }
        }
        return (going + packs).filter { needed.insert($0.hash).inserted }
    }
}

/// The attachments that kept items name, by commit and place.
struct KeptAttachments: Sendable {
    private var places: [UInt64: Set<Int>] = [:]

    init() {}

    init(of kept: [KeptItem]) {
        for kept in kept {
            if case .attachment(let place, _) = kept.item.content { insert(place, of: kept.sequence) }
        }
    }

    mutating func insert(_ place: UInt16, of commit: UInt64) { places[commit, default: []].insert(Int(place)) }

    func contains(_ place: Int, of commit: UInt64) -> Bool { places[commit]?.contains(place) ?? false }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The volumes that a home keeps of a tresor (SPEC §8.5), as the store had them. The log judges them.
struct VolumeFiles: Sendable {
    /// The number of volumes that are held and compared with the store's at once.
    private static let comparedAtOnce = 16

    let client: Client
    let tresor: TresorID

    private func object(_ place: Int, of checkpoint: Checkpoint) -> HomeObject {
        .volume(tresor, checkpoint: checkpoint.entry.sequence, number: UInt64(place))
    }

    /// Reads the volume at a place of a checkpoint; `nil` for none, and for another than the one that is named there.
    func volume(_ place: Int, of checkpoint: Checkpoint) throws(TresorError) -> [UInt8]? {
        guard let bytes = try client.home.read(object(place, of: checkpoint)),
            try Blob(of: bytes) == checkpoint.body.volumes[place]
        else { return nil }
        return bytes
    }

    /// Whether the home has all volumes.
    func hasAll(of checkpoint: Checkpoint) throws(TresorError) -> Bool {
        for place in checkpoint.body.volumes.indices where try volume(place, of: checkpoint) == nil { return false }
        return true
    }

    /// The places of the volumes that the home lacks.
    func lacking(of checkpoint: Checkpoint) throws(TresorError) -> [Int] {
        var lacking: [Int] = []
        for place in checkpoint.body.volumes.indices where try volume(place, of: checkpoint) == nil {
            lacking.append(place)
        }
        return lacking
    }

    /// Keeps volumes durably for a member, by their places. One behind a gap is not kept: a deletion would not find it.
    ///
    /// - Throws: as ``PackFiles/keep(_:for:)``.
    func keep(
        _ volumes: [Int: [UInt8]], of checkpoint: Checkpoint, for user: UserID
    ) async throws(TresorError) {
        let home = client.home
        try await Cores.apart { () throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                guard try client.archive.verifiedState(of: tresor)?.members[user] != nil else { throw .noAccess }
                for (place, bytes) in volumes.sorted(by: { $0.key < $1.key }) {
                    if place > 0, try home.read(object(place - 1, of: checkpoint)) == nil { return }
                    try home.replace(object(place, of: checkpoint), with: bytes)
                }
            }
        }
    }

    /// Deletes the volumes of checkpoints that nobody reads with any more.
    func forget(_ checkpoints: some Collection<Checkpoint> & Sendable) async throws(TresorError) {
        let home = client.home
        try await Cores.apart { () throws(TresorError) in
            for checkpoint in checkpoints where try home.read(object(0, of: checkpoint)) != nil {
                try home.exclusively { () throws(TresorError) in
                    try client.archive.forgetVolumes(of: tresor, checkpoint: checkpoint.entry.sequence)
                }
            }
        }
    }

    /// Puts the volumes that the store lacks, or has otherwise, and that the home keeps.
    ///
    /// - Returns: the number of volumes that were put.
    /// - Throws: the errors of the store and of the home. What was put by then stays.
    func restore(_ checkpoint: Checkpoint) async throws(TresorError) -> Int {
        let blobs = BlobReader(client.store, tresor)
        let volumes = checkpoint.body.volumes
        var count = 0
        for start in stride(from: 0, to: volumes.count, by: Self.comparedAtOnce) {
            let held = try await Cores.apart { () throws(TresorError) in
                var held: [Blob: [UInt8]] = [:]
                for place in start..<min(start + Self.comparedAtOnce, volumes.count) {
                    if let bytes = try volume(place, of: checkpoint) { held[volumes[place]] = bytes }
                }
                return held
            }
            count += try await blobs.restore(held)
        }
        return count
    }
}

/// A checkpoint of a log, and the keys of its volumes (SPEC §19.5).
struct Checkpoint: Sendable {
    let entry: Entry
    let body: CheckpointBody
    let state: LogState

    /// Returns the newest checkpoint of a state; `nil` for a log without one.
    ///
    /// - Throws: the errors of the home, and of the store where the home lacks the entry.
    static func newest(of state: LogState, _ client: Client) async throws(TresorError) -> Checkpoint? {
        guard state.checkpoint > 0 else { return nil }
        let entry = try await CommitReader(client: client).entry(state.checkpoint, of: state)
        guard case .checkpoint(let body) = try entry.body else { throw .altered }
        return Checkpoint(entry: entry, body: body, state: state)
    }

    /// Returns the checkpoints of a state that are not void, in order.
    ///
    /// - Parameters:
    ///   - entries: those of the state, in order; at least all with the type of a checkpoint.
    ///   - earlier: the checkpoints of the entries before these.
    static func all(_ entries: [Entry], of state: LogState, behind earlier: [Checkpoint] = []) -> [Checkpoint] {
        var all = earlier
        for entry in entries {
            guard case .checkpoint(let body)? = try? entry.body,
                state.voidRule(of: entry, floor: all.last?.body.upto ?? 0) == nil
            else { continue }
            all.append(Checkpoint(entry: entry, body: body, state: state))
        }
        return all
    }

    /// Whether it is by the newest key of this person. Somebody else may have made one with a former key, which was
    /// replaced because it was stolen.
    func isOwn(of session: Session) -> Bool {
        entry.author == session.user && entry.generation == session.identity.generation
    }

    /// Opens the volume at a place.
    ///
    /// - Throws: ``TresorError/store(_:)`` for no bytes; the errors of ``Volume/openVolume(_:at:of:in:with:)``.
    func volume(_ place: Int, _ bytes: [UInt8]?, with keys: EpochKeys) throws(TresorError) -> Volume {
        try Volume.openVolume(bytes, at: place, of: entry, in: state, with: keys)
    }

    /// Opens all volumes, on all cores, and checks what they hold by the log alone.
    ///
    /// - Parameters:
    ///   - keys: those of the checkpoint's epoch, checked against the log.
    ///   - commits: all entries of the log with the type of a commit, by sequence number.
    ///   - read: reads the volume at a place.
    /// - Returns: what each volume keeps.
    /// - Throws: the errors of ``volume(_:_:with:)`` and of `read`; ``TresorError/altered``.
    func kept(
        with keys: EpochKeys, commits: [UInt64: Entry],
        _ read: @Sendable (Int) throws(TresorError) -> [UInt8]?
    ) throws(TresorError) -> [[KeptItem]] {
        let kept = try Cores.map(body.volumes.count, grain: 1) { (range) throws(TresorError) in
            var kept: [[KeptItem]] = []
            for place in range { kept.append(try volume(place, try read(place), with: keys).kept) }
            return kept
        }
        // The kept items of a commit stand together, and it is judged once.
        var last: (sequence: UInt64, count: Int?) = (0, nil)
        try RecordTable.checkVolumes(Array(kept.joined()), upto: body.upto) { sequence in
            if sequence != last.sequence { last = (sequence, blobCount(of: sequence, in: commits)) }
            return last.count
        }
        return kept
    }

    /// The number of blobs of a commit; `nil` for an entry that is none, or is void.
    private func blobCount(of sequence: UInt64, in commits: [UInt64: Entry]) -> Int? {
        guard let entry = commits[sequence], case .commit(let commit)? = try? entry.body,
            state.voidRule(of: entry) == nil
        else { return nil }
        return commit.blobs.count
    }
}

/// Where the kept items of a checkpoint lie in its volumes.
struct VolumeIndex: Sendable {
    let checkpoint: Checkpoint
    /// The first item of each volume that has any, by rising place.
    private let firsts: [(place: Int, sequence: UInt64, record: Name)]

    init(_ checkpoint: Checkpoint, _ kept: [[KeptItem]]) {
        self.checkpoint = checkpoint
        firsts = kept.enumerated().compactMap { place, kept in
            kept.first.map { (place, $0.sequence, $0.item.record) }
        }
    }

    /// The volume that has a version of a record, if one has it.
    func place(of record: Name, at revision: UInt64) -> Int? {
        let end = firsts.partitioningIndex { ($0.sequence, $0.record) > (revision, record) }
        return end > 0 ? firsts[end - 1].place : nil
    }
}

/// Reads kept items one after another, and holds one volume.
final class VolumeReader {
    let files: VolumeFiles
    private var held: (checkpoint: UInt64, place: Int, volume: Volume)?

    init(_ files: VolumeFiles) { self.files = files }

    /// Returns a version of a record that a checkpoint keeps.
    ///
    /// - Throws: ``TresorError/notFound`` for one that it does not keep; the errors of
    ///   ``Checkpoint/volume(_:_:with:)``.
    func item(
        of record: Name, at revision: UInt64, in index: VolumeIndex, with keys: EpochKeys
    ) throws(TresorError) -> Item {
        guard let place = index.place(of: record, at: revision) else { throw .notFound }
        let sequence = index.checkpoint.entry.sequence
        let volume: Volume
        if let held, held.checkpoint == sequence, held.place == place {
            volume = held.volume
        } else {
            let bytes = try files.volume(place, of: index.checkpoint)
            volume = try index.checkpoint.volume(place, bytes, with: keys)
            held = (sequence, place, volume)
        }
        let kept = volume.kept
        let found = kept.partitioningIndex { ($0.sequence, $0.item.record) >= (revision, record) }
        guard kept.indices.contains(found), kept[found].sequence == revision, kept[found].item.record == record else {
            throw .notFound
        }
        return kept[found].item
    }
}

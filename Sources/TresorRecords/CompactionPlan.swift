// SPDX-License-Identifier: Apache-2.0

import Tresor
public import TresorCore
import TresorCrypto

/// The work of a compaction in one tresor, done or only planned.
public struct CompactReport: Hashable, Sendable {
    /// The tresor.
    package let tresor: TresorID
    /// The entry that says what is kept; `nil` where there was nothing to gain, and for a compaction that is only planned.
    package internal(set) var checkpoint: UInt64?
    /// The last entry whose pack is not needed any more; 0 for none.
    package internal(set) var upto: UInt64 = 0
    /// The number of records of which volumes keep a version, a deletion too; 0 where there was nothing to gain.
    package internal(set) var recordCount = 0
    /// The number of versions that volumes keep; 0 where there was nothing to gain.
    package internal(set) var keptCount = 0
    /// The number of volumes that keep them.
    package internal(set) var volumeCount = 0
    /// The number of packs, attachments and earlier volumes that the store was asked to delete, or would be.
    package internal(set) var deletedCount = 0
    /// The number of their bytes, as the log says.
    package internal(set) var deletedByteCount: UInt64 = 0
    /// The members and waiting people who read from a later key on, and for whom packs stay: those who came first, by
    /// rising user id. They can open no volume.
    public internal(set) var waitingFor: [UserID] = []

    init(tresor: TresorID) { self.tresor = tresor }

    /// Takes what the store is asked to delete.
    mutating func note(deleting blobs: [Blob]) {
        deletedCount = blobs.count
        deletedByteCount = Blob.byteCount(of: blobs)
    }

    /// Takes what volumes keep.
    mutating func note(keeping volumes: [VolumePlan]) {
        volumeCount = volumes.count
        keptCount = volumes.reduce(0) { $0 + $1.versions.count }
        recordCount = Set(volumes.lazy.flatMap(\.versions).map(\.record)).count
    }
}

/// A compaction that was decided on. Nothing was changed yet, and nothing sealed.
package struct CompactionPlan: Sendable {
    /// The next change.
    enum Step: Sendable {
        /// Append a checkpoint with these volumes.
        case seal([VolumePlan])
        /// Delete these blobs, which the newest checkpoint replaced. Its volumes are proved.
        case delete([Blob])
    }

    /// The report of a compaction that goes by this plan, as far as it is known before.
    package let report: CompactReport
    let view: RecordView
    let step: Step

    /// Whether nothing is to be sealed, and nothing is left to be deleted.
    package var isEmpty: Bool { report.volumeCount == 0 && report.deletedCount == 0 }

    /// Whether it is empty and seals nothing, so that no key has to change for it.
    var isDone: Bool {
        guard case .delete = step else { return false }
        return isEmpty
    }
}

/// A volume of a checkpoint that is planned: which versions it keeps, and none of their contents.
struct VolumePlan: Hashable, Sendable {
    /// A version of a record.
    struct Version: Hashable, Sendable {
        let revision: UInt64
        let record: Name
    }

    /// By rising revision and record name.
    private(set) var versions: [Version] = []

    /// Plans the volumes of a checkpoint: of every version up to an entry that no later one replaces, each filled as far as
    /// it holds, at least one.
    ///
    /// - Returns: the volumes, and the attachments that their items name.
    static func plan(
        upto limit: UInt64, of table: RecordTable
    ) -> (volumes: [VolumePlan], attachments: KeptAttachments) {
        var kept: [(version: Version, byteCount: Int)] = []
        var attachments = KeptAttachments()
        table.forEachHead { record, head in
            guard head.revision <= limit else { return }
            kept.append(
                (Version(revision: head.revision, record: record), KeptItem.byteCount(ofItem: head.itemByteCount)))
            if let place = head.attachment { attachments.insert(place, of: head.revision) }
        }
        kept.sort { ($0.version.revision, $0.version.record) < ($1.version.revision, $1.version.record) }
        var volumes = [VolumePlan()]
        var byteCount = Volume.leastByteCount
        for (version, next) in kept {
            if byteCount + next > Volume.maximumByteCount {
                volumes.append(VolumePlan())
                byteCount = Volume.leastByteCount
            }
            volumes[volumes.count - 1].versions.append(version)
            byteCount += next
        }
        return (volumes, attachments)
    }

    /// Reads the versions from packs and volumes of the home, on all cores, and seals them.
    ///
    /// - Parameters:
    ///   - view: that of the state before the checkpoint, by which the volume was planned.
    ///   - keys: those of the current epoch.
    ///   - opened: takes what each pack says that is opened.
    func seal(
        of view: RecordView, with keys: EpochKeys, by session: Session, at time: UInt64, noting opened: OpenedPacks
    ) throws(TresorError) -> [UInt8] {
        // Volumes are read by one reader.
        let shares = view.isByPacks ? PackFiles.byPart(versions, \.revision) : [versions]
        let kept = try Cores.map(shares.count, grain: 1) { (range) throws(TresorError) in
            let packs = PackReader(client: session.client, tresor: view.state.tresor, noting: opened)
            var kept: [KeptItem] = []
            for version in shares[range].joined() {
                let item = try view.item(of: version.record, at: version.revision, from: packs)
                kept.append(KeptItem(sequence: version.revision, item: item))
            }
            return kept
        }
        return try Volume(of: kept).seal(with: keys, at: view.state, by: session.identity, time: time).bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The order in which checkpoints are believed where packs are lacking (SPEC §19.7). The first one with whose volumes nothing
/// is missing is the base.
///
/// One's own word comes before that of others, the last one first.
enum BaseOrder: Sendable {
    /// To read: of those that others made, the last one first. So an owner with the packs can correct an earlier one.
    case reading
    /// To judge later ones: of those that others made, the first one first, as it leaves the most packs to compare with.
    case judging

    /// The checkpoints by whose volumes the home may read, the preferred one first: those that it has whole, and the newest
    /// one.
    func readable(_ checkpoints: [Checkpoint], for session: Session) async throws(TresorError) -> [Checkpoint] {
        guard let newest = checkpoints.last else { return [] }
        return try await Cores.apart { () throws(TresorError) in
            let files = VolumeFiles(client: session.client, tresor: newest.entry.tresor)
            var (own, others): ([Checkpoint], [Checkpoint]) = ([], [])
            for checkpoint in checkpoints {
                let isNewest = checkpoint.entry.sequence == newest.entry.sequence
                guard try isNewest ? true : files.hasAll(of: checkpoint) else { continue }
                if checkpoint.isOwn(of: session) { own.append(checkpoint) } else { others.append(checkpoint) }
            }
            return own.reversed() + (self == .reading ? others.reversed() : others)
        }
    }
}

/// Judges by what the records up to the floor are read, and by whose word: for a home that would forget earlier volumes, and
/// for an owner who would seal the records anew (SPEC §19.7).
struct CheckpointTrust: Sendable {
    let records: Records
    let state: LogState
    /// The commits and checkpoints of the log.
    let entries: RecordEntries

    private var session: Session { records.session }

    /// Whether nobody needs the volumes of earlier checkpoints any more: packs that were looked at or one's own newest volumes
    /// say everything, or the newest volumes say what the base says.
    ///
    /// - Parameter isFalse: becomes whether the newest volumes are not what the base says, for good.
    func outdatesEarlier(_ view: RecordView, _ isFalse: inout Bool) async throws(TresorError) -> Bool {
        guard let newest = view.checkpoint, !view.isByPacks else { return !view.isIndexed }
        guard view.volumes != nil else { return false }
        if view.isByNewestVolumes, view.isOwn || !view.isComparable { return true }
        let base = try await judging(view)
        if base.isByNewestVolumes { return true }
        guard base.table.isComplete(upto: newest.entry.sequence) else { return false }
        do throws(TresorError) {
            _ = try await VolumeProof(session: session, view: base, checkpoint: newest, entries: entries.all).kept()
            return true
        } catch {
            guard [.altered, .noAccess, .unsupported, .store(.withheld)].contains(error) else { throw error }
            isFalse = error == .altered
            return false
        }
    }

    /// Reads the records from what may be sealed anew: from packs while the store has them, from volumes of one's own, and
    /// from another owner's volumes if nothing else could tell.
    ///
    /// - Parameter known: what the home shows.
    /// - Throws: ``TresorError/store(_:)`` while the store has some of the packs for which another owner's volumes stand,
    ///   and for volumes that are not what earlier ones say; ``TresorError/unverified`` for volumes by a newer key than
    ///   was compared.
    func sealable(_ known: RecordView) async throws(TresorError) -> RecordView {
        if known.isByPacks || known.isByNewestVolumes && known.isOwn { return known }
        let packs = UnneededBlobs(session: session, view: known, entries: entries.all)
        if try await packs.areThere(upto: state.floor) {
            try await RecordPull(session: session, state: state).fetchReplaced(known.checkpoints, entries)
            records.cache.view = nil
        }
        let view = try await RecordView.read(at: state, from: nil, by: .judging, of: session, entries)
        guard let base = view.volumes?.checkpoint else { return view }
        try session.client.trust.authorTrust(of: base.entry.author, generation: base.entry.generation, in: state)
        if view.isOwn { return view }
        guard try await !packs.areThere(upto: base.body.upto) else { throw .store(.withheld) }
        // Of two that others made, none is believed against the other.
        if !view.isByNewestVolumes, view.table.isComplete {
            do throws(TresorError) {
                _ = try await UnneededBlobs(session: session, view: view, entries: entries.all).proved()
            } catch {
                throw error == .altered ? .store(.withheld) : error
            }
        }
        return view
    }

    /// The view by which later checkpoints are judged. For packs, and for one's own word, it is the one that is read.
    private func judging(_ view: RecordView) async throws(TresorError) -> RecordView {
        if view.isByPacks || view.isOwn { return view }
        return try await RecordView.read(at: state, from: nil, by: .judging, of: session, entries)
    }
}

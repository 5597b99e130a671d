// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
public import TresorCrypto

/// The faults of the records of a tresor (SPEC §9.9, `check`).
package struct RecordFindings: Hashable, Sendable {
    /// The commits whose packs the store lacks, or has otherwise.
    package let lost: [UInt64]
    /// The records with a version that no later one replaced whose attachment the store lacks, or has otherwise, by
    /// rising name.
    package let lostContents: [String]
    /// The newest checkpoint; 0 for none.
    package let checkpoint: UInt64
    /// Why it does not hold: ``TresorError/store(_:)`` where the store lacks a volume,
    /// ``TresorError/altered`` where the volumes are not what the packs of this home say, or its own earlier volumes; `nil`
    /// for nothing wrong.
    package let checkpointError: TresorError?
    /// The commits that everybody who can open them finds wrong. They change nothing.
    package let void: [UInt64]
    /// The records with changes that are not sent yet.
    package let unsent: [String]
}

extension Records {
    /// Compares the packs, volumes and needed attachments of the store with the log, opens the packs and volumes that the
    /// home has, and compares the volumes with the packs, or with this person's own earlier volumes. Changes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is no member, ``TresorError/waiting`` for somebody who waits;
    ///   ``TresorError/unverified`` while the founder was not compared; the errors of the store and of the home.
    @concurrent package func check() async throws(TresorError) -> RecordFindings {
        // An index says nothing of what the home has now.
        let view = try await RecordView.read(at: try await readableState(), from: nil, of: session)
        let pull = RecordPull(session: session, state: view.state)
        let lost = try await pull.lost(from: view.state.floor > 0 ? view.state.floor + 1 : 0)
        return RecordFindings(
            lost: lost, lostContents: try await lostContents(in: view), checkpoint: view.state.checkpoint,
            checkpointError: try await checkpointError(in: view), void: view.table.void, unsent: try await unsent())
    }

    /// Reads every attachment that a shown version or one put aside has, part by part. Many versions may name one, which
    /// is read once.
    private func lostContents(in view: RecordView) async throws(TresorError) -> [String] {
        let packs = PackReader(client: session.client, tresor: tresor)
        var named: [(record: Name, blob: Blob)] = []
        for record in view.table.names {
            for head in view.table.heads(of: record) where head.attachment != nil {
                let entry = try view.commit(head.revision, from: packs)
                if let blob = Attachments.blob(of: head, in: entry) { named.append((record, blob)) }
            }
        }
        let present = try await BlobReader(session.client.store, tresor).present(named.map(\.blob), inParts: true)
        var lost: [Name] = []
        for (record, blob) in named where !present.contains(blob) && lost.last != record { lost.append(record) }
        return lost.map(\.text)
    }

    /// Why the newest checkpoint does not hold; `nil` for nothing wrong, and for who can open no volume.
    private func checkpointError(in view: RecordView) async throws(TresorError) -> TresorError? {
        guard let checkpoint = view.checkpoint, view.member?.history == .all else { return nil }
        let (client, volumes) = (session.client, checkpoint.body.volumes)
        let stored = try await BlobReader(client.store, tresor).read(volumes)
        guard stored.count == Set(volumes).count else { return .store(.withheld) }
        let commits = try await CommitReader(client: client).commits(of: view.state, from: 0)
        do throws(TresorError) {
            let proof = VolumeProof(session: session, view: view, checkpoint: checkpoint, entries: commits)
            // Volumes that somebody else made earlier accuse nobody.
            _ = try await proof.kept(comparing: view.isByPacks || view.isOwn) { stored[volumes[$0]] }
            return nil
        } catch {
            // Of a version that one's own volumes left out, only its pack could tell.
            if error == .store(.withheld), view.isOwn { return nil }
            guard error == .altered || error == .unsupported else { throw error }
            return error
        }
    }
}

extension Records {
    /// Seals what is shown of all records again, under the current key, and deletes from the store what nobody needs then
    /// (SPEC §19.7). Members read the rest in few requests, and earlier keys open nothing of it.
    ///
    /// Everything that is unsent is sent before. If it is interrupted, run it again.
    ///
    /// - Parameter isDryRun: whether only to tell what would be done.
    /// - Returns: what was done. Without anything to gain, nothing is appended.
    /// - Throws: ``TresorError/noAccess`` for anybody but an owner; ``TresorError/store(_:)`` while a pack is missing, while
    ///   the store has some of the packs for which somebody else's volumes stand here and nothing else can tell, and for a
    ///   store that does not give the volumes, from which nothing is deleted; ``TresorError/unverified`` for volumes by a
    ///   newer key than was compared; ``TresorError/altered`` for volumes that break a rule; the errors of ``sync()``, and
    ///   what stands against sending. Where this home can tell what they should say, volumes that do not hold are made anew.
    @concurrent public func compact(isDryRun: Bool = false) async throws(TresorError) -> CompactReport {
        let compaction = Compaction(records: self)
        return isDryRun ? try await compaction.plan().report : try await compaction.run()
    }

    /// Decides what a compaction would do, and changes nothing at the store.
    ///
    /// - Throws: the errors of ``compact(isDryRun:)``.
    @concurrent package func compactionPlan() async throws(TresorError) -> CompactionPlan {
        try await Compaction(records: self).plan()
    }

    /// Carries out a compaction that was decided on.
    ///
    /// - Throws: the errors of ``compact(isDryRun:)``.
    @concurrent package func compact(by plan: CompactionPlan) async throws(TresorError) -> CompactReport {
        try await Compaction(records: self).run(plan)
    }
}

extension Records {
    /// Gives the store again what it lost of a tresor: the entries, and the packs and volumes that this home keeps (SPEC
    /// §9.9).
    ///
    /// Deletes the blobs that no entry names, as far as that goes now, from a store that does not forget them by itself.
    ///
    /// A store takes an entry whose packs it has. A service takes an entry without them, and packs from owners and
    /// writers alone.
    ///
    /// - Returns: the number of entries, and of packs and volumes.
    /// - Throws: the errors of ``DeepAudit/restoreEntries(of:)`` and of ``restorePacks()``.
    @concurrent package func restore() async throws(TresorError) -> (entryCount: Int, packCount: Int) {
        guard session.client.isRemote else {
            let packCount = try await restorePacks()
            let entryCount = try await session.audit.restoreEntries(of: tresor)
            try? await UnnamedBlobs(session: session, tresor: tresor).delete()
            return (entryCount, packCount)
        }
        let entryCount = try await session.audit.restoreEntries(of: tresor)
        do throws(TresorError) {
            return (entryCount, try await restorePacks())
        } catch {
            guard error == .noAccess else { throw error }
            return (entryCount, 0)
        }
    }

    /// Puts the packs and volumes that the store lost, or has otherwise, and that this home keeps (SPEC §9.9).
    ///
    /// - Returns: the number of packs and volumes that were put.
    /// - Throws: ``TresorError/noAccess`` for a service that takes no packs from this person; the errors of the store and
    ///   of the home. What was put by then stays.
    @concurrent package func restorePacks() async throws(TresorError) -> Int {
        let client = session.client
        // Somebody may have compacted the tresor since. A store that lost the log cannot tell.
        _ = try? await client.logs.state(of: tresor)
        guard let state = try client.archive.verifiedState(of: tresor) else { return 0 }
        let first = state.floor > 0 ? state.floor + 1 : 0
        let commits = try await CommitReader(client: client).commits(of: state, from: first)
        let packs = PackReader(client: client, tresor: tresor)
        let blobs = BlobReader(client.store, tresor)
        var count = 0
        for start in stride(from: 0, to: commits.count, by: Self.repairedAtOnce) {
            var kept: [Blob: [UInt8]] = [:]
            for entry in commits[start..<min(start + Self.repairedAtOnce, commits.count)] {
                guard case .commit(let commit)? = try? entry.body, state.voidRule(of: entry) == nil,
                    let pack = commit.blobs.first, let bytes = try packs.pack(of: entry.sequence),
                    try Blob(of: bytes) == pack
                else { continue }
                kept[pack] = bytes
            }
            count += try await blobs.restore(kept)
        }
        if let checkpoint = try await Checkpoint.newest(of: state, client) {
            count += try await VolumeFiles(client: client, tresor: tresor).restore(checkpoint)
        }
        return count
    }

    /// The number of packs that are held and compared at once.
    private static var repairedAtOnce: Int { 64 }
}

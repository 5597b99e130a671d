// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
package import TresorCrypto

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
    /// ``TresorError/altered`` where the volumes are not what the packs of this home say; `nil` for nothing wrong.
    package let checkpointError: TresorError?
    /// The commits that everybody who can open them finds wrong. They change nothing.
    package let void: [UInt64]
    /// The records with changes that are not sent yet.
    package let unsent: [String]
}

extension Records {
    /// Compares the packs, volumes and needed attachments of the store with the log, opens the packs and volumes that the
    /// home has, and compares the volumes with the packs. Changes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is no member, ``TresorError/waiting`` for somebody who waits;
    ///   ``TresorError/unverified`` while the founder was not compared; the errors of the store and of the home.
    @concurrent package func check() async throws(TresorError) -> RecordFindings {
        let view = try await view()
        let pull = RecordPull(session: session, state: view.state)
        let lost = try await pull.lost(from: view.state.floor > 0 ? view.state.floor + 1 : 0)
        return RecordFindings(
            lost: lost, lostContents: try await lostContents(in: view), checkpoint: view.state.checkpoint,
            checkpointError: try await checkpointError(in: view), void: view.table.void, unsent: try await unsent())
    }

    /// Reads every attachment that a shown version or one put aside has, part by part.
    private func lostContents(in view: RecordView) async throws(TresorError) -> [String] {
        let blobs = BlobReader(session.client.store, tresor)
        var lost: [String] = []
        for name in view.table.names {
            for head in view.table.heads(of: name) where lost.last != name.text {
                guard let entry = view.commits[head.revision], let blob = Self.attachment(of: head, in: entry),
                    try await !blobs.has(blob)
                else { continue }
                lost.append(name.text)
            }
        }
        return lost
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
            let kept = try await proof.kept { stored[volumes[$0]] }
            if view.volumes == nil { try await proof.compare(kept) }
            return nil
        } catch {
            guard error == .altered || error == .unsupported else { throw error }
            return error
        }
    }
}

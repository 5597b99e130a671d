// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
package import TresorCrypto

extension Records {
    /// Gives the store again what it lost of a tresor: the entries, and the packs and volumes that this home keeps (SPEC
    /// §9.9).
    ///
    /// A store takes an entry whose packs it has. A service takes an entry without them, and packs from owners and
    /// writers alone.
    ///
    /// - Returns: the number of entries, and of packs and volumes.
    /// - Throws: the errors of ``DeepAudit/restoreEntries(of:)`` and of ``restorePacks()``.
    @concurrent package func restore() async throws(TresorError) -> (entryCount: Int, packCount: Int) {
        guard session.client.isDistant else {
            let packCount = try await restorePacks()
            return (try await session.audit.restoreEntries(of: tresor), packCount)
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

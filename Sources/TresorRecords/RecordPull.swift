// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Fetches the packs that a home lacks (SPEC §19.7 step 3).
struct RecordPull: Sendable {
    /// The most packs that are asked for at once.
    private static let batchCount = 256

    let session: Session
    let state: LogState

    private var client: Client { session.client }

    /// Fetches packs, and keeps those of each answer durably before it goes on. What the store does not have, or has
    /// otherwise, stays missing.
    ///
    /// - Parameters:
    ///   - first: the first entry to look at.
    ///   - late: earlier commits whose packs were missing; they are asked for again.
    /// - Returns: the number of commits whose packs came.
    /// - Throws: the errors of the store and of the home. What was kept by then stays.
    func fetch(from first: UInt64, late: [Entry]) async throws(TresorError) -> Int {
        let files = PackFiles(client, state.tresor)
        var packs: [UInt64: Blob] = [:]
        for entry in late + (try await CommitReader(client: client).commits(of: state, from: first)) {
            packs[entry.sequence] = pack(of: entry)
        }
        let kept = try await Cores.apart { [packs] () throws(TresorError) in
            var kept: Set<UInt64> = []
            for part in Set(packs.keys.map(PackFiles.part)) { kept.formUnion(try files.kept(packs, of: part)) }
            return kept
        }
        var count = 0
        try await ask(for: packs.filter { !kept.contains($0.key) }) { (came) async throws(TresorError) in
            try await files.keep(came, for: session.user)
            count += came.count
        }
        return count
    }

    /// The commits whose packs the store lacks, or has otherwise, by rising number.
    ///
    /// - Throws: the errors of the store and of the home.
    func lost(from first: UInt64) async throws(TresorError) -> [UInt64] {
        var packs: [UInt64: Blob] = [:]
        for entry in try await CommitReader(client: client).commits(of: state, from: first) {
            packs[entry.sequence] = pack(of: entry)
        }
        var lost = Set(packs.keys)
        try await ask(for: packs) { (came) async throws(TresorError) in lost.subtract(came.keys) }
        return lost.sorted()
    }

    /// Asks the store for packs, and gives those of each answer that are the ones named.
    private func ask(
        for packs: [UInt64: Blob], _ take: ([UInt64: [UInt8]]) async throws(TresorError) -> Void
    ) async throws(TresorError) {
        var rest = packs.sorted { $0.key < $1.key }[...]
        while !rest.isEmpty {
            try Cancellation.check()
            let asked = rest.prefix(Self.batchCount)
            let answer = try await client.store.blobs(asked.map(\.value.hash), in: state.tresor)
            guard (1...asked.count).contains(answer.count) else { throw .store(.foreign) }
            var came: [UInt64: [UInt8]] = [:]
            for ((sequence, pack), bytes) in zip(asked, answer) {
                guard let bytes, UInt64(bytes.count) == pack.size, try Blob(of: bytes) == pack else { continue }
                came[sequence] = bytes
            }
            try await take(came)
            rest = rest.dropFirst(answer.count)
        }
    }

    /// Returns the pack that an entry names, if it counts for this person.
    private func pack(of entry: Entry) -> Blob? {
        guard case .commit(let commit) = try? entry.body, state.voidRule(of: entry) == nil,
            let history = state.members[session.user]?.history, history.firstEpoch <= commit.epoch
        else { return nil }
        return commit.blobs.first
    }
}

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
    /// Packs that need no store: of this home's own commits.
    let own: [UInt64: [UInt8]]

    private var client: Client { session.client }

    /// Fetches packs, and keeps each part durably before it goes on.
    ///
    /// - Parameters:
    ///   - first: the first entry to look at.
    ///   - missing: earlier entries whose packs were missing; they are asked for again.
    /// - Returns: the commits whose packs came, by rising number.
    /// - Throws: the errors of the store and of the home. What was kept by then stays.
    func fetch(from first: UInt64, missing: Set<UInt64>) async throws(TresorError) -> [UInt64] {
        let start = min(first, missing.min() ?? first)
        let commits = try await CommitReader(client: client).commits(of: state, from: start).filter {
            $0.sequence >= first || missing.contains($0.sequence)
        }
        var came: [UInt64] = []
        for (part, commits) in Dictionary(grouping: commits, by: { $0.sequence / KeptPacks.partCount })
            .sorted(by: { $0.key < $1.key })
        {
            let new = try await fetch(commits, keptIn: part)
            try await PackFiles(client, state.tresor).keep(new, in: part)
            came += new.keys.sorted()
        }
        return came
    }

    /// Fetches the packs of one part. What the store does not have, or has otherwise, stays missing.
    private func fetch(_ commits: [Entry], keptIn part: UInt64) async throws(TresorError) -> [UInt64: [UInt8]] {
        let files = PackFiles(client, state.tresor)
        let kept = try await Cores.apart { () throws(TresorError) in try files.part(part) }
        var found: [UInt64: [UInt8]] = [:]
        var wanted: [(sequence: UInt64, pack: Blob)] = []
        for entry in commits {
            guard let pack = pack(of: entry) else { continue }
            if let bytes = kept.packs[entry.sequence], try Blob(of: bytes) == pack { continue }
            if let bytes = own[entry.sequence], try Blob(of: bytes) == pack {
                found[entry.sequence] = bytes
            } else {
                wanted.append((entry.sequence, pack))
            }
        }
        try await ask(for: wanted) { found[$0] = $1 }
        return found
    }

    /// The commits whose packs the store lacks, or has otherwise, by rising number.
    ///
    /// - Throws: the errors of the store and of the home.
    func lost(from first: UInt64) async throws(TresorError) -> [UInt64] {
        var wanted: [(sequence: UInt64, pack: Blob)] = []
        for entry in try await CommitReader(client: client).commits(of: state, from: first) {
            if let pack = pack(of: entry) { wanted.append((entry.sequence, pack)) }
        }
        var lost = Set(wanted.map(\.sequence))
        try await ask(for: wanted) { (sequence, _) in lost.remove(sequence) }
        return lost.sorted()
    }

    /// Asks the store for packs, and gives those that are the ones named.
    private func ask(
        for wanted: [(sequence: UInt64, pack: Blob)], _ take: (UInt64, [UInt8]) -> Void
    ) async throws(TresorError) {
        var rest = wanted[...]
        while !rest.isEmpty {
            try Cancellation.check()
            let asked = rest.prefix(Self.batchCount)
            let answer = try await client.store.blobs(asked.map(\.pack.hash), in: state.tresor)
            guard (1...asked.count).contains(answer.count) else { throw .store(.foreign) }
            for ((sequence, pack), bytes) in zip(asked, answer) {
                guard let bytes, UInt64(bytes.count) == pack.size, try Blob(of: bytes) == pack else { continue }
                take(sequence, bytes)
            }
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

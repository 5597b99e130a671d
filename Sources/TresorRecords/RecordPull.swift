// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Fetches the packs and volumes that a home lacks (SPEC §19.7 step 3).
struct RecordPull: Sendable {
    /// The most packs that are asked for at once.
    private static let batchCount = 256

    let session: Session
    let state: LogState

    private var client: Client { session.client }

    /// Fetches packs, and keeps those of each answer durably before it goes on. What the store does not have, or has
    /// otherwise, stays missing.
    ///
    /// - Parameter commits: those to look at; also earlier ones whose packs were missing, which are asked for again.
    /// - Returns: the commits whose packs came, and the number of volumes.
    /// - Throws: the errors of the store and of the home. What was kept by then stays.
    func fetch(_ commits: [Entry]) async throws(TresorError) -> (commits: Set<UInt64>, volumeCount: Int) {
        let lacking = try await lackingPacks(of: commits)
        let old = try await fetchOld(lacking.filter { $0.key <= state.floor })
        let new = try await fetch(lacking.filter { $0.key > state.floor })
        return (old.commits.union(new), old.volumeCount)
    }

    /// Fetches what the volumes of the newest checkpoint replaced, as far as it can be read with: the packs up to the floor
    /// that the home lacks, or the volumes of earlier checkpoints.
    ///
    /// - Parameter log: all entries of the state.
    func fetchReplaced(_ checkpoints: [Checkpoint], _ log: RecordEntries) async throws(TresorError) {
        _ = try await fetchPacks(of: log)
        for checkpoint in checkpoints.dropLast().reversed() {
            _ = try await fetchVolumes(of: checkpoint)
            guard try await lackingVolumes(of: checkpoint).isEmpty else { return }
        }
    }

    /// Fetches the packs up to the floor that the home lacks, although volumes stand for them.
    ///
    /// - Parameter log: all entries of the state.
    /// - Returns: the commits of those that came.
    func fetchPacks(of log: RecordEntries) async throws(TresorError) -> Set<UInt64> {
        try await fetch(try await lackingPacks(of: log.commits.filter { $0.sequence <= state.floor }))
    }

    /// Fetches the packs that the home has lost since they were read, or for which an index stands.
    ///
    /// - Returns: whether the home has all packs.
    func fetchLost(_ log: RecordEntries) async throws(TresorError) -> Bool {
        guard try await !lackingPacks(of: log.commits).isEmpty else { return true }
        _ = try await fetch(log.commits)
        return try await lackingPacks(of: log.commits).isEmpty
    }

    /// The packs of commits that the home lacks, by their numbers.
    private func lackingPacks(of entries: [Entry]) async throws(TresorError) -> [UInt64: Blob] {
        let files = PackFiles(client, state.tresor)
        var packs: [UInt64: Blob] = [:]
        for entry in entries { packs[entry.sequence] = pack(of: entry) }
        let kept = try await Cores.apart { [packs] () throws(TresorError) in
            var kept: Set<UInt64> = []
            for part in Set(packs.keys.map(PackFiles.part)) { kept.formUnion(try files.kept(packs, of: part)) }
            return kept
        }
        return packs.filter { !kept.contains($0.key) }
    }

    /// Fetches packs.
    ///
    /// - Returns: the commits of those that came.
    private func fetch(_ packs: [UInt64: Blob]) async throws(TresorError) -> Set<UInt64> {
        let files = PackFiles(client, state.tresor)
        var commits: Set<UInt64> = []
        try await ask(for: packs) { (came) async throws(TresorError) in
            try await files.keep(came, for: session.user)
            commits.formUnion(came.keys)
        }
        return commits
    }

    /// Fetches packs up to the floor, or the volumes that stand for them: first what has fewer bytes, and the other if not
    /// all of that came. An owner may have deleted the packs.
    private func fetchOld(
        _ packs: [UInt64: Blob]
    ) async throws(TresorError) -> (commits: Set<UInt64>, volumeCount: Int) {
        guard !packs.isEmpty else { return ([], 0) }
        let checkpoint = try await Checkpoint.newest(of: state, client)
        guard let checkpoint else { return (try await fetch(packs), 0) }
        if try await lackingVolumes(of: checkpoint).isEmpty { return ([], 0) }
        if Blob.byteCount(of: packs.values) < Blob.byteCount(of: checkpoint.body.volumes) {
            let commits = try await fetch(packs)
            if commits.count == packs.count { return (commits, 0) }
            return (commits, try await fetchVolumes(of: checkpoint))
        }
        let count = try await fetchVolumes(of: checkpoint)
        if try await lackingVolumes(of: checkpoint).isEmpty { return ([], count) }
        return (try await fetch(packs), count)
    }

    /// The places of the volumes that the home lacks.
    func lackingVolumes(of checkpoint: Checkpoint) async throws(TresorError) -> [Int] {
        try await Cores.apart { () throws(TresorError) in
            try VolumeFiles(client: client, tresor: state.tresor).lacking(of: checkpoint)
        }
    }

    /// Fetches the volumes that the home lacks, in order, and keeps those of each answer durably before it goes on.
    ///
    /// - Returns: the number of those that came.
    func fetchVolumes(of checkpoint: Checkpoint) async throws(TresorError) -> Int {
        let files = VolumeFiles(client: client, tresor: state.tresor)
        let volumes = checkpoint.body.volumes
        var wanted: [UInt64: Blob] = [:]
        for place in try await lackingVolumes(of: checkpoint) { wanted[UInt64(place)] = volumes[place] }
        var count = 0
        try await ask(for: wanted) { (came) async throws(TresorError) in
            var kept: [Int: [UInt8]] = [:]
            for (place, bytes) in came { kept[Int(place)] = bytes }
            try await files.keep(kept, of: checkpoint, for: session.user)
            count += came.count
        }
        return count
    }

    /// The commits whose packs the store lacks, or has otherwise, by rising number. A pack that many commits name is read
    /// once.
    ///
    /// - Throws: the errors of the store and of the home.
    func lost(from first: UInt64) async throws(TresorError) -> [UInt64] {
        var packs: [UInt64: Blob] = [:]
        for entry in try await CommitReader(client: client).commits(of: state, from: first) {
            packs[entry.sequence] = pack(of: entry)
        }
        let named = packs.sorted { $0.key < $1.key }.map(\.value)
        let present = try await BlobReader(client.store, state.tresor).present(named)
        return packs.filter { !present.contains($0.value) }.keys.sorted()
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

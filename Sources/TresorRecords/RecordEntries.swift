// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The commits and checkpoints of a log from an entry on, in order: read once for everything that asks for them.
struct RecordEntries: Sendable {
    /// The end of the log.
    let head: Head
    /// The first entry that was looked at.
    let first: UInt64
    let all: [Entry]

    /// The commits.
    var commits: [Entry] { all.filter(\.isCommit) }

    /// Those of a state from an entry on; `nil` where not all of these were looked at.
    func part(of state: LogState, from start: UInt64) -> [Entry]? {
        guard head == state.head, first <= start else { return nil }
        return Array(all.drop { $0.sequence < start })
    }
}

/// Reads the commits of a log.
struct CommitReader: Sendable {
    let client: Client

    /// Returns the entries of a state with the type of a commit, in order, from the local log copy, or where it lacks
    /// them from the store.
    func commits(of state: LogState, from first: UInt64) async throws(TresorError) -> [Entry] {
        try await entries(of: state, from: first) { $0.isCommit }
    }

    /// Returns the commits and checkpoints, likewise.
    func records(of state: LogState, from first: UInt64 = 0) async throws(TresorError) -> RecordEntries {
        let entries = try await entries(of: state, from: first) { $0.isCommit || $0.isCheckpoint }
        return RecordEntries(head: state.head, first: first, all: entries)
    }

    /// Returns those entries of a state that are wanted, likewise.
    func entries(
        of state: LogState, from first: UInt64, where isWanted: (Entry) -> Bool
    ) async throws(TresorError) -> [Entry] {
        var wanted: [Entry] = []
        var next = first
        while next < state.entryCount {
            try Cancellation.check()
            let entries = try await entries(of: state, from: next)
            for bytes in entries {
                let entry = try Entry(bytes)
                if isWanted(entry) { wanted.append(entry) }
            }
            next += UInt64(entries.count)
        }
        return wanted
    }

    /// Returns one entry of a state.
    func entry(_ sequence: UInt64, of state: LogState) async throws(TresorError) -> Entry {
        guard let bytes = try await entries(of: state, from: sequence).first else { throw .store(.other) }
        return try Entry(bytes)
    }

    /// Returns the entries from one on, to the end of its part of the local log copy.
    private func entries(of state: LogState, from first: UInt64) async throws(TresorError) -> [[UInt8]] {
        do throws(TresorError) {
            return try await Cores.apart { () throws(TresorError) in
                try client.archive.entries(of: state, from: first)
            }
        } catch {
            guard error == .notFound else { throw error }
            let end = min(LogCopy.end(ofPartWith: first), state.entryCount)
            return try await client.logs.entries(first..<end, of: state)
        }
    }
}

extension Blob {
    /// The number of bytes of some blobs, as the log says.
    static func byteCount(of blobs: some Sequence<Blob>) -> UInt64 {
        blobs.reduce(0) { $0.addingReportingOverflow($1.size).partialValue }
    }
}

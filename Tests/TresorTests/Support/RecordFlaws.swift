// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

/// The faults of no good client. The simulation makes each by what stands before its store or home, or puts what such a client
/// would end with in the place of what it compares at the end, and has to notice it.
enum RecordFlaw: CaseIterable, Sendable {
    /// The table at the end says that the later clock won, whatever its author had seen. No client with this flaw runs: it
    /// tries the comparison at the end alone.
    case clock
    /// A change is announced before it is durable.
    case announcement
    /// Packs that were read of the log count as fetched, although they are not durable.
    case cursor
    /// The end of a page counts as the end of the log.
    case page

    /// How the finding begins by which it is noticed.
    var finding: String {
        switch self {
        case .clock: "overwritten unseen"
        case .announcement: "announced, and not there"
        case .cursor: "is incomplete"
        case .page: "diverged"
        }
    }

    /// The store of a device whose client has the flaw.
    func store(before truth: any Store) -> any Store {
        switch self {
        case .clock, .announcement: truth
        case .cursor: OnceStore(truth: truth)
        case .page: PageStore(truth: truth)
        }
    }
}

/// A store that gives each blob once: nobody asks a second time.
private final class OnceStore: FrontStore {
    let truth: any Store
    private let given = Mutex<Set<Hash256>>([])

    init(truth: any Store) { self.truth = truth }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        let blobs = try await truth.blobs(hashes, in: tresor)
        return given.withLock { given in
            zip(hashes, blobs).map { hash, bytes in bytes != nil && given.insert(hash).inserted ? bytes : nil }
        }
    }
}

/// A store of which a client reads one new entry at a time: each page begins with the last one that it knows.
private struct PageStore: FrontStore {
    let truth: any Store

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        try await Array(truth.entries(of: tresor, from: first, limit: limit).prefix(2))
    }
}

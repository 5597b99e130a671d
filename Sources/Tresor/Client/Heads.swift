// SPDX-License-Identifier: Apache-2.0

/// The highest verified head of each tresor (SPEC §9.8). It only rises.
package struct Heads: Hashable, Sendable {
    private(set) var heads: [TresorID: Head] = [:]
    /// The latest time that an entry of this home's own identity carries in those logs; 0 for none (SPEC §8.3).
    private(set) var ownTime: UInt64 = 0

    init() {}

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.heads)
        ownTime = try decoder.time()
        var last: TresorID?
        while decoder.remaining > 0 {
            let tresor = TresorID(try decoder.digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            let sequence = try decoder.integer(UInt64.self)
            heads[tresor] = Head(sequence: sequence, hash: try decoder.digest())
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.heads)
        encoder.integer(ownTime)
        for (tresor, head) in heads.sorted(by: { $0.key < $1.key }) {
            encoder.digest(tresor.digest)
            encoder.integer(head.sequence)
            encoder.digest(head.hash)
        }
        return encoder.bytes
    }

    subscript(tresor: TresorID) -> Head? { heads[tresor] }

    /// Raises a head to that of a state which contains the present one.
    ///
    /// - Parameter me: whose home it is; `nil` when it has no identity.
    /// - Throws: ``TresorError/forked`` when it does not.
    mutating func raise(to state: State, me: UserID?) throws(TresorError) {
        if let present = heads[state.tresor], !state.contains(present) { throw .forked }
        heads[state.tresor] = state.head
        if let me { ownTime = max(ownTime, state.lastTimes[me] ?? 0) }
    }
}

/// A part of the entries of a log as a home keeps them: a cache, worth nothing unless all parts fold to the pinned head.
package struct CachedLog: Hashable, Sendable {
    /// How many entries a part has, the last one apart: 512.
    static let partCount: UInt64 = 512

    package var entries: [[UInt8]]

    init(entries: [[UInt8]]) { self.entries = entries }

    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.log)
        entries = []
        while decoder.remaining > 0 { entries.append(try decoder.vector32(1...Entry.maximumByteCount)) }
    }

    /// The sequence number behind the last entry of the part in which an entry lies.
    static func end(ofPartWith sequence: UInt64) -> UInt64 { (sequence / partCount + 1) * partCount }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.log)
        for entry in entries { encoder.vector32(entry) }
        return encoder.bytes
    }
}

/// Two histories of one tresor: what this home had verified and what a store showed instead (SPEC §9.8).
package struct Evidence: Hashable, Sendable {
    let tresor: TresorID
    /// The pinned head.
    let head: Head
    /// The entry at the pinned head; empty where the home no longer has it.
    let verified: [UInt8]
    /// The entry that the store showed with the same sequence number, else its last; empty if it showed none.
    let shown: [UInt8]

    package init(tresor: TresorID, head: Head, verified: [UInt8], shown: [UInt8]) {
        self.tresor = tresor
        self.head = head
        self.verified = verified
        self.shown = shown
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.evidence)
        encoder.digest(tresor.digest)
        encoder.integer(head.sequence)
        encoder.digest(head.hash)
        encoder.vector32(verified)
        encoder.vector32(shown)
        return encoder.bytes
    }

    /// Under what the home keeps it.
    func name() throws(TresorError) -> Digest { try BLAKE2b.hash(.evidenceHash, bytes) }

    /// The same of another answer, of which nothing was decoded: what is longer than an entry may be is none.
    func showing(_ shown: [UInt8]) -> Evidence {
        let isEntry = shown.count <= Entry.maximumByteCount
        return Evidence(tresor: tresor, head: head, verified: verified, shown: isEntry ? shown : [])
    }
}

/// A store that shows another history than this home has seen.
struct Divergence: Hashable, Sendable {
    /// Where the store's log ends; `nil` when it shows none.
    let shown: Head?
    /// Whether it shows by now what was verified.
    let isOver: Bool
    let evidence: Evidence
}

// SPDX-License-Identifier: Apache-2.0

/// Two histories of one tresor: what this home had verified and what a store showed instead (SPEC §9.8).
package struct ForkEvidence: Hashable, Sendable {
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
    func name() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.evidenceHash, bytes) }

    /// The same of another answer, of which nothing was decoded: what is longer than an entry may be is none.
    func showing(_ shown: [UInt8]) -> ForkEvidence {
        let isEntry = shown.count <= Entry.maximumByteCount
        return ForkEvidence(tresor: tresor, head: head, verified: verified, shown: isEntry ? shown : [])
    }
}

/// A store that shows another history than this home has seen.
struct Divergence: Hashable, Sendable {
    /// Where the store's log ends; `nil` when it shows none.
    let shown: Head?
    /// Whether it shows by now what was verified.
    let isOver: Bool
    let evidence: ForkEvidence
}

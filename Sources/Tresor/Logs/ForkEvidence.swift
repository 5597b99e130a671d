// SPDX-License-Identifier: Apache-2.0

package import TresorCore
import TresorCrypto

/// Two histories of one tresor: the one that this home had verified, and the one that a store showed instead (SPEC
/// §9.8).
package struct ForkEvidence: Hashable, Sendable {
    let tresor: TresorID
    /// The pinned head.
    let head: Head
    /// The entry at the pinned head; empty where the home no longer has it.
    let verified: [UInt8]
    /// The entry that the store showed at the same sequence number, or its last one; empty if it showed none.
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

    /// Computes the name under which the home keeps it.
    func name() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.evidenceHash, bytes) }

    /// Returns the evidence with another answer of the store, undecoded. More bytes than an entry may have count as
    /// none.
    func showing(_ shown: [UInt8]) -> ForkEvidence {
        let isEntry = shown.count <= Entry.maximumByteCount
        return ForkEvidence(tresor: tresor, head: head, verified: verified, shown: isEntry ? shown : [])
    }
}

/// A store's history that differs from the one that this home has verified.
struct Divergence: Hashable, Sendable {
    /// The head of the store's log; `nil` when it shows none.
    let shown: Head?
    /// Whether the store now shows what was verified.
    let isOver: Bool
    let evidence: ForkEvidence
}

// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// The highest verified head of each tresor, which only rises until the tresor is deleted: 18 bytes, then 72 for each tresor (SPEC §9.8).
package struct PinnedHeads: Hashable, Sendable {
    private(set) var heads: [TresorID: Head] = [:]
    /// The latest time of an entry by this home's own identity in those logs; 0 for none (SPEC §8.3).
    private(set) var ownTime: UInt64 = 0

    init() {}

    /// Decodes the pinned heads; the tresor ids must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.heads)
        ownTime = try decoder.time()
        heads = try decoder.rows { (decoder) throws(TresorError) in
            let sequence = try decoder.integer(UInt64.self)
            return Head(sequence: sequence, hash: try decoder.digest())
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.heads)
        encoder.integer(ownTime)
        encoder.rows(heads) {
            $0.integer($1.sequence)
            $0.digest($1.hash)
        }
        return encoder.bytes
    }

    subscript(tresor: TresorID) -> Head? { heads[tresor] }

    /// Forgets the head of a tresor that was deleted. The times of this home's own entries stay.
    mutating func forget(_ tresor: TresorID) { heads[tresor] = nil }

    /// Raises a head to that of a state which contains the present one.
    ///
    /// - Parameter me: the user of this home; `nil` when it has no identity.
    /// - Throws: ``TresorError/forked`` when the state does not contain the present head.
    mutating func raise(to state: LogState, me: UserID?) throws(TresorError) {
        if let present = heads[state.tresor], !state.contains(present) { throw .forked }
        heads[state.tresor] = state.head
        if let me { ownTime = max(ownTime, state.lastTimes[me] ?? 0) }
    }
}

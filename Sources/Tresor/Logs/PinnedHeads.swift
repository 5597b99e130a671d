// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The highest verified head of each tresor, which only rises until the tresor is deleted, and the higher heads of which
/// another device of this person told: 18 bytes, then 73 or 113 for each tresor (SPEC §9.8).
package struct PinnedHeads: Hashable, Sendable {
    private(set) var heads: [TresorID: Head] = [:]
    /// Heads that another device of this person verified, and no log that this home verified contains yet (SPEC §19.8).
    private(set) var told: [TresorID: Head] = [:]
    /// The latest time of an entry by this home's own identity in those logs; 0 for none (SPEC §8.3).
    private(set) var ownTime: UInt64 = 0

    init() {}

    private struct Row {
        var pinned: Head?
        var told: Head?
    }

    /// Decodes the heads; the tresor ids must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.heads)
        ownTime = try decoder.time()
        let rows = try decoder.rows { (decoder) throws(TresorError) in
            let kinds = try decoder.integer(UInt8.self)
            guard (1...3).contains(kinds) else { throw .altered }
            var row = Row()
            if kinds & 1 != 0 { row.pinned = try Head(from: &decoder) }
            if kinds & 2 != 0 { row.told = try Head(from: &decoder) }
            return row
        }
        heads = rows.compactMapValues(\.pinned)
        told = rows.compactMapValues(\.told)
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.heads)
        encoder.integer(ownTime)
        var rows = heads.mapValues { Row(pinned: $0) }
        for (tresor, head) in told { rows[tresor, default: Row()].told = head }
        encoder.rows(rows) { encoder, row in
            encoder.integer(UInt8((row.pinned == nil ? 0 : 1) + (row.told == nil ? 0 : 2)))
            row.pinned?.encode(into: &encoder)
            row.told?.encode(into: &encoder)
        }
        return encoder.bytes
    }

    subscript(tresor: TresorID) -> Head? { heads[tresor] }

    /// The heads that each log of a tresor has to contain, the one first that another device told.
    func demanded(of tresor: TresorID) -> [Head] { [told[tresor], heads[tresor]].compactMap(\.self) }

    /// Forgets the heads of a tresor that was deleted. The times of this home's own entries stay.
    mutating func forget(_ tresor: TresorID) { (heads[tresor], told[tresor]) = (nil, nil) }

    /// Forgets what other devices told: a former card of this person signed it.
    mutating func forgetTold() { told = [:] }

    /// Demands a head that another device of this person verified.
    mutating func tell(_ head: Head, of tresor: TresorID) { told[tresor] = head }

    /// Demands the highest head of each tresor that other devices of this person verified, unless it is not above the
    /// pinned one. What none of them says any more is not demanded; what is demanded stays while one says it.
    ///
    /// - Parameters:
    ///   - said: the heads of all statements.
    ///   - tresors: the tresors of which a head may newly be demanded; `nil` for all.
    ///   - keeping: whether everything stays demanded.
    package mutating func takeHeads(
        _ said: [TresorID: [Head]], among tresors: Set<TresorID>? = nil, keeping: Bool = false
    ) {
        for (tresor, head) in told where !keeping && said[tresor]?.contains(head) != true { told[tresor] = nil }
        for (tresor, said) in said where tresors?.contains(tresor) ?? true {
            guard let highest = said.max(by: { $0.sequence < $1.sequence }) else { continue }
            let present = [heads[tresor], told[tresor]].compactMap(\.self).map(\.sequence).max()
            if present.map({ $0 < highest.sequence }) ?? true { told[tresor] = highest }
        }
    }

    /// Raises a head to that of a state which contains the present one, and the one that was told.
    ///
    /// - Parameter me: the user of this home; `nil` when it has no identity.
    /// - Throws: ``TresorError/forked`` when the state does not contain them.
    mutating func raise(to state: LogState, me: UserID?) throws(TresorError) {
        guard demanded(of: state.tresor).allSatisfy(state.contains) else { throw .forked }
        heads[state.tresor] = state.head
        told[state.tresor] = nil
        if let me { ownTime = max(ownTime, state.lastTimes[me] ?? 0) }
    }
}

/// The bytes of a head, in the heads and in a record of the own tresor: 40 (SPEC §9.8, §19.8).
extension Head {
    /// Reads a head.
    ///
    /// - Throws: ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        self.init(sequence: try decoder.integer(), hash: try decoder.digest())
    }

    /// The number of bytes as a record of the own tresor has them: 40.
    package static let recordByteCount = 8 + Hash256.byteCount

    /// Reads a head that is the whole content of a record.
    ///
    /// - Throws: ``TresorError/altered``.
    package init(recordContent bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try self.init(from: &decoder)
        try decoder.end()
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(sequence)
        encoder.digest(hash)
    }

    /// The bytes, as a record of the own tresor has them.
    package var recordContent: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}

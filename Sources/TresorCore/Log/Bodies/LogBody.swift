// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A body of an entry: everything that SPEC §9.2 to §9.4 say of one type stands in one file of this folder.
///
/// ``EntryBody`` lists the bodies and reads them. A rule that several bodies share is in ``EntryValidator``, a shared
/// effect in ``EntryEffect``.
protocol LogBody: Hashable, Sendable {
    /// The registered number (SPEC §9.2).
    var type: UInt16 { get }
    /// The name in SPEC §9.2.
    var name: String { get }
    /// The epoch that begins with the entry.
    var nextEpoch: Epoch? { get }
    /// The change that a log shows.
    var change: LogRecord.Change { get }
    /// The users that the body names.
    var users: [UserID] { get }

    /// Writes the fields, without number and length.
    func encode(into encoder: inout ByteEncoder)

    /// Whether this author may write the body: the last column of SPEC §9.2 (R15).
    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool

    /// Checks the rules of this body in rising order (SPEC §9.3).
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation)

    /// Changes the state after all rules hold (SPEC §9.4).
    func apply(_ effect: EntryEffect, to state: inout LogState)
}

extension LogBody {
    var nextEpoch: Epoch? { nil }
    var users: [UserID] { [] }
}

extension ByteEncoder {
    /// A `u16` count and that many principals.
    mutating func principals<Element>(_ elements: [Element], _ encode: (inout ByteEncoder, Element) -> Void) {
        integer(UInt16(truncatingIfNeeded: elements.count))
        for element in elements { encode(&self, element) }
    }

    /// A `u16` count and that many approvers.
    mutating func approvers(_ approvers: [Approver]) { principals(approvers) { $1.encode(into: &$0) } }
}

extension ByteDecoder {
    private static let maximumPrincipalCount = 10_000

    /// A `u16` count of at most 10 000, and that many principals.
    mutating func principals<Element>(
        _ decode: (inout ByteDecoder) throws(TresorError) -> Element
    ) throws(TresorError) -> [Element] {
        let count = Int(try integer(UInt16.self))
        guard count <= Self.maximumPrincipalCount else { throw .altered }
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try decode(&self)) }
        return elements
    }

    /// A `u16` count of at most 10 000, and that many approvers.
    mutating func approvers() throws(TresorError) -> [Approver] {
        try principals { (decoder) throws(TresorError) in try Approver(from: &decoder) }
    }

    /// A not-after, in seconds since 1970; `nil` for none, which is zero.
    mutating func notAfter() throws(TresorError) -> UInt64? {
        let time = try time()
        return time == 0 ? nil : time
    }
}

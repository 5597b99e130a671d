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

/// The byte before a person (SPEC §9.2). A later release may add teams.
enum PrincipalType: UInt8 {
    case user = 1
    case approver = 3
}

extension ByteEncoder {
    /// The byte before a person.
    mutating func principal(_ type: PrincipalType) { integer(type.rawValue) }

    /// A user by id, behind their type.
    mutating func user(_ user: UserID) {
        principal(.user)
        digest(user.digest)
    }

    /// A user by their whole card chain, behind their type.
    mutating func user(_ chain: CardChain) {
        principal(.user)
        vector32(chain.bytes)
    }

    /// A `u16` count and that many people.
    mutating func people<Element>(_ elements: [Element], _ encode: (inout ByteEncoder, Element) -> Void) {
        integer(UInt16(truncatingIfNeeded: elements.count))
        for element in elements { encode(&self, element) }
    }

    /// A `u16` count and that many approvers.
    mutating func approvers(_ approvers: [Approver]) { people(approvers) { $1.encode(into: &$0) } }
}

extension ByteDecoder {
    private static let maximumPersonCount = 10_000

    /// Reads the byte before a person.
    ///
    /// - Throws: ``TresorError/unsupported`` for another type; ``TresorError/altered``.
    mutating func principal(_ type: PrincipalType) throws(TresorError) {
        guard try integer(UInt8.self) == type.rawValue else { throw .unsupported }
    }

    /// A user by id, behind their type.
    mutating func user() throws(TresorError) -> UserID {
        try principal(.user)
        return UserID(try digest())
    }

    /// A user by their whole card chain, behind their type.
    mutating func userChain() throws(TresorError) -> CardChain {
        try principal(.user)
        return try CardChain(try vector32(1...CardChain.maximumByteCount))
    }

    /// A `u16` count of at most 10 000, and that many people.
    mutating func people<Element>(
        _ decode: (inout ByteDecoder) throws(TresorError) -> Element
    ) throws(TresorError) -> [Element] {
        let count = Int(try integer(UInt16.self))
        guard count <= Self.maximumPersonCount else { throw .altered }
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try decode(&self)) }
        return elements
    }

    /// A `u16` count of at most 10 000, and that many approvers.
    mutating func approvers() throws(TresorError) -> [Approver] {
        try people { (decoder) throws(TresorError) in try Approver(from: &decoder) }
    }

    /// A not-after, in seconds since 1970; `nil` for none, which is zero.
    mutating func notAfter() throws(TresorError) -> UInt64? {
        let time = try time()
        return time == 0 ? nil : time
    }
}

// SPDX-License-Identifier: Apache-2.0

/// One entry of a verified log, for display.
public struct LogRecord: Hashable, Sendable {
    /// The change.
    public enum Change: Hashable, Sendable {
        /// The creation of the tresor.
        case created
        /// Owners added people; *from now* members read nothing earlier.
        case admitted([UserID], role: Role, fromNow: Bool, notAfter: UInt64?)
        /// Owners removed people.
        case removed([UserID])
        /// The author left.
        case left
        /// A person has new keys, of this generation; an owner may record that for another person.
        case renewed(UserID, generation: UInt32)
        /// A key change.
        case rotated
        /// A change of role or date.
        case roleChanged(UserID, role: Role, notAfter: UInt64?)
        /// A new name of the tresor.
        case renamed
        /// An unknown body that changes no member, role, key or name.
        case additive(type: UInt16)
    }

    /// The sequence number; 0 for the first.
    public let sequence: UInt64
    /// The entry's hash.
    public let hash: Hash256
    /// The author.
    public let author: UserID
    /// The time of writing by the author's account, in seconds since 1970.
    public let time: UInt64
    /// The change.
    public let change: Change
    /// The epoch that begins with the entry.
    public let epoch: UInt64?

    package init(_ entry: Entry) throws(TresorError) {
        sequence = entry.sequence
        hash = try entry.hash()
        author = entry.author
        time = entry.time
        let body = try entry.body
        epoch = body.nextEpoch?.number
        change =
            switch body {
            case .genesis: .created
            case .grant(let grant):
                .admitted(
                    grant.people.map(\.chain.user), role: grant.role, fromNow: grant.fromNow != nil,
                    notAfter: grant.notAfter)
            case .remove(let principals, _): .removed(principals.map(\.userID))
            case .leave: .left
            case .renew(let card): .renewed(UserID(card.statedUser), generation: card.generation)
            case .epoch: .rotated
            case .role(let principal, let role, let notAfter):
                .roleChanged(principal.userID, role: role, notAfter: notAfter)
            case .rename: .renamed
            case .additive(let type, _): .additive(type: type)
            }
    }
}

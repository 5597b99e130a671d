// SPDX-License-Identifier: Apache-2.0

/// One entry of a verified log, for people to read.
public struct LogRecord: Hashable, Sendable {
    /// What the entry says.
    public enum Change: Hashable, Sendable {
        /// The tresor was made.
        case created
        /// People were let in; *from now* ones read nothing earlier.
        case admitted([UserID], role: Role, fromNow: Bool, notAfter: UInt64?)
        /// People were put out.
        case removed([UserID])
        /// The author went.
        case left
        /// Somebody has new keys, of this generation; an owner may say so for somebody else.
        case renewed(UserID, generation: UInt32)
        /// The key was changed.
        case rotated
        /// Somebody has another role or date.
        case roleChanged(UserID, role: Role, notAfter: UInt64?)
        /// The tresor has another name.
        case renamed
        /// A body that changes no member, role, key or name, and that this release does not know.
        case additive(type: UInt16)
    }

    /// 0 for the first.
    public let sequence: UInt64
    /// The entry's hash.
    public let hash: Hash256
    /// Who wrote it.
    public let author: UserID
    /// When the author says it was written, in seconds since 1970.
    public let time: UInt64
    /// What it says.
    public let change: Change
    /// The epoch that begins with it.
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
                    grant.people.map(\.user), role: grant.role, fromNow: grant.fromNow != nil, notAfter: grant.notAfter)
            case .remove(let users, _): .removed(users)
            case .leave: .left
            case .renew(let card): .renewed(UserID(card.statedUser), generation: card.generation)
            case .epoch: .rotated
            case .role(let user, let role, let notAfter): .roleChanged(user, role: role, notAfter: notAfter)
            case .rename: .renamed
            case .additive(let type, _): .additive(type: type)
            }
    }
}

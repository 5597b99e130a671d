// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// One entry of a verified log, for display.
public struct LogRecord: Identifiable, Hashable, Sendable {
    /// The change.
    package enum Change: Hashable, Sendable {
        /// The creation of the tresor.
        case created
        /// Owners added people; *from now* members read nothing earlier.
        case admitted([UserID], role: Role, fromNow: Bool, notAfter: UInt64?)
        /// An approver approved these people, who waited by the grant with this hash.
        case approved([UserID], grant: Hash256)
        /// An approver refused the people who waited by the grant with this hash.
        case refused(grant: Hash256)
        /// Owners named the people who approve from then on; nobody waits for new ones where there are none.
        case approversNamed([UserID])
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
        /// A body that changes no member, role, key or name.
        case additive(type: UInt16)
    }

    /// The sequence number; 0 for the first.
    package let sequence: UInt64
    /// The sequence number.
    public var id: UInt64 { sequence }
    /// The entry's hash.
    package let hash: Hash256
    /// The author.
    public let author: UserID
    /// The time of writing by the author's account, in seconds since 1970.
    package let time: UInt64
    /// The name of the body in SPEC §9.2, such as `grant`.
    public let name: String
    /// The change.
    package let change: Change
    /// The users that the body names.
    package let users: [UserID]
    /// The epoch that begins with the entry.
    package let epoch: UInt64?

    package init(_ entry: Entry) throws(TresorError) {
        sequence = entry.sequence
        hash = try entry.hash()
        author = entry.author
        time = entry.time
        let body = try entry.body
        epoch = body.nextEpoch?.number
        name = body.name
        change = body.change
        users = body.users
    }
}

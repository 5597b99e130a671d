// SPDX-License-Identifier: Apache-2.0

/// An act of a person on a tresor (SPEC §9.7).
@nonexhaustive
public enum Act: Hashable, Sendable {
    /// Adds people, or changes the role and the end date of members.
    case share(with: [ChainPrincipal], role: Role, fromNow: Bool, notAfter: UInt64?)
    /// Removes members and changes the key.
    case revoke([Principal])
    /// Ends this person's own membership.
    case leave
    /// Changes the key.
    case rotate
    /// Changes the name, and the kind if one is given.
    case rename(Name, kind: Name? = nil)
    /// Replaces this person's card in the log by their next card.
    case renew
}

/// The rights of a member, and their end.
public struct Terms: Hashable, Sendable {
    /// The role of the member.
    public let role: Role
    /// The end of the grant in seconds since 1970; `nil` for none.
    public let notAfter: UInt64?

    /// Makes terms from a role and an end date.
    public init(role: Role, notAfter: UInt64?) {
        self.role = role
        self.notAfter = notAfter
    }

    /// Reads the terms of a member.
    public init(_ member: Member) { self.init(role: member.role, notAfter: member.notAfter) }
}

/// The effect of an act at one state of the log. If the log has grown and the effect differs, the act is not done.
public struct Effect: Hashable, Sendable {
    /// The people who gain access, by rising user id.
    public var admitted: [UserID] = []
    /// The members whose role or end date changes.
    public var changed: [UserID] = []
    /// The terms that these members have until then.
    public var replaced: [UserID: Terms] = [:]
    /// The members who lose access.
    public var dismissed: [UserID] = []
    /// The people for whom nothing changes, because the act is already done for them.
    public var already: [UserID] = []
    /// The number of members afterwards.
    public var remaining = 0
    /// The epoch that begins, if any.
    public var epoch: UInt64?
    /// Whether the name changes.
    public var renames = false
    /// The new generation of this person's entries, if it changes.
    public var generation: UInt32?

    /// Makes an effect that changes nothing.
    public init() {}

    /// Whether both do the same to the same people. The number of members and the number of the epoch may differ.
    func means(_ other: Effect) -> Bool {
        var other = other
        other.remaining = remaining
        if epoch != nil, other.epoch != nil { other.epoch = epoch }
        return self == other
    }

    /// Whether the act changes nothing.
    public var isNothing: Bool {
        admitted.isEmpty && changed.isEmpty && dismissed.isEmpty && epoch == nil && !renames && generation == nil
    }
}

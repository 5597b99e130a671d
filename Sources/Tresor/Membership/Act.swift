// SPDX-License-Identifier: Apache-2.0

/// What a person does to a tresor (SPEC §9.7).
public enum Act: Hashable, Sendable {
    /// Lets people in, or changes the role and date of those who are in.
    case share(with: [CardChain], role: Role, fromNow: Bool, notAfter: UInt64?)
    /// Puts people out and changes the key.
    case revoke([UserID])
    /// Goes.
    case leave
    /// Changes the key.
    case rotate
    /// Gives another name, and another kind if one is given.
    case rename(Name, kind: Name? = nil)
    /// Puts this person's next card in the place of the one the log holds.
    case renew
}

/// What a member may do, and until when.
public struct Terms: Hashable, Sendable {
    /// What they may do.
    public let role: Role
    /// When the owner means to take access back, in seconds since 1970.
    public let notAfter: UInt64?

    /// A role and a date.
    public init(role: Role, notAfter: UInt64?) {
        self.role = role
        self.notAfter = notAfter
    }

    /// What a member has.
    public init(_ member: Member) { self.init(role: member.role, notAfter: member.notAfter) }
}

/// What an act means at one state of the log. When the log has moved on and the meaning is no longer the same, the act is not done.
public struct Effect: Hashable, Sendable {
    /// Who gains access, by rising user id.
    public var admitted: [UserID] = []
    /// Whose role or date changes.
    public var changed: [UserID] = []
    /// The role and date they have until then.
    public var replaced: [UserID: Terms] = [:]
    /// Who loses access.
    public var dismissed: [UserID] = []
    /// For whom nothing changes, because it is so already.
    public var already: [UserID] = []
    /// How many people are in afterwards.
    public var remaining = 0
    /// The epoch that begins, if one does.
    public var epoch: UInt64?
    /// Whether the name changes.
    public var renames = false
    /// The generation that this person's entries have from then on.
    public var generation: UInt32?

    /// An effect in which nothing is done.
    public init() {}

    /// Whether both do the same to the same people. How many others are in, and the epoch's number, may differ.
    func means(_ other: Effect) -> Bool {
        var other = other
        other.remaining = remaining
        if epoch != nil, other.epoch != nil { other.epoch = epoch }
        return self == other
    }

    /// Whether nothing is to be done.
    public var isNothing: Bool {
        admitted.isEmpty && changed.isEmpty && dismissed.isEmpty && epoch == nil && !renames && generation == nil
    }
}

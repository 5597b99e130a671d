// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TresorCore

/// An act of a person on a tresor (SPEC §9.7).
public struct Act: Hashable, Sendable {
    /// The kinds of acts.
    package enum Kind: Hashable, Sendable {
        /// Adds people, or changes the role and the end date of members.
        case share(with: [CardChain], role: Role, fromNow: Bool, notAfter: UInt64?)
        /// Removes members and changes the key.
        case revoke([UserID])
        /// Ends this person's own membership.
        case leave
        /// Changes the key.
        case rotate
        /// Changes the name, and the kind if one is given.
        case rename(Name, kind: Name?)
        /// Replaces this person's card in the log by their next card.
        case renew
        /// Names the people who approve from now on.
        case setApprovers([CardChain])
    }

    package let kind: Kind

    /// Adds people, or changes the role and the end of a member.
    ///
    /// - Parameters:
    ///   - people: the people.
    ///   - role: their rights.
    ///   - history: the files that they can read. It cannot change later.
    ///   - end: the end of access; `nil` for none. A date before 1970 or after the year 9999 is refused when the act is
    ///     planned or performed.
    public static func share(
        with people: [Person], as role: Role = .reader, history: SharedHistory = .all, until end: Date? = nil
    ) -> Act {
        .share(
            with: people.map(\.chain), role: role, fromNow: history == .fromNow,
            notAfter: end?.wholeSeconds)
    }

    /// Removes members and changes the key. Files sealed afterwards are closed to them; what they could read, they may
    /// have kept.
    public static func revoke(_ people: [Person]) -> Act { .revoke(people.map(\.user)) }

    /// Ends this person's own membership.
    public static let leave = Act(kind: .leave)

    /// Changes the key.
    public static let rotate = Act(kind: .rotate)

    /// Changes the name, and the kind if one is given.
    public static func rename(_ name: Name, kind: Name? = nil) -> Act { Act(kind: .rename(name, kind: kind)) }

    /// Adds the people of these chains, or changes the role and the end of a member.
    package static func share(
        with people: [CardChain], role: Role, fromNow: Bool, notAfter: UInt64?
    ) -> Act {
        Act(kind: .share(with: people, role: role, fromNow: fromNow, notAfter: notAfter))
    }

    /// Removes members and changes the key.
    package static func revoke(_ users: [UserID]) -> Act { Act(kind: .revoke(users)) }

    /// Replaces this person's card in the log by their next card.
    package static let renew = Act(kind: .renew)

    /// Names the people who approve from now on; nobody waits for new grants without any. The key must change next.
    package static func setApprovers(_ chains: [CardChain]) -> Act { Act(kind: .setApprovers(chains)) }
}

/// The files that a person can read with whom a tresor is shared.
public enum SharedHistory: Hashable, Sendable {
    /// All files, also those sealed before.
    case all
    /// The files that are sealed from now on.
    case fromNow
}

/// The rights of a member, and their end.
package struct Terms: Hashable, Sendable {
    /// The role of the member.
    package let role: Role
    /// The end of the grant in seconds since 1970; `nil` for none.
    package let notAfter: UInt64?

    /// Makes terms from a role and an end date.
    package init(role: Role, notAfter: UInt64?) {
        self.role = role
        self.notAfter = notAfter
    }

    /// Reads the terms of a member.
    package init(_ member: Member) { self.init(role: member.role, notAfter: member.notAfter) }
}

/// The effect of an act at one state of the log. If the log has grown and the effect differs, the act is not done.
public struct Effect: Hashable, Sendable {
    /// The people who gain access, by rising user id.
    public var admitted: [UserID] = []
    /// Whether these people wait until an approver has approved them.
    package var waits = false
    /// The approvers from then on, by rising user id; `nil` if they stay.
    package var approvers: [UserID]?
    /// The members whose role or end date changes.
    public var changed: [UserID] = []
    /// The terms that these members have until then.
    package var replaced: [UserID: Terms] = [:]
    /// The members who lose access.
    public var dismissed: [UserID] = []
    /// The people for whom nothing changes, because the act is already done for them.
    package var already: [UserID] = []
    /// The number of members afterwards.
    package var remaining = 0
    /// The epoch that begins, if any.
    public var epoch: UInt64?
    /// Whether the name changes.
    package var renames = false
    /// The new generation of this person's entries, if it changes.
    package var generation: UInt32?

    /// Makes an effect that changes nothing.
    package init() {}

    /// Whether both do the same to the same people. The number of members and the number of the epoch may differ.
    func means(_ other: Effect) -> Bool {
        var other = other
        other.remaining = remaining
        if epoch != nil, other.epoch != nil { other.epoch = epoch }
        return self == other
    }

    /// Whether the act changes nothing.
    package var isNothing: Bool {
        admitted.isEmpty && changed.isEmpty && dismissed.isEmpty && epoch == nil && !renames && generation == nil
            && approvers == nil
    }
}

extension LogRecord {
    /// What the entry did, as ``PlannedAct/effect`` says it of an act. It is empty for new keys of a person, and for an
    /// entry that changes no member and no key.
    ///
    /// Where the tresor has approvers, ``Effect/admitted`` names people twice: with the grant, and with its approval.
    public var effect: Effect {
        var effect = Effect()
        effect.epoch = epoch
        switch change {
        case .created: effect.admitted = [author]
        case .admitted(let people, _, _, _), .approved(let people, _): effect.admitted = people
        case .roleChanged(let user, _, _): effect.changed = [user]
        case .removed(let people): effect.dismissed = people
        case .left: effect.dismissed = [author]
        case .renamed: effect.renames = true
        case .approversNamed(let people): effect.approvers = people
        case .rotated, .renewed, .refused, .additive: break
        }
        return effect
    }
}

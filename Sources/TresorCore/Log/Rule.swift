// SPDX-License-Identifier: Apache-2.0

/// The numbered rules of a valid log (SPEC §9.3). ``EntryValidator`` says in which order they are checked. Numbers are never reused.
package enum Rule: Int, CaseIterable, Sendable {
    /// Every part of the body is of a kind this release knows.
    case r1 = 1
    /// The body has the canonical form.
    case r2
    /// It names this tresor.
    case r3
    /// Its sequence number is its place.
    case r4
    /// It names the hash of the entry before it; zero at the genesis.
    case r5
    /// A genesis stands first and nowhere else.
    case r6
    /// The tresor id is the hash of the root.
    case r7
    /// Root, author, generation and card of a genesis are the same person's.
    case r8
    /// The genesis begins epoch 1, which has no back-link.
    case r9
    /// There are no approvers.
    case r10
    /// The log holds the author's card of that generation.
    case r11
    /// The signature is that card's.
    case r12
    /// The author is a member.
    case r13
    /// The generation is the author's newest.
    case r14
    /// The author's role permits the body.
    case r15
    /// The entry is not dated after the author's own not-after, unless they leave.
    case r16
    /// Principals stand by rising user id, at least one.
    case r17
    /// A granted person is not a member.
    case r18
    /// A granted chain holds every card the log knows of that person.
    case r19
    /// An owner has full history.
    case r20
    /// The founder comes back as owner without not-after.
    case r21
    /// There are at most 10 000 members.
    case r22
    /// A new epoch is the next one and has a back-link.
    case r23
    /// A removed person is a member.
    case r24
    /// Neither the founder nor the author is removed by an entry of this kind.
    case r25
    /// An owner does not leave unless an owner without not-after remains.
    case r26
    /// A renewed card is the next one of its user, whom the log knows.
    case r27
    /// A person whose role changes is a member.
    case r28
    /// The founder's role does not change.
    case r29
    /// A change of role changes something.
    case r30
    /// A member without full history does not become an owner.
    case r31
    /// An owner without not-after remains.
    case r32
    /// An owner without not-after remains of those who are not removed.
    case r33
    /// A new epoch's commitments differ from all that the log has had.
    case r48 = 48

    /// The error of an entry that breaks the rule.
    package var error: TresorError {
        switch self {
        case .r1, .r10: .unsupported
        case .r11, .r13, .r14, .r15, .r16: .noAccess
        default: .altered
        }
    }
}

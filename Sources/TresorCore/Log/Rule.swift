// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The numbered rules of a valid log (SPEC §9.3). ``EntryValidator`` defines the order of the checks. Numbers are never
/// reused.
package enum Rule: Int, CaseIterable, Sendable {
    /// This release knows the kind of every part of the body.
    case r1 = 1
    /// The body has the canonical form.
    case r2
    /// The entry names this tresor.
    case r3
    /// The sequence number is the place of the entry.
    case r4
    /// The entry names the hash of the previous entry; zero at the genesis.
    case r5
    /// A genesis is the first entry and no other.
    case r6
    /// The tresor id is the hash of the root.
    case r7
    /// Root, author, generation and card of a genesis belong to the same person.
    case r8
    /// The genesis begins epoch 1, which has no back-link.
    case r9
    /// The log holds the author's card of that generation.
    case r11 = 11
    /// That card verifies the signature.
    case r12
    /// The author is a member, or a waiting person or an approver who writes what these may write.
    case r13
    /// The generation is the newest of the author.
    case r14
    /// The author's role permits the body.
    case r15
    /// The entry is not dated after the author's own not-after, unless they leave.
    case r16
    /// People are ordered by rising user id; at least one.
    case r17
    /// A granted person is not a member, does not wait, and is no approver.
    case r18
    /// A granted chain contains every card of that person that the log knows.
    case r19
    /// An owner has full history.
    case r20
    /// The founder returns as owner without not-after.
    case r21
    /// The tresor has at most 10 000 members.
    case r22
    /// A new epoch is the next one and has a back-link.
    case r23
    /// A removed person is a member or waits.
    case r24
    /// An entry of this kind does not remove the founder or its author.
    case r25
    /// An owner does not leave unless an owner without not-after remains.
    case r26
    /// A renewed card is the next card of its user, whom the log knows.
    case r27
    /// A person whose role changes is a member who does not wait.
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
    /// There are at most 16 approvers, ordered by rising user id, none of whom is a member or waits; their chains contain
    /// every card that the log knows.
    case r34 = 34
    /// An approval or a refusal names a grant by which somebody waits.
    case r35
    /// An approval is of the current epoch.
    case r36
    /// An approval admits exactly the people who wait by its grant, each with the keys of their history.
    case r37
    /// A commit or checkpoint names as many blobs as it may, of the sizes that they may have.
    case r38 = 38
    /// Its epoch is the current one.
    case r39
    /// No rekey is pending.
    case r40
    /// A checkpoint stands for entries above the floor and before itself.
    case r41
    /// A checkpoint stands for no entry that a *from now* member can open.
    case r42
    /// The commitments of a new epoch differ from all earlier ones in the log.
    case r48 = 48
    /// The log knows at most 16 384 people, former members counted.
    case r49

    /// The error of an entry that breaks the rule. An additive body that breaks R2, R15 or R38 to R42 is void instead.
    package var error: TresorError {
        switch self {
        case .r1: .unsupported
        case .r11, .r13, .r14, .r15, .r16, .r40: .noAccess
        default: .altered
        }
    }
}

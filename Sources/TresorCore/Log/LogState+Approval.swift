// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The people who wait, and those who approve (SPEC §9.11).
extension LogState {
    /// The error for a person who is no member: they wait, or they have no access.
    package func refusal(of user: UserID) -> TresorError { waiting[user] == nil ? .noAccess : .waiting }

    /// The status of a person in the log; `nil` for a stranger and a former member.
    package func author(_ user: UserID) -> Author? {
        if let member = members[user] { return .member(member) }
        if let waiting = waiting[user] { return .waiting(waiting) }
        return approvers.contains(user) ? .approver : nil
    }

    /// Whether a person is a member or waits.
    package func isIn(_ user: UserID) -> Bool { members[user] != nil || waiting[user] != nil }

    /// Whether the log calls for wraps of a person: a member, a person who waits, or an approver while somebody waits.
    package func needsWraps(_ user: UserID) -> Bool {
        isIn(user) || (!waiting.isEmpty && approvers.contains(user))
    }

    /// The people who wait by a grant, by rising user id.
    ///
    /// - Parameter grant: the hash of its entry.
    package func waiting(by grant: Hash256) -> [UserID] {
        waiting.filter { self.grant(of: $0.value) == grant }.keys.sorted()
    }

    /// The people who wait, in the order of their grants.
    package var waitingInOrder: [(user: UserID, person: Member)] {
        waiting.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }.map { (user: $0.key, person: $0.value) }
    }

    /// The members who waited, each with their approver and the time of the approval, in the order of the approvals.
    package var approvedInOrder: [(user: UserID, approver: UserID, time: UInt64)] {
        members.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }.compactMap { user, member in
            member.approvedBy.map { (user: user, approver: $0, time: member.sinceTime) }
        }
    }

    /// The hash of the grant by which a person waits.
    package func grant(of waiting: Member) -> Hash256? {
        Int(exactly: waiting.since).flatMap { hashes.indices.contains($0) ? hashes[$0] : nil }
    }

    /// The epochs whose approval keys the people who wait need, who are not in `users`; `nil` if nobody waits.
    package func approvalEpochs(without users: Set<UserID> = []) -> ClosedRange<UInt64>? {
        waiting.filter { !users.contains($0.key) }.values.map { $0.history.epochsToRelease(at: epoch).lowerBound }.min()
            .map { $0...epoch }
    }

    /// The people who are no longer members, or no longer wait, by an entry.
    package func dismissed(at sequence: UInt64) -> [UserID] {
        changes.filter { _, records in
            records.contains { $0.sequence == sequence && !$0.change.isGrant }
        }.keys.sorted()
    }

    /// Whether a person was ever a member or waited.
    package func wasEverIn(_ user: UserID) -> Bool { changes[user]?.isEmpty == false }
}

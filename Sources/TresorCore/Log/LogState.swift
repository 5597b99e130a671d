// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The end of a log.
package struct Head: Hashable, Sendable {
    /// The sequence number of the last entry.
    package let sequence: UInt64
    /// The hash of the last entry.
    package let hash: Hash256

    /// Makes a head.
    package init(sequence: UInt64, hash: Hash256) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// The history that a member may read.
package enum History: Hashable, Sendable {
    /// All epochs.
    case all
    /// All epochs from the one that began with the grant.
    case from(epoch: UInt64)

    /// The number of the first epoch that the member may read.
    package var firstEpoch: UInt64 {
        switch self {
        case .all: 1
        case .from(let epoch): epoch
        }
    }
}

/// A member of a tresor.
package struct Member: Hashable, Sendable {
    /// The role.
    package internal(set) var role: Role
    /// The history that they may read.
    package internal(set) var history: History
    /// The planned end of access, in seconds since 1970.
    package internal(set) var notAfter: UInt64?
    /// The sequence number of the grant; of a member who waited, that of the approval.
    package internal(set) var since: UInt64
    /// The time of that entry by its author's account, in seconds since 1970.
    package internal(set) var sinceTime: UInt64
    /// The author of the grant; the founder is their own, approved or not.
    package internal(set) var admittedBy: UserID
    /// The approver of the member; `nil` for a member who never waited.
    package internal(set) var approvedBy: UserID?
}

/// A change of membership or role.
package enum MembershipChange: Hashable, Sendable {
    /// Granted this role, which an approver has not approved yet.
    case asked(Role)
    /// Added with this role.
    case admitted(Role)
    /// Has a new role or date.
    case roleChanged(Role)
    /// Removed by an owner.
    case removed
    /// Left.
    case left
    /// Refused by an approver.
    case refused
}

/// The grant that added a member.
package struct Admission: Hashable, Sendable {
    /// The sequence number.
    package let sequence: UInt64
    /// The time of writing by its author's account, in seconds since 1970.
    package let time: UInt64
    /// The author of the grant.
    package let by: UserID
    /// The approver, for a person who waited.
    package var approvedBy: UserID?
    /// The planned end of access, in seconds since 1970.
    package let notAfter: UInt64?
}

/// The state of a log, computed only from its entries (SPEC §9.4). Only ``Fold`` makes values of this type, so the log
/// was valid.
package struct LogState: Sendable {
    /// The maximum number of members: 10 000.
    package static let maximumMemberCount = 10_000
    /// The maximum number of people whom a log knows, former members, waiting people and approvers counted: 16 384.
    package static let maximumKnownCount = 16_384

    /// The id of the tresor.
    package let tresor: TresorID
    /// The root, whose hash is the id.
    package let root: Root
    /// The head of the log.
    package internal(set) var head: Head
    /// The time of the last entry by its author's account, in seconds since 1970.
    package internal(set) var headTime: UInt64
    /// All members.
    package internal(set) var members: [UserID: Member]
    /// The people whom a grant names and nobody has approved yet. They are no members.
    package internal(set) var waiting: [UserID: Member] = [:]
    /// The people who approve, by rising user id. They are no members.
    package internal(set) var approvers: [UserID] = []
    /// The sequence number of the entry that named the approvers.
    package internal(set) var approversSince: UInt64 = 0
    /// Whether a new epoch must begin before the next write (*rekey pending*).
    package internal(set) var isRekeyPending = false
    /// The epochs by number, from 1.
    package var epochs: [EpochRecord]
    /// The card chains in the log, of all present and former members, waiting people and approvers.
    package var chains: [UserID: CardChain]
    /// The newest name and its entry.
    package var name: NameRecord
    /// All commitments of all epochs.
    package var commitments: Set<Hash256>
    /// Hashes of all entries, by sequence number.
    package var hashes: EntryHashes
    /// The changes of each person, in order.
    var changes: [UserID: [ChangeRecord]]
    /// The entries from which each generation of a person counts, in order.
    var generations: [UserID: [GenerationRecord]]
    /// The latest time in the entries of each author.
    package var lastTimes: [UserID: UInt64]
    /// The time in the newest entry of an owner without not-after, in seconds since 1970.
    package internal(set) var ownerTime: UInt64
    /// The generation that signed the founder's newest entry. Cards are public: one that has signed nothing proves
    /// nothing.
    package internal(set) var founderGeneration: UInt32
    /// The last entry whose pack the newest checkpoint stands for; 0 for none.
    package internal(set) var floor: UInt64 = 0
    /// The sequence number of the newest checkpoint; 0 for none.
    package internal(set) var checkpoint: UInt64 = 0
    /// Entries that set or clear *rekey pending*, in order.
    var rekeyMarks: [RekeyMark] = []

    package struct EpochRecord: Sendable {
        package let epoch: Epoch
        package let sequence: UInt64
    }

    package struct NameRecord: Sendable {
        package let sealed: SealedName
        package let epoch: UInt64
        package let sequence: UInt64
    }

    struct ChangeRecord: Sendable {
        package let sequence: UInt64
        package let time: UInt64
        package let author: UserID
        package let change: MembershipChange
        package let notAfter: UInt64?
    }

    struct GenerationRecord: Sendable {
        package let sequence: UInt64
        package let time: UInt64
        package let generation: UInt32
    }

    struct RekeyMark: Sendable {
        package let sequence: UInt64
        package let isSet: Bool
    }

    /// The person named in the root. Every proof in the tresor begins with them.
    package var founder: UserID { root.founder }

    /// The number of entries in the log.
    package var entryCount: UInt64 { UInt64(hashes.count) }

    /// The number of the current epoch.
    package var epoch: UInt64 { UInt64(epochs.count) }

    /// The card chain in the log of a present or former member, waiting person or approver.
    package func chain(of user: UserID) -> CardChain? { chains[user] }

    /// Whether the log may come to know these people, each named once, besides those whom it knows.
    package func hasRoom(for users: [UserID]) -> Bool {
        chains.count + users.count(where: { chains[$0] == nil }) <= Self.maximumKnownCount
    }

    /// All present and former members, waiting people and approvers, by rising user id.
    package var everybody: [UserID] { chains.keys.sorted() }

    /// The number of owners without a date besides `users`.
    package func lastingOwners(without users: [UserID]) -> Int {
        let users = Set(users)
        return members.count { $0.value.role == .owner && $0.value.notAfter == nil && !users.contains($0.key) }
    }

    /// Members whose history begins after an epoch, by rising user id. They cannot open files of that epoch.
    package func newcomers(after epoch: UInt64) -> [UserID] {
        members.merging(waiting) { member, _ in member }
            .filter { if case .from(let first) = $0.value.history { epoch < first } else { false } }.keys.sorted()
    }

    /// The statement of an epoch.
    package func statement(of epoch: UInt64) -> Epoch? {
        guard epoch >= 1, epoch <= self.epoch else { return nil }
        return epochs[Int(epoch - 1)].epoch
    }

    /// Whether the head belongs to this log.
    package func contains(_ head: Head) -> Bool {
        guard let index = Int(exactly: head.sequence), hashes.indices.contains(index) else { return false }
        return hashes[index] == head.hash
    }

    /// Whether these are the entries of this state from one sequence number on.
    package func hasEntries(_ entries: [[UInt8]], from first: UInt64) throws(TresorError) -> Bool {
        guard let first = Int(exactly: first), first <= hashes.count, entries.count <= hashes.count - first else {
            return false
        }
        for (hash, entry) in zip(hashes[first...], entries) {
            guard try BLAKE2b.hash(.entryHash, entry) == hash else { return false }
        }
        return true
    }
}

/// The state after an earlier entry.
extension LogState {
    /// The current epoch after entry `sequence`.
    package func epoch(at sequence: UInt64) -> UInt64 {
        UInt64(epochs.partitioningIndex { $0.sequence > sequence })
    }

    /// Whether *rekey pending* was set after entry `sequence`.
    package func isRekeyPending(at sequence: UInt64) -> Bool {
        let index = rekeyMarks.partitioningIndex { $0.sequence > sequence }
        return index > 0 && rekeyMarks[index - 1].isSet
    }

    /// The generation of a person after entry `sequence`; `nil` before the log knew them.
    package func generation(of user: UserID, at sequence: UInt64) -> UInt32? {
        let records = generations[user] ?? []
        let index = records.partitioningIndex { $0.sequence > sequence }
        return index > 0 ? records[index - 1].generation : nil
    }

    /// The last change of a person up to entry `sequence`.
    func change(of user: UserID, at sequence: UInt64) -> ChangeRecord? {
        let records = changes[user] ?? []
        let index = records.partitioningIndex { $0.sequence > sequence }
        return index > 0 ? records[index - 1] : nil
    }

    /// The role of a person after entry `sequence`; `nil` for a person who was no member.
    package func role(of user: UserID, at sequence: UInt64) -> Role? {
        switch change(of: user, at: sequence)?.change {
        case .admitted(let role), .roleChanged(let role): role
        case .asked, .removed, .left, .refused, nil: nil
        }
    }

    /// Whether a person was owner or writer after any entry of this log.
    func everWrote(_ user: UserID) -> Bool {
        (changes[user] ?? []).contains {
            switch $0.change {
            case .admitted(let role), .roleChanged(let role): role != .reader
            case .asked, .removed, .left, .refused: false
            }
        }
    }

    /// The grant of a person as of entry `sequence`; `nil` for a person who was no member.
    package func admission(of user: UserID, at sequence: UInt64) -> Admission? {
        guard role(of: user, at: sequence) != nil, let admitted = lastChange(of: user, at: sequence, \.isAdmission),
            let latest = change(of: user, at: sequence)
        else { return nil }
        let asked = asking(before: admitted, of: user)
        return Admission(
            sequence: admitted.sequence, time: admitted.time, by: asked?.author ?? admitted.author,
            approvedBy: asked == nil ? nil : admitted.author, notAfter: latest.notAfter)
    }

    private func lastChange(
        of user: UserID, at sequence: UInt64, _ isWanted: (MembershipChange) -> Bool
    ) -> ChangeRecord? {
        (changes[user] ?? []).last { $0.sequence <= sequence && isWanted($0.change) }
    }

    /// The grant by which a person waited until this admission; `nil` for one without waiting.
    private func asking(before admission: ChangeRecord, of user: UserID) -> ChangeRecord? {
        guard let before = admission.sequence > 0 ? change(of: user, at: admission.sequence - 1) : nil,
            case .asked = before.change
        else { return nil }
        return before
    }

    /// The sequence number of the grant of a person as of entry `sequence`, approved or not; `nil` for a person who was
    /// no member and did not wait.
    package func grant(of user: UserID, at sequence: UInt64) -> UInt64? {
        guard let last = change(of: user, at: sequence), last.change.isGrant else { return nil }
        guard let admitted = lastChange(of: user, at: sequence, { $0.isAdmission || $0.isAsking }) else { return nil }
        return (asking(before: admitted, of: user) ?? admitted).sequence
    }

    /// The time when a person left or was removed, by the author's account in seconds since 1970; `nil` for a member
    /// and for a person who never was one.
    package func departure(of user: UserID) -> (change: MembershipChange, time: UInt64)? {
        guard !isIn(user), let last = changes[user]?.last else { return nil }
        return (last.change, last.time)
    }

    /// The sequence number of the entry by which a person left or was removed; `nil` for a member and for a person who
    /// never was one.
    package func end(of user: UserID) -> UInt64? { isIn(user) ? nil : changes[user]?.last?.sequence }

    /// The last date of a person's access, in seconds since 1970, also of a former member.
    package func endOfGrant(of user: UserID) -> UInt64? {
        changes[user]?.last { $0.change.isGrant }?.notAfter
    }

    /// The rule that makes the additive body of an accepted entry void; `nil` for a body with an effect.
    ///
    /// - Parameters:
    ///   - entry: an entry of this log.
    ///   - floor: the floor before the entry, which counts for a checkpoint; a later state does not know it.
    package func voidRule(of entry: Entry, floor: UInt64 = 0) -> Rule? {
        guard let index = Int(exactly: entry.sequence), hashes.indices.contains(index), let body = try? entry.body,
            body.isAdditive
        else { return nil }
        var state = self
        state.floor = floor
        return EntryValidator(accepted: entry, hash: hashes[index]).voidRule(of: body, in: state)
    }

    /// The grant of the first of those who, after entry `sequence`, are members or wait with a history *from now*; `nil`
    /// for nobody.
    package func firstNewcomer(at sequence: UInt64) -> UInt64? {
        changes.keys.compactMap { user in
            // A grant from now on begins an epoch, and no other entry that adds people does, but for the first.
            guard let admission = grant(of: user, at: sequence), admission > 0 else { return nil }
            let epoch = epochs.partitioningIndex { $0.sequence >= admission }
            return epochs.indices.contains(epoch) && epochs[epoch].sequence == admission ? admission : nil
        }.min()
    }

    /// The members after entry `sequence`, by rising user id.
    package func people(at sequence: UInt64) -> [UserID] {
        changes.keys.filter { role(of: $0, at: sequence) != nil }.sorted()
    }
}

extension MembershipChange {
    /// Whether the person is a member or waits from then on.
    var isGrant: Bool {
        switch self {
        case .asked, .admitted, .roleChanged: true
        case .removed, .left, .refused: false
        }
    }

    var isAdmission: Bool { if case .admitted = self { true } else { false } }

    var isAsking: Bool { if case .asked = self { true } else { false } }
}

extension Array {
    /// The index of the first element for which `belongsBehind` is true; it must be true for all later elements.
    package func partitioningIndex(where belongsBehind: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if belongsBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

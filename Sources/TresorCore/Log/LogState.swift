// SPDX-License-Identifier: Apache-2.0

/// Where a log ends.
public struct Head: Hashable, Sendable {
    /// The sequence number of the last entry.
    public let sequence: UInt64
    /// The hash of the last entry.
    public let hash: Hash256

    /// A head.
    public init(sequence: UInt64, hash: Hash256) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// How far back a member may read.
public enum History: Hashable, Sendable {
    /// Everything.
    case all
    /// From the epoch that began with the grant.
    case from(epoch: UInt64)
}

/// A person who is in.
public struct Member: Hashable, Sendable {
    /// What they may do.
    public internal(set) var role: Role
    /// How far back they may read.
    public internal(set) var history: History
    /// When the owner means to take access back, in seconds since 1970.
    public internal(set) var notAfter: UInt64?
    /// The entry that let them in.
    public internal(set) var since: UInt64
    /// When that entry says it was written, in seconds since 1970.
    public internal(set) var sinceTime: UInt64
    /// Who let them in; the founder by themselves.
    public internal(set) var admittedBy: UserID
}

/// How somebody's membership or role changed.
public enum MembershipChange: Hashable, Sendable {
    /// Let in, as this.
    case admitted(Role)
    /// Has another role or date now.
    case roleChanged(Role)
    /// Put out.
    case removed
    /// Went by themselves.
    case left
}

/// The entry that let somebody in.
public struct Admission: Hashable, Sendable {
    /// Its sequence number.
    public let sequence: UInt64
    /// When its author says it was written, in seconds since 1970.
    public let time: UInt64
    /// Its author.
    public let by: UserID
    /// When the owner means to take access back, in seconds since 1970.
    public let notAfter: UInt64?
}

/// What a log says, computed from its entries and from nothing else (SPEC §9.4). Every value of this type comes out of ``Fold``: the log
/// was valid.
public struct LogState: Sendable {
    /// The greatest number of members: 10 000.
    public static let maximumMemberCount = 10_000

    /// Which tresor.
    public let tresor: TresorID
    /// What its id is the hash of.
    public let root: Root
    /// Where the log ends.
    public internal(set) var head: Head
    /// When the last entry says it was written, in seconds since 1970.
    public internal(set) var headTime: UInt64
    /// Everybody who is in.
    public internal(set) var members: [UserID: Member]
    /// Whether the key must be changed before anything else is written.
    public internal(set) var isRekeyPending = false
    /// By number, from 1.
    package var epochs: [EpochRecord]
    /// The card chains the log holds, of everybody who was ever in.
    package var chains: [UserID: CardChain]
    /// The newest name, and where it was sealed.
    package var name: NameRecord
    /// All commitments of all epochs.
    package var commitments: Set<Hash256>
    /// Hashes of all entries, by sequence number.
    package var hashes: [Hash256]
    /// What happened to each person, in order.
    var changes: [UserID: [ChangeRecord]]
    /// From which entry on somebody's generation counts, in order.
    var generations: [UserID: [GenerationRecord]]
    /// The latest time that each author's entries carry.
    package var lastTimes: [UserID: UInt64]
    /// What the newest entry by an owner without not-after says of when it was written, in seconds since 1970.
    public internal(set) var ownerTime: UInt64
    /// The generation with which the founder signed their newest entry. Cards are public: one that has signed nothing proves nothing.
    package internal(set) var founderGeneration: UInt32
    /// Entries after which *rotate first* was set or cleared, in order.
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

    /// The person named in the root, from whom everything is proved.
    public var founder: UserID { root.founder }

    /// How many entries the log has.
    package var entryCount: UInt64 { UInt64(hashes.count) }

    /// The number of the current epoch.
    public var epoch: UInt64 { UInt64(epochs.count) }

    /// The whole card chain the log holds of somebody who is or was in.
    public func chain(of user: UserID) -> CardChain? { chains[user] }

    /// Everybody who is or was in, by rising user id.
    public var everybody: [UserID] { chains.keys.sorted() }

    /// How many owners without a date there are besides `users`.
    package func lastingOwners(without users: [UserID]) -> Int {
        let users = Set(users)
        return members.count { $0.value.role == .owner && $0.value.notAfter == nil && !users.contains($0.key) }
    }

    /// Members whose history begins after an epoch, by rising user id: they cannot open what is sealed under it.
    public func newcomers(after epoch: UInt64) -> [UserID] {
        members.filter { if case .from(let first) = $0.value.history { epoch < first } else { false } }.keys.sorted()
    }

    /// The epoch as the log states it.
    package func statement(of epoch: UInt64) -> Epoch? {
        guard epoch >= 1, epoch <= self.epoch else { return nil }
        return epochs[Int(epoch - 1)].epoch
    }

    /// Whether the head lies on this log.
    public func contains(_ head: Head) -> Bool {
        guard let index = Int(exactly: head.sequence), hashes.indices.contains(index) else { return false }
        return hashes[index] == head.hash
    }
}

/// What held at an entry of the past.
extension LogState {
    /// The epoch that was current after entry `sequence`.
    package func epoch(at sequence: UInt64) -> UInt64 {
        UInt64(epochs.partitioningIndex { $0.sequence > sequence })
    }

    /// Whether *rotate first* was set after entry `sequence`.
    package func isRekeyPending(at sequence: UInt64) -> Bool {
        let index = rekeyMarks.partitioningIndex { $0.sequence > sequence }
        return index > 0 && rekeyMarks[index - 1].isSet
    }

    /// Somebody's generation after entry `sequence`; `nil` before the log knew them.
    package func generation(of user: UserID, at sequence: UInt64) -> UInt32? {
        let records = generations[user] ?? []
        let index = records.partitioningIndex { $0.sequence > sequence }
        return index > 0 ? records[index - 1].generation : nil
    }

    /// The last thing that happened to somebody up to entry `sequence`.
    func change(of user: UserID, at sequence: UInt64) -> ChangeRecord? {
        let records = changes[user] ?? []
        let index = records.partitioningIndex { $0.sequence > sequence }
        return index > 0 ? records[index - 1] : nil
    }

    /// Somebody's role after entry `sequence`; `nil` when they were not in.
    public func role(of user: UserID, at sequence: UInt64) -> Role? {
        switch change(of: user, at: sequence)?.change {
        case .admitted(let role), .roleChanged(let role): role
        case .removed, .left, nil: nil
        }
    }

    /// Whether somebody was owner or writer after any entry of this log.
    func everWrote(_ user: UserID) -> Bool {
        (changes[user] ?? []).contains {
            switch $0.change {
            case .admitted(let role), .roleChanged(let role): role != .reader
            case .removed, .left: false
            }
        }
    }

    /// Who let somebody in, and when, as of entry `sequence`; `nil` when they were not in.
    public func admission(of user: UserID, at sequence: UInt64) -> Admission? {
        guard role(of: user, at: sequence) != nil else { return nil }
        let admitted = (changes[user] ?? []).last { record in
            if case .admitted = record.change { record.sequence <= sequence } else { false }
        }
        guard let admitted, let latest = change(of: user, at: sequence) else { return nil }
        return Admission(
            sequence: admitted.sequence, time: admitted.time, by: admitted.author, notAfter: latest.notAfter)
    }

    /// When, and as its author dated it in seconds since 1970, somebody went or was put out; `nil` for who is in or never was.
    public func departure(of user: UserID) -> (change: MembershipChange, time: UInt64)? {
        guard members[user] == nil, let last = changes[user]?.last else { return nil }
        return (last.change, last.time)
    }

    /// The last date that somebody's access had, in seconds since 1970, whether they are still in or not.
    public func endOfGrant(of user: UserID) -> UInt64? {
        changes[user]?.last { $0.change.isGrant }?.notAfter
    }

    /// Who was in after entry `sequence`, by rising user id.
    public func people(at sequence: UInt64) -> [UserID] {
        changes.keys.filter { role(of: $0, at: sequence) != nil }.sorted()
    }
}

extension MembershipChange {
    /// Whether the person is in from then on.
    fileprivate var isGrant: Bool {
        switch self {
        case .admitted, .roleChanged: true
        case .removed, .left: false
        }
    }
}

extension Array {
    /// The index of the first element for which `belongsBehind` holds; elements are so ordered that all behind it do too.
    func partitioningIndex(where belongsBehind: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if belongsBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

// SPDX-License-Identifier: Apache-2.0

/// One thing that was looked at, and how it was found (cli: `check`).
public struct Finding: Hashable, Sendable {
    /// How bad it is.
    public enum Level: String, Hashable, Sendable, Comparable {
        /// In order.
        case ok
        /// Worth knowing; nothing is wrong.
        case warn
        /// Not in order.
        case bad

        /// `ok` before `warn` before `bad`.
        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .ok: 0
            case .warn: 1
            case .bad: 2
            }
        }
    }

    /// What was looked at.
    public enum Subject: Hashable, Sendable {
        /// What the home keeps besides the identity.
        case home
        /// One of the files of the home.
        case file(HomeObject)
        /// The identity file.
        case identity
        /// A remembered device.
        case device(DeviceID)
        /// A person.
        case person(UserID)
        /// A tresor.
        case tresor(TresorID)
        /// A member of a tresor.
        case member(UserID, of: TresorID)
    }

    /// What was found.
    public enum Remark: Hashable, Sendable {
        /// It is in order.
        case fine
        /// There is none.
        case missing
        /// It could not be proved: the error.
        case failed(TresorError)
        /// A device opens no longer.
        case expired
        /// The half of a key that lies here belongs to no slot of the identity file.
        case withoutSlot
        /// The store has no half for this device.
        case withoutStoreHalf
        /// There is no recovery kit.
        case withoutKit
        /// The store has no copy that the recovery kit opens.
        case withoutKitCopy
        /// The store does not have this person's newest card.
        case notPublished
        /// A change of the ways in was interrupted; repeat it.
        case interrupted
        /// The store shows another history of a tresor than was seen here. Both sides are kept as evidence under this hash.
        case forked(seen: Head, shown: Head?, evidence: Hash256)
        /// A member's date has passed; an owner's next act removes them.
        case ended
        /// The key must be changed before the next writing.
        case rotateFirst
        /// The owner's number was not compared.
        case ownerNotVerified
        /// The person has new keys; compare numbers again.
        case renewed
        /// The store shows an older card of the person than the one that was compared, which is used.
        case olderCard
        /// The newest entry is dated later than this machine's clock says.
        case clockBehind
        /// The store lacks so many of the entries that this home has verified; `check --repair` restores them.
        case lostEntries(UInt64)
        /// A member has no wrap for an epoch they may read; `check --repair` by who reads everything puts it again.
        case missingWrap
        /// The newest epoch's author did not give everybody its keys: well-formed wraps lie in the store for so many of the members. That one opens, only its
        /// receiver knows.
        case withheldEpoch(UInt64, by: UserID, reaching: Int, of: Int)
        /// An entry has a body that this release does not know. It changes no member, role, key or name.
        case unknownBody(sequence: UInt64, type: UInt16)
        /// The store has a wrap for somebody who is not in, or for an epoch that is not theirs.
        case surplusWrap
        /// The head of a verified log, and how old its newest entry is in seconds.
        case head(Head, age: UInt64)
    }

    /// What was looked at.
    public let subject: Subject
    /// What was found.
    public let remark: Remark

    /// How bad it is.
    public var level: Level {
        switch remark {
        case .fine, .head: .ok
        case .failed, .forked, .lostEntries: .bad
        default: .warn
        }
    }
}

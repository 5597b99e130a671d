// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// One thing that was checked, and its condition (cli: `check`).
package struct Finding: Hashable, Sendable {
    /// The severity of a finding.
    package enum Level: String, Hashable, Sendable, Comparable {
        /// In order.
        case ok
        /// Worth knowing; nothing is wrong.
        case warn
        /// Not in order.
        case bad

        /// Orders `ok` before `warn` before `bad`.
        public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .ok: 0
            case .warn: 1
            case .bad: 2
            }
        }
    }

    /// The thing that was checked.
    @nonexhaustive
    package enum Subject: Hashable, Sendable {
        /// The files of the home besides the identity.
        case home
        /// One file of the home.
        case file(HomeObject)
        /// The identity file.
        case identity
        /// A trusted device.
        case device(DeviceID)
        /// A person.
        case person(UserID)
        /// A tresor.
        case tresor(TresorID)
        /// A member of a tresor.
        case member(UserID, of: TresorID)
    }

    /// The condition of the thing.
    @nonexhaustive
    package enum Remark: Hashable, Sendable {
        /// In order.
        case fine
        /// Absent.
        case missing
        /// Not proved, because of this error.
        case failed(TresorError)
        /// The device has expired.
        case expired
        /// The device share in this home belongs to no slot of the identity file.
        case withoutSlot
        /// The store has no server share for this device.
        case withoutServerShare
        /// There is no recovery kit.
        case withoutKit
        /// The store has no copy that the recovery kit opens.
        case withoutKitCopy
        /// This store does not have the copy that the recovery kit opens, and never did. This other one had it; nobody asks
        /// whether it still does.
        case kitElsewhere(StoreName)
        /// The store does not have this person's newest card.
        case notPublished
        /// The store has newer keys of this person than this home.
        case newerKeys
        /// A change of the key slots was interrupted; repeat it.
        case interrupted
        /// The store shows another history than this home has verified. Both sides are kept as evidence under this
        /// hash.
        case forked(seen: Head, shown: Head?, evidence: Hash256)
        /// A member's grant has expired; the next act of an owner removes them.
        case ended
        /// Nobody has approved the person yet, for whom this owner asked.
        case waiting(by: UserID)
        /// The key must be changed before anything is sealed: a rekey is pending.
        case rekeyPending
        /// The founder's safety number was not compared.
        case ownerNotVerified
        /// The person has new keys; compare safety numbers again.
        case renewed
        /// The store shows an older card than the compared one, which stays in use.
        case olderCard
        /// The store also offers another person under the handle; the pinned one is used.
        case anotherCard
        /// The newest entry is dated later than this machine's clock.
        case clockBehind
        /// This person signed something at a later time than this machine's clock, or trusted the device until after one.
        case aheadOfClock(UInt64)
        /// The store lacks this many of the entries that this home has verified; `check --repair` restores them.
        case lostEntries(UInt64)
        /// A member has no wrap for an epoch that they may read; `check --repair` by a member who reads everything
        /// restores it.
        case missingWrap
        /// The author of the newest epoch did not give its keys to all members. The store has well-formed wraps for
        /// `reaching` of them; whether a wrap opens, only its receiver can tell.
        case withheldEpoch(UInt64, by: UserID, reaching: Int, of: Int)
        /// An entry has a body of a type that this release does not know. It changes no member, role, key or name.
        case unknownBody(sequence: UInt64, type: UInt16)
        /// An entry has a body that breaks this rule of the log and so has no effect.
        case voidBody(sequence: UInt64, rule: Rule)
        /// The store has a wrap for a person who is no member, or for an epoch that is not theirs.
        case surplusWrap
        /// This store does not have the tresor, and the home first saw it in another one.
        case elsewhere
        /// The head of a verified log, with the age of its newest entry in seconds.
        case head(Head, age: UInt64)
    }

    /// The thing that was checked.
    package let subject: Subject
    /// The condition of the thing.
    package let remark: Remark

    /// The severity, which follows from the condition.
    package var level: Level {
        switch remark {
        case .fine, .head, .elsewhere, .waiting: .ok
        case .failed, .forked, .newerKeys, .lostEntries: .bad
        default: .warn
        }
    }
}

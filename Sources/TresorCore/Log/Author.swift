// SPDX-License-Identifier: Apache-2.0

/// The status of an author in the log before their entry (SPEC §9.3, R13).
package enum Author: Hashable, Sendable {
    /// A member who does not wait.
    case member(Member)
    /// A person whom a grant names and nobody has approved yet.
    case waiting(Member)
    /// A person who approves waiting people, and is no member.
    case approver

    /// The planned end of access, in seconds since 1970.
    var notAfter: UInt64? {
        switch self {
        case .member(let member), .waiting(let member): member.notAfter
        case .approver: nil
        }
    }

    /// Whether the author is an owner who does not wait.
    var isOwner: Bool {
        if case .member(let member) = self { member.role == .owner } else { false }
    }

    /// Whether the author is an owner or writer who does not wait.
    var isWriter: Bool {
        if case .member(let member) = self { member.role != .reader } else { false }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A report of something that a session did in a tresor before the requested act (SPEC §9.7, `settle`).
package struct Notice: Hashable, Sendable {
    /// The kind of what was done.
    @nonexhaustive
    package enum Deed: Hashable, Sendable {
        /// Members with expired grants were removed.
        case ended([UserID])
        /// A member's newer card, which this home had compared, was added to the log.
        case renewed(UserID)
        /// The key was changed: a member had left, or the author of the previous epoch withheld its keys from this
        /// owner.
        case rekeyed
        /// A wrap of this epoch does not open with the approval of this person. The approver lied, or who made that wrap or
        /// the approver's, an owner or the store; the home keeps the evidence under this name, and it convicts nobody.
        case approvalSpoiled(by: UserID, evidence: Hash256)
    }

    /// The tresor.
    package let tresor: TresorID
    /// The kind of what was done.
    package let deed: Deed
    /// The epoch that was current afterwards.
    package let epoch: UInt64
}

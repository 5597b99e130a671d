// SPDX-License-Identifier: Apache-2.0

/// What a session did in a tresor before the act that was asked for (SPEC §9.7, `settle`).
public struct Notice: Hashable, Sendable {
    /// What was done.
    public enum Deed: Hashable, Sendable {
        /// Members whose date had passed were removed.
        case ended([UserID])
        /// A member's newer card, which this home had compared, was put into the log.
        case renewed(UserID)
        /// The key was changed: a member had left, or the author of the epoch before kept its keys from this owner.
        case rekeyed
    }

    /// In which tresor.
    public let tresor: TresorID
    /// What was done.
    public let deed: Deed
    /// The epoch that was current afterwards.
    public let epoch: UInt64
}

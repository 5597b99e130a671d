// SPDX-License-Identifier: Apache-2.0

/// What a list shows of one tresor.
public struct TresorSummary: Sendable {
    /// Which tresor.
    public let tresor: TresorID
    /// The verified state, unless the log could not be verified.
    public let state: LogState?
    /// The name, as this person could last open it.
    public let name: Name?
    /// What the home knows of the owner.
    public let founderTrust: Person.Trust?
    /// Whether it lies apart: its owner is not verified, and this home has no pinned head of it. It answers to no bare
    /// name.
    public let isApart: Bool
    /// Whether it is to be kept out of sight; only of what lies apart.
    public let isHidden: Bool
    /// What went wrong while reading it.
    public let error: TresorError?
}

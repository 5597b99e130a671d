// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// The entry of one tresor in a list.
public struct TresorSummary: Identifiable, Sendable {
    /// The tresor.
    package let tresor: TresorID
    /// The verified state; `nil` when the log could not be verified.
    package let state: LogState?
    /// The name, as this person could last open it.
    public let name: Name?
    /// This home's trust in the founder.
    public let founderTrust: Person.Trust?
    /// Whether the tresor lies apart: its founder is not verified, and this home has no pinned head of it. A bare name
    /// does not find it.
    package let isApart: Bool
    /// Whether the tresor is hidden; only one that lies apart can be.
    package let isHidden: Bool
    /// Whether this store does not have the tresor, and the home first saw it in another: no fault of this store.
    package let isElsewhere: Bool
    /// Whether it is an own tresor (SPEC §19.8), in order or in another store. A person works in others.
    package let isOwn: Bool
    /// The stranger who offers the tresor, if its log was not read.
    package let stranger: CardChain?
    /// The error of reading it, if any.
    public let error: TresorError?

    /// Whether the log was read. The list leaves out the logs of tresors that strangers offer, unless it is asked for them.
    package var isRead: Bool { stranger == nil }

    /// The tresor.
    public var id: TresorID { tresor }

    /// Makes an entry of a list, for example for a preview.
    package init(
        tresor: TresorID, state: LogState? = nil, name: Name?, founderTrust: Person.Trust? = nil, isApart: Bool = false,
        isHidden: Bool = false, isElsewhere: Bool = false, isOwn: Bool = false, stranger: CardChain? = nil,
        error: TresorError? = nil
    ) {
        self.tresor = tresor
        self.state = state
        self.name = name
        self.founderTrust = founderTrust
        self.isApart = isApart
        self.isHidden = isHidden
        self.isElsewhere = isElsewhere
        self.isOwn = isOwn
        self.stranger = stranger
        self.error = error
    }
}

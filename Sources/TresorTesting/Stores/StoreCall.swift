// SPDX-License-Identifier: Apache-2.0

/// A call of a store.
public struct StoreCall: Hashable, Sendable {
    package enum Requirement: String, CaseIterable {
        case putCard, card, cards, users
        case entries, append, restore, wraps, wrapsOfMany, putWraps, tresors, deleteTresor
        case putServerShare, serverShare, deleteServerShares, putKitCopy, kitCopy, deleteKitCopy
        case putBlob, blob, blobs, deleteBlobs
    }

    package let requirement: Requirement

    package init(_ requirement: Requirement) { self.requirement = requirement }

    /// The name of the function of `Store`, such as `append`; `wrapsOfMany` for the one that reads the wraps of many
    /// members.
    public var name: String { requirement.rawValue }

    /// Whether the call changes the store.
    public var isWrite: Bool {
        switch requirement {
        case .card, .cards, .users, .entries, .wraps, .wrapsOfMany, .tresors, .serverShare, .kitCopy, .blob, .blobs:
            false
        case .putCard, .append, .restore, .putWraps, .deleteTresor, .putServerShare, .deleteServerShares,
            .putKitCopy, .deleteKitCopy, .putBlob, .deleteBlobs:
            true
        }
    }
}

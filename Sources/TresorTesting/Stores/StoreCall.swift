// SPDX-License-Identifier: Apache-2.0

/// The calls of a store, one for each requirement of `Store`.
public enum StoreCall: String, Hashable, Sendable, CaseIterable {
    /// Stores a card chain.
    case putCard
    /// Reads the card chain of a user id.
    case card
    /// Reads the card chains under a handle.
    case cards
    /// Lists the user ids with a prefix.
    case users
    /// Reads entries of a log.
    case entries
    /// Appends an entry.
    case append
    /// Restores a lost entry.
    case restore
    /// Reads the wraps of one member.
    case wraps
    /// Reads the wraps of many members.
    case wrapsOfMany
    /// Restores wraps.
    case putWraps
    /// Lists the tresors of a user id.
    case tresors
    /// Stores a server share.
    case putServerShare
    /// Reads a server share.
    case serverShare
    /// Deletes server shares.
    case deleteServerShares
    /// Stores a kit copy.
    case putKitCopy
    /// Reads a kit copy.
    case kitCopy
    /// Deletes a kit copy.
    case deleteKitCopy

    /// Whether the call changes the store.
    public var isWrite: Bool {
        switch self {
        case .card, .cards, .users, .entries, .wraps, .wrapsOfMany, .tresors, .serverShare, .kitCopy: false
        case .putCard, .append, .restore, .putWraps, .putServerShare, .deleteServerShares, .putKitCopy,
            .deleteKitCopy:
            true
        }
    }
}

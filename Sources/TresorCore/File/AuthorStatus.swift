// SPDX-License-Identifier: Apache-2.0

/// The status of an author today (SPEC §10.6).
public enum AuthorStatus: Hashable, Sendable {
    /// The author is an owner or writer with the same generation.
    case current
    /// The author no longer is.
    case former(Former)

    /// The cause and time of the end of an authorship.
    public struct Former: Hashable, Sendable {
        /// The cause.
        package enum Cause: String, Hashable, Sendable {
            /// An owner removed them.
            case removed
            /// They left.
            case left
            /// Their role became reader.
            case roleChanged = "role_changed"
            /// Their keys were renewed.
            case keyRenewed = "key_renewed"
        }

        /// The cause.
        package let cause: Cause
        /// The time by the author of the entry, in seconds since 1970.
        public let time: UInt64
    }
}

extension AuthorStatus {
    /// The status of an author in a state (SPEC §10.6).
    ///
    /// - Parameter head: the sequence number of the head at which they signed. A later return does not restore the
    ///   status of files signed before.
    package init(of user: UserID, generation: UInt32, since head: UInt64, in state: LogState) {
        self = Self.end(of: user, generation: generation, since: head, in: state).map { .former($0) } ?? .current
    }

    /// The end of an authorship; `nil` for one that continues.
    private static func end(
        of user: UserID, generation: UInt32, since head: UInt64, in state: LogState
    ) -> Former? {
        // Waiting gives no right, and neither approves nor ends an earlier one.
        let changes = (state.changes[user] ?? []).filter { !$0.change.isAsking && $0.change != .refused }
        guard let last = changes.last else { return Former(cause: .removed, time: state.headTime) }
        if let ended = Former(last) { return ended }
        if let end = changes.lastIndex(where: { Former($0) != nil }),
            changes[end + 1].sequence > head,
            let ended = Former(changes[end])
        {
            return ended
        }
        // A later grant names the newest generation again; its date is that of the entry that first named it.
        guard let newest = state.generations[user]?.last?.generation, newest != generation,
            let record = state.generations[user]?.first(where: { $0.generation == newest })
        else { return nil }
        return Former(cause: .keyRenewed, time: record.time)
    }

    /// The same status for a home that has compared keys of the person (SPEC §10.6, the last row but one).
    ///
    /// - Parameters:
    ///   - chain: the compared chain of the person; `nil` for none.
    ///   - generation: the generation that signed.
    package func compared(with chain: CardChain?, generation: UInt32) -> AuthorStatus {
        guard self == .current, let chain, generation < chain.newest.generation,
            let next = chain.card(generation: generation + 1)
        else { return self }
        return .former(.init(cause: .keyRenewed, time: next.time))
    }
}

extension AuthorStatus.Former {
    /// The end of the right to write; `nil` for a change with which the right begins or continues.
    fileprivate init?(_ record: LogState.ChangeRecord) {
        switch record.change {
        case .removed: self.init(cause: .removed, time: record.time)
        case .left: self.init(cause: .left, time: record.time)
        case .admitted(.reader), .roleChanged(.reader): self.init(cause: .roleChanged, time: record.time)
        case .admitted, .roleChanged, .asked, .refused: return nil
        }
    }
}

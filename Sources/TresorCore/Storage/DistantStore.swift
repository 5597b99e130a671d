// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A store that is asked over a network (SPEC §18.4): it answers about many people at once, and tells when a log has
/// grown.
package protocol DistantStore: Store {
    /// Returns all wraps of many members of one tresor, each member's by rising epoch, in the order of `users`.
    func allWraps(of users: [UserID], in tresor: TresorID) async throws(TresorError) -> [[[UInt8]]]

    /// Waits until a log of the speaker's tresors has grown since a cursor, or the time is over. The answer is a hint;
    /// the logs prove it.
    ///
    /// - Parameters:
    ///   - cursor: the cursor of the answer before. With an empty one, the answer comes at once and names no tresor.
    ///   - seconds: the time to wait, at most 55 seconds.
    func news(since cursor: [UInt8], seconds: UInt16) async throws(TresorError) -> StoreNews
}

/// Hints at tresors whose logs have grown.
package struct StoreNews: Hashable, Sendable {
    /// The store's own note of what it has said.
    package let cursor: [UInt8]
    package let tresors: [TresorID]
    /// Whether there are more tresors than these: ask again at once.
    package let more: Bool

    package init(cursor: [UInt8], tresors: [TresorID], more: Bool) {
        self.cursor = cursor
        self.tresors = tresors
        self.more = more
    }
}

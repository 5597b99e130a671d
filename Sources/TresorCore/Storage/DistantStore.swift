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

    /// Puts the offer of a new machine into a mailbox (SPEC §8.6). Everybody may who knows the locator; the first offer
    /// stands.
    ///
    /// - Parameter offer: 1266 bytes.
    /// - Returns: ``StoreOutcome/conflict`` for a mailbox that has another offer; `nil` where there is no mailbox, or its
    ///   time is over.
    func putOffer(_ offer: [UInt8], at locator: Hash256) async throws(TresorError) -> StoreOutcome?
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

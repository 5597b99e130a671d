// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The people beside whom somebody is shown, by what their handles look like (SPEC §7.8).
package struct Lookalikes: Sendable {
    private var people: [Skeleton: [UserID: CardChain]] = [:]
    /// The people who are pinned.
    private let pinned: Set<UserID>

    init(_ chains: some Sequence<CardChain>, pinned: Set<UserID>) {
        self.pinned = pinned
        for chain in chains { people[Skeleton(of: chain.handle), default: [:]][chain.user] = chain }
    }

    /// Returns the other people whose handles look like this one, by user id.
    ///
    /// Another person under the very same handle counts only if both are pinned: trust tells any others apart (SPEC §7.5).
    package func others(like handle: Name, of user: UserID) -> [CardChain] {
        let alike = people[Skeleton(of: handle)] ?? [:]
        return alike.values.filter { other in
            other.user != user && (other.handle != handle || pinned.isSuperset(of: [user, other.user]))
        }.sorted { $0.user < $1.user }
    }
}

extension Contacts {
    /// Returns the people whom this home knows, this person too, those of a log, and others.
    package func lookalikes(
        in state: LogState? = nil, beside others: [CardChain] = []
    ) throws(TresorError) -> Lookalikes {
        var chains = others + (state.map { Array($0.chains.values) } ?? [])
        let pinned = try pinnedBlocking().filter { !$0.isReplaced }.map(\.chain)
        chains += pinned
        if let mine = try ownChain() { chains.append(mine) }
        return Lookalikes(chains, pinned: Set(pinned.map(\.user)))
    }
}

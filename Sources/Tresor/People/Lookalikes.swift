// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The people beside whom somebody is shown, by what their handles look like (SPEC §4.4).
package struct Lookalikes: Sendable {
    private var people: [Skeleton: [UserID: CardChain]] = [:]

    package init(_ chains: some Sequence<CardChain>) {
        for chain in chains { people[Skeleton(of: chain.handle), default: [:]][chain.user] = chain }
    }

    /// Returns the other people whose handles look like this one and differ from it, by user id.
    ///
    /// Another person under the very same handle is no lookalike: trust tells the two apart (SPEC §7.5).
    package func others(like handle: Name, of user: UserID) -> [CardChain] {
        let alike = people[Skeleton(of: handle)] ?? [:]
        return alike.values.filter { $0.user != user && $0.handle != handle }.sorted { $0.user < $1.user }
    }
}

extension Contacts {
    /// Returns the people whom this home knows, this person too, those of a log, and others.
    package func lookalikes(
        in state: LogState? = nil, beside others: [CardChain] = []
    ) throws(TresorError) -> Lookalikes {
        var chains = others + (state.map { Array($0.chains.values) } ?? [])
        chains += try pinnedBlocking().filter { !$0.isReplaced }.map(\.chain)
        if let mine = try ownChain() { chains.append(mine) }
        return Lookalikes(chains)
    }
}

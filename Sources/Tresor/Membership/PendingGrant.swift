// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A grant by which people wait, as its log says it: what an approver is shown is the very object that they approve
/// (SPEC §9.11).
package struct PendingGrant: Hashable, Sendable {
    /// The hash of the grant.
    package let grant: Hash256
    package let tresor: TresorID
    package let founder: CardChain
    /// The people who wait, with their whole card chains, by rising user id.
    package let people: [CardChain]
    package let role: Role
    package let history: History
    /// The planned end of access in seconds since 1970; `nil` for none.
    package let notAfter: UInt64?
    /// The owner who asked.
    package let author: CardChain
    /// The time of the grant by its author's account, in seconds since 1970.
    package let time: UInt64

    /// - Returns: `nil` if nobody waits by this grant.
    package init?(_ grant: Hash256, in state: LogState) {
        let users = state.waiting(by: grant)
        guard let first = users.first, let asked = state.waiting[first], let founder = state.chain(of: state.founder),
            let author = state.chain(of: asked.admittedBy)
        else { return nil }
        self.grant = grant
        self.founder = founder
        self.author = author
        tresor = state.tresor
        people = users.compactMap { state.chain(of: $0) }
        role = asked.role
        history = asked.history
        notAfter = asked.notAfter
        time = asked.sinceTime
    }

    /// All grants by which somebody waits, oldest first.
    package static func all(in state: LogState) -> [PendingGrant] {
        let grants = Set(state.waiting.values.map(\.since)).sorted()
        return grants.compactMap { PendingGrant(state.hashes[Int($0)], in: state) }
    }
}

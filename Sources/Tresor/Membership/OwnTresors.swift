// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The tresors that carry what one home of a person knows to their other homes (SPEC §19.8).
package struct OwnTresors: Sendable {
    private let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    package init(session: Session) { self.session = session }

    /// Whether a tresor has the name and the kind of an own one, this person made it, and its log never named anybody
    /// else. One of former keys is such a tresor too.
    package func isOwn(_ state: LogState) async -> Bool {
        guard state.founder == identity.user, state.everybody == [identity.user],
            let (name, kind) = try? await session.tresors.nameAndKind(in: state)
        else { return false }
        return name == .own && kind == .own
    }

    /// Whether what an own tresor says counts here: the newest keys of this person signed all of it. The thief of an
    /// earlier seed can make such a tresor too, and write to one of these keys.
    package func counts(_ state: LogState) throws(TresorError) -> Bool {
        // The genesis comes first: the thief of an earlier seed can make a log for which asking for trust is a fork.
        guard state.root.cardHash == identity.chain.newest.hash else { return false }
        return try client.trust.founderTrust(in: state) == .me
    }

    /// Whether former keys of this person made an own tresor.
    package func isFormer(_ state: LogState) -> Bool { state.root.cardHash != identity.chain.newest.hash }

    /// Makes an own tresor.
    ///
    /// - Returns: the tresor; `nil` where the store has newer keys of this person: this home is an old copy.
    /// - Throws: the errors of ``Tresors/create(_:kind:approvers:acceptingUnverified:isOwn:)``.
    package func make() async throws(TresorError) -> LogState? {
        if let shown = try await client.people.offeredChain(of: identity.user) {
            guard identity.chain.extends(shown) else { return nil }
        }
        let state = try await session.tresors.create(.own, kind: .own, isOwn: true)
        // A store that withholds it is met as such, and not by another one.
        await session.tresors.remember(.own, of: state.tresor)
        return state
    }

    /// Refuses acts that would let somebody else into an own tresor, or make another one of it.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `tooManyPeople` or `nameCharacters`.
    func check(_ act: Act, in state: LogState) async throws(TresorError) {
        switch act.kind {
        case .share, .setApprovers: guard await !isOwn(state) else { throw .usage(.tooManyPeople) }
        case .rename(let name, let kind):
            try Self.check(name, kind ?? .empty)
            guard await !isOwn(state) else { throw .usage(.nameCharacters) }
        case .revoke, .leave, .rotate, .renew: break
        }
    }

    /// Refuses the name and the kind of own tresors where a person gives them.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `nameCharacters`.
    static func check(_ name: Name, _ kind: Name) throws(TresorError) {
        guard !name.isReserved, !kind.isReserved else { throw .usage(.nameCharacters) }
    }

    /// Demands from now on the heads that other devices of this person verified, and no others.
    ///
    /// - Parameters:
    ///   - said: the heads of all statements.
    ///   - tresors: the tresors of which a head may be demanded that was not demanded before.
    ///   - keeping: whether all that is demanded stays so: some statements do not read.
    /// - Throws: the errors of the home.
    package func takeBlocking(
        _ said: [TresorID: [Head]], among tresors: Set<TresorID>, keeping: Bool
    ) throws(TresorError) {
        try changeHeads { $0.takeHeads(said, among: tresors, keeping: keeping) }
    }

    /// Demands a head that the verified log here does not contain. The next reading is ``TresorError/forked``.
    ///
    /// - Throws: the errors of the home.
    package func denyBlocking(_ head: Head, of tresor: TresorID) throws(TresorError) {
        try changeHeads { $0.tell(head, of: tresor) }
    }

    /// Forgets the heads that other devices told. The next exchange demands again what they still say.
    func forgetToldBlocking() throws(TresorError) { try changeHeads { $0.forgetTold() } }

    private func changeHeads(_ change: (inout PinnedHeads) -> Void) throws(TresorError) {
        // Where nothing changes, nobody waits for the home.
        guard try changed(change) != nil else { return }
        try client.home.exclusively { () throws(TresorError) in
            if let heads = try changed(change) { try client.home.replace(.heads, with: heads.bytes) }
        }
    }

    /// The heads as a change makes them; `nil` if they stay.
    private func changed(_ change: (inout PinnedHeads) -> Void) throws(TresorError) -> PinnedHeads? {
        let present = try client.heads()
        var heads = present
        change(&heads)
        return heads == present ? nil : heads
    }
}

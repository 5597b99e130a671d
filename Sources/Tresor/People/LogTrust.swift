// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Decides how far this home trusts the people whom a log names (SPEC §7.5, §10.5).
package struct LogTrust: Sendable {
    let client: Client

    /// Returns this home's trust in the founder, on whom the proof of a tresor rests (SPEC §7.5).
    ///
    /// A tresor that names this person as founder is theirs if it was made with their newest card, or if this home
    /// marked it. The home marks the tresors that it makes and those that this person confirms. Marks are sealed, so
    /// only the client of a session can read them.
    ///
    /// Any other such tresor is ``Person/Trust/unverified``, because anyone with an old seed can make one. So is a
    /// tresor without a pinned head in which the founder's newest keys have signed nothing.
    ///
    /// - Throws: ``TresorError/forked`` when the log holds a different card of a generation that this home knows.
    package func founderTrust(in state: LogState) throws(TresorError) -> Person.Trust {
        guard let chain = state.chain(of: state.founder) else { throw .altered }
        if let mine = try client.people.ownChain(), mine.user == state.founder {
            guard mine.extends(chain) else {
                guard chain.extends(mine) else { throw .forked }
                return .renewed(since: mine)
            }
            let isNewest = chain == mine && state.root.cardHash == mine.newest.hash
            let isMine = isNewest || client.marks()[state.tresor].isConfirmed
            return isMine ? .me : .unverified
        }
        let pins = try client.pins()
        if isBehind(chain, pins) { return .unverified }
        let trust = try client.people.trust(in: chain, pins: pins)
        switch trust {
        case .verified, .renewed: return try isProved(by: chain, in: state) ? trust : .unverified
        case .me, .changed, .unverified: return trust
        }
    }

    /// Returns the error for a person who is not verified, and tells who it is.
    func refusal(of chain: CardChain?) -> TresorError {
        if let chain { client.hooks.meetsUnverified(chain) }
        return .unverified
    }

    /// Returns the error for a founder who is not verified, and tells who it is.
    func founderRefusal(in state: LogState) -> TresorError { refusal(of: state.chain(of: state.founder)) }

    /// Whether a tresor is not believed although its founder was compared. Their newest keys have signed nothing in it,
    /// and this home has no pinned head of it.
    package func isUnproved(_ state: LogState) throws(TresorError) -> Bool {
        guard let chain = state.chain(of: state.founder), try client.pins()[state.founder]?.isReplaced == false else {
            return false
        }
        return try !isProved(by: chain, in: state)
    }

    /// Whether the founder's newest keys have signed an entry, or this home has a pinned head of the tresor.
    ///
    /// Cards are public: anyone with an old seed can make a tresor and put the newest card into its log.
    private func isProved(by chain: CardChain, in state: LogState) throws(TresorError) -> Bool {
        if state.founderGeneration == chain.newest.generation { return true }
        return try client.heads()[state.tresor] != nil
    }

    /// Returns this home's trust in a member whom a log names (SPEC §7.5).
    ///
    /// A log may lag behind: a person compared with newer keys counts as compared with these.
    ///
    /// - Throws: ``TresorError/forked`` when the log holds a different card of a generation that this home knows.
    @concurrent package func memberTrust(of user: UserID, in state: LogState) async throws(TresorError) -> Person.Trust
    {
        try memberTrustBlocking(of: user, in: state)
    }

    /// Does what ``memberTrust(of:in:)`` does, on the calling thread.
    package func memberTrustBlocking(of user: UserID, in state: LogState) throws(TresorError) -> Person.Trust {
        guard user != state.founder else { return try founderTrust(in: state) }
        guard let chain = state.chain(of: user) else { throw .altered }
        if let mine = try client.people.ownChain(), mine.user == user {
            guard !mine.extends(chain) else { return .me }
            guard chain.extends(mine) else { throw .forked }
            return .renewed(since: mine)
        }
        let pins = try client.pins()
        return isBehind(chain, pins) ? .verified : try client.people.trust(in: chain, pins: pins)
    }

    /// Whether a log still has an older generation of its founder than the compared one.
    package func isOutdated(_ state: LogState) throws(TresorError) -> Bool {
        guard let chain = state.chain(of: state.founder) else { return false }
        return isBehind(chain, try client.pins())
    }

    /// Whether a log is outdated, and this home had pinned its head before.
    package func isKnownFromBefore(_ state: LogState) throws(TresorError) -> Bool {
        guard try client.heads()[state.tresor] != nil else { return false }
        return try isOutdated(state)
    }

    private func isBehind(_ chain: CardChain, _ pins: Pins) -> Bool {
        guard let pin = pins[chain.user], !pin.isReplaced else { return false }
        return pin.chain.extends(chain) && pin.chain.newest != chain.newest
    }

    /// Checks this home's trust in the author of a signature.
    ///
    /// A compared author counts up to the compared generation. The log vouches for an author who was never compared. A
    /// pin that another person replaced counts as none.
    ///
    /// - Throws: ``TresorError/unverified`` for a newer generation, and for a stranger under a pinned handle;
    ///   ``TresorError/forked`` when the log holds a different card of a generation that this home knows.
    func authorTrust(_ author: FileAuthor, in state: LogState, acceptingUnverified: Bool) throws(TresorError) {
        try authorTrust(
            of: author.user, generation: author.generation, in: state, acceptingUnverified: acceptingUnverified)
    }

    /// Does the same for the author of an entry.
    package func authorTrust(
        of user: UserID, generation: UInt32, in state: LogState, acceptingUnverified: Bool = false
    ) throws(TresorError) {
        guard let chain = state.chain(of: user) else { throw .altered }
        let compared: CardChain
        if let mine = try client.people.ownChain(), mine.user == user {
            compared = mine
        } else if let pin = try client.pins()[user], !pin.isReplaced {
            compared = pin.chain
        } else {
            guard try client.pins()[handle: chain.handle].isEmpty else { throw refusal(of: chain) }
            return
        }
        guard chain.extends(compared) || compared.extends(chain) else { throw .forked }
        guard acceptingUnverified || generation <= compared.newest.generation else { throw refusal(of: chain) }
    }

    /// Returns a person's chain up to the card that this home has compared; `nil` for none, and for a replaced pin. The
    /// own identity counts as compared.
    package func comparedChain(of user: UserID) throws(TresorError) -> CardChain? {
        if let mine = try client.people.ownChain(), mine.user == user { return mine }
        guard let pin = try client.pins()[user], !pin.isReplaced else { return nil }
        return pin.chain
    }
}

/// Looks up authors once for all files and entries of one author at one state of the log.
package struct AuthorChecks {
    private struct Author: Hashable {
        let user: UserID
        let generation: UInt32
        let head: Head
    }

    private let client: Client
    private let acceptingUnverified: Bool
    private var outcomes: [Author: Result<Void, TresorError>] = [:]
    private var compared: [UserID: CardChain?] = [:]

    package init(_ client: Client, acceptingUnverified: Bool) {
        self.client = client
        self.acceptingUnverified = acceptingUnverified
    }

    /// Checks an author as ``LogTrust/authorTrust(_:in:acceptingUnverified:)`` does, with the same errors.
    mutating func check(_ author: FileAuthor, in state: LogState) throws(TresorError) {
        try check(author.user, generation: author.generation, in: state)
    }

    /// Does the same for the author of an entry.
    package mutating func check(
        _ user: UserID, generation: UInt32, in state: LogState
    ) throws(TresorError) {
        let key = Author(user: user, generation: generation, head: state.head)
        let outcome =
            outcomes[key]
            ?? Result { () throws(TresorError) in
                try client.trust.authorTrust(
                    of: user, generation: generation, in: state, acceptingUnverified: acceptingUnverified)
            }
        outcomes[key] = outcome
        do throws(TresorError) {
            try outcome.get()
        } catch {
            throw error == .unverified ? client.trust.refusal(of: state.chain(of: user)) : error
        }
    }

    /// Returns a chain as ``LogTrust/comparedChain(of:)`` does, with the same errors.
    package mutating func comparedChain(of user: UserID) throws(TresorError) -> CardChain? {
        if let known = compared[user] { return known }
        let chain = try client.trust.comparedChain(of: user)
        compared[user] = .some(chain)
        return chain
    }
}

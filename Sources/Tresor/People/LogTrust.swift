// SPDX-License-Identifier: Apache-2.0

/// What this home knows of the people whom a log names (SPEC §7.5, §10.5).
public struct LogTrust: Sendable {
    let client: Client

    /// What the home knows of the person from whom a tresor is proved (SPEC §7.5).
    ///
    /// A tresor that bears this person's own name is theirs only if it was made with their newest card, or if this home
    /// marked it: it made the tresor, or they confirmed it. Marks are sealed, so only the client of a ``Session`` knows
    /// them. Any other is ``Person/Trust/unverified``: whoever has an old seed can make one. So is one of which this home
    /// has no pinned head, and in which nothing is signed with the newest keys of its founder.
    ///
    /// - Throws: ``TresorError/forked`` when the log holds another card of a generation that this home knows.
    public func founderTrust(in state: LogState) throws(TresorError) -> Person.Trust {
        guard let chain = state.chain(of: state.founder) else { throw .altered }
        if let mine = try client.ownChain(), mine.user == state.founder {
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

    /// Whether a tresor is not believed although its founder was compared: nothing in it is signed with their newest keys, and
    /// this home does not know it from before.
    package func isUnproved(_ state: LogState) throws(TresorError) -> Bool {
        guard let chain = state.chain(of: state.founder), try client.pins()[state.founder]?.isReplaced == false else {
            return false
        }
        return try !isProved(by: chain, in: state)
    }

    /// Whether the founder's newest keys have signed anything in a log, or this home knows it from before. Cards are public:
    /// whoever has an old seed can make a tresor, and put the newest card into its log.
    private func isProved(by chain: CardChain, in state: LogState) throws(TresorError) -> Bool {
        if state.founderGeneration == chain.newest.generation { return true }
        return try client.heads()[state.tresor] != nil
    }

    /// What the home knows of somebody whom a log names (SPEC §7.5). A log may lag behind: who was compared with newer
    /// keys was compared with these too.
    ///
    /// - Throws: ``TresorError/forked`` when the log holds another card of a generation that this home knows.
    public func memberTrust(of user: UserID, in state: LogState) throws(TresorError) -> Person.Trust {
        guard user != state.founder else { return try founderTrust(in: state) }
        guard let chain = state.chain(of: user) else { throw .altered }
        if let mine = try client.ownChain(), mine.user == user {
            guard !mine.extends(chain) else { return .me }
            guard chain.extends(mine) else { throw .forked }
            return .renewed(since: mine)
        }
        let pins = try client.pins()
        return isBehind(chain, pins) ? .verified : try client.people.trust(in: chain, pins: pins)
    }

    /// Whether a log still shows an older generation of its founder than the one that was compared, and was kept here before that.
    package func isKnownFromBefore(_ state: LogState) throws(TresorError) -> Bool {
        guard let chain = state.chain(of: state.founder), try client.heads()[state.tresor] != nil else { return false }
        return isBehind(chain, try client.pins())
    }

    private func isBehind(_ chain: CardChain, _ pins: Pins) -> Bool {
        guard let pin = pins[chain.user], !pin.isReplaced else { return false }
        return pin.chain.extends(chain) && pin.chain.newest != chain.newest
    }

    /// What a home knows of the author of something signed: who was compared counts up to the generation that was, who never was is vouched for
    /// by the log. A pin that another person replaced counts as none.
    ///
    /// - Throws: ``TresorError/unverified`` for a newer generation, and for a stranger under a pinned handle; ``TresorError/forked`` when the log holds
    ///   another card of a generation that this home knows.
    func authorTrust(_ author: FileAuthor, in state: LogState, acceptingUnverified: Bool) throws(TresorError) {
        guard let chain = state.chain(of: author.user) else { throw .altered }
        let compared: CardChain
        if let mine = try client.ownChain(), mine.user == author.user {
            compared = mine
        } else if let pin = try client.pins()[author.user], !pin.isReplaced {
            compared = pin.chain
        } else {
            guard try client.pins()[handle: chain.handle] == nil else { throw .unverified }
            return
        }
        guard chain.extends(compared) || compared.extends(chain) else { throw .forked }
        guard acceptingUnverified || author.generation <= compared.newest.generation else { throw .unverified }
    }

    /// The chain of somebody up to the card that this home has compared, its own identity's included; `nil` for none, and for a pin that was replaced.
    package func comparedChain(of user: UserID) throws(TresorError) -> CardChain? {
        if let mine = try client.ownChain(), mine.user == user { return mine }
        guard let pin = try client.pins()[user], !pin.isReplaced else { return nil }
        return pin.chain
    }
}

/// What this home knows of authors, looked up once for all files of one author at one state of the log.
struct AuthorChecks {
    private struct Author: Hashable {
        let user: UserID
        let generation: UInt32
        let head: Head
    }

    private let client: Client
    private let acceptingUnverified: Bool
    private var outcomes: [Author: Result<Void, TresorError>] = [:]
    private var compared: [UserID: CardChain?] = [:]

    init(_ client: Client, acceptingUnverified: Bool) {
        self.client = client
        self.acceptingUnverified = acceptingUnverified
    }

    /// - Throws: what ``LogTrust/authorTrust(_:in:acceptingUnverified:)`` throws.
    mutating func check(_ author: FileAuthor, in state: LogState) throws(TresorError) {
        let key = Author(user: author.user, generation: author.generation, head: state.head)
        let outcome =
            outcomes[key]
            ?? Result { () throws(TresorError) in
                try client.trust.authorTrust(author, in: state, acceptingUnverified: acceptingUnverified)
            }
        outcomes[key] = outcome
        try outcome.get()
    }

    /// - Throws: what ``Client/comparedChain(of:)`` throws.
    mutating func comparedChain(of user: UserID) throws(TresorError) -> CardChain? {
        if let known = compared[user] { return known }
        let chain = try client.trust.comparedChain(of: user)
        compared[user] = .some(chain)
        return chain
    }
}

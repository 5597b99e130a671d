// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The people whom the devices of this person know, as their own tresor says (SPEC §19.8). The order in which statements
/// come has no meaning.
package struct KnownPeople: Hashable, Sendable {
    private var statements: [UserID: [Pin]] = [:]

    /// The statements about one person that no later giving-up ends.
    fileprivate struct Standing {
        /// The newest of them.
        let newest: Pin
        /// Whether two devices compared different cards of one generation.
        let isDisputed: Bool
        /// The latest of them.
        let latest: Pin
    }

    package init() {}

    /// Adds a statement, as a record of the own tresor has it.
    ///
    /// - Parameter user: the person, as the name of the record says.
    /// - Throws: ``TresorError/altered`` for a content that is no pin of that person; ``TresorError/unsupported``.
    package mutating func add(_ content: [UInt8], of user: UserID) throws(TresorError) {
        var decoder = ByteDecoder(content)
        let pin = try Pin(from: &decoder)
        try decoder.end()
        guard pin.chain.user == user else { throw .altered }
        statements[user, default: []].append(pin)
    }

    /// The people of whom somebody says something, by rising id.
    fileprivate var users: [UserID] { statements.keys.sorted() }

    /// The statements about a person that count; `nil` where there are none.
    fileprivate func standing(of user: UserID) -> Standing? {
        let said = statements[user] ?? []
        let givenUp = said.filter(\.isReplaced).max { ($0.time, $0.generation) < ($1.time, $1.generation) }
        let compared = said.filter { pin in !pin.isReplaced && givenUp.map(pin.isLater) ?? true }
        let newest = compared.max { ($0.generation, $0.time) < ($1.generation, $1.time) }
        guard let newest = newest ?? givenUp else { return nil }
        return Standing(
            newest: newest, isDisputed: !compared.allSatisfy { $0.isOfOnePerson(with: newest) },
            latest: compared.max { $0.time < $1.time } ?? newest)
    }

    /// Whether two devices compared different cards of one generation of a person.
    package func isDisputed(_ user: UserID) -> Bool { standing(of: user)?.isDisputed ?? false }
}

extension Pin {
    fileprivate var generation: UInt32 { chain.newest.generation }

    /// Whether this act comes after another one. Of two at one time, the giving-up does.
    fileprivate func isLater(than other: Pin) -> Bool {
        (time, isReplaced ? 1 : 0) > (other.time, other.isReplaced ? 1 : 0)
    }

    /// Whether this statement about a person counts more than another one. A giving-up ends what came before it, and ends
    /// by what comes after it. Of two comparisons, the one of newer keys counts, and then the later one.
    fileprivate func isNewer(than other: Pin) -> Bool {
        if isReplaced || other.isReplaced || !isOfOnePerson(with: other) { return isLater(than: other) }
        return (generation, time) > (other.generation, other.time)
    }

    /// Whether both are comparisons of one time, of keys that contradict each other.
    fileprivate func isBeside(_ other: Pin) -> Bool {
        !isReplaced && !other.isReplaced && time == other.time && !isOfOnePerson(with: other)
    }

    /// Whether both say the same of a person: that they are given up, or that one card is theirs.
    fileprivate func says(_ other: Pin) -> Bool {
        isReplaced == other.isReplaced && (isReplaced || chain == other.chain)
    }

    /// Whether one of the chains extends the other one.
    fileprivate func isOfOnePerson(with other: Pin) -> Bool {
        chain.extends(other.chain) || other.chain.extends(chain)
    }

    /// Whether this home compared, by an act of the person.
    fileprivate var isOwn: Bool { occasion != .known }

    /// The same act with a time by which it is still not later than another one, and the next act here is.
    fileprivate func dated(before other: Pin) -> Pin {
        Pin(
            chain: chain, time: max(time, isReplaced ? other.time - 1 : other.time), isReplaced: isReplaced,
            occasion: occasion, by: by)
    }

    /// The bytes, as a record of the own tresor has them.
    package var recordContent: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}

/// A statement of another device that contradicts what this home compared.
package struct KnownConflict: Hashable, Sendable {
    /// The reason why a statement is not taken.
    package enum Reason: Hashable, Sendable {
        /// Two other devices compared different keys of the person.
        case disputed
        /// Another device compared other keys of the person than this home.
        case keys
        /// This home compared the person, whom another device gave up later.
        case givenUp
        /// This home gave up the person, whom another device compared later.
        case compared
        /// This home compared somebody else under the handle.
        case handle(CardChain)
    }

    /// The person of the statement.
    package let chain: CardChain
    /// The reason.
    package let reason: Reason
}

/// The result of taking the statements of other devices into a home.
package struct KnownOutcome: Hashable, Sendable {
    /// The statements that contradict this home, or each other. Nothing is changed for their people.
    package fileprivate(set) var conflicts: [KnownConflict] = []
    /// The people of whom this home compared earlier keys than another device.
    package fileprivate(set) var renewed: [CardChain] = []
    /// The people whom only a former card of this person stated. They are not verified here any more.
    package fileprivate(set) var ended: [CardChain] = []
    /// The statements dated more than a day after this home's clock, among those that were taken or contradict this home.
    package fileprivate(set) var ahead: [Pin] = []
    /// Whether the pins are others than before.
    package fileprivate(set) var isChange = false

    package init() {}
}

extension Pins {
    private enum Verdict {
        case nothing
        case taken
        case renewed
        case conflict(KnownConflict.Reason)
    }

    /// The most seconds by which the clocks of two devices of a person are taken to differ.
    private static let mostSecondsAhead: UInt64 = 86_400

    /// Pins the people whom another device of this person compared. An own comparison stays. The statements of a former
    /// card of this person end.
    ///
    /// - Parameters:
    ///   - me: this person's newest card chain, whose signatures the statements bear.
    ///   - now: the time by this home's clock, in seconds since 1970.
    package mutating func takeKnown(_ known: KnownPeople, as me: CardChain, at now: UInt64) -> KnownOutcome {
        var outcome = KnownOutcome()
        let card = me.newest.hash
        let ended = endKnown(exceptBy: card)
        for user in known.users where user != me.user {
            guard let standing = known.standing(of: user) else { continue }
            let (said, latest) = (standing.newest, standing.latest)
            switch verdict(on: standing) {
            case .nothing: continue
            case .renewed:
                outcome.renewed.append(said.chain)
                continue
            case .conflict(let reason):
                outcome.conflicts.append(KnownConflict(chain: said.chain, reason: reason))
                // Without this, no act here would come after one that a wrong clock dated.
                if latest.time > now, let present = self[user], present.isOwn { put(present.dated(before: latest)) }
            case .taken:
                put(
                    Pin(
                        chain: said.chain, time: said.time, isReplaced: said.isReplaced, occasion: .known, by: card))
            }
            if latest.time > now, latest.time - now > Self.mostSecondsAhead { outcome.ahead.append(latest) }
        }
        outcome.ended = ended.filter { !$0.isReplaced && self[$0.chain.user] == nil }.map(\.chain)
        return outcome
    }

    /// Judges the newest statement about a person beside the pins. Only an act in this home changes what it compared.
    private func verdict(on standing: KnownPeople.Standing) -> Verdict {
        let said = standing.newest
        let present = self[said.chain.user]
        if standing.isDisputed {
            let isDecided = present.map { $0.isOwn && $0.isLater(than: standing.latest) } ?? false
            return isDecided ? .nothing : .conflict(.disputed)
        }
        if let present {
            guard said.isNewer(than: present) || said.isBeside(present) else { return .nothing }
            if present.isOwn {
                guard present.isReplaced == said.isReplaced else {
                    return .conflict(said.isReplaced ? .givenUp : .compared)
                }
                if said.says(present) { return .nothing }
                return said.isOfOnePerson(with: present) ? .renewed : .conflict(.keys)
            }
        }
        let holder = pins.first {
            $0.isOwn && !$0.isReplaced && $0.chain.user != said.chain.user && $0.chain.handle == said.chain.handle
        }
        if let holder, !said.isReplaced { return .conflict(.handle(holder.chain)) }
        return .taken
    }

    /// The pins that say more than the own tresor does, those that were replaced first, then by user id.
    package func news(beyond known: KnownPeople) -> [Pin] {
        pins.filter { isNews($0, beyond: known) }
            .sorted { ($0.isReplaced ? 0 : 1, $0.chain.user) < ($1.isReplaced ? 0 : 1, $1.chain.user) }
    }

    private func isNews(_ pin: Pin, beyond known: KnownPeople) -> Bool {
        guard let standing = known.standing(of: pin.chain.user) else { return true }
        if standing.isDisputed { return pin.isOwn && pin.isLater(than: standing.latest) }
        let said = standing.newest
        guard pin.isNewer(than: said), !pin.says(said) else { return false }
        return pin.isOwn || pin.isOfOnePerson(with: said)
    }
}

extension Contacts {
    /// Pins the people whom another device of this person compared (SPEC §19.8, `take`).
    ///
    /// - Parameter me: this person's newest card chain.
    /// - Throws: the errors of the home.
    package func takeBlocking(_ known: KnownPeople, as me: CardChain) throws(TresorError) -> KnownOutcome {
        let (_, outcome) = try taking(known, as: me)
        // Where nothing changes, nobody waits for the home.
        guard outcome.isChange else { return outcome }
        return try client.home.exclusively { () throws(TresorError) in
            // The knowledge of an earlier session says nothing to newer keys.
            guard try ownChain() == me else { throw .busy }
            let (pins, outcome) = try taking(known, as: me)
            if outcome.isChange { try client.home.replace(.pins, with: pins.bytes) }
            return outcome
        }
    }

    private func taking(_ known: KnownPeople, as me: CardChain) throws(TresorError) -> (Pins, KnownOutcome) {
        let present = try client.storedPins()
        var pins = present
        var outcome = pins.takeKnown(known, as: me, at: client.clock())
        outcome.isChange = pins != present
        return (pins, outcome)
    }

    /// Lets what other devices said with a former card of this person rest on the next one: the person keeps this
    /// home. Pins that do not read hold up no renewal.
    func carryOver(from card: Card, to next: Card) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            guard let present = try? client.storedPins() else { return }
            var pins = present
            pins.carryOver(from: card.hash, to: next.hash)
            if pins != present { try client.home.replace(.pins, with: pins.bytes) }
        }
    }

    /// Ends what a renewal began that was interrupted behind the new identity. Since then, nothing that a former card
    /// said came into this home. Pins that do not read hold up nothing here either.
    package func resumeCarryingOver(as me: CardChain) throws(TresorError) {
        guard me.cards.count > 1, let stored = try? client.storedPins(), stored.hasKnown, try ownChain() == me,
            try client.cleanup.isIntroducingBlocking()
        else { return }
        try carryOver(from: me.cards[me.cards.count - 2], to: me.newest)
    }

    /// The pins that say more than the own tresor does.
    package func newsBlocking(beyond known: KnownPeople) throws(TresorError) -> [Pin] {
        try client.pins().news(beyond: known)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The people whom the devices of this person know, as their own tresor says (SPEC §19.8). The order in which statements
/// come has no meaning.
package struct KnownPeople: Hashable, Sendable {
    /// The newest statement about each person.
    private(set) var newest: [UserID: Pin] = [:]
    /// The people of whom two devices compared different cards of one generation.
    package private(set) var disputed: Set<UserID> = []
    /// The time of the latest statement about each person, in seconds since 1970.
    private(set) var latest: [UserID: UInt64] = [:]

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
        latest[user] = max(latest[user] ?? 0, pin.time)
        guard let known = newest[user] else { return newest[user] = pin }
        guard pin.isOfOnePerson(with: known) else {
            disputed.insert(user)
            return
        }
        if pin.isNewer(than: known) { newest[user] = pin }
    }
}

extension Pin {
    /// Whether this statement about a person comes after another one: by the generation that was compared, then by the
    /// time, and then by whether somebody else took the person's place.
    fileprivate func isNewer(than other: Pin) -> Bool {
        (chain.newest.generation, time, isReplaced ? 1 : 0)
            > (other.chain.newest.generation, other.time, other.isReplaced ? 1 : 0)
    }

    /// Whether both say the same of a person: the card, and that nobody or somebody took their place.
    fileprivate func says(_ other: Pin) -> Bool { chain == other.chain && isReplaced == other.isReplaced }

    /// Whether one of the chains extends the other one.
    fileprivate func isOfOnePerson(with other: Pin) -> Bool {
        chain.extends(other.chain) || other.chain.extends(chain)
    }

    /// Whether this home compared, by an act of the person.
    fileprivate var isOwn: Bool { occasion != .known }

    /// The bytes, as a record of the own tresor has them.
    package var recordContent: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}

/// A statement of another device that contradicts what this home compared.
package struct KnownConflict: Hashable, Sendable {
    /// What contradicts what.
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
    /// What contradicts what.
    package let reason: Reason
}

/// What the statements of other devices brought about in a home.
package struct KnownOutcome: Hashable, Sendable {
    /// The statements that contradict this home, or each other. Nothing is changed for their people.
    package fileprivate(set) var conflicts: [KnownConflict] = []
    /// The people of whom this home compared earlier keys than another device.
    package fileprivate(set) var renewed: [CardChain] = []
    /// The people whom only a former card of this person stated. They are not verified here any more.
    package fileprivate(set) var ended: [CardChain] = []
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

    /// Pins the people whom another device of this person compared. What this home compared itself stays. What a former
    /// card of this person stated ends.
    ///
    /// - Parameter me: this person's newest card chain, whose signatures the statements bear.
    package mutating func takeKnown(_ known: KnownPeople, as me: CardChain) -> KnownOutcome {
        var outcome = KnownOutcome()
        let card = me.newest.hash
        let ended = endKnown(exceptBy: card)
        for (user, said) in known.newest.sorted(by: { $0.key < $1.key }) where user != me.user {
            switch verdict(on: said, known) {
            case .nothing: break
            case .renewed: outcome.renewed.append(said.chain)
            case .conflict(let reason): outcome.conflicts.append(KnownConflict(chain: said.chain, reason: reason))
            case .taken:
                put(
                    Pin(
                        chain: said.chain, time: said.time, isReplaced: said.isReplaced, occasion: .known, by: card))
            }
        }
        outcome.ended = ended.filter { !$0.isReplaced && self[$0.chain.user] == nil }.map(\.chain)
        return outcome
    }

    /// Judges the newest statement about a person beside the pins. Only an act in this home changes what it compared.
    private func verdict(on said: Pin, _ known: KnownPeople) -> Verdict {
        let user = said.chain.user
        let present = self[user]
        if let latest = known.latest[user], known.disputed.contains(user) {
            return present.map { $0.isOwn && $0.time > latest } ?? false ? .nothing : .conflict(.disputed)
        }
        if let present, !said.isOfOnePerson(with: present) {
            guard said.time >= present.time, !(present.isOwn && (present.isReplaced || said.isReplaced)) else {
                return .nothing
            }
            if present.isOwn { return .conflict(.keys) }
        } else if let present {
            guard said.isNewer(than: present), !said.says(present) else { return .nothing }
            if present.isOwn {
                guard present.isReplaced == said.isReplaced else {
                    return .conflict(said.isReplaced ? .givenUp : .compared)
                }
                return said.isReplaced ? .nothing : .renewed
            }
        }
        let holder = pins.first {
            $0.isOwn && !$0.isReplaced && $0.chain.user != user && $0.chain.handle == said.chain.handle
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
        let user = pin.chain.user
        guard let said = known.newest[user] else { return true }
        if let latest = known.latest[user], known.disputed.contains(user) { return pin.isOwn && pin.time > latest }
        if pin.chain.extends(said.chain) { return pin.isNewer(than: said) && !pin.says(said) }
        guard pin.isOwn, !pin.isReplaced, !said.chain.extends(pin.chain) else { return false }
        return said.isReplaced || pin.time > said.time
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
            // What an earlier session knows says nothing to newer keys.
            guard try ownChain() == me else { throw .busy }
            let (pins, outcome) = try taking(known, as: me)
            if outcome.isChange { try client.home.replace(.pins, with: pins.bytes) }
            return outcome
        }
    }

    private func taking(_ known: KnownPeople, as me: CardChain) throws(TresorError) -> (Pins, KnownOutcome) {
        let present = try client.storedPins()
        var pins = present
        var outcome = pins.takeKnown(known, as: me)
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
    /// said came into this home.
    package func resumeCarryingOver(as me: CardChain) throws(TresorError) {
        guard me.cards.count > 1, try client.storedPins().hasKnown, try ownChain() == me,
            try client.cleanup.isIntroducingBlocking()
        else { return }
        try carryOver(from: me.cards[me.cards.count - 2], to: me.newest)
    }

    /// The pins that say more than the own tresor does.
    package func newsBlocking(beyond known: KnownPeople) throws(TresorError) -> [Pin] {
        try client.pins().news(beyond: known)
    }
}

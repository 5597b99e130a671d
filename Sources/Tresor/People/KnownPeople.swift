// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The people whom the devices of this person know, as their own tresor says (SPEC §19.8). The order in which statements
/// come has no meaning.
package struct KnownPeople: Hashable, Sendable {
    /// The newest statement about each person.
    private(set) var newest: [UserID: Pin] = [:]
    /// The people of whom two devices compared different cards of one generation.
    private(set) var disputed: Set<UserID> = []

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
        guard let known = newest[user] else { return newest[user] = pin }
        guard pin.chain.extends(known.chain) || known.chain.extends(pin.chain) else {
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

    /// Whether this home compared, by an act of the person.
    fileprivate var isOwn: Bool { occasion != .known }

    /// The bytes, as a record of the own tresor has them.
    package var recordContent: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}

/// What the statements of other devices brought about in a home.
package struct KnownOutcome: Hashable, Sendable {
    /// The people about whom the devices disagree. Nothing is changed for them.
    package fileprivate(set) var conflicts: [CardChain] = []
    /// The people whom only a former card of this person stated. They are not verified here any more.
    package fileprivate(set) var ended: [CardChain] = []
    /// Whether the pins are others than before.
    package fileprivate(set) var isChange = false

    package init() {}
}

extension Pins {
    /// Pins the people whom another device of this person compared. What this home compared itself stays, unless the
    /// other device compared newer keys of the same person. What a former card of this person stated ends.
    ///
    /// - Parameter me: this person's newest card chain, whose signatures the statements bear.
    package mutating func takeKnown(_ known: KnownPeople, as me: CardChain) -> KnownOutcome {
        var outcome = KnownOutcome()
        let card = me.newest.hash
        let ended = endKnown(exceptBy: card)
        let own = pins.filter { $0.isOwn && !$0.isReplaced }
        for (user, said) in known.newest.sorted(by: { $0.key < $1.key }) where user != me.user {
            let present = self[user]
            let isContradicted =
                known.disputed.contains(user)
                || present.map { !said.chain.extends($0.chain) && !$0.chain.extends(said.chain) } ?? false
            let isNews = present.map { said.isNewer(than: $0) && !said.says($0) } ?? true
            guard isContradicted || isNews else { continue }
            let changesOwn = present.map { $0.isOwn && $0.isReplaced != said.isReplaced } ?? false
            let takesHandle =
                !said.isReplaced
                && own.contains { $0.chain.user != user && $0.chain.handle == said.chain.handle }
            guard !isContradicted, !changesOwn, !takesHandle else {
                outcome.conflicts.append(said.chain)
                continue
            }
            put(
                Pin(
                    chain: said.chain, time: said.time, isReplaced: said.isReplaced, occasion: .known, by: card))
        }
        outcome.ended = ended.filter { !$0.isReplaced && self[$0.chain.user] == nil }.map(\.chain)
        return outcome
    }

    /// The pins that say more than the own tresor does, those that were replaced first, then by user id.
    package func news(beyond known: KnownPeople) -> [Pin] {
        pins.filter { pin in
            let user = pin.chain.user
            guard !known.disputed.contains(user) else { return false }
            guard let said = known.newest[user] else { return true }
            return pin.chain.extends(said.chain) && pin.isNewer(than: said) && !pin.says(said)
        }.sorted { ($0.isReplaced ? 0 : 1, $0.chain.user) < ($1.isReplaced ? 0 : 1, $1.chain.user) }
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
            let (pins, outcome) = try taking(known, as: me)
            if outcome.isChange { try client.home.replace(.pins, with: pins.bytes) }
            return outcome
        }
    }

    private func taking(_ known: KnownPeople, as me: CardChain) throws(TresorError) -> (Pins, KnownOutcome) {
        let present = try client.pins()
        var pins = present
        var outcome = pins.takeKnown(known, as: me)
        outcome.isChange = pins != present
        return (pins, outcome)
    }

    /// Lets what other devices said with a former card of this person rest on the next one: the person keeps this
    /// home. Pins that do not read hold up no renewal.
    func carryOver(from card: Card, to next: Card) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            guard let present = try? client.pins() else { return }
            var pins = present
            pins.carryOver(from: card.hash, to: next.hash)
            if pins != present { try client.home.replace(.pins, with: pins.bytes) }
        }
    }

    /// The pins that say more than the own tresor does.
    package func newsBlocking(beyond known: KnownPeople) throws(TresorError) -> [Pin] {
        try client.pins().news(beyond: known)
    }
}

// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// The whole chain of cards of a person, generation 0 to the newest, each link checked (SPEC §7.3). Cards always travel
/// as a chain.
///
/// A chain proves that its cards belong together. Comparing the ``number()`` proves that they belong to a certain person.
public struct CardChain: Hashable, Sendable {
    /// The maximum size in bytes: 512 KiB, more than 256 cards take.
    package static let maximumByteCount = 1 << 19

    /// The cards by generation; never empty.
    package let cards: [Card]
    /// The newest card.
    package let newest: Card
    /// `H("tresor/v1/user-id", generation-0 card)`.
    public let user: UserID

    /// Reads concatenated cards.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    public init(_ bytes: [UInt8]) throws(TresorError) { try self.init(bytes, knowing: []) }

    /// Reads concatenated cards that begin with those of a chain that was read before. No signature of these is verified
    /// again.
    ///
    /// - Parameter known: the bytes of that chain; empty for none.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8], knowing known: [UInt8]) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount, bytes.starts(with: known) else { throw .altered }
        var decoder = ByteDecoder(bytes)
        let first = try Card(from: &decoder, isKnown: !known.isEmpty)
        guard known.isEmpty || decoder.offset <= known.count else { throw .altered }
        guard first.generation == 0 else { throw .altered }
        let user = UserID(try BLAKE2b.hash(.userID, first.bytes))
        var cards = [first]
        var newest = first
        while decoder.remaining > 0 {
            let isKnown = decoder.offset < known.count
            let next = try Card(from: &decoder, isKnown: isKnown)
            guard !isKnown || decoder.offset <= known.count else { throw .altered }
            try next.checkSucceeds(newest, of: user, isKnown: isKnown)
            cards.append(next)
            newest = next
        }
        self.cards = cards
        self.newest = newest
        self.user = user
    }

    package init(first: Card) throws(TresorError) {
        cards = [first]
        newest = first
        user = UserID(try BLAKE2b.hash(.userID, first.bytes))
    }

    /// Extends this chain by one card.
    ///
    /// - Throws: ``TresorError/altered`` unless `card` is the next card.
    func appending(_ card: Card) throws(TresorError) -> CardChain {
        try card.checkSucceeds(newest, of: user)
        return CardChain(cards: cards + [card], newest: card, user: user)
    }

    private init(cards: [Card], newest: Card, user: UserID) {
        self.cards = cards
        self.newest = newest
        self.user = user
    }

    /// Reads an armoured card.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(armoured text: [UInt8]) throws(TresorError) {
        try self.init(Armour.card.dearmour(text))
    }

    /// The concatenated cards.
    public var bytes: [UInt8] { cards.flatMap(\.bytes) }

    /// The armoured form.
    package var armoured: [UInt8] { Armour.card.armour(bytes) }

    /// The handle, equal in all generations.
    public var handle: Name { newest.handle }

    /// Compares the safety number of this chain with one that a person was told (SPEC §7.5).
    ///
    /// - Throws: ``TresorError/unverified`` if they differ.
    package func compareNumber(_ typed: SafetyNumber) throws(TresorError) {
        guard try number() == typed else { throw .unverified }
    }

    /// The safety number that two people compare: `H("tresor/v1/number", user id ‖ newest card hash)` modulo 10^30
    /// (SPEC §7.4).
    public func number() throws(TresorError) -> SafetyNumber {
        SafetyNumber(try BLAKE2b.hash(.number, user.digest.bytes, newest.hash.bytes))
    }

    /// The card of a generation, or `nil`.
    package func card(generation: UInt32) -> Card? {
        Int(exactly: generation).flatMap { cards.indices.contains($0) ? cards[$0] : nil }
    }

    /// Whether every card of `other` is in this chain at the same place.
    package func extends(_ other: CardChain) -> Bool {
        user == other.user && cards.starts(with: other.cards)
    }

    /// Whether this chain goes on behind the end of `other`.
    package func isNewer(than other: CardChain) -> Bool { extends(other) && self != other }
}

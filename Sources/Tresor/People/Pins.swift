// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A person whose safety number was compared, here or on another device of this person (SPEC §7.5).
package struct Pin: Hashable, Sendable {
    /// The occasion on which a home came to know a person.
    package enum Occasion: UInt8, Hashable, Sendable {
        /// The safety number was compared.
        case number = 1
        /// A card was taken that was brought by hand.
        case card = 2
        /// A link was followed.
        case link = 3
        /// Another device of this person says so (SPEC §19.8).
        case known = 4
    }

    /// The chain up to the compared card.
    package let chain: CardChain
    /// The time of the comparison, or of the replacement, in seconds since 1970.
    package let time: UInt64
    /// Whether another person has since been pinned in their place, or they were given up. A replaced pin is found by its
    /// user id alone, and vouches for no keys.
    package let isReplaced: Bool
    /// The occasion.
    package let occasion: Occasion
    /// The hash of the card whose signature said so; `nil` where this home compared.
    package let by: Hash256?

    package init(
        chain: CardChain, time: UInt64, isReplaced: Bool = false, occasion: Occasion = .number, by: Hash256? = nil
    ) {
        self.chain = chain
        self.time = time
        self.isReplaced = isReplaced
        self.occasion = occasion
        self.by = by
    }

    /// The same pin, after another person was pinned in its place: a later act than the comparison.
    ///
    /// - Parameter time: the time of that act, in seconds since 1970.
    fileprivate func replaced(at time: UInt64) -> Pin {
        Pin(chain: chain, time: max(time, self.time), isReplaced: true, occasion: occasion, by: by)
    }

    /// Whether this home compared, or the card that is the newest own one said so.
    fileprivate func counts(by card: Hash256?) -> Bool { by == nil || by == card }
}

/// The bytes of a pin, in the pins and in a record of the own tresor (SPEC §7.5, §19.8).
extension Pin {
    /// Reads a pin.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        let time = try decoder.time()
        let flag = try decoder.integer(UInt8.self)
        guard flag <= 1, let occasion = Occasion(rawValue: try decoder.integer(UInt8.self)) else { throw .altered }
        let by = try decoder.digest()
        guard (occasion == .known) == (by != .zero) else { throw .altered }
        self.init(
            chain: try CardChain(try decoder.vector32(1...CardChain.maximumByteCount)), time: time,
            isReplaced: flag == 1, occasion: occasion, by: occasion == .known ? by : nil)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(time)
        encoder.integer(UInt8(isReplaced ? 1 : 0))
        encoder.integer(occasion.rawValue)
        encoder.digest(by ?? .zero)
        encoder.vector32(chain.bytes)
    }
}

/// The pins of a home (SPEC §7.5).
package struct Pins: Hashable, Sendable {
    private(set) var pins: [Pin] = []

    init() {}

    /// Decodes the pins; no user id may occur twice.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.pins)
        while decoder.remaining > 0 { pins.append(try Pin(from: &decoder)) }
        guard Set(pins.map(\.chain.user)).count == pins.count else { throw .altered }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.pins)
        for pin in pins { pin.encode(into: &encoder) }
        return encoder.bytes
    }

    subscript(user: UserID) -> Pin? { pins.first { $0.chain.user == user } }

    /// The people for whom this handle stands, the first pinned first.
    subscript(handle handle: Name) -> [Pin] { pins.filter { !$0.isReplaced && $0.chain.handle == handle } }

    /// The other people for whom the handle of a chain stands; none if it stands for its owner too.
    func contradicting(_ chain: CardChain) -> [Pin] {
        if self[chain.user]?.isReplaced == false { return [] }
        return self[handle: chain.handle].filter { $0.chain.user != chain.user }
    }

    /// Pins a chain.
    ///
    /// - Parameters:
    ///   - replacing: whether to replace other people under the handle, if it does not stand for this person too.
    ///   - beside: whether other people keep the handle, which then stands for all of them.
    /// - Throws: ``TresorError/forked`` for an older or a different card of a known person who was not given up;
    ///   ``TresorError/unverified`` for another person under a known handle, unless `replacing` or `beside`.
    package mutating func pin(
        _ chain: CardChain, time: UInt64, occasion: Pin.Occasion = .number, replacing: Bool, beside: Bool
    ) throws(TresorError) {
        if let known = self[chain.user], !known.isReplaced, !chain.extends(known.chain) { throw .forked }
        let others = contradicting(chain).map(\.chain.user)
        guard replacing || beside || others.isEmpty else { throw .unverified }
        if replacing {
            pins = pins.map { pin in
                others.contains(pin.chain.user) ? pin.replaced(at: time) : pin
            }
        }
        put(Pin(chain: chain, time: timeOfAct(about: chain.user, at: time), occasion: occasion))
    }

    /// The time of an act about a person, by which it comes after all that this home knows of them, or says the same: a
    /// giving-up comes after a comparison of one time. The greatest time alone is outlasted by no later one (SPEC §7.5).
    private func timeOfAct(about user: UserID, at now: UInt64) -> UInt64 {
        guard let pin = self[user], pin.time > now || pin.time == now && pin.isReplaced else { return now }
        return min(pin.time + 1, Format.latestTime)
    }

    /// Lets the pins that one card of this person said rest on their next card.
    mutating func carryOver(from card: Hash256, to next: Hash256) {
        pins = pins.map { pin in
            guard pin.by == card else { return pin }
            return Pin(
                chain: pin.chain, time: pin.time, isReplaced: pin.isReplaced, occasion: pin.occasion, by: next)
        }
    }

    /// Whether another device said some of them.
    var hasKnown: Bool { pins.contains { $0.by != nil } }

    /// The pins without those that another card than this one said.
    func counting(by card: Hash256?) -> Pins {
        var counted = self
        counted.pins.removeAll { !$0.counts(by: card) }
        return counted
    }

    /// Ends the pins that other cards than this one said; the own comparisons stay.
    ///
    /// - Returns: those that ended.
    mutating func endKnown(exceptBy card: Hash256) -> [Pin] {
        let ended = pins.filter { !$0.counts(by: card) }
        self = counting(by: card)
        return ended
    }

    /// Adds what a home stores of other people. It does not count, and the next exchange says that it ended.
    mutating func keep(_ stored: Pins) { pins += stored.pins.filter { self[$0.chain.user] == nil } }

    /// Puts a pin in the place of that of the same person, or behind all others.
    mutating func put(_ pin: Pin) {
        if let index = pins.firstIndex(where: { $0.chain.user == pin.chain.user }) {
            pins[index] = pin
        } else {
            pins.append(pin)
        }
    }

    /// Gives up what was compared of a person, here or on another device: their pin counts as replaced, by an act of this
    /// home. Somebody who was given up may be given up again: a later act counts.
    ///
    /// - Parameter time: the time of that act, in seconds since 1970.
    /// - Throws: ``TresorError/notFound`` for somebody who has no pin.
    package mutating func giveUp(_ user: UserID, time: UInt64) throws(TresorError) {
        guard let pin = self[user] else { throw .notFound }
        put(Pin(chain: pin.chain, time: timeOfAct(about: user, at: time), isReplaced: true))
    }
}

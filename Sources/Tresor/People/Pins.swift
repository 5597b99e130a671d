// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A person whose safety number was compared (SPEC §7.5).
package struct Pin: Hashable, Sendable {
    /// The chain up to the compared card.
    package let chain: CardChain
    /// The time of the comparison, in seconds since 1970.
    package let time: UInt64
    /// Whether another person has since been pinned in their place. A replaced pin is found by its user id alone.
    package let isReplaced: Bool
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
        while decoder.remaining > 0 {
            let time = try decoder.time()
            let flag = try decoder.integer(UInt8.self)
            guard flag <= 1 else { throw .altered }
            let chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
            pins.append(Pin(chain: chain, time: time, isReplaced: flag == 1))
        }
        guard Set(pins.map(\.chain.user)).count == pins.count else { throw .altered }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.pins)
        for pin in pins {
            encoder.integer(pin.time)
            encoder.integer(UInt8(pin.isReplaced ? 1 : 0))
            encoder.vector32(pin.chain.bytes)
        }
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
    /// - Throws: ``TresorError/forked`` for an older or a different card of a known person; ``TresorError/unverified``
    ///   for another person under a known handle, unless `replacing` or `beside`.
    package mutating func pin(
        _ chain: CardChain, time: UInt64, replacing: Bool, beside: Bool
    ) throws(TresorError) {
        if let known = self[chain.user], !chain.extends(known.chain) { throw .forked }
        let others = contradicting(chain).map(\.chain.user)
        guard replacing || beside || others.isEmpty else { throw .unverified }
        if replacing {
            pins = pins.map { pin in
                others.contains(pin.chain.user) ? Pin(chain: pin.chain, time: pin.time, isReplaced: true) : pin
            }
        }
        let pin = Pin(chain: chain, time: time, isReplaced: false)
        if let index = pins.firstIndex(where: { $0.chain.user == chain.user }) {
            pins[index] = pin
        } else {
            pins.append(pin)
        }
    }

    /// Gives up what was compared of a person: their pin counts as replaced.
    ///
    /// - Throws: ``TresorError/notFound`` for somebody who has no pin, or a replaced one.
    package mutating func giveUp(_ user: UserID) throws(TresorError) {
        guard let index = pins.firstIndex(where: { $0.chain.user == user && !$0.isReplaced }) else { throw .notFound }
        pins[index] = Pin(chain: pins[index].chain, time: pins[index].time, isReplaced: true)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The place in a store where two machines of one person leave an offer and an answer (SPEC §8.6). It lies under a locator
/// that the code yields, as an identity copy lies under that of its kit.
///
/// Nobody believes it: each letter proves itself.
package struct DeviceMailbox: Hashable, Sendable {
    /// The letters in a mailbox.
    package enum Letters: Hashable, Sendable {
        case none
        /// An offer, 1266 bytes.
        case offer([UInt8])
        /// An offer and the answer to it.
        case answer([UInt8], to: [UInt8])
        /// The receipt of the new machine, 32 bytes, in the place of both.
        case receipt(Hash256)

        fileprivate var code: UInt8 {
            switch self {
            case .none: 0
            case .offer: 1
            case .answer: 2
            case .receipt: 3
            }
        }
    }

    /// The size in bytes of an empty mailbox: 19; the length of an answer takes 4 more.
    package static let emptyByteCount = 10 + 8 + 1
    static let frameByteCount = emptyByteCount + 4

    /// The last second of the mailbox, by the clock of the machine that opened it.
    package let until: UInt64
    package let letters: Letters

    /// Makes a mailbox.
    package init(until: UInt64, _ letters: Letters = .none) {
        self.until = until
        self.letters = letters
    }

    /// Reads a mailbox. Its letters are read when they are used.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.deviceMailbox)
        until = try decoder.time()
        let code = try decoder.integer(UInt8.self)
        switch code {
        case 0: letters = .none
        case 1: letters = .offer(try decoder.raw(DeviceOffer.byteCount))
        case 2:
            let offer = try decoder.raw(DeviceOffer.byteCount)
            let bounds = DeviceAnswer.minimumByteCount...DeviceAnswer.maximumByteCount
            letters = .answer(try decoder.vector32(bounds), to: offer)
        case 3: letters = .receipt(try decoder.digest())
        default: throw .altered
        }
        try decoder.end()
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.deviceMailbox)
        encoder.integer(until)
        encoder.integer(letters.code)
        switch letters {
        case .none: break
        case .offer(let offer): encoder.raw(offer)
        case .answer(let answer, let offer):
            encoder.raw(offer)
            encoder.vector32(answer)
        case .receipt(let receipt): encoder.digest(receipt)
        }
        return encoder.bytes
    }

    /// Whether its time is over by another clock, which may differ from that of its maker.
    package func isOver(at now: UInt64) -> Bool { until + DeviceOffer.clockWindow < now }

    /// Whether bytes under a locator begin as a mailbox does.
    package static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Magic.deviceMailbox.bytes) }

    /// Puts an offer into the mailbox.
    ///
    /// - Returns: the mailbox with the offer; the same one where the offer lies there already; `nil` for one that another
    ///   offer has, for the first one stands.
    package func taking(_ offer: [UInt8]) -> DeviceMailbox? {
        switch letters {
        case .none: DeviceMailbox(until: until, .offer(offer))
        case .offer(let present), .answer(_, to: let present): present == offer ? self : nil
        case .receipt: nil
        }
    }
}

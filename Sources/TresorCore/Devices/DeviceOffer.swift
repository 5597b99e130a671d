// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The offer of a new machine: the key to which the identity may be wrapped, under a tag that only the code yields (SPEC
/// §8.6). 1266 bytes.
package struct DeviceOffer: Hashable, Sendable {
    /// The size in bytes: 1266.
    package static let byteCount = 10 + XWing.publicKeyByteCount + 8 + Hash256.byteCount
    /// The greatest difference of the clocks of the two machines and of a service, in seconds: that which a service
    /// tolerates in a session (SPEC §18.3).
    package static let clockWindow: UInt64 = 900

    /// The X-Wing key of the new machine, made for this offer.
    package let kemKey: XWing.PublicKey
    /// The last second in which the new machine waits for the answer, by its own clock.
    package let until: UInt64
    /// The whole offer with its tag.
    package let bytes: [UInt8]
    /// The number that both machines show, such as `40711 93018 22745 60193`: it is that of this offer alone.
    package let number: String

    /// Makes an offer.
    package init(of kemKey: XWing.PublicKey, until: UInt64, under key: borrowing DeviceKey) throws(TresorError) {
        var encoder = ByteEncoder()
        encoder.preamble(.deviceOffer)
        encoder.raw(kemKey.bytes)
        encoder.integer(until)
        let fields = encoder.bytes
        self.kemKey = kemKey
        self.until = until
        bytes = fields + (try key.tag(ofOffer: fields)).bytes
        number = try key.number(ofOffer: bytes)
    }

    /// Reads an offer. Its tag is compared before a field is read, in constant time.
    ///
    /// - Throws: ``TresorError/altered`` for another size; ``TresorError/unverified`` for another tag: somebody without
    ///   the code made or changed it; ``TresorError/altered`` or ``TresorError/unsupported`` for its fields.
    package init(_ bytes: [UInt8], under key: borrowing DeviceKey) throws(TresorError) {
        guard bytes.count == Self.byteCount else { throw .altered }
        let fields = Array(bytes.dropLast(Hash256.byteCount))
        guard let tag = Hash256(Array(bytes.suffix(Hash256.byteCount))) else { throw .altered }
        guard constantTimeEqual(try key.tag(ofOffer: fields), tag) else { throw .unverified }
        var decoder = ByteDecoder(fields)
        try decoder.preamble(.deviceOffer)
        kemKey = try XWing.PublicKey(try decoder.raw(XWing.publicKeyByteCount))
        until = try decoder.time()
        try decoder.end()
        self.bytes = bytes
        number = try key.number(ofOffer: bytes)
    }

    /// Whether its time is not over, and is no longer than a code is good. The clocks may differ by ``clockWindow``.
    package func isTimely(at now: UInt64) -> Bool {
        until + Self.clockWindow >= now && until <= now + DeviceCode.duration + Self.clockWindow
    }
}

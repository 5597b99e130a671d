// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The answer of a machine that has the identity: it is wrapped to the key of one offer, and tagged over that offer (SPEC
/// §8.6).
package struct DeviceAnswer: Sendable {
    /// The sizes in bytes of the preamble, the encapsulated key, the length of the ciphertext and the tag.
    private static let frameByteCount = 10 + XWing.encapsulatedByteCount + 4 + Hash256.byteCount
    /// The smallest answer in bytes: its ciphertext holds a padded bundle of 512.
    package static let minimumByteCount = frameByteCount + 512 + 16
    /// The greatest answer in bytes: a mailbox with it lies where an identity copy does.
    package static let maximumByteCount =
        IdentityFile.maximumByteCount - DeviceMailbox.frameByteCount - DeviceOffer.byteCount

    private let wrapped: XWing.Wrapped
    private let offer: DeviceOffer
    /// The whole answer with its tag.
    package let bytes: [UInt8]

    /// Wraps the identity and what goes with it for the machine of an offer.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` when the answer would be greater than
    ///   ``maximumByteCount``.
    package init(
        _ identity: Identity, _ belongings: DeviceBelongings, to offer: DeviceOffer, under key: borrowing DeviceKey
    ) throws(TresorError) {
        let count = try Self.byteCount(with: belongings)
        wrapped = try identity.wrapSeed(
            before: DeviceBundle.bytesBehindSeed(belongings), for: offer.kemKey, info: Self.info(offer))
        var encoder = ByteEncoder(capacity: count)
        encoder.preamble(.deviceAnswer)
        encoder.raw(wrapped.encapsulated)
        encoder.vector32(wrapped.ciphertext)
        let fields = encoder.bytes
        self.offer = offer
        bytes = fields + (try key.tag(ofAnswer: fields, to: offer)).bytes
    }

    /// The size in bytes of an answer with these belongings.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` above ``maximumByteCount``.
    package static func byteCount(with belongings: DeviceBelongings) throws(TresorError) -> Int {
        let count = frameByteCount + 16 + DeviceBundle.byteCount(belongings)
        guard count <= maximumByteCount else { throw .usage(.contentTooLong) }
        return count
    }

    /// Reads the answer to an offer. Its tag is compared before a field is read, in constant time.
    ///
    /// - Throws: ``TresorError/altered`` for a size that no answer has; ``TresorError/unverified`` for another tag:
    ///   somebody without the code made or changed it, or it answers another offer; ``TresorError/altered`` or
    ///   ``TresorError/unsupported`` for its fields.
    package init(_ bytes: [UInt8], to offer: DeviceOffer, under key: borrowing DeviceKey) throws(TresorError) {
        guard (Self.minimumByteCount...Self.maximumByteCount).contains(bytes.count) else { throw .altered }
        let fields = Array(bytes.dropLast(Hash256.byteCount))
        guard let tag = Hash256(Array(bytes.suffix(Hash256.byteCount))) else { throw .altered }
        guard constantTimeEqual(try key.tag(ofAnswer: fields, to: offer), tag) else { throw .unverified }
        var decoder = ByteDecoder(fields)
        try decoder.preamble(.deviceAnswer)
        let encapsulated = try decoder.raw(XWing.encapsulatedByteCount)
        wrapped = XWing.Wrapped(
            encapsulated: encapsulated, ciphertext: try decoder.vector32(0...Self.maximumByteCount))
        try decoder.end()
        self.offer = offer
        self.bytes = bytes
    }

    /// Opens the answer with the seed of the offer's key, and proves the identity in it.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package func open(with seed: borrowing SecretKey<KEMUse>) throws(TresorError) -> DeviceBundle {
        try DeviceBundle(try XWing.hpkeUnwrap(wrapped, seed: seed, info: Self.info(offer)))
    }

    private static func info(_ offer: DeviceOffer) -> [UInt8] { DomainLabel.deviceWrap.prefixed + offer.bytes }
}

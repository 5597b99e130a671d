// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The name and kind of a tresor, sealed under TK (SPEC §9.2): always 588 bytes, so that their lengths stay hidden.
package struct SealedName: Hashable, Sendable {
    static let plainByteCount = 2 * (2 + Name.maximumByteCount)
    package static let byteCount = TC1.sealedByteCount(plainByteCount)

    package let bytes: [UInt8]

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        bytes = try decoder.raw(Self.byteCount)
    }

    /// - Parameters:
    ///   - epoch: the epoch of TK.
    ///   - sequence: the entry of the name.
    package init(
        _ name: Name, kind: Name = .empty, under key: borrowing SecretKey<ContentUse>, tresor: TresorID, epoch: UInt64,
        sequence: UInt64
    ) throws(TresorError) {
        var encoder = ByteEncoder()
        for field in [name, kind] {
            encoder.vector16(field.bytes)
            encoder.raw(repeatElement(0, count: Name.maximumByteCount - field.bytes.count))
        }
        let context = Self.context(tresor: tresor, epoch: epoch, sequence: sequence)
        let plain = encoder.bytes
        bytes = try TC1.seal(plain.span, with: key, label: .nameSeal, context: context.span)
    }

    /// - Throws: ``TresorError/altered`` if it does not open or its padding is not zero.
    package func open(
        with key: borrowing SecretKey<ContentUse>, tresor: TresorID, epoch: UInt64, sequence: UInt64
    ) throws(TresorError) -> (name: Name, kind: Name) {
        let context = Self.context(tresor: tresor, epoch: epoch, sequence: sequence)
        var decoder = ByteDecoder(
            try TC1.open(bytes.span, with: key, label: .nameSeal, context: context.span))
        let name = try Self.field(from: &decoder)
        let kind = try Self.field(from: &decoder)
        try decoder.end()
        guard !name.isEmpty else { throw .altered }
        return (name, kind)
    }

    private static func field(from decoder: inout ByteDecoder) throws(TresorError) -> Name {
        let name = try Name(try decoder.vector16(0...Name.maximumByteCount))
        guard try decoder.raw(Name.maximumByteCount - name.bytes.count).allSatisfy({ $0 == 0 }) else {
            throw .altered
        }
        return name
    }

    private static func context(tresor: TresorID, epoch: UInt64, sequence: UInt64) -> [UInt8] {
        tresor.digest.bytes + bigEndianBytes(epoch) + bigEndianBytes(sequence)
    }
}

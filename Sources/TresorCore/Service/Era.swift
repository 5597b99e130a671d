// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The time of an account between two ends of all its sessions (SPEC §18.2): 16 bytes.
///
/// A session names the era in which it is good. The end of all sessions begins the next one: the first 8 bytes count, and
/// the others are random. So nobody can have signed a session for it before, whatever its dates.
package struct Era: Hashable, Sendable {
    /// The size in bytes: 16.
    package static let byteCount = 16
    /// The era of a new account: all zero.
    package static let first = Era(bytes: [UInt8](repeating: 0, count: byteCount))

    package let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Takes bytes; `nil` for another number of them.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Draws the era after this one. Its bytes are greater.
    ///
    /// - Throws: ``TresorError/store(_:)`` with *damaged* after the last era, which no service reaches by counting.
    package func next() throws(TresorError) -> Era {
        var decoder = ByteDecoder(bytes)
        let number = try decoder.integer(UInt64.self)
        guard number < .max else { throw .store(.damaged) }
        var encoder = ByteEncoder()
        encoder.integer(number + 1)
        encoder.raw(try randomBytes(Self.byteCount - 8))
        return Era(bytes: encoder.bytes)
    }

    /// Reads an era.
    ///
    /// - Throws: ``TresorError/altered``.
    package init(from decoder: inout ByteDecoder) throws(TresorError) { bytes = try decoder.raw(Self.byteCount) }
}

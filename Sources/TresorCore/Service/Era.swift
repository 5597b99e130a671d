// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The time of an account between two ends of all its sessions (SPEC §18.2): 16 bytes.
///
/// A session names the era in which it is good. The end of all sessions begins another one, with random bytes: nobody can
/// have signed a session for it before, whatever its dates.
package struct Era: Hashable, Sendable {
    /// The size in bytes: 16.
    package static let byteCount = 16
    /// The era of a new account.
    package static let first = Era(bytes: [UInt8](repeating: 0, count: byteCount))

    package let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Takes bytes; `nil` for another number of them.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Draws an era.
    package static func draw() throws(TresorError) -> Era { Era(bytes: try randomBytes(byteCount)) }

    /// Reads an era.
    ///
    /// - Throws: ``TresorError/altered``.
    package init(from decoder: inout ByteDecoder) throws(TresorError) { bytes = try decoder.raw(Self.byteCount) }
}

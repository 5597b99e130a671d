// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Identifiers that say nothing and sort as they read.
enum Sample {
    static func hash(_ first: UInt8, _ rest: UInt8 = 0) -> Hash256 {
        Hash256([first] + [UInt8](repeating: rest, count: Hash256.byteCount - 1)) ?? .zero
    }

    static func user(_ first: UInt8, _ rest: UInt8 = 0) -> UserID { UserID(hash(first, rest)) }

    static func tresor(_ first: UInt8) -> TresorID { TresorID(hash(first)) }

    static func device(_ byte: UInt8) throws -> DeviceID {
        guard let device = DeviceID([UInt8](repeating: byte, count: 16)) else { throw TresorError.failed(.other) }
        return device
    }

    static func wrap(_ user: UInt8, epoch: UInt64, _ bytes: [UInt8]) -> StoredWrap {
        StoredWrap(user: self.user(user), epoch: epoch, bytes: bytes)
    }

    /// A change of the log of ``tresor(_:)`` 1.
    static func change(
        _ sequence: UInt64, after previous: [UInt8]?, _ entry: [UInt8], putting: [StoredWrap] = [],
        removing: [UserID] = [], blobs: [StoredBlob] = []
    ) throws -> LogChange {
        try LogChange(
            tresor: tresor(1), sequence: sequence, after: previous, entry: entry, putting: putting,
            removingWrapsOf: removing, blobs: blobs)
    }

    /// Bytes like those of a secret: no eight of them, counted from a multiple of eight, occur in a sample of another
    /// number.
    static func secret(_ number: UInt32, byteCount: Int) -> [UInt8] {
        (0..<byteCount).map { index in
            let word = mixed(UInt64(number) << 32 | UInt64(index / 8))
            return UInt8(truncatingIfNeeded: word >> UInt64(index % 8 * 8))
        }
    }

    /// The finalizer of SplitMix64, which maps each number to another one.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var word = number &+ 0x9e37_79b9_7f4a_7c15
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }
}

extension LogChange {
    /// Makes a change behind the last entry of a log; behind none with `nil`.
    package init(
        tresor: TresorID, sequence: UInt64, after last: [UInt8]?, entry: [UInt8], putting: [StoredWrap] = [],
        removingWrapsOf: [UserID] = [], blobs: [StoredBlob] = []
    ) throws(TresorError) {
        var previous = Hash256.zero
        if let last { previous = try BLAKE2b.hash(.entryHash, last) }
        self.init(
            tresor: tresor, sequence: sequence, previous: previous, entry: entry, putting: putting,
            removingWrapsOf: removingWrapsOf, blobs: blobs)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
import TresorCore

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
        removing: [UserID] = []
    ) -> LogChange {
        LogChange(
            tresor: tresor(1), sequence: sequence, previous: previous, entry: entry, putting: putting,
            removingWrapsOf: removing)
    }

    /// Bytes that occur nowhere else.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

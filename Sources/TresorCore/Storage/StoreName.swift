// SPDX-License-Identifier: Apache-2.0

/// The name of a store, as the person of a home gave it (SPEC §8.5): the absolute path of its file, or its address; 1 to
/// 4096 bytes.
///
/// A store never names itself: one that lies would take the name of another.
package struct StoreName: Hashable, Comparable, Sendable {
    package static let maximumByteCount = 4096

    package let bytes: [UInt8]

    /// Takes a name; `nil` for one that is empty or too long.
    package init?(_ bytes: [UInt8]) {
        guard (1...Self.maximumByteCount).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    package static func < (one: StoreName, other: StoreName) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}

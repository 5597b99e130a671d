// SPDX-License-Identifier: Apache-2.0

/// Who somebody is: `H("tresor/v1/user-id", generation-0 card)`. It proves itself (SPEC §7.2).
public struct UserID: Hashable, Comparable, Sendable {
    /// The 32 bytes.
    public let digest: Hash256

    /// Takes the 32 bytes as an identifier.
    public init(_ digest: Hash256) { self.digest = digest }

    /// Byte order.
    public static func < (left: UserID, right: UserID) -> Bool { left.digest < right.digest }
}

/// Which tresor: `H("tresor/v1/tresor-id", root)`. It proves itself (SPEC §9.1).
public struct TresorID: Hashable, Comparable, Sendable {
    /// The 32 bytes.
    public let digest: Hash256

    /// Takes the 32 bytes as an identifier.
    public init(_ digest: Hash256) { self.digest = digest }

    /// Byte order.
    public static func < (left: TresorID, right: TresorID) -> Bool { left.digest < right.digest }
}

/// Which remembered device: 16 random bytes (SPEC §8.3).
public struct DeviceID: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 16 bytes; `nil` for any other count.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// A user id: `H("tresor/v1/user-id", generation-0 card)`, verifiable from the card (SPEC §7.2).
public struct UserID: Hashable, Comparable, Sendable {
    /// The 32 bytes.
    public let digest: Hash256

    /// Takes the 32 bytes as an identifier.
    public init(_ digest: Hash256) { self.digest = digest }

    /// Byte order.
    public static func < (left: UserID, right: UserID) -> Bool { left.digest < right.digest }
}

/// A tresor id: `H("tresor/v1/tresor-id", root)`, verifiable from the root (SPEC §9.1).
public struct TresorID: Hashable, Comparable, Sendable {
    /// The 32 bytes.
    public let digest: Hash256

    /// Takes the 32 bytes as an identifier.
    public init(_ digest: Hash256) { self.digest = digest }

    /// Byte order.
    public static func < (left: TresorID, right: TresorID) -> Bool { left.digest < right.digest }
}

/// A device id: 16 random bytes that name a trusted device (SPEC §8.3).
public struct DeviceID: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 16 bytes; `nil` for any other count.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A device that opens its owner's identity without the password (SPEC §8.3).
public struct TrustedDevice: Hashable, Identifiable, Sendable {
    /// The device id.
    public let id: DeviceID
    /// The name given by its owner; may be empty.
    public let name: Name
    /// The time when it was added, in seconds since 1970, or that of a later entry of its owner which was there before.
    package let since: UInt64
    /// The last second, since 1970, in which it opens.
    package let until: UInt64

    package init(id: DeviceID, name: Name, since: UInt64, until: UInt64) {
        self.id = id
        self.name = name
        self.since = since
        self.until = until
    }
}

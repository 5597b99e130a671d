// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// The cleanup journal: what a change of the key slots must still delete or finish (SPEC §8.4).
///
/// It is written to the home before the change begins. If the change is killed, the journal stays and the next change
/// finishes it.
///
/// A record alone deletes nothing: an object that the home uses when the journal is read was put into use after all,
/// and stays.
package struct CleanupJournal: Hashable, Sendable {
    /// A server share that the store may hold for a device.
    struct Device: Hashable, Sendable {
        let user: UserID
        let id: DeviceID
    }

    /// A sealed kit copy that the store may hold.
    struct Kit: Hashable, Sendable {
        let user: UserID
        let locator: Hash256
    }

    /// The copies that old kits open, or whose kits were never put into use.
    var kits: Set<Kit> = []
    /// The server shares in the store.
    var devices: Set<Device> = []
    /// The slots of the identity file that nothing opens any more.
    var slots: Set<DeviceID> = []
    /// The generations still to be published to the store and, from the second on, to the tresors. One that the
    /// identity file lacks was never made.
    var generations: Set<UInt32> = []

    private static let maximumCount = 4096

    init() {}

    var isEmpty: Bool { kits.isEmpty && devices.isEmpty && slots.isEmpty && generations.isEmpty }

    mutating func formUnion(_ other: CleanupJournal) {
        kits.formUnion(other.kits)
        devices.formUnion(other.devices)
        slots.formUnion(other.slots)
        generations.formUnion(other.generations)
    }

    mutating func subtract(_ other: CleanupJournal) {
        kits.subtract(other.kits)
        devices.subtract(other.devices)
        slots.subtract(other.slots)
        generations.subtract(other.generations)
    }

    /// Decodes the journal.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.cleanupJournal)
        for _ in 0..<(try Self.count(&decoder)) {
            let user = UserID(try decoder.digest())
            kits.insert(Kit(user: user, locator: try decoder.digest()))
        }
        for _ in 0..<(try Self.count(&decoder)) {
            let user = UserID(try decoder.digest())
            devices.insert(Device(user: user, id: try Self.deviceID(&decoder)))
        }
        for _ in 0..<(try Self.count(&decoder)) { slots.insert(try Self.deviceID(&decoder)) }
        for _ in 0..<(try Self.count(&decoder)) { generations.insert(try decoder.integer(UInt32.self)) }
        try decoder.end()
        guard self.bytes == bytes else { throw .altered }
    }

    private static func count(_ decoder: inout ByteDecoder) throws(TresorError) -> Int {
        let count = Int(try decoder.integer(UInt16.self))
        guard count <= maximumCount else { throw .altered }
        return count
    }

    private static func deviceID(_ decoder: inout ByteDecoder) throws(TresorError) -> DeviceID {
        guard let id = DeviceID(try decoder.raw(16)) else { throw .altered }
        return id
    }

    /// The encoded journal, each kind of record by rising bytes.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.cleanupJournal)
        Self.encode(kits.map { $0.user.digest.bytes + $0.locator.bytes }, into: &encoder)
        Self.encode(devices.map { $0.user.digest.bytes + $0.id.bytes }, into: &encoder)
        Self.encode(slots.map(\.bytes), into: &encoder)
        Self.encode(generations.map(bigEndianBytes), into: &encoder)
        return encoder.bytes
    }

    private static func encode(_ items: [[UInt8]], into encoder: inout ByteEncoder) {
        let sorted = items.sorted { $0.lexicographicallyPrecedes($1) }.prefix(maximumCount)
        encoder.integer(UInt16(truncatingIfNeeded: sorted.count))
        for item in sorted { encoder.raw(item) }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The identity file (SPEC §8): the card chain in clear, the seed sealed once for each key slot, the seeds of earlier
/// generations, and a tag over all of it that is valid for every slot.
package struct IdentityFile: Sendable {
    /// The maximum size in bytes: 1 MiB.
    package static let maximumByteCount = 1 << 20
    /// The maximum number of slots: 256.
    package static let maximumSlotCount = 256

    /// The card chain.
    package let chain: CardChain
    /// The key slots.
    package let slots: [Slot]
    /// The sealed seeds of earlier generations, newest first.
    package let previous: [[UInt8]]
    private let tag: Hash256

    /// Reads an identity file. Its slots are proved only when one opens.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.identity)
        chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
        var previous: [[UInt8]] = []
        for _ in 0..<chain.newest.generation { previous.append(try decoder.raw(Slot.sealedByteCount)) }
        self.previous = previous
        let count = Int(try decoder.integer(UInt16.self))
        guard (1...Self.maximumSlotCount).contains(count) else { throw .altered }
        var slots: [Slot] = []
        for _ in 0..<count { slots.append(try Slot(from: &decoder)) }
        self.slots = slots
        tag = try decoder.digest()
        try decoder.end()
        try Self.check(slots)
    }

    /// Checks that ids differ, with at most one password and one kit. The slot of a log-in is the only one of its file.
    private static func check(_ slots: [Slot]) throws(TresorError) {
        var passwords = 0
        var kits = 0
        for slot in slots {
            switch slot.kind {
            case .password: passwords += 1
            case .kit: kits += 1
            case .device: break
            case .login: guard slots.count == 1 else { throw .altered }
            }
        }
        guard Set(slots.map(\.id)).count == slots.count, passwords <= 1, kits <= 1
        else { throw .altered }
    }

    /// The bytes of the file.
    package var bytes: [UInt8] {
        Self.encode(chain: chain, previous: previous, slots: slots) + tag.bytes
    }

    private static func encode(chain: CardChain, previous: [[UInt8]], slots: [Slot]) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.identity)
        encoder.vector32(chain.bytes)
        for sealed in previous { encoder.raw(sealed) }
        encoder.integer(UInt16(truncatingIfNeeded: slots.count))
        for slot in slots { slot.encode(into: &encoder) }
        return encoder.bytes
    }

    private static func tag(_ key: borrowing SecretKey<TagUse>, over bytes: [UInt8]) throws(TresorError) -> Hash256 {
        try key.deriveDigest(.identityTag, context: bytes.span)
    }

    /// Makes a new identity with one key slot, the password. Blocks for about a second.
    ///
    /// - Parameters:
    ///   - handle: the handle; not empty.
    ///   - password: the password of the key slot.
    ///   - cost: the cost of the key slot.
    ///   - time: the current time in seconds since 1970.
    /// - Throws: ``TresorError/usage(_:)`` for an empty handle, or a password of fewer than 8 code points;
    ///   ``TresorError/failed(_:)`` when memory is not available.
    package static func make(
        handle: Name, password: borrowing Password, cost: Argon2id.Cost = .standard, time: UInt64
    ) throws(TresorError) -> (file: IdentityFile, identity: Identity) {
        guard !handle.isEmpty else { throw .usage(.nameEmpty) }
        let identity = try Identity.make(handle: handle, time: time)
        let slot = try Slot.setPassword(of: identity, password: password, cost: cost, time: time)
        return (try IdentityFile(of: identity, previous: [], slots: [slot]), identity)
    }

    /// Makes a file with these key slots, tagged under the newest seed of the identity.
    ///
    /// - Throws: ``TresorError/usage(_:)`` for a combination that no file may have.
    package init(of identity: Identity, previous: [[UInt8]], slots: [Slot]) throws(TresorError) {
        guard (1...Self.maximumSlotCount).contains(slots.count) else { throw .usage(.tooManySlots) }
        try Self.check(slots)
        chain = identity.chain
        self.previous = previous
        self.slots = slots
        tag = try Self.tag(
            try identity.tagKey(), over: Self.encode(chain: identity.chain, previous: previous, slots: slots))
    }

    /// Opens the file with a slot key and verifies all of it.
    package func openSlot(_ slot: Slot, with key: borrowing SecretKey<SlotUse>) throws(TresorError) -> Identity {
        try open(with: try slot.open(with: key, user: chain.user, generation: chain.newest.generation))
    }

    /// Verifies all of the file with the seed from a slot.
    func open(with seed: consuming SecretKey<SeedUse>) throws(TresorError) -> Identity {
        let identity = try Identity(chain: chain, seed: seed, previous: previous)
        try prove(with: identity)
        return identity
    }

    /// Verifies the tag of the file: before it is opened, and again before it is rewritten.
    ///
    /// - Throws: ``TresorError/altered``.
    package func prove(with identity: Identity) throws(TresorError) {
        let expected = try Self.tag(
            try identity.tagKey(), over: Self.encode(chain: chain, previous: previous, slots: slots))
        guard constantTimeEqual(expected, tag) else { throw .altered }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The use of an identity seed.
package enum SeedUse: KeyUse {}
/// The use of the key that opens a slot.
package enum SlotUse: SealingUse {}
/// The use of the key that seals the seed of the previous generation.
package enum PreviousUse: SealingUse {}
/// The use of the key that seals objects of the home for this identity alone.
package enum HomeUse: SealingUse {}
/// The use of the key that a log-in by password yields.
package enum LoginUse: KeyUse {}
/// The use of the key of the tag of the identity file.
package enum TagUse: KeyUse {}
/// The use of the key of the tags of snapshots.
package enum StateUse: KeyUse {}

/// A key slot: the identity seed, sealed under a key that only one unlock method yields (SPEC §8).
package struct Slot: Hashable, Sendable {
    /// The unlock method of a slot.
    @nonexhaustive
    package enum Kind: Hashable, Sendable {
        /// A password, with Argon2id and a 16-byte salt (SPEC §8.1).
        case password(cost: Argon2id.Cost, salt: [UInt8])
        /// The recovery kit; the locator names the sealed copy in the store (SPEC §8.2).
        case kit(locator: Hash256)
        /// A trusted device, until a time in seconds since 1970 (SPEC §8.3).
        case device(name: Name, until: UInt64)
        /// A log-in by password at a service, by the statement of a revision (SPEC §20.5).
        case login(server: Hash256, revision: UInt64)

        fileprivate var code: UInt8 {
            switch self {
            case .password: 1
            case .kit: 2
            case .device: 3
            case .login: 4
            }
        }
    }

    /// The size in bytes of a sealed seed: 104.
    static let sealedByteCount = TC1.sealedByteCount(32)

    /// The id of the slot; for a device slot the device id.
    package let id: DeviceID
    /// The unlock method with its parameters.
    package let kind: Kind
    /// The time of its making, in seconds since 1970.
    package let since: UInt64
    /// The sealed seed.
    package let sealed: [UInt8]

    /// The encoded slot without the sealed seed.
    private static func fields(id: DeviceID, kind: Kind, since: UInt64) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.integer(kind.code)
        encoder.raw(id.bytes)
        encoder.integer(since)
        switch kind {
        case .password(let cost, let salt):
            encoder.integer(cost.memoryKiB)
            encoder.integer(cost.passes)
            encoder.raw(salt)
        case .kit(let locator): encoder.digest(locator)
        case .device(let name, let until):
            encoder.vector16(name.bytes)
            encoder.integer(until)
        case .login(let server, let revision):
            encoder.digest(server)
            encoder.integer(revision)
        }
        return encoder.bytes
    }

    private static func context(user: UserID, generation: UInt32, fields: [UInt8]) -> [UInt8] {
        user.digest.bytes + bigEndianBytes(generation) + fields
    }

    /// Seals a seed for one unlock method.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `time` for times that no file can hold.
    package static func seal(
        _ seed: borrowing SecretKey<SeedUse>, under key: borrowing SecretKey<SlotUse>, id: DeviceID, kind: Kind,
        since: UInt64, user: UserID, generation: UInt32
    ) throws(TresorError) -> Slot {
        if case .device(_, let until) = kind { guard until <= Format.latestTime else { throw .usage(.time) } }
        guard since <= Format.latestTime else { throw .usage(.time) }
        let context = context(
            user: user, generation: generation, fields: fields(id: id, kind: kind, since: since))
        let sealed = try TC1.seal(seed.span, with: key, label: .slotSeal, context: context.span)
        return Slot(id: id, kind: kind, since: since, sealed: sealed)
    }

    /// Opens the slot.
    ///
    /// - Throws: ``TresorError/altered`` if the key does not open it; the caller interprets that.
    func open(
        with key: borrowing SecretKey<SlotUse>, user: UserID, generation: UInt32
    ) throws(TresorError) -> SecretKey<SeedUse> {
        let context = Self.context(
            user: user, generation: generation, fields: Self.fields(id: id, kind: kind, since: since))
        return try SecretKey(TC1.openSecret(sealed.span, with: key, label: .slotSeal, context: context.span))
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.raw(Self.fields(id: id, kind: kind, since: since))
        encoder.raw(sealed)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        let code = try decoder.integer(UInt8.self)
        guard let id = DeviceID(try decoder.raw(16)) else { throw .altered }
        self.id = id
        since = try decoder.time()
        switch code {
        case 1:
            let memory = try decoder.integer(UInt32.self)
            let cost = try Argon2id.Cost(memoryKiB: memory, passes: try decoder.integer(UInt32.self))
            kind = .password(cost: cost, salt: try decoder.raw(Argon2id.saltByteCount))
        case 2: kind = .kit(locator: try decoder.digest())
        case 3:
            let name = try Name(try decoder.vector16(0...Name.maximumByteCount))
            kind = .device(name: name, until: try decoder.time())
        case 4:
            let server = try decoder.digest()
            let revision = try decoder.integer(UInt64.self)
            guard revision > 0 else { throw .altered }
            kind = .login(server: server, revision: revision)
        default: throw .unsupported
        }
        sealed = try decoder.raw(Self.sealedByteCount)
    }

    private init(id: DeviceID, kind: Kind, since: UInt64, sealed: [UInt8]) {
        self.id = id
        self.kind = kind
        self.since = since
        self.sealed = sealed
    }
}

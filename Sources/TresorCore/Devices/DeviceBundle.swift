// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The public part of what one machine gives to another: the identity file with one slot, and what the home knows (SPEC
/// §8.6).
package struct DeviceBelongings: Sendable {
    /// The identity file, with its kit's slot alone, or with its password's where it has no kit.
    package let file: IdentityFile
    /// The name of the store that the giving home uses; `nil` where nobody named it.
    package let store: StoreName?
    /// The objects of the home that go with the identity, in the order of ``DeviceBelongings/kinds``; empty for one that
    /// the home does not have.
    package let objects: [[UInt8]]

    /// The objects that go with an identity: pins, heads, noted stores, known services, marks, known log-ins.
    package static let kinds: [HomeObject] = [.pins, .heads, .notedStores, .knownServices, .marks, .knownLogins]

    package init(file: IdentityFile, store: StoreName?, objects: [[UInt8]]) {
        self.file = file
        self.store = store
        self.objects = objects
    }
}

/// The plaintext of an answer: the seed of an identity, proved by its file, and what the home knows (SPEC §8.6).
package struct DeviceBundle: Sendable {
    private static let seedByteCount = SecretKey<SeedUse>.byteCount

    /// The identity, opened with the seed.
    package let identity: Identity
    package let belongings: DeviceBelongings

    /// Reads an opened answer, and opens the identity file in it with the seed.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(_ plaintext: consuming SecretBytes) throws(TresorError) {
        let count = plaintext.count
        guard count >= Self.seedByteCount else { throw .altered }
        let span = plaintext.span
        let seed = try SecretKey<SeedUse>(SecretBytes(copying: span.extracting(first: Self.seedByteCount)))
        var decoder = ByteDecoder(span.extracting(droppingFirst: Self.seedByteCount).publicBytes)
        try decoder.preamble(.deviceBundle)
        let file = try IdentityFile(try decoder.vector32(1...IdentityFile.maximumByteCount))
        guard file.isForAnotherDevice else { throw .altered }
        let store = StoreName(try decoder.vector16(0...StoreName.maximumByteCount))
        var objects: [[UInt8]] = []
        for _ in DeviceBelongings.kinds { objects.append(try decoder.vector32(0...DeviceAnswer.maximumByteCount)) }
        let end = Self.seedByteCount + decoder.offset
        guard count == Padding.paddedByteCount(end) else { throw .altered }
        guard try decoder.raw(decoder.remaining).allSatisfy({ $0 == 0 }) else { throw .altered }
        identity = try file.open(with: seed)
        belongings = DeviceBelongings(file: file, store: store, objects: objects)
    }

    /// The size of the plaintext in bytes, padded.
    static func byteCount(_ belongings: DeviceBelongings) -> Int {
        Padding.paddedByteCount(seedByteCount + fields(belongings).count)
    }

    /// The plaintext without the seed, padded. Nothing of it is secret to the holder of the identity's home.
    static func bytesBehindSeed(_ belongings: DeviceBelongings) -> [UInt8] {
        let fields = fields(belongings)
        return fields + [UInt8](repeating: 0, count: byteCount(belongings) - seedByteCount - fields.count)
    }

    private static func fields(_ belongings: DeviceBelongings) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.deviceBundle)
        encoder.vector32(belongings.file.bytes)
        encoder.vector16(belongings.store?.bytes ?? [])
        for object in belongings.objects { encoder.vector32(object) }
        return encoder.bytes
    }
}

extension IdentityFile {
    /// Whether it has the form that another machine gets: one slot, of a kit or of a password.
    fileprivate var isForAnotherDevice: Bool {
        guard slots.count == 1, let slot = slots.first else { return false }
        switch slot.kind {
        case .kit, .password: return true
        case .device, .login: return false
        }
    }

    /// Makes the file that another machine gets: with the slot of the kit alone, so that the machine can replace the kit;
    /// with that of the password where there is no kit.
    ///
    /// - Throws: ``TresorError/wrongPassword`` for a file that has neither.
    package func forAnotherDevice(_ identity: Identity) throws(TresorError) -> IdentityFile {
        var chosen: Slot?
        for slot in slots {
            switch slot.kind {
            case .kit: chosen = slot
            case .password: chosen = chosen ?? slot
            case .device, .login: break
            }
        }
        guard let chosen else { throw .wrongPassword }
        return try copy(for: chosen, identity: identity)
    }
}

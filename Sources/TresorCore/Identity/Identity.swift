// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An unlocked identity: the seeds of all generations in guarded memory (SPEC §7). Anyone who holds it can sign and
/// open as its owner. Lock or release it after use; the seeds are then wiped.
package final class Identity: Sendable {
    /// The card chain, newest generation last.
    package let chain: CardChain
    private let keys: Lockable<Keys>
    /// The changes that go on to their end although the keys may be wiped by then. They sign nothing with these, but call
    /// a service in its session, which lives as long as they do.
    package let changes = ChangesUnderWay()

    /// The user id.
    package var user: UserID { chain.user }
    /// The handle, equal in all generations.
    package var handle: Name { chain.handle }
    /// The newest generation.
    package var generation: UInt32 { chain.newest.generation }

    private final class Generation: Sendable {
        package let seed: SecretKey<SeedUse>

        package init(_ seed: consuming SecretKey<SeedUse>) { self.seed = seed }
    }

    /// The seeds, newest first, and the signing key of the newest.
    private final class Keys: Sendable {
        let generations: [Generation]
        let signing: SigningKey

        init(_ generations: [Generation], signing: consuming SigningKey) {
            self.generations = generations
            self.signing = signing
        }
    }

    /// Whether the keys were wiped.
    package var isLocked: Bool { keys.isLocked }

    /// Wipes the keys, as soon as the step that uses them has ended. Whatever needs a key afterwards throws
    /// ``TresorError/usage(_:)`` with `locked`.
    package func lock() { keys.lock() }

    /// Ends a step of long work once the keys are wiped.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `locked`.
    package func checkUnlocked() throws(TresorError) {
        guard !isLocked else { throw .usage(.locked) }
    }

    /// Takes over the newest seed and opens the earlier ones.
    ///
    /// - Parameter previous: the sealed seeds, the newest of them first.
    /// - Throws: ``TresorError/altered`` if the card does not belong to this seed, or a sealed seed does not open.
    package init(
        chain: CardChain, seed: consuming SecretKey<SeedUse>, previous: [[UInt8]]
    ) throws(TresorError) {
        let signing = try Self.signingKey(seed)
        guard try Self.matches(seed, chain.newest), previous.count == Int(chain.newest.generation)
        else { throw .altered }
        var generations = [Generation(seed)]
        for (index, sealed) in previous.enumerated() {
            let generation = chain.newest.generation - UInt32(index)
            let older = try Self.openPrevious(
                sealed, under: generations[index].seed, user: chain.user, generation: generation)
            guard let card = chain.card(generation: generation - 1), try Self.matches(older, card) else {
                throw .altered
            }
            generations.append(Generation(older))
        }
        self.chain = chain
        keys = Lockable(Keys(generations, signing: signing))
    }

    /// Whether both public keys of a card belong to a seed.
    private static func matches(_ seed: borrowing SecretKey<SeedUse>, _ card: Card) throws(TresorError) -> Bool {
        let isSigner = try signingKey(seed).publicKey == card.signingKey
        let isReader = try XWing.publicKey(seed: try kemSeed(seed)) == card.kemKey
        return isSigner && isReader
    }

    /// Signs `LP(label) ‖ bytes` with the newest generation.
    package func sign(_ label: DomainLabel, _ bytes: [UInt8]) throws(TresorError) -> [UInt8] {
        try keys.unlocked().signing.sign(label.message(bytes))
    }

    /// Signs with one generation. An earlier one signs the entry that replaces it.
    package func sign(_ label: DomainLabel, _ bytes: [UInt8], generation: UInt32) throws(TresorError) -> [UInt8] {
        guard generation < self.generation else {
            guard generation == self.generation else { throw .noAccess }
            return try sign(label, bytes)
        }
        let key = try Self.signingKey(keys.unlocked().generations[Int(self.generation - generation)].seed)
        return try key.sign(label.message(bytes))
    }

    /// Opens a wrap made for the card of `generation`.
    ///
    /// - Throws: ``TresorError/altered`` if it does not open, ``TresorError/noAccess`` for a generation that this
    ///   identity lacks.
    func unwrap(_ wrapped: XWing.Wrapped, generation: UInt32, info: [UInt8]) throws(TresorError) -> SecretBytes {
        guard generation <= self.generation else { throw .noAccess }
        let index = Int(self.generation - generation)
        let seed = try Self.kemSeed(keys.unlocked().generations[index].seed)
        return try XWing.hpkeUnwrap(wrapped, seed: seed, info: info)
    }

    /// Wraps the newest seed, and public bytes behind it, for another machine of this person (SPEC §8.6).
    func wrapSeed(
        before rest: [UInt8], for key: XWing.PublicKey, info: [UInt8]
    ) throws(TresorError) -> XWing.Wrapped {
        let generation = try newest()
        let count = SecretKey<SeedUse>.byteCount
        let plaintext = try SecretBytes(count: count + rest.count) { (output) throws(TresorError) in
            generation.seed.copy(into: &output, at: 0)
            for index in rest.indices { output[count + index] = rest[index] }
        }
        return try XWing.hpkeWrap(plaintext, for: key, info: info)
    }

    /// Derives the key of the tag of the identity file.
    func tagKey() throws(TresorError) -> SecretKey<TagUse> {
        let context: [UInt8] = []
        return try newest().seed.derive(.identityFile, context: context.span)
    }

    /// Derives the key of the tags of snapshots.
    package func stateKey() throws(TresorError) -> SecretKey<StateUse> {
        let context: [UInt8] = []
        return try newest().seed.derive(.homeCache, context: context.span)
    }

    /// Seals bytes that the home keeps for this identity alone, under the home key of the newest generation.
    ///
    /// - Parameter place: tells the object from others of the same kind and tresor.
    package func sealForHome(
        _ plain: [UInt8], _ label: DomainLabel, of tresor: TresorID? = nil, at place: [UInt8] = []
    ) throws(TresorError) -> [UInt8] {
        let context = (tresor?.digest.bytes ?? user.digest.bytes) + place
        return try TC1.seal(plain.span, with: try Self.homeKey(newest()), label: label, context: context.span)
    }

    /// Opens sealed bytes of the home. A renewal seals nothing again: bytes sealed by an earlier generation open until
    /// their next write.
    ///
    /// - Parameter isNew: whether only the newest generation counts. The thief of a former seed can seal under that.
    /// - Throws: ``TresorError/altered`` if no generation of this identity sealed the bytes.
    package func openFromHome(
        _ sealed: [UInt8], _ label: DomainLabel, of tresor: TresorID? = nil, at place: [UInt8] = [],
        byNewestAlone isNew: Bool = false
    ) throws(TresorError) -> [UInt8] {
        let context = (tresor?.digest.bytes ?? user.digest.bytes) + place
        for generation in try keys.unlocked().generations.prefix(isNew ? 1 : .max) {
            let key = try Self.homeKey(generation)
            do throws(TresorError) {
                return try TC1.open(sealed.span, with: key, label: label, context: context.span)
            } catch { guard error == .altered else { throw error } }
        }
        throw .altered
    }

    private static func homeKey(_ generation: Generation) throws(TresorError) -> SecretKey<HomeUse> {
        let context: [UInt8] = []
        return try generation.seed.derive(.homeKey, context: context.span)
    }

    /// Seals the newest seed for a key slot.
    package func seal(
        under key: borrowing SecretKey<SlotUse>, id: DeviceID, kind: Slot.Kind, since: UInt64
    ) throws(TresorError) -> Slot {
        try Slot.seal(
            newest().seed, under: key, id: id, kind: kind, since: since, user: user, generation: generation)
    }

    /// Makes a new identity, generation 0.
    package static func make(handle: Name, time: UInt64) throws(TresorError) -> Identity {
        let seed = try SecretKey<SeedUse>()
        return try make(handle: handle, time: time, seed: seed)
    }

    /// Makes an identity from a given seed. For the vector generator.
    package static func make(
        handle: Name, time: UInt64, seed: consuming SecretKey<SeedUse>
    ) throws(TresorError) -> Identity {
        let card = try Card.make(
            handle: handle, chain: nil, kemKey: try XWing.publicKey(seed: try kemSeed(seed)), time: time,
            signing: try signingKey(seed)
        ) { _ in [] }
        return try Identity(chain: try CardChain(first: card), seed: seed, previous: [])
    }

    /// Makes the next generation, its card signed by this one, and this seed sealed under the next (SPEC §7.3).
    package func renewCard(time: UInt64) throws(TresorError) -> (identity: Identity, previous: [UInt8]) {
        let seed = try SecretKey<SeedUse>()
        return try renewCard(time: time, seed: seed)
    }

    /// Makes an identity from a given seed. For the vector generator.
    package func renewCard(
        time: UInt64, seed: consuming SecretKey<SeedUse>
    ) throws(TresorError) -> (identity: Identity, previous: [UInt8]) {
        let card = try Card.make(
            handle: handle, chain: chain, kemKey: try XWing.publicKey(seed: try Self.kemSeed(seed)), time: time,
            signing: try Self.signingKey(seed)
        ) { (message) throws(TresorError) in try keys.unlocked().signing.sign(message) }
        let empty: [UInt8] = []
        let key: SecretKey<PreviousUse> = try seed.derive(.identityPrevious, context: empty.span)
        let context = Self.previousContext(user: user, generation: card.generation)
        let sealed = try newest().seed.sealed(with: key, label: .previousSeal, context: context)
        let next = try Identity(newest: seed, chain: try chain.appending(card), earlier: keys.unlocked().generations)
        return (next, sealed)
    }

    private init(
        newest seed: consuming SecretKey<SeedUse>, chain: CardChain, earlier: [Generation]
    ) throws(TresorError) {
        let signing = try Self.signingKey(seed)
        keys = Lockable(Keys([Generation(seed)] + earlier, signing: signing))
        self.chain = chain
    }

    private func newest() throws(TresorError) -> Generation { try keys.unlocked().generations[0] }

    private static func signingKey(_ seed: borrowing SecretKey<SeedUse>) throws(TresorError) -> SigningKey {
        let context: [UInt8] = []
        return try SigningKey(seed: try seed.derive(.identitySign, context: context.span))
    }

    private static func kemSeed(_ seed: borrowing SecretKey<SeedUse>) throws(TresorError) -> SecretKey<KEMUse> {
        let context: [UInt8] = []
        return try seed.derive(.identityKEM, context: context.span)
    }

    /// `user id ‖ u32 g ‖ u32 (g−1)`: the context that binds the seed of generation g−1 to its place.
    private static func previousContext(user: UserID, generation: UInt32) -> [UInt8] {
        user.digest.bytes + bigEndianBytes(generation) + bigEndianBytes(generation &- 1)
    }

    private static func openPrevious(
        _ sealed: [UInt8], under seed: borrowing SecretKey<SeedUse>, user: UserID, generation: UInt32
    ) throws(TresorError) -> SecretKey<SeedUse> {
        let empty: [UInt8] = []
        let key: SecretKey<PreviousUse> = try seed.derive(.identityPrevious, context: empty.span)
        let context = previousContext(user: user, generation: generation)
        return try SecretKey(TC1.openSecret(sealed.span, with: key, label: .previousSeal, context: context.span))
    }
}

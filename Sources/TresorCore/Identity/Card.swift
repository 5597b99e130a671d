// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// One generation of a person's public keys (SPEC §7.1). A value of this type is complete, its keys are usable and its
/// self-signature is valid. Its ``CardChain`` says whose it is.
package struct Card: Hashable, Sendable {
    /// The maximum generation: 255, so at most 256 generations exist.
    package static let maximumGeneration: UInt32 = 255

    /// The handle: equal in all generations. It proves nothing.
    package let handle: Name
    /// 0 for the first card.
    package let generation: UInt32
    /// The user id in the card; zero in generation 0.
    let statedUser: Hash256
    /// The hash of the previous card; zero in generation 0.
    package let previous: Hash256
    /// The Ed25519 public key.
    package let signingKey: Hash256
    /// The X-Wing public key, checked.
    package let kemKey: XWing.PublicKey
    /// The time of its making by its owner's account, in seconds since 1970.
    package let time: UInt64
    /// The encoded card.
    package let bytes: [UInt8]
    /// `H("tresor/v1/card-hash", card)`.
    package let hash: Hash256

    /// The signature of the previous generation; empty in generation 0.
    package var succession: [UInt8] { generation == 0 ? [] : Array(bytes.suffix(Ed25519.signatureByteCount)) }
    /// The bytes that both signatures cover.
    package var body: [UInt8] {
        Array(bytes.dropLast((generation == 0 ? 1 : 2) * Ed25519.signatureByteCount))
    }

    /// Reads one card from `decoder`, in which more bytes may follow.
    ///
    /// - Parameter isKnown: whether the card was read before. Its signature and its key are not checked again then.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(from decoder: inout ByteDecoder, isKnown: Bool = false) throws(TresorError) {
        var fields = ByteEncoder()
        try decoder.preamble(.card)
        fields.preamble(.card)
        let handle = try Name(try decoder.vector16(1...Name.maximumByteCount))
        let generation = try decoder.integer(UInt32.self)
        let statedUser = try decoder.digest()
        let previous = try decoder.digest()
        let signingKey = try decoder.digest()
        let kemBytes = try decoder.raw(XWing.publicKeyByteCount)
        let time = try decoder.time()
        guard generation <= Self.maximumGeneration, (generation == 0) == (statedUser == .zero),
            (generation == 0) == (previous == .zero)
        else { throw .altered }
        Self.encode(
            into: &fields, handle: handle, generation: generation, user: statedUser, previous: previous,
            signingKey: signingKey, kemKey: kemBytes, time: time)
        let selfSignature = try decoder.raw(Ed25519.signatureByteCount)
        let succession = generation == 0 ? [] : try decoder.raw(Ed25519.signatureByteCount)
        if !isKnown {
            try Ed25519.verify(selfSignature, of: DomainLabel.cardSignature.message(fields.bytes), by: signingKey)
        }
        self.kemKey = try isKnown ? XWing.PublicKey(checked: kemBytes) : XWing.PublicKey(kemBytes)
        self.handle = handle
        self.generation = generation
        self.statedUser = statedUser
        self.previous = previous
        self.signingKey = signingKey
        self.time = time
        // As large as the card and no larger: a service holds very many.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.bytes.count + selfSignature.count + succession.count)
        for part in [fields.bytes, selfSignature, succession] { bytes += part }
        self.bytes = bytes
        self.hash = try BLAKE2b.hash(.cardHash, bytes)
    }

    /// Signs a card.
    ///
    /// - Parameters:
    ///   - chain: the chain to continue; `nil` for generation 0.
    ///   - succession: signs for the newest generation of the chain; not called for generation 0.
    package static func make(
        handle: Name, chain: CardChain?, kemKey: XWing.PublicKey, time: UInt64, signing: borrowing SigningKey,
        succession: (_ message: [UInt8]) throws(TresorError) -> [UInt8]
    ) throws(TresorError) -> Card {
        let generation = chain.map { $0.newest.generation + 1 } ?? 0
        guard generation <= maximumGeneration else { throw .usage(.tooManyGenerations) }
        var encoder = ByteEncoder()
        encoder.preamble(.card)
        encode(
            into: &encoder, handle: handle, generation: generation, user: chain?.user.digest ?? .zero,
            previous: chain?.newest.hash ?? .zero, signingKey: signing.publicKey, kemKey: kemKey.bytes, time: time)
        let body = encoder.bytes
        encoder.raw(try signing.sign(DomainLabel.cardSignature.message(body)))
        if chain != nil { encoder.raw(try succession(DomainLabel.cardSuccession.message(body))) }
        var decoder = ByteDecoder(encoder.bytes)
        return try Card(from: &decoder)
    }

    private static func encode(
        into encoder: inout ByteEncoder, handle: Name, generation: UInt32, user: Hash256, previous: Hash256,
        signingKey: Hash256, kemKey: [UInt8], time: UInt64
    ) {
        encoder.vector16(handle.bytes)
        encoder.integer(generation)
        encoder.digest(user)
        encoder.digest(previous)
        encoder.digest(signingKey)
        encoder.raw(kemKey)
        encoder.integer(time)
    }

    /// Checks that this card follows `predecessor` in the chain of `user`.
    ///
    /// - Parameter isKnown: whether that was checked before. The signature is not verified again then.
    /// - Throws: ``TresorError/altered`` if it does not.
    func checkSucceeds(_ predecessor: Card, of user: UserID, isKnown: Bool = false) throws(TresorError) {
        let isNext =
            generation == predecessor.generation + 1 && previous == predecessor.hash
            && statedUser == user.digest && handle == predecessor.handle
        guard isNext else { throw .altered }
        guard !isKnown else { return }
        try Ed25519.verify(succession, of: DomainLabel.cardSuccession.message(body), by: predecessor.signingKey)
    }

    /// Whether the cards have the same bytes.
    public static func == (left: Card, right: Card) -> Bool { left.bytes == right.bytes }

    /// Hashes the hash of the card.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension DomainLabel {
    /// The signed bytes: `LP(label) ‖ bytes`.
    package func message(_ bytes: [UInt8]) -> [UInt8] {
        return prefixed + bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The keys of an epoch, wrapped to the card of one member (SPEC §9.6). It carries no signature: the commitments in the
/// log authenticate its content.
package struct Wrap: Hashable, Sendable {
    private static let ciphertextCounts = [32 + 16, 64 + 16]
    /// The maximum size in bytes: 1287.
    package static let maximumByteCount = 1287

    package let tresor: TresorID
    package let epoch: UInt64
    package let user: UserID
    package let generation: UInt32
    let wrapped: XWing.Wrapped

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.magic(.wrap)
        try decoder.suite()
        tresor = TresorID(try decoder.digest())
        epoch = try decoder.integer()
        user = UserID(try decoder.digest())
        generation = try decoder.integer()
        let encapsulated = try decoder.raw(XWing.encapsulatedByteCount)
        let ciphertext = try decoder.vector16(0...80)
        try decoder.end()
        guard Self.ciphertextCounts.contains(ciphertext.count) else { throw .altered }
        wrapped = XWing.Wrapped(encapsulated: encapsulated, ciphertext: ciphertext)
    }

    /// Whether it claims to contain HK too.
    package var opensHistory: Bool { wrapped.ciphertext.count == Self.ciphertextCounts[1] }

    /// Wraps an epoch's keys for a member.
    ///
    /// - Parameter secret: TK, or TK ‖ HK; one buffer serves many members.
    /// - Throws: ``TresorError/noAccess`` if HK is to be wrapped and missing.
    package init(
        _ secret: Span<UInt8>, epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID,
        history: History
    ) throws(TresorError) {
        let count = history == .all ? 64 : 32
        guard count <= secret.count else { throw .noAccess }
        self.tresor = tresor
        self.epoch = epoch
        self.user = user
        self.generation = card.generation
        wrapped = try XWing.hpkeWrap(
            secret.extracting(first: count), for: card.kemKey,
            info: Self.info(tresor: tresor, epoch: epoch, user: user, card: card))
    }

    /// Wraps an epoch's keys for one member.
    package init(
        _ keys: EpochKeys, of tresor: TresorID, for card: Card, user: UserID, history: History
    ) throws(TresorError) {
        let secret = try keys.secret()
        try self.init(
            secret.span, epoch: keys.epoch, of: tresor, for: card, user: user, history: history)
    }

    /// Checks that the wrap names this person, epoch and card, and that they have its seed. Opens nothing.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/noAccess`` without the seed of its generation.
    package func check(
        for identity: Identity, of tresor: TresorID, statement: Epoch, card: Card
    ) throws(TresorError) {
        let isHere =
            tresor == self.tresor && epoch == statement.number && user == identity.user
            && generation == card.generation
        guard isHere else { throw .altered }
        guard generation <= identity.generation else { throw .noAccess }
    }

    /// Returns the entry from which on a log calls for this wrap: its receiver is a member then, its epoch has begun and
    /// is theirs, and the log has the card. `nil` if the log does not call for it at its end.
    ///
    /// Whether the wrap opens, only its receiver can tell.
    package func firstEntry(in state: LogState) -> UInt64? {
        guard tresor == state.tresor, let member = state.members[user], opensHistory == (member.history == .all),
            epoch >= member.history.firstEpoch, epoch <= state.epoch,
            state.chain(of: user)?.card(generation: generation) != nil,
            let known = state.generations[user]?.first(where: { $0.generation >= generation })
        else { return nil }
        return max(member.since, state.epochs[Int(epoch - 1)].sequence, known.sequence)
    }

    /// Opens the wrap and compares its content with the log.
    ///
    /// - Parameters:
    ///   - statement: the statement of the epoch in the log.
    ///   - card: the card of the member, from the log, of the generation in the wrap.
    ///   - history: the history that the log grants the member.
    /// - Throws: the errors of ``check(for:of:statement:card:)``; ``TresorError/altered`` for any other fault.
    package func openWrap(
        as identity: Identity, of tresor: TresorID, statement: Epoch, card: Card, history: History
    ) throws(TresorError) -> EpochKeys {
        try check(for: identity, of: tresor, statement: statement, card: card)
        let secret = try identity.unwrap(
            wrapped, generation: generation,
            info: Self.info(tresor: tresor, epoch: epoch, user: user, card: card))
        let keys = try EpochKeys(epoch: epoch, unwrapped: secret.span)
        guard keys.opensHistory == (history == .all) else { throw .altered }
        try keys.checkKeys(against: statement, of: tresor)
        return keys
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.raw(Magic.wrap.bytes)
        encoder.integer(Format.suite)
        encoder.digest(tresor.digest)
        encoder.integer(epoch)
        encoder.digest(user.digest)
        encoder.integer(generation)
        encoder.raw(wrapped.encapsulated)
        encoder.vector16(wrapped.ciphertext)
        return encoder.bytes
    }

    private static func info(tresor: TresorID, epoch: UInt64, user: UserID, card: Card) -> [UInt8] {
        return DomainLabel.epochWrap.message(
            tresor.digest.bytes + bigEndianBytes(epoch) + user.digest.bytes + card.hash.bytes)
    }
}

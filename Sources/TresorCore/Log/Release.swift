// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The approval keys that an approver hands to one waiting person, inside the signed approval (SPEC §9.11).
package struct Release: Hashable, Sendable {
    private static let ciphertextCounts = (32 + 16)...Int(UInt16.max)

    package let user: UserID
    /// The generation of the card that the keys are wrapped for.
    package let generation: UInt32
    let wrapped: XWing.Wrapped

    /// Wraps the approval keys of a waiting person, by rising epoch.
    ///
    /// - Parameters:
    ///   - keys: `A_{n,u} ‖ … ‖ A_{epoch,u}`; of full history the last alone.
    ///   - grant: the hash of the grant by which the person waits.
    ///   - epoch: the current epoch.
    /// - Throws: ``TresorError/usage(_:)`` with `waitsTooLong` for more keys than a release can hold.
    package init(
        _ keys: borrowing SecretBytes, grant: Hash256, epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID
    ) throws(TresorError) {
        guard Self.ciphertextCounts.contains(keys.count + 16) else { throw .usage(.waitsTooLong) }
        self.user = user
        generation = card.generation
        wrapped = try XWing.hpkeWrap(
            keys, for: card.kemKey, info: Self.info(grant: grant, epoch: epoch, of: tresor, for: card, user: user))
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        user = try decoder.user()
        generation = try decoder.integer()
        let encapsulated = try decoder.raw(XWing.encapsulatedByteCount)
        wrapped = XWing.Wrapped(
            encapsulated: encapsulated, ciphertext: try decoder.vector16(Self.ciphertextCounts))
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.user(user)
        encoder.integer(generation)
        encoder.raw(wrapped.encapsulated)
        encoder.vector16(wrapped.ciphertext)
    }

    /// How many keys it has room for.
    var keyCount: Int { (wrapped.ciphertext.count - 16) / 32 }

    /// Whether it names the newest generation of a waiting person, and has room for the keys of their history.
    func fits(_ state: LogState) -> Bool {
        guard let waiting = state.waiting[user] else { return false }
        let count = UInt64(wrapped.ciphertext.count)
        return generation == state.chains[user]?.newest.generation
            && count == 16 + 32 * UInt64(waiting.history.epochsToRelease(at: state.epoch).count)
    }

    /// Opens the keys.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/noAccess`` without the seed of the generation.
    package func open(
        as identity: Identity, grant: Hash256, epoch: UInt64, of tresor: TresorID, card: Card
    ) throws(TresorError) -> SecretBytes {
        try identity.unwrap(
            wrapped, generation: generation,
            info: Self.info(grant: grant, epoch: epoch, of: tresor, for: card, user: user))
    }

    private static func info(
        grant: Hash256, epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID
    ) -> [UInt8] {
        DomainLabel.approvalRelease.message(
            tresor.digest.bytes + grant.bytes + bigEndianBytes(epoch) + user.digest.bytes + card.hash.bytes)
    }
}

extension History {
    /// The epochs whose approval keys a person with this history needs, approved in epoch `current`.
    package func epochsToRelease(at current: UInt64) -> ClosedRange<UInt64> {
        switch self {
        case .all: current...current
        case .from(let first): min(first, current)...current
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The approval keys that an approval released to one person (SPEC §9.11). Shared by reference; the last release wipes
/// them.
package final class ReleasedKeys: Sendable {
    /// The entry of the approval.
    package let approval: [UInt8]
    /// Its sequence number.
    package let sequence: UInt64
    /// Its author.
    package let approver: UserID
    /// The epochs whose keys it has, or should have.
    package let epochs: ClosedRange<UInt64>
    /// None if the release does not open.
    private let keys: Keys

    private struct Keys: ~Copyable, Sendable {
        let bytes: SecretBytes

        var count: Int { bytes.count / 32 }

        borrowing func key(at index: Int) throws(TresorError) -> SecretKey<WaitingUse> {
            try SecretKey(SecretBytes(copying: bytes.span.extracting((32 * index)..<(32 * index + 32))))
        }

        borrowing func publicBytes() -> [UInt8] { bytes.span.publicBytes }
    }

    /// A release that does not open has no key: only the approver who signed it can have made it so.
    ///
    /// - Throws: ``TresorError/altered`` for an entry that is no approval of this person; ``TresorError/noAccess``
    ///   without the seed of the release's generation.
    package init(
        approval bytes: [UInt8], at sequence: UInt64, in state: LogState, for identity: Identity
    ) throws(TresorError) {
        let entry = try Entry(bytes)
        guard case .approve(let body) = try entry.body,
            let release = body.releases.first(where: { $0.user == identity.user }),
            let card = state.chain(of: identity.user)?.card(generation: release.generation)
        else { throw .altered }
        approval = bytes
        self.sequence = sequence
        approver = entry.author
        let count = UInt64(release.keyCount)
        guard count >= 1, count <= body.epoch else { throw .altered }
        epochs = (body.epoch - count + 1)...body.epoch
        keys = Keys(bytes: try Self.opened(release, body, as: identity, of: state.tresor, card))
    }

    private static func opened(
        _ release: Release, _ body: ApproveBody, as identity: Identity, of tresor: TresorID, _ card: Card
    ) throws(TresorError) -> SecretBytes {
        do throws(TresorError) {
            return try release.open(as: identity, grant: body.grant, epoch: body.epoch, of: tresor, card: card)
        } catch {
            guard error == .altered else { throw error }
            return try SecretBytes(count: 0)
        }
    }

    /// The key of an epoch.
    ///
    /// - Throws: ``TresorError/altered`` for an epoch whose key was not released.
    package func key(of epoch: UInt64) throws(TresorError) -> SecretKey<WaitingUse> {
        guard epochs.contains(epoch), keys.count == epochs.count else { throw .altered }
        return try keys.key(at: Int(epoch - epochs.lowerBound))
    }

    /// All keys, for evidence; empty if the release does not open. They open nothing without this person's card.
    package var opened: [UInt8] { keys.publicBytes() }
}

/// The approval keys of consecutive epochs, as an approver holds them while they approve.
package struct ApprovalKeys: Sendable {
    private let keys: [Box]

    package final class Box: Sendable {
        fileprivate let key: ApprovalKey

        package init(_ key: consuming ApprovalKey) { self.key = key }
    }

    /// Takes the keys by rising epoch.
    package init(_ keys: [Box]) { self.keys = keys }

    /// `A_{n,u} ‖ … ‖ A_{epoch,u}`.
    package func released(to user: UserID) throws(TresorError) -> SecretBytes {
        try SecretBytes(count: 32 * keys.count) { (output) throws(TresorError) in
            for (index, box) in keys.enumerated() {
                let key = try box.key.key(of: user)
                key.copy(into: &output, at: 32 * index)
            }
        }
    }
}

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
    /// The first epoch whose key it has.
    private let first: UInt64
    private let keys: Keys

    private struct Keys: ~Copyable, Sendable {
        let bytes: SecretBytes

        var count: Int { bytes.count / 32 }

        borrowing func key(at index: Int) throws(TresorError) -> SecretKey<WaitingUse> {
            try SecretKey(SecretBytes(copying: bytes.span.extracting((32 * index)..<(32 * index + 32))))
        }

        borrowing func publicBytes() -> [UInt8] { bytes.span.publicBytes }
    }

    /// - Throws: ``TresorError/altered`` for an entry that is no approval of this person, and for a release that does
    ///   not open; ``TresorError/noAccess`` without the seed of its generation.
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
        let opened = try release.open(as: identity, grant: body.grant, epoch: body.epoch, of: state.tresor, card: card)
        guard opened.count >= 32, opened.count.isMultiple(of: 32), UInt64(opened.count / 32) <= body.epoch else {
            throw .altered
        }
        first = body.epoch - UInt64(opened.count / 32) + 1
        keys = Keys(bytes: opened)
    }

    /// The key of an epoch.
    ///
    /// - Throws: ``TresorError/altered`` for an epoch whose key was not released.
    package func key(of epoch: UInt64) throws(TresorError) -> SecretKey<WaitingUse> {
        guard epoch >= first, epoch - first < UInt64(keys.count) else { throw .altered }
        return try keys.key(at: Int(epoch - first))
    }

    /// All keys, for evidence. They open nothing without this person's card.
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

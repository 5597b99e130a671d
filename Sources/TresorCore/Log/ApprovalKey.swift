// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The use of A_e: deriving the approval keys of people.
package enum ApprovalUse: KeyUse {}
/// The use of A_{e,u}: sealing the keys of an epoch for a waiting person.
package enum WaitingUse: SealingUse {}

/// The approval key of an epoch (SPEC §9.11). It says nothing about the keys of the epoch, and opens nothing without
/// the card of a waiting person.
package struct ApprovalKey: ~Copyable, Sendable {
    package let epoch: UInt64
    private let tresor: TresorID
    private let key: SecretKey<ApprovalUse>

    init(_ key: consuming SecretKey<ApprovalUse>, epoch: UInt64, of tresor: TresorID) {
        self.key = key
        self.epoch = epoch
        self.tresor = tresor
    }

    /// The 32 bytes, borrowed.
    var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { key.span }
    }

    /// The bytes, for vectors.
    package var publicBytes: [UInt8] { key.span.publicBytes }

    /// `A_{e,u} = derive(A_e, "tresor/v1/approval-member", user id)`.
    package borrowing func key(of user: UserID) throws(TresorError) -> SecretKey<WaitingUse> {
        let context = user.digest.bytes
        return try key.derive(.approvalMember, context: context.span)
    }
}

extension EpochKeys {
    /// `A_e = derive(HK_e, "tresor/v1/approval-key", tresor id ‖ u64(e))`.
    ///
    /// - Throws: ``TresorError/noAccess`` without HK.
    package func approvalKey(of tresor: TresorID) throws(TresorError) -> ApprovalKey {
        let key: SecretKey<ApprovalUse> = try derived(.approvalKey, of: tresor)
        return ApprovalKey(key, epoch: epoch, of: tresor)
    }
}

extension SecretKey where Use == WaitingUse {
    /// `seal(A_{e,u}, "tresor/v1/approval-seal", tresor id ‖ u64(e) ‖ user id, TK or TK ‖ HK)`: the plaintext of a
    /// waiting wrap.
    borrowing func seal(
        _ secret: Span<UInt8>, epoch: UInt64, of tresor: TresorID, user: UserID
    ) throws(TresorError) -> [UInt8] {
        let context = waitingContext(epoch, tresor, user)
        return try TC1.seal(secret, with: self, label: .approvalSeal, context: context.span)
    }

    /// Opens the plaintext of a waiting wrap.
    ///
    /// - Throws: ``TresorError/altered``.
    package borrowing func open(
        _ sealed: Span<UInt8>, epoch: UInt64, of tresor: TresorID, user: UserID
    ) throws(TresorError) -> SecretBytes {
        let context = waitingContext(epoch, tresor, user)
        return try TC1.openSecret(sealed, with: self, label: .approvalSeal, context: context.span)
    }
}

private func waitingContext(_ epoch: UInt64, _ tresor: TresorID, _ user: UserID) -> [UInt8] {
    tresor.digest.bytes + bigEndianBytes(epoch) + user.digest.bytes
}

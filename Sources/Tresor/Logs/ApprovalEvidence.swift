// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// An approval that does not open what was wrapped for the person who waited (SPEC §9.11). It convicts nobody.
///
/// A member with full history computes the key of the person. If it is not among the opened ones, the approver lied, or who
/// made the approver's wrap (the store can), or who wrote this. If it is, and who wrote this is believed, the approver told
/// no lie: then who made the waiting wrap did, an owner or the author of the epoch, or the store.
package struct ApprovalEvidence: Hashable, Sendable {
    private static let maximumOpenedCount = Int(UInt16.max)

    let tresor: TresorID
    /// The entry of the approval.
    let approval: [UInt8]
    /// The waiting wrap.
    let wrap: [UInt8]
    /// The approval keys that the release gave; empty if it did not open: the approver signed it so.
    let opened: [UInt8]

    package init(tresor: TresorID, approval: [UInt8], wrap: [UInt8], opened: [UInt8]) {
        self.tresor = tresor
        self.approval = approval
        self.wrap = wrap
        self.opened = opened
    }

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.approvalEvidence)
        tresor = TresorID(try decoder.digest())
        approval = try decoder.vector32(1...Entry.maximumByteCount)
        wrap = try decoder.vector16(1...Wrap.maximumByteCount)
        opened = try decoder.vector16(0...Self.maximumOpenedCount)
        try decoder.end()
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.approvalEvidence)
        encoder.digest(tresor.digest)
        encoder.vector32(approval)
        encoder.vector16(wrap)
        encoder.vector16(opened)
        return encoder.bytes
    }

    /// Computes the name under which the home keeps it: one for each epoch of an approval, whatever wraps a store invents.
    func name() throws(TresorError) -> Hash256 {
        var encoder = ByteEncoder()
        encoder.preamble(.approvalEvidence)
        encoder.digest(tresor.digest)
        encoder.digest(try Entry(approval).hash())
        encoder.integer(try UnverifiedWrap(wrap).epoch)
        return try BLAKE2b.hash(.evidenceHash, encoder.bytes)
    }
}

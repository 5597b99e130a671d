// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The clear header of a sealed file (SPEC §10.1). It is a claim until the file is opened.
package struct FileHeader: Hashable, Sendable {
    /// The size in bytes: 90.
    package static let byteCount = 90

    /// The id of the tresor.
    package let tresor: TresorID
    /// The epoch whose key seals the file.
    package let epoch: UInt64
    /// The newest entry known to the author.
    package let head: Head

    package init(tresor: TresorID, epoch: UInt64, head: Head) {
        self.tresor = tresor
        self.epoch = epoch
        self.head = head
    }

    /// Reads the header of a sealed file in binary form.
    ///
    /// - Parameter start: 90 bytes or more.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(start: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(Array(start.prefix(Self.byteCount)))
        try self.init(from: &decoder)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.preamble(.file)
        tresor = TresorID(try decoder.digest())
        epoch = try decoder.integer()
        let sequence = try decoder.integer(UInt64.self)
        head = Head(sequence: sequence, hash: try decoder.digest())
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder(capacity: Self.byteCount)
        encode(into: &encoder)
        return encoder.bytes
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.preamble(.file)
        encoder.digest(tresor.digest)
        encoder.integer(epoch)
        encoder.integer(head.sequence)
        encoder.digest(head.hash)
    }

    /// Checks that a state can judge the file of this header (SPEC §10.5, step 4).
    ///
    /// - Parameter isNewest: whether the store shows the state now; otherwise the home has verified it before.
    /// - Throws: ``TresorError/store(_:)`` for a file of a later entry than the store shows. ``TresorError/altered``
    ///   where no entry that may follow makes the header true. ``TresorError/forked`` for a later entry than the home
    ///   has verified. ``TresorError/noAccess`` for a later epoch.
    package func check(in state: LogState, isNewest: Bool) throws(TresorError) {
        guard head.sequence > state.head.sequence else {
            guard epoch <= state.epoch else { throw .noAccess }
            return
        }
        guard epoch >= state.epoch else { throw .altered }
        throw isNewest ? .store(.behind) : .forked
    }
}

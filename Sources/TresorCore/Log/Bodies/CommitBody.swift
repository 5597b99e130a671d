// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Changes records: names a pack and its attachments (SPEC §19). Additive: a rule that it breaks makes it void.
package struct CommitBody: LogBody {
    static let type: UInt16 = 128
    /// The maximum number of blobs: 1024.
    static let maximumBlobCount = 1024

    /// The epoch under which the blobs are sealed.
    package let epoch: UInt64
    /// The pack, then the attachments.
    package let blobs: [Blob]

    /// Takes the fields; the rules are checked by the log.
    package init(epoch: UInt64, blobs: [Blob]) {
        self.epoch = epoch
        self.blobs = blobs
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        epoch = try decoder.integer()
        blobs = try decoder.list(of: 0, counted: UInt16.self, byteCount: Blob.byteCount) {
            (decoder) throws(TresorError) in try Blob(from: &decoder)
        }
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(epoch)
        encoder.list(blobs, counted: UInt16.self) { $1.encode(into: &$0) }
    }

    var type: UInt16 { Self.type }
    var name: String { "commit" }
    var change: LogRecord.Change { .additive(type: type) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isWriter }

    /// R38 to R40. They hold in the state before the entry if and only if they hold in a later one.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.requireBlobs(blobs, atMost: Self.maximumBlobCount) { place in
            place == 0 ? Blob.greatestPackSize : Blob.greatestSize
        }
        try validator.requireCurrent(epoch, in: state)
    }

    /// Which records exist is computed from the packs, above the log.
    func apply(_ effect: EntryEffect, to state: inout LogState) {}
}

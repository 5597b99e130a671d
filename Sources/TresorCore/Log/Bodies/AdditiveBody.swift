// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A body from 128 on whose fields this release does not read. It changes no member, role, epoch or name, so a program
/// that does not know it can skip it.
package struct AdditiveBody: LogBody {
    /// The least number of an additive body.
    static let leastType: UInt16 = 128
    /// The highest number known to this release.
    static let greatestKnownType: UInt16 = CheckpointBody.type

    package let type: UInt16
    package let bytes: [UInt8]

    package init(type: UInt16, _ bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }

    init(type: UInt16, from decoder: inout ByteDecoder) throws(TresorError) {
        self.init(type: type, try decoder.raw(decoder.remaining))
    }

    func encode(into encoder: inout ByteEncoder) { encoder.raw(bytes) }

    var name: String { "additive" }
    var change: LogRecord.Change { .additive(type: type) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isWriter }

    /// R2 for a body that this release knows and cannot read: it is void. Otherwise no rules: a later release that
    /// knows more of the body accepts the same logs.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.require(.r2, type > Self.greatestKnownType)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {}
}

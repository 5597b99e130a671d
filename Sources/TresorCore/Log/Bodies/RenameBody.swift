// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Gives the tresor a new name.
package struct RenameBody: LogBody {
    static let type: UInt16 = 10

    package let sealedName: SealedName

    package init(_ sealedName: SealedName) { self.sealedName = sealedName }

    init(from decoder: inout ByteDecoder) throws(TresorError) { sealedName = try SealedName(from: &decoder) }

    func encode(into encoder: inout ByteEncoder) { encoder.raw(sealedName.bytes) }

    var type: UInt16 { Self.type }
    var name: String { "rename" }
    var change: LogRecord.Change { .renamed }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// No rules beyond those of all bodies.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {}

    func apply(_ effect: EntryEffect, to state: inout LogState) { effect.name(sealedName, in: &state) }
}

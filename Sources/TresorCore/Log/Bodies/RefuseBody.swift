// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Refuses the people who wait by a grant, and marks *rekey pending*: an approver may have released their keys unseen.
package struct RefuseBody: LogBody {
    static let type: UInt16 = 4

    /// The hash of the grant.
    package let grant: Hash256

    package init(grant: Hash256) { self.grant = grant }

    init(from decoder: inout ByteDecoder) throws(TresorError) { grant = try decoder.digest() }

    func encode(into encoder: inout ByteEncoder) { encoder.digest(grant) }

    var type: UInt16 { Self.type }
    var name: String { "refuse" }
    var change: LogRecord.Change { .refused(grant: grant) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author == .approver }

    /// R35.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.require(.r35, !state.waiting(by: grant).isEmpty)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        for user in state.waiting(by: grant) { effect.dismiss(user, .refused, from: &state) }
        effect.mark(rekeyPending: true, in: &state)
    }
}

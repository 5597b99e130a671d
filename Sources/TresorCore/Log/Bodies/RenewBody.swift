// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Replaces a user's card by the next one.
package struct RenewBody: LogBody {
    static let type: UInt16 = 7

    package let card: Card

    package init(_ card: Card) { self.card = card }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        var inner = ByteDecoder(try decoder.vector32(1...CardChain.maximumByteCount))
        card = try Card(from: &inner)
        try inner.end()
    }

    func encode(into encoder: inout ByteEncoder) { encoder.vector32(card.bytes) }

    /// The user that the card names.
    package var user: UserID { UserID(card.statedUser) }

    var type: UInt16 { Self.type }
    var name: String { "renew" }
    var change: LogRecord.Change { .renewed(user, generation: card.generation) }
    var users: [UserID] { [user] }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool {
        author.isOwner || user == entry.author
    }

    /// R27.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.require(.r27, (try? state.chains[user]?.appending(card)) != nil)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        if let longer = try? state.chains[user]?.appending(card) { effect.know(longer, in: &state) }
        if state.isIn(user) { effect.mark(rekeyPending: true, in: &state) }
    }
}

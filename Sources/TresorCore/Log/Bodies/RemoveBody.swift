// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Removes members and people who wait, and begins an epoch without them.
package struct RemoveBody: LogBody {
    static let type: UInt16 = 5

    /// The removed members, by rising user id.
    package let users: [UserID]
    package let epoch: Epoch

    package init(users: [UserID], epoch: Epoch) {
        self.users = users
        self.epoch = epoch
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        users = try decoder.people { (decoder) throws(TresorError) in try decoder.user() }
        epoch = try Epoch(from: &decoder)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.people(users) { $0.user($1) }
        epoch.encode(into: &encoder)
    }

    var type: UInt16 { Self.type }
    var name: String { "remove" }
    var nextEpoch: Epoch? { epoch }
    var change: LogRecord.Change { .removed(users) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// R17, R23 to R25, R33, R48.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.requireRising(users)
        try validator.requireNext(epoch, in: state)
        for user in users { try validator.require(.r24, state.isIn(user)) }
        for user in users {
            try validator.require(.r25, user != state.founder && user != validator.entry.author)
        }
        try validator.require(.r33, state.lastingOwners(without: users) > 0)
        try validator.requireFresh(epoch, in: state)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        for user in users { effect.dismiss(user, .removed, from: &state) }
        effect.begin(epoch, in: &state)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Removes members and people who wait, and begins an epoch without them.
package struct RemoveBody: LogBody {
    static let type: UInt16 = 5

    /// The removed members, by rising user id.
    package let principals: [Principal]
    package let epoch: Epoch

    package init(principals: [Principal], epoch: Epoch) {
        self.principals = principals
        self.epoch = epoch
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        principals = try decoder.principals { (decoder) throws(TresorError) in try Principal(from: &decoder) }
        epoch = try Epoch(from: &decoder)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.principals(principals) { $1.encode(into: &$0) }
        epoch.encode(into: &encoder)
    }

    var type: UInt16 { Self.type }
    var name: String { "remove" }
    var nextEpoch: Epoch? { epoch }
    var change: LogRecord.Change { .removed(users) }
    var users: [UserID] { principals.map(\.userID) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// R17, R23 to R25, R33, R48.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        let users = users
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

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Names the people who approve from now on, and marks *rekey pending*: an approver who is dropped knows approval keys.
package struct ApproversBody: LogBody {
    static let type: UInt16 = 13

    /// The approvers with their card chains, by rising user id; nobody waits by later grants if there are none.
    package let approvers: [Approver]

    package init(_ approvers: [Approver]) { self.approvers = approvers }

    init(from decoder: inout ByteDecoder) throws(TresorError) { approvers = try decoder.approvers() }

    func encode(into encoder: inout ByteEncoder) { encoder.approvers(approvers) }

    var type: UInt16 { Self.type }
    var name: String { "approvers" }
    var change: LogRecord.Change { .approversNamed(users) }
    var users: [UserID] { approvers.map(\.chain.user) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// R34, R49.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.requireApprovers(approvers.map(\.chain)) { chain in
            !state.isIn(chain.user) && state.chains[chain.user].map { chain.extends($0) } ?? true
        }
        try validator.requireRoom(for: users, in: state)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        effect.name(approvers, in: &state)
        effect.mark(rekeyPending: true, in: &state)
    }
}

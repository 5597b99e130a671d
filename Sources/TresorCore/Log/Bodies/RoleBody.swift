// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Replaces the role and the not-after of a member.
package struct RoleBody: LogBody {
    static let type: UInt16 = 9

    package let user: UserID
    package let role: Role
    /// The planned end of access in seconds since 1970; `nil` for none.
    package let notAfter: UInt64?

    package init(user: UserID, role: Role, notAfter: UInt64?) {
        self.user = user
        self.role = role
        self.notAfter = notAfter
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        user = try decoder.user()
        role = try Role(from: &decoder)
        notAfter = try decoder.notAfter()
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.user(user)
        encoder.integer(role.rawValue)
        encoder.integer(notAfter ?? 0)
    }

    var type: UInt16 { Self.type }
    var name: String { "role" }
    var change: LogRecord.Change { .roleChanged(user, role: role, notAfter: notAfter) }
    var users: [UserID] { [user] }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// R28 to R32.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        guard let member = state.members[user] else { return try validator.refuse(.r28) }
        try validator.require(.r29, user != state.founder)
        try validator.require(.r30, member.role != role || member.notAfter != notAfter)
        try validator.require(.r31, role != .owner || member.history == .all)
        let lasts = role == .owner && notAfter == nil
        try validator.require(.r32, lasts || state.lastingOwners(without: [user]) > 0)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        state.members[user]?.role = role
        state.members[user]?.notAfter = notAfter
        state.changes[user, default: []].append(effect.record(.roleChanged(role), notAfter: notAfter))
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Adds members, with full history or from now on. In a tresor with approvers they wait for one of them.
package struct GrantBody: LogBody {
    static let type: UInt16 = 2

    /// The new members with their card chains, by rising user id.
    package let people: [CardChain]
    package let role: Role
    /// The planned end of access in seconds since 1970. It revokes no key by itself.
    package let notAfter: UInt64?
    /// The first epoch that the members can read, and the name sealed under it; `nil` for full history.
    package let fromNow: FromNow?

    package struct FromNow: Hashable, Sendable {
        package let epoch: Epoch
        package let sealedName: SealedName

        package init(epoch: Epoch, sealedName: SealedName) {
            self.epoch = epoch
            self.sealedName = sealedName
        }
    }

    package init(people: [CardChain], role: Role, notAfter: UInt64?, fromNow: FromNow?) {
        self.people = people
        self.role = role
        self.notAfter = notAfter
        self.fromNow = fromNow
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        people = try decoder.people { (decoder) throws(TresorError) in try decoder.userChain() }
        role = try Role(from: &decoder)
        notAfter = try decoder.notAfter()
        switch try decoder.integer(UInt8.self) {
        case 0: fromNow = nil
        case 1: fromNow = FromNow(epoch: try Epoch(from: &decoder), sealedName: try SealedName(from: &decoder))
        default: throw .altered
        }
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.people(people) { $0.user($1) }
        encoder.integer(role.rawValue)
        encoder.integer(notAfter ?? 0)
        encoder.integer(UInt8(fromNow == nil ? 0 : 1))
        if let fromNow {
            fromNow.epoch.encode(into: &encoder)
            encoder.raw(fromNow.sealedName.bytes)
        }
    }

    var type: UInt16 { Self.type }
    var name: String { "grant" }
    var nextEpoch: Epoch? { fromNow?.epoch }
    var users: [UserID] { people.map(\.user) }

    var change: LogRecord.Change {
        .admitted(users, role: role, fromNow: fromNow != nil, notAfter: notAfter)
    }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    /// R17 to R23, R48, R49.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.requireRising(users)
        for chain in people { try validator.require(.r18, state.author(chain.user) == nil) }
        for chain in people {
            try validator.require(.r19, state.chains[chain.user].map { chain.extends($0) } ?? true)
        }
        try validator.require(.r20, role != .owner || fromNow == nil)
        try validator.require(
            .r21, (role == .owner && notAfter == nil) || !people.contains { $0.user == state.founder })
        try validator.require(
            .r22, state.members.count + state.waiting.count + people.count <= LogState.maximumMemberCount)
        if let fromNow {
            try validator.requireNext(fromNow.epoch, in: state)
            try validator.requireFresh(fromNow.epoch, in: state)
        }
        try validator.requireRoom(for: users, in: state)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        let entry = effect.entry
        let history = fromNow.map { History.from(epoch: $0.epoch.number) } ?? .all
        for chain in people {
            let user = chain.user
            let member = Member(
                role: role, history: history, notAfter: notAfter, since: entry.sequence, sinceTime: entry.time,
                admittedBy: entry.author)
            let waits = !state.approvers.isEmpty
            if waits { state.waiting[user] = member } else { state.members[user] = member }
            let change: MembershipChange = waits ? .asked(role) : .admitted(role)
            state.changes[user, default: []].append(effect.record(change, notAfter: notAfter))
            effect.know(chain, in: &state)
        }
        if let fromNow {
            effect.begin(fromNow.epoch, in: &state)
            effect.name(fromNow.sealedName, in: &state)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The role of a member (SPEC §9.2).
public enum Role: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Reads, writes, adds and removes people, changes keys.
    case owner = 1
    /// Reads and writes.
    case writer = 2
    /// Reads.
    case reader = 3

    /// The word in the command line: `owner`, `writer` or `reader`.
    public var description: String {
        switch self {
        case .owner: "owner"
        case .writer: "writer"
        case .reader: "reader"
        }
    }
}

/// A grant of access to new members.
package struct Grant: Hashable, Sendable {
    /// The new members with their card chains, by rising user id.
    package let people: [ChainPrincipal]
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

    package init(people: [ChainPrincipal], role: Role, notAfter: UInt64?, fromNow: FromNow?) {
        self.people = people
        self.role = role
        self.notAfter = notAfter
        self.fromNow = fromNow
    }
}

/// The body of an entry (SPEC §9.2).
package enum EntryBody: Hashable, Sendable {
    case genesis(root: Root, founder: CardChain, approvers: [Principal], sealedName: SealedName, epoch: Epoch)
    case grant(Grant)
    case remove(principals: [Principal], epoch: Epoch)
    case leave
    case renew(Card)
    case epoch(Epoch)
    case role(principal: Principal, role: Role, notAfter: UInt64?)
    case rename(SealedName)
    /// A body from 128 on. It changes no member, role, epoch or name, so a program that does not know it can skip it.
    case additive(type: UInt16, [UInt8])

    /// The number of the genesis.
    static let genesisType: UInt16 = 1
    /// The number of the body with which a member leaves.
    static let leaveType: UInt16 = 6
    /// Bodies from this number on are additive: 128.
    static let leastAdditiveType: UInt16 = 128
    /// The highest additive body known to this release; 0 for none.
    static let greatestKnownAdditiveType: UInt16 = 0

    private static let maximumPrincipalCount = 10_000

    /// The registered number (SPEC §9.2).
    package var type: UInt16 {
        switch self {
        case .genesis: Self.genesisType
        case .grant: 2
        case .remove: 5
        case .leave: Self.leaveType
        case .renew: 7
        case .epoch: 8
        case .role: 9
        case .rename: 10
        case .additive(let type, _): type
        }
    }

    /// The epoch that begins with this entry.
    package var nextEpoch: Epoch? {
        switch self {
        case .genesis(_, _, _, _, let epoch), .remove(_, let epoch), .epoch(let epoch): epoch
        case .grant(let grant): grant.fromNow?.epoch
        case .leave, .renew, .role, .rename, .additive: nil
        }
    }

    /// The encoded body, without number and length.
    package var bytes: [UInt8] {
        var body = ByteEncoder()
        switch self {
        case .genesis(let root, let founder, let approvers, let sealedName, let epoch):
            body.raw(root.bytes)
            body.vector32(founder.bytes)
            Self.encode(approvers, into: &body)
            body.raw(sealedName.bytes)
            epoch.encode(into: &body)
        case .grant(let grant): Self.encode(grant, into: &body)
        case .remove(let principals, let epoch):
            Self.encode(principals, into: &body)
            epoch.encode(into: &body)
        case .leave: break
        case .renew(let card): body.vector32(card.bytes)
        case .epoch(let epoch): epoch.encode(into: &body)
        case .role(let principal, let role, let notAfter):
            principal.encode(into: &body)
            body.integer(role.rawValue)
            body.integer(notAfter ?? 0)
        case .rename(let sealedName): body.raw(sealedName.bytes)
        case .additive(_, let bytes): body.raw(bytes)
        }
        return body.bytes
    }

    /// Reads the body of an entry.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for a number below 128 that this release does not
    ///   know.
    package init(type: UInt16, _ bytes: [UInt8]) throws(TresorError) {
        var body = ByteDecoder(bytes)
        switch type {
        case Self.genesisType:
            self = .genesis(
                root: try Root(from: &body), founder: try CardChain(try body.vector32(1...CardChain.maximumByteCount)),
                approvers: try Self.principals(from: &body), sealedName: try SealedName(from: &body),
                epoch: try Epoch(from: &body))
        case 2: self = .grant(try Self.grant(from: &body))
        case 5: self = .remove(principals: try Self.principals(from: &body), epoch: try Epoch(from: &body))
        case Self.leaveType: self = .leave
        case 7:
            var card = ByteDecoder(try body.vector32(1...CardChain.maximumByteCount))
            self = .renew(try Card(from: &card))
            try card.end()
        case 8: self = .epoch(try Epoch(from: &body))
        case 9:
            self = .role(
                principal: try Principal(from: &body), role: try Self.role(from: &body),
                notAfter: try Self.notAfter(from: &body))
        case 10: self = .rename(try SealedName(from: &body))
        case Self.leastAdditiveType...:
            self = .additive(type: type, bytes)
            return
        default: throw .unsupported
        }
        try body.end()
    }

    private static func encode(_ principals: [Principal], into encoder: inout ByteEncoder) {
        encoder.integer(UInt16(truncatingIfNeeded: principals.count))
        for principal in principals { principal.encode(into: &encoder) }
    }

    private static func principals(from decoder: inout ByteDecoder) throws(TresorError) -> [Principal] {
        let count = Int(try decoder.integer(UInt16.self))
        guard count <= maximumPrincipalCount else { throw .altered }
        var principals: [Principal] = []
        for _ in 0..<count { principals.append(try Principal(from: &decoder)) }
        return principals
    }

    private static func encode(_ grant: Grant, into encoder: inout ByteEncoder) {
        encoder.integer(UInt16(truncatingIfNeeded: grant.people.count))
        for person in grant.people { person.encode(into: &encoder) }
        encoder.integer(grant.role.rawValue)
        encoder.integer(grant.notAfter ?? 0)
        encoder.integer(UInt8(grant.fromNow == nil ? 0 : 1))
        if let fromNow = grant.fromNow {
            fromNow.epoch.encode(into: &encoder)
            encoder.raw(fromNow.sealedName.bytes)
        }
    }

    private static func grant(from decoder: inout ByteDecoder) throws(TresorError) -> Grant {
        let count = Int(try decoder.integer(UInt16.self))
        guard count <= maximumPrincipalCount else { throw .altered }
        var people: [ChainPrincipal] = []
        for _ in 0..<count { people.append(try ChainPrincipal(from: &decoder)) }
        let role = try role(from: &decoder)
        let notAfter = try notAfter(from: &decoder)
        let fromNow: Grant.FromNow?
        switch try decoder.integer(UInt8.self) {
        case 0: fromNow = nil
        case 1:
            fromNow = Grant.FromNow(epoch: try Epoch(from: &decoder), sealedName: try SealedName(from: &decoder))
        default: throw .altered
        }
        return Grant(people: people, role: role, notAfter: notAfter, fromNow: fromNow)
    }

    private static func role(from decoder: inout ByteDecoder) throws(TresorError) -> Role {
        guard let role = Role(rawValue: try decoder.integer(UInt8.self)) else { throw .altered }
        return role
    }

    private static func notAfter(from decoder: inout ByteDecoder) throws(TresorError) -> UInt64? {
        let time = try decoder.time()
        return time == 0 ? nil : time
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

/// People of whom logs are made up, by rising user id, each in every generation they have keys of.
struct Cast {
    let people: [[Identity]]

    var users: [UserID] { people.map { $0[0].user } }

    init(_ people: [[Identity]]) { self.people = people.sorted { $0[0].user < $1[0].user } }

    /// Any entry that a person might sign; mostly those that the model allows.
    func line(in model: NaiveLog, using dice: inout Dice) -> NaiveLog.Line {
        func isRare(_ odds: Int) -> Bool { Int.random(in: 0..<odds, using: &dice) == 0 }
        let owners = model.people.filter { $0.value.role == "owner" }.keys.sorted()
        let some = Int.random(in: people.indices, using: &dice)
        let approver = isRare(3) ? model.approvers.randomElement(using: &dice) : nil
        let author = approver ?? (isRare(2) ? some : owners.randomElement(using: &dice) ?? some)
        let known = model.generations[author] ?? 0
        let generation = isRare(12) ? Int.random(in: people[author].indices, using: &dice) : known
        let deed = deed(of: author, in: model, using: &dice)
        var cards: [Int: Int] = [:]
        let named: [Int] =
            switch deed {
            case .grant(let users, _, _, _), .approvers(let users): users
            default: []
            }
        for user in named {
            let newer = isRare(9) ? 1 : 0
            cards[user] = isRare(20) ? 0 : min(people[user].count - 1, max(model.generations[user] ?? 0, newer))
        }
        return NaiveLog.Line(
            author: author, generation: generation, time: Int.random(in: 0..<1000, using: &dice), cards: cards,
            deed: deed)
    }

    private func deed(of author: Int, in model: NaiveLog, using dice: inout Dice) -> NaiveLog.Deed {
        func isRare(_ odds: Int) -> Bool { Int.random(in: 0..<odds, using: &dice) == 0 }
        func some() -> [Int] {
            let users = (0..<Int.random(in: 1...2, using: &dice)).map { _ in
                Int.random(in: people.indices, using: &dice)
            }
            return isRare(8) ? users : Set(users).sorted()
        }
        func epoch() -> Int { isRare(12) ? Int.random(in: 0...9, using: &dice) : model.epoch }
        func sizes() -> [Int] {
            let odd = [0, 673, 1_081_762, 1_081_763, 1 << 40, (1 << 40) + 1]
            return (0..<(isRare(16) ? 0 : Int.random(in: 1...2, using: &dice))).map { _ in
                isRare(12) ? odd.randomElement(using: &dice) ?? 0 : 674
            }
        }
        let role = ["owner", "writer", "reader"].randomElement(using: &dice) ?? "reader"
        let end = isRare(3) ? Int.random(in: 1..<1000, using: &dice) : nil
        let next = model.epoch + (isRare(12) ? Int.random(in: 0...2, using: &dice) : 1)
        let waits = model.waiting.values.map(\.grant).randomElement(using: &dice)
        if model.approvers.contains(author) || isRare(12) {
            switch Int.random(in: 0..<8, using: &dice) {
            case 0..<4:
                let grant = isRare(6) ? Int.random(in: model.written.indices, using: &dice) : waits
                let users = model.waiting.filter { $0.value.grant == grant }.keys.sorted()
                let keys = users.map { user in
                    let first = model.waiting[user]?.from ?? model.epoch
                    return max(1, model.epoch - first + 1 + (isRare(12) ? 1 : 0))
                }
                let generations = users.map { isRare(12) ? 0 : model.generations[$0] ?? 0 }
                let odd = isRare(12) ? [Int.random(in: people.indices, using: &dice)] : []
                return .approve(
                    grant, epoch: epoch(), odd.isEmpty ? users : odd, keys: odd.isEmpty ? keys : [1],
                    generations: odd.isEmpty ? generations : [0])
            case 4: return .refuse(isRare(3) ? Int.random(in: model.written.indices, using: &dice) : waits)
            default: break
            }
        }
        if isRare(9) {
            let strangers = people.indices.filter { model.people[$0] == nil && model.waiting[$0] == nil }
            return .approvers(isRare(4) ? some() : isRare(3) ? [] : Array(strangers.prefix(isRare(2) ? 1 : 2)))
        }
        switch Int.random(in: 0..<18, using: &dice) {
        case 0..<5: return .grant(some(), role, end: end, epoch: isRare(2) ? next : nil)
        case 5..<7: return .remove(some(), epoch: next)
        case 7: return .leave
        case 8:
            let user = isRare(2) ? Int.random(in: people.indices, using: &dice) : author
            let next = (model.generations[user] ?? 0) + 1
            let generation = isRare(6) ? Int.random(in: 0...2, using: &dice) : next
            return .renew(generation == 0 ? nil : user, generation)
        case 9, 10: return .epoch(next)
        case 11, 12: return .role(Int.random(in: people.indices, using: &dice), role, end: end)
        case 13: return .additive(isRare(4) ? Int.random(in: 128...129, using: &dice) : 200)
        case 14: return .commit(epoch: epoch(), sizes: sizes())
        case 15, 16:
            let length = model.written.count
            let upto = isRare(2) ? max(0, length - 1) : Int.random(in: 0...(length + 1), using: &dice)
            return .checkpoint(upto: upto, epoch: epoch(), sizes: sizes())
        default: return .rename
        }
    }

    /// The line as an entry after the last of a log; `nil` for keys that nobody has.
    func entry(_ line: NaiveLog.Line, after state: LogState) throws -> Entry? {
        guard let body = try body(line, in: state), let author = people[line.author].last else { return nil }
        return try Entry(
            tresor: state.tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author,
            generation: UInt32(line.generation), time: UInt64(line.time), body: body)
    }

    private func body(_ line: NaiveLog.Line, in state: LogState) throws -> EntryBody? {
        func hash(_ grant: Int?) throws -> Hash256 { try grant.map { state.hashes[$0] } ?? anyDigest() }
        func role(_ name: String) -> Role { Role.allCases.first { $0.description == name } ?? .reader }
        func epoch(_ number: Int) throws -> Epoch { try Chronicle.epoch(UInt64(number), links: 1) }
        switch line.deed {
        case .grant(let users, let name, let end, let next):
            let fromNow = try next.map {
                GrantBody.FromNow(epoch: try epoch($0), sealedName: try Chronicle.anyName())
            }
            return .grant(
                GrantBody(
                    people: users.map { people[$0][line.cards[$0] ?? 0].chain }, role: role(name),
                    notAfter: end.map { UInt64($0) }, fromNow: fromNow))
        case .approve(let grant, let epoch, let users, let keys, let generations):
            let releases = try zip(users, zip(keys, generations)).map { user, shown in
                try Self.release(to: self.users[user], keys: shown.0, generation: shown.1)
            }
            return .approve(ApproveBody(grant: try hash(grant), epoch: UInt64(epoch), releases: releases))
        case .refuse(let grant): return .refuse(RefuseBody(grant: try hash(grant)))
        case .approvers(let users):
            return .approvers(ApproversBody(users.map { Approver(people[$0][line.cards[$0] ?? 0].chain) }))
        case .remove(let users, let next):
            return .remove(RemoveBody(users: users.map { self.users[$0] }, epoch: try epoch(next)))
        case .leave: return .leave
        case .renew(let user, let generation):
            let cards = people[user ?? line.author]
            guard cards.indices.contains(generation) else { return nil }
            return .renew(RenewBody(cards[generation].chain.newest))
        case .epoch(let next): return .epoch(EpochBody(try epoch(next)))
        case .role(let user, let name, let end):
            return .role(RoleBody(user: users[user], role: role(name), notAfter: end.map { UInt64($0) }))
        case .rename: return .rename(RenameBody(try Chronicle.anyName()))
        case .commit(let epoch, let sizes):
            return .commit(CommitBody(epoch: UInt64(epoch), blobs: try sizes.map(Self.blob)))
        case .checkpoint(let upto, let epoch, let sizes):
            return .checkpoint(
                CheckpointBody(upto: UInt64(upto), epoch: UInt64(epoch), volumes: try sizes.map(Self.blob)))
        case .additive(let type): return .additive(AdditiveBody(type: UInt16(type), [1, 2, 3]))
        }
    }

    /// A release whose keys are of no use.
    private static func release(to user: UserID, keys: Int, generation: Int) throws -> Release {
        let count = 16 + 32 * keys
        var bytes: [UInt8] = [1] + user.digest.bytes
        bytes += bigEndianBytes(UInt32(generation))
        bytes += [UInt8](repeating: 7, count: 1120)
        bytes += bigEndianBytes(UInt16(count))
        bytes += [UInt8](repeating: 7, count: count)
        var decoder = ByteDecoder(bytes)
        return try Release(from: &decoder)
    }

    private static func blob(_ size: Int) throws -> Blob { Blob(hash: try anyDigest(), size: UInt64(size)) }
}

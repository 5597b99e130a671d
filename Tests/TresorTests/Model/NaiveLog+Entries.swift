// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

/// How the naive model reads what is real. A person's number is their place among `people`, who stand by rising user
/// id.
extension NaiveLog {
    /// A model whose log has one entry.
    init(genesis: Entry, people: [UserID]) throws {
        var approvers: [Int: Int] = [:]
        if case .genesis(let body) = try genesis.body {
            for approver in body.approvers {
                approvers[try Self.number(of: approver.chain.user, people)] = Int(approver.chain.newest.generation)
            }
        }
        self.init(
            founder: try Self.number(of: genesis.author, people), generation: Int(genesis.generation),
            time: Int(genesis.time), name: Self.name(of: try genesis.hash()), approvers: approvers)
    }

    mutating func apply(_ line: Line, as entry: Entry) throws -> String? {
        apply(line, name: Self.name(of: try entry.hash()), after: Self.name(of: entry.previous))
    }

    private static func number(of user: UserID, _ people: [UserID]) throws -> Int {
        guard let number = people.firstIndex(of: user) else { throw TresorError.notFound }
        return number
    }

    private static func name(of hash: Hash256) -> Int { hash.bytes.prefix(7).reduce(0) { $0 << 8 | Int($1) } }

    /// The content of an entry in numbers.
    ///
    /// - Parameter grants: the hashes of the log so far, by which an approval names a grant.
    static func line(_ entry: Entry, people: [UserID], grants: [Hash256] = []) throws -> Line {
        var cards: [Int: Int] = [:]
        let deed: Deed
        switch try entry.body {
        case .genesis: throw TresorError.usage(.outOfBounds)
        case .grant(let grant):
            let users = try grant.people.map { try number(of: $0.user, people) }
            for (user, chain) in zip(users, grant.people) { cards[user] = Int(chain.newest.generation) }
            deed = .grant(
                users, grant.role.description, end: grant.notAfter.map { Int($0) },
                epoch: grant.fromNow.map { Int($0.epoch.number) })
        case .approve(let body):
            deed = .approve(
                grants.firstIndex(of: body.grant), epoch: Int(clamping: body.epoch),
                try body.users.map { try number(of: $0, people) },
                keys: body.releases.map { ($0.wrapped.ciphertext.count - 16) / 32 },
                generations: body.releases.map { Int($0.generation) })
        case .refuse(let body): deed = .refuse(grants.firstIndex(of: body.grant))
        case .approvers(let body):
            let users = try body.users.map { try number(of: $0, people) }
            for (user, approver) in zip(users, body.approvers) {
                cards[user] = Int(approver.chain.newest.generation)
            }
            deed = .approvers(users)
        case .remove(let remove):
            let users = try remove.users.map { try number(of: $0, people) }
            deed = .remove(users, epoch: Int(remove.epoch.number))
        case .leave: deed = .leave
        case .renew(let renew):
            let user = renew.card.generation == 0 ? nil : try number(of: renew.user, people)
            deed = .renew(user, Int(renew.card.generation))
        case .epoch(let body): deed = .epoch(Int(body.epoch.number))
        case .role(let body):
            let user = try number(of: body.user, people)
            deed = .role(user, body.role.description, end: body.notAfter.map { Int($0) })
        case .rename: deed = .rename
        case .commit(let body): deed = .commit(epoch: Int(clamping: body.epoch), sizes: sizes(body.blobs))
        case .checkpoint(let body):
            deed = .checkpoint(
                upto: Int(clamping: body.upto), epoch: Int(clamping: body.epoch), sizes: sizes(body.volumes))
        case .additive(let body): deed = .additive(Int(body.type))
        }
        return Line(
            author: try number(of: entry.author, people), generation: Int(entry.generation), time: Int(entry.time),
            cards: cards, deed: deed)
    }

    private static func sizes(_ blobs: [Blob]) -> [Int] { blobs.map { Int(clamping: $0.size) } }

    /// In what a state differs from the model; `nil` where they are the same.
    func difference(from state: LogState, people names: [UserID]) -> String? {
        let lastTimes = Dictionary(grouping: written, by: \.author).mapValues { $0.map(\.time).max() ?? 0 }
        let facts: [(String, Bool)] = [
            ("epoch", state.epoch == UInt64(epoch)),
            ("rekey pending", state.isRekeyPending == mustRotate),
            ("head", Self.name(of: state.head.hash) == written.last?.name),
            ("length", state.head.sequence == UInt64(written.count - 1)),
            ("hashes", state.hashes.map(Self.name) == written.map(\.name)),
            ("owner time", state.ownerTime == UInt64(ownerTime)),
            ("floor", state.floor == UInt64(floor.upto) && state.checkpoint == UInt64(floor.entry)),
            ("founder generation", state.founderGeneration == UInt32(founderGeneration)),
            ("head time", state.headTime == UInt64(written.last?.time ?? 0)),
            ("last times", state.lastTimes == Self.named(lastTimes, names) { UInt64($0) }),
            ("name", state.name.sequence == UInt64(named.entry) && state.name.epoch == UInt64(named.epoch)),
            (
                "generations",
                state.chains.mapValues { Int($0.newest.generation) } == Self.named(generations, names) { $0 }
            ),
            ("members", state.members.mapValues(\.role.description) == Self.named(people, names) { $0.role }),
            ("history", state.members.mapValues(\.history) == Self.named(people, names) { $0.history }),
            ("end", state.members.mapValues(\.notAfter) == Self.named(people, names) { $0.end.map { UInt64($0) } }),
            ("since", state.members.mapValues { Int($0.since) } == Self.named(people, names) { $0.since }),
            ("waiting", state.waiting.mapValues(\.role.description) == Self.named(waiting, names) { $0.role }),
            ("waiting history", state.waiting.mapValues(\.history) == Self.named(waiting, names) { $0.history }),
            ("waiting since", state.waiting.mapValues { Int($0.since) } == Self.named(waiting, names) { $0.grant }),
            (
                "waiting end",
                state.waiting.mapValues(\.notAfter) == Self.named(waiting, names) { $0.end.map { UInt64($0) } }
            ),
            (
                "approved by",
                state.members.mapValues(\.approvedBy) == Self.named(people, names) { $0.approver.map { names[$0] } }
            ),
            ("approvers", state.approvers == approvers.map { names[$0] }),
            ("admitted by", state.members.mapValues(\.admittedBy) == Self.named(people, names) { names[$0.by] }),
        ]
        return facts.first { !$0.1 }?.0
    }

    /// In what a later state's memory of this one differs from the model.
    func difference(fromPastOf state: LogState, people names: [UserID]) -> String? {
        let sequence = UInt64(written.count - 1)
        let facts: [(String, Bool)] = [
            ("epoch", state.epoch(at: sequence) == UInt64(epoch)),
            ("rekey pending", state.isRekeyPending(at: sequence) == mustRotate),
            ("people", state.people(at: sequence) == people.keys.sorted().map { names[$0] }),
        ]
        let difference = names.indices.first { number in
            let (user, person) = (names[number], people[number])
            let admission = state.admission(of: user, at: sequence)
            return state.role(of: user, at: sequence)?.description != person?.role
                || state.generation(of: user, at: sequence) != generations[number].map { UInt32($0) }
                || admission?.sequence != person.map { UInt64($0.since) }
                || admission?.by != person.map { names[$0.by] }
                || admission?.approvedBy != person?.approver.map { names[$0] }
                || state.grant(of: user, at: sequence) != (person ?? waiting[number]).map { UInt64($0.grant) }
                || admission?.notAfter != person?.end.map { UInt64($0) }
        }
        return facts.first { !$0.1 }?.0 ?? difference.map { "person \($0)" }
    }

    private static func named<Fact, Other>(
        _ facts: [Int: Fact], _ names: [UserID], _ transform: (Fact) -> Other
    ) -> [UserID: Other] {
        Dictionary(uniqueKeysWithValues: facts.map { (names[$0.key], transform($0.value)) })
    }
}

extension NaiveLog.Person {
    fileprivate var history: History { from.map { .from(epoch: UInt64($0)) } ?? .all }
}

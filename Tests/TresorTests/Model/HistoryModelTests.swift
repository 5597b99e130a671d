// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

/// Random histories, judged by `fold` and by the naive model.
@Suite struct HistoryModelTests {
    private static let roles: [String: Role] = ["owner": .owner, "writer": .writer, "reader": .reader]

    /// Six people by rising user id behind the founder, each in three generations.
    private func cast() throws -> [[Identity]] {
        func generations(_ name: String) throws -> [Identity] {
            let first = try identity(name)
            let second = try first.renewed(time: 5).identity
            return [first, second, try second.renewed(time: 6).identity]
        }
        let others = try (1...5).map { try generations("person-\($0)") }
        return [try generations("founder")] + others.sorted { $0[0].user < $1[0].user }
    }

    @Test(arguments: 0..<8) func foldAgreesWithTheNaiveModel(batch: Int) throws {
        let cast = try cast()
        for round in 0..<150 {
            var log = try Chronicle(founder: cast[0][0])
            var model = NaiveLog()
            var refusals = 0
            for step in 0..<18 {
                let author = Int.random(in: 0..<6) < 3 ? 0 : Int.random(in: 0..<6)
                let generation = Int.random(in: 0..<12) == 0 ? Int.random(in: 0...2) : model.generations[author] ?? 0
                var cards: [Int: Int] = [:]
                for user in 0..<6 { cards[user] = max(model.generations[user] ?? 0, Int.random(in: 0..<9) / 8) }
                if Int.random(in: 0..<10) == 0 { cards[Int.random(in: 0..<6)] = 0 }
                let time = Int.random(in: 0..<1000)
                let deed = deed()
                guard let body = try body(deed, by: author, cast: cast, cards: cards, model: model, log: log) else {
                    continue
                }
                let entry = try log.entry(
                    body, by: cast[author][2], generation: UInt32(generation), time: UInt64(time))
                let before = model
                let expected = model.apply(deed, by: author, generation: generation, time: time, cards: cards)
                let verdict = log.verdict(entry.bytes)
                #expect(verdict.error?.name == expected, "\(step) \(deed) by \(author) in \(before)")
                if expected != nil { model = before; refusals += 1; continue }
                guard verdict.error == nil else { break }
                try log.add(entry)
                try compare(log.state, model, cast)
            }
            let again = try Fold.state(of: log.entries, tresor: log.tresor)
            try compare(again, model, cast)
            #expect(again.head == log.state.head)
            if round.isMultiple(of: 5) { try compareKept(again, log, StateKeeper(cast[0][0])) }
            #expect(refusals < 19)
        }
    }

    /// What is kept of the state, and what is folded on from what is kept of an earlier one, is the state.
    private func compareKept(_ state: State, _ log: Chronicle, _ keeper: StateKeeper) throws {
        let bytes = try keeper.bytes(of: state)
        let kept = try keeper.open(bytes)
        let early = try Fold.state(
            of: Array(log.entries.prefix(.random(in: 1...log.entries.count))), tresor: log.tresor)
        var fold = Fold(state: try keeper.open(keeper.bytes(of: early)))
        for entry in log.entries.dropFirst(early.hashes.count) { try fold.apply(entry) }
        for other in [kept, try #require(fold.state)] {
            #expect(try keeper.bytes(of: other) == bytes)
            #expect(other.tresor == state.tresor && other.head == state.head && other.headTime == state.headTime)
            #expect(other.members == state.members && other.rotateFirst == state.rotateFirst)
            #expect(other.chains == state.chains && other.lastTimes == state.lastTimes)
            #expect(other.name.epoch == state.name.epoch && other.hashes == state.hashes)
            for sequence in 0..<state.entryCount {
                #expect(other.rotateFirst(at: sequence) == state.rotateFirst(at: sequence))
                #expect(other.people(at: sequence) == state.people(at: sequence))
            }
        }
    }

    private func deed() -> NaiveLog.Deed {
        let role = ["owner", "writer", "reader"].randomElement() ?? "reader"
        let end = Int.random(in: 0..<3) == 0 ? Int.random(in: 1..<1000) : nil
        func some() -> [Int] {
            let users = (0..<Int.random(in: 1...2)).map { _ in Int.random(in: 0..<6) }
            return Int.random(in: 0..<8) == 0 ? users : Set(users).sorted()
        }
        switch Int.random(in: 0..<14) {
        case 0..<5: return .grant(some(), role, end: end, fromNow: .random())
        case 5..<7: return .remove(some())
        case 7: return .leave
        case 8: return .renew
        case 9, 10: return .epoch(ahead: Int.random(in: 0..<6) == 0 ? Int.random(in: 0...2) : 1)
        case 11, 12: return .role(Int.random(in: 0..<6), role, end: end)
        default: return .rename
        }
    }

    /// `nil` for what cannot be written down: principals of a body stand by user id, so the founder's place among them is looked up.
    private func body(
        _ deed: NaiveLog.Deed, by author: Int, cast: [[Identity]], cards: [Int: Int], model: NaiveLog, log: Chronicle
    ) throws -> EntryBody? {
        func isWritable(_ users: [Int]) -> Bool { users.count < 2 || !users.contains(0) }
        switch deed {
        case .grant(let users, let role, let end, let fromNow):
            guard isWritable(users), let role = Self.roles[role] else { return nil }
            return try Chronicle.grant(
                users.map { cast[$0][cards[$0] ?? 0].chain }, role, notAfter: end.map(UInt64.init),
                fromNow: fromNow ? UInt64(model.epoch + 1) : nil)
        case .remove(let users):
            return isWritable(users) ? .remove(users: users.map { cast[$0][0].user }, epoch: try log.nextEpoch()) : nil
        case .leave: return .leave
        case .renew:
            let next = (model.generations[author] ?? 0) + 1
            return next <= 2 ? .renew(cast[author][next].chain.newest) : nil
        case .epoch(let ahead): return .epoch(try Chronicle.epoch(UInt64(model.epoch + ahead), links: 1))
        case .role(let user, let role, let end):
            guard let role = Self.roles[role] else { return nil }
            return .role(user: cast[user][0].user, role: role, notAfter: end.map(UInt64.init))
        case .rename: return .rename(try Chronicle.anyName())
        }
    }

    private func compare(_ state: State, _ model: NaiveLog, _ cast: [[Identity]]) throws {
        #expect(state.epoch == UInt64(model.epoch))
        #expect(state.rotateFirst == model.mustRotate)
        #expect(state.members.count == model.people.count)
        for (index, person) in model.people {
            let member = try #require(state.members[cast[index][0].user])
            #expect(member.role == Self.roles[person.role])
            #expect((member.history == .all) == person.full)
            #expect(member.notAfter == person.end.map(UInt64.init))
        }
        for (index, generation) in model.generations {
            #expect(state.chain(of: cast[index][0].user)?.newest.generation == UInt32(generation))
        }
    }
}

extension Chronicle {
    /// Appends what was judged valid.
    fileprivate mutating func add(_ entry: Entry) throws { try append(entry) }
}

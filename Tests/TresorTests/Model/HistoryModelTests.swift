// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore

/// Random histories with races, lost swaps and forks, validated by `fold` and by the naive model. Seeds 0 to 599, or
/// as many as `TRESOR_LOGS` says.
@Suite struct HistoryModelTests {
    private static let batchCount = 4
    private static let stepCount = 16

    @Test(arguments: 0..<batchCount) func foldAgreesWithTheNaiveModel(batch: Int) throws {
        let cast = Cast(try (0..<6).map { try Self.generations("person-\($0)") })
        let keeper = try Snapshots(cast.people[0][0])
        let seeds = seeds("TRESOR_LOGS", else: 600, batch: batch, of: Self.batchCount)
        var tally = Tally()
        for seed in seeds {
            var dice = Dice(seed: seed)
            var history = try RandomHistory(cast, using: &dice)
            for _ in 0..<Self.stepCount { try history.step(using: &dice, &tally) }
            try history.finish(using: &dice, &tally)
            #expect(history.disputes.isEmpty, "seed \(seed)")
            guard seed.isMultiple(of: 8) else { continue }
            for told in history.branches { try compareKept(told, keeper, "seed \(seed)", using: &dice) }
        }
        #expect(seeds.count < 100 || tally.isFull, "\(tally)")
    }

    private static func generations(_ name: String) throws -> [Identity] {
        let first = try identity(name)
        let second = try first.renewCard(time: 5).identity
        return [first, second, try second.renewCard(time: 6).identity]
    }

    /// A snapshot, and a fold that continues from an earlier snapshot, give the state.
    private func compareKept(
        _ told: Retelling, _ keeper: Snapshots, _ seed: Comment, using dice: inout Dice
    ) throws {
        let bytes = try keeper.bytes(of: told.state)
        let early = try #require(told.states.randomElement(using: &dice))
        var fold = Fold(state: try keeper.openSnapshot(keeper.bytes(of: early)))
        for entry in told.entries.dropFirst(early.hashes.count) { try fold.apply(entry) }
        for other in [try keeper.openSnapshot(bytes), try #require(fold.state)] {
            #expect(try keeper.bytes(of: other) == bytes, seed)
            #expect(told.model.difference(from: other, people: told.people) == nil, seed)
            for model in told.models { #expect(model.difference(fromPastOf: other, people: told.people) == nil, seed) }
        }
    }
}

/// The events in all histories of a batch: an event that never happens shows nothing.
private struct Tally {
    /// How often each deed was done, and how often it was refused with which error.
    var deeds: [String: Int] = [:]
    var forkCount = 0
    /// Of two who wrote after the same entry, how often the second came too late.
    var lostCount = 0
    /// How often it was done when it was written again.
    var regainedCount = 0
    /// Entries of one branch that the other was shown.
    var strayCount = 0

    var isFull: Bool {
        let names = ["grant", "approve", "refuse", "approvers", "remove", "leave", "renew", "epoch", "role", "rename"]
        let verdicts = names.flatMap { name in ["done", "no_access", "altered"].map { "\(name) \($0)" } }
        // Any member may rename as an owner, and no name is unsound.
        let isVaried = ["commit", "checkpoint"].allSatisfy { name in
            ["done", "void", "no_access"].allSatisfy { deeds["\(name) \($0)", default: 0] > 0 }
        }
        return isVaried && verdicts.allSatisfy { deeds[$0, default: 0] > 0 || $0 == "rename altered" }
            && min(forkCount, lostCount, regainedCount, strayCount) > 0
    }

    mutating func note(_ line: NaiveLog.Line, _ error: String?) {
        deeds["\(line.deed.name) \(error ?? "done")", default: 0] += 1
    }
}

/// One tresor and all that became of its log.
private struct RandomHistory {
    private let cast: Cast
    private(set) var branches: [Retelling]

    init(_ cast: Cast, using dice: inout Dice) throws {
        self.cast = cast
        let founder = Int.random(in: cast.people.indices, using: &dice)
        let genesis = try Chronicle(founder: cast.people[founder][0]).entries[0]
        branches = [try Retelling(genesis: genesis, people: cast.users)]
        if Int.random(in: 0..<8, using: &dice) == 0 { try orphan(by: founder, using: &dice) }
    }

    /// Lets the founder go, so that who stays could lose its last owner: two owners are left, one of them with an end.
    private mutating func orphan(by founder: Int, using dice: inout Dice) throws {
        let heirs = cast.people.indices.filter { $0 != founder }.shuffled(using: &dice)
        let deeds: [NaiveLog.Deed] = [
            .grant([heirs[0]], "owner", end: nil, epoch: nil), .grant([heirs[1]], "owner", end: 900, epoch: nil),
            .leave,
        ]
        for deed in deeds {
            let cards = if case .grant(let users, _, _, _) = deed { [users[0]: 0] } else { [Int: Int]() }
            let line = NaiveLog.Line(author: founder, generation: 0, time: 0, cards: cards, deed: deed)
            guard let entry = try cast.entry(line, after: branches[0].state) else { continue }
            try branches[0].tell(entry, drawn: line)
        }
    }

    var disputes: [String] { branches.flatMap(\.disputes) }

    mutating func step(using dice: inout Dice, _ tally: inout Tally) throws {
        let index = Int.random(in: branches.indices, using: &dice)
        switch Int.random(in: 0..<16, using: &dice) {
        case 0 where branches.count < 3:
            tally.forkCount += 1
            branches.append(branches[index].cut(to: Int.random(in: 1...branches[index].entries.count, using: &dice)))
        case 1...3: try race(on: index, using: &dice, &tally)
        default:
            let line = cast.line(in: branches[index].model, using: &dice)
            guard let entry = try cast.entry(line, after: branches[index].state) else { return }
            let error = try branches[index].tell(entry, drawn: line)
            tally.note(line, error ?? (branches[index].model.isVoid ? "void" : nil))
        }
    }

    /// Two write after the same entry; the later one writes the same again.
    private mutating func race(on index: Int, using dice: inout Dice, _ tally: inout Tally) throws {
        let before = branches[index]
        let lines = (0..<2).map { _ in cast.line(in: before.model, using: &dice) }
        guard let first = try cast.entry(lines[0], after: before.state),
            let second = try cast.entry(lines[1], after: before.state)
        else { return }
        try branches[index].tell(first, drawn: lines[0])
        try branches[index].tell(second, drawn: lines[1])
        guard branches[index].state.head.sequence == first.sequence,
            branches[index].state.head.hash == (try first.hash()),
            let again = try cast.entry(lines[1], after: branches[index].state)
        else { return }
        tally.lostCount += 1
        let error = try branches[index].tell(again, drawn: lines[1])
        if error == nil { tally.regainedCount += 1 }
    }

    /// Shows each branch what others have and it has not; then looks back.
    mutating func finish(using dice: inout Dice, _ tally: inout Tally) throws {
        let all = branches
        for index in branches.indices {
            for stray in all.flatMap(\.entries).dropFirst() where !branches[index].entries.contains(stray) {
                guard Int.random(in: 0..<4, using: &dice) == 0 else { continue }
                tally.strayCount += 1
                try branches[index].tell(Entry(stray))
            }
            try branches[index].review()
        }
    }
}

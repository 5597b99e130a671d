// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Random histories with real keys: people come, go and come back, write, and the owner makes checkpoints. Seeds 0 to
/// 7, or as many as `TRESOR_HISTORIES` says.
@Suite struct RecordHistoryTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func A147_newcomersAndRemovedMembersOpenNoVolume(batch: Int) throws {
        let people = try (0..<5).map { try identity("person-\($0)") }
        var tally: [String: Int] = [:]
        let seeds = seeds("TRESOR_HISTORIES", else: 8, batch: batch, of: Self.batchCount)
        for seed in seeds {
            var history = try RecordHistory(people, seed: seed)
            for _ in 0..<40 { try history.step() }
            try history.judge("seed \(seed)")
            tally.merge(history.tally) { $0 + $1 }
        }
        let events = ["checkpoint", "refused checkpoint", "conflict", "from now", "closed", "opened", "deletion"]
        #expect(seeds.count < 4 || events.allSatisfy { tally[$0, default: 0] > 0 }, "\(tally)")
    }

    /// A checkpoint that keeps a replaced version without the later ones shows it as a head to who reads the volumes, and
    /// comparePacks names it.
    @Test func A147_aVolumeThatIsNotClosedIsFoundOut() throws {
        let people = try (0..<5).map { try identity("person-\($0)") }
        let found = try (0..<UInt64(200)).contains { seed in
            var history = try RecordHistory(people, seed: seed, flaw: .openVolumes)
            for _ in 0..<40 { try history.step() }
            return try history.tally["altered", default: 0] > 0 && history.showsOthersToNewcomers()
        }
        #expect(found)
    }

    /// If keys that an earlier stay left opened packs, two people with one history would see two tables.
    @Test func A145_keysOfAnEarlierStayAreFoundOut() throws {
        let people = try (0..<5).map { try identity("person-\($0)") }
        let found = try (0..<UInt64(200)).contains { seed in
            var history = try RecordHistory(people, seed: seed)
            for _ in 0..<40 { try history.step() }
            return try history.differsByEarlierKeys()
        }
        #expect(found)
    }
}

/// A tresor, and what each person ever knew of its keys.
private struct RecordHistory {
    /// The deeds that an owner must not do.
    enum Flaw {
        /// Keeping a replaced version without the later ones.
        case openVolumes
    }

    private let flaw: Flaw?
    private let people: [Identity]
    private var book: RecordBook
    private var dice: Dice
    /// By person and epoch; never forgotten.
    private var known: [UserID: [UInt64: EpochKeys]] = [:]
    /// The head that each device last saw.
    private var seen: [UserID: UInt64] = [:]
    private(set) var tally: [String: Int] = [:]

    init(_ people: [Identity], seed: UInt64, flaw: Flaw? = nil) throws {
        self.people = people
        self.flaw = flaw
        dice = Dice(seed: seed)
        book = try RecordBook(people[0])
        try learn()
    }

    private mutating func isRare(_ odds: Int) -> Bool { Int.random(in: 0..<odds, using: &dice) == 0 }

    /// Everybody takes what the log grants.
    private mutating func learn() throws {
        for (user, member) in book.state.members {
            for epoch in member.history.firstEpoch...max(book.state.epoch, member.history.firstEpoch) {
                guard member.history != .all else {
                    known[user, default: [:]][epoch] = try book.key(epoch)
                    continue
                }
                // Keys that an earlier stay left are not taken away.
                guard known[user]?[epoch] == nil else { continue }
                let secret = try book.key(epoch).secret()
                known[user, default: [:]][epoch] = try EpochKeys(
                    epoch: epoch, unwrapped: secret.span.extracting(first: 32))
            }
        }
    }

    mutating func step() throws {
        book.time += 10
        let others = people.dropFirst()
        let members = others.filter { book.state.members[$0.user] != nil }
        let strangers = others.filter { book.state.members[$0.user] == nil }
        switch Int.random(in: 0..<20, using: &dice) {
        case 0..<3:
            guard let person = strangers.randomElement(using: &dice) else { return }
            let role: Role = isRare(4) ? .reader : .writer
            let isFromNow = isRare(2)
            if isFromNow { tally["from now", default: 0] += 1 }
            try book.admit(person, as: role, fromNow: isFromNow)
        case 3:
            guard let person = members.randomElement(using: &dice) else { return }
            try book.remove(person)
        case 4: try book.rotate()
        case 5, 6: try checkpoint()
        default: try write()
        }
        try learn()
    }

    /// A member edits or deletes some records, sometimes without having seen the newest.
    private mutating func write() throws {
        let writers = people.filter { [.owner, .writer].contains(book.state.members[$0.user]?.role) }
        guard let author = writers.randomElement(using: &dice), let member = book.state.members[author.user] else {
            return
        }
        if !isRare(3) { seen[author.user] = book.state.head.sequence }
        let limit = seen[author.user] ?? 0
        var table = RecordTable()
        for entry in try book.commits where entry.sequence <= limit {
            let outcome = book.outcome(
                of: entry, book.packs[entry.sequence], history: member.history, keys: known[author.user])
            table.take(outcome, at: entry.sequence)
        }
        let numbers = Set((0..<Int.random(in: 1...3, using: &dice)).map { _ in Int.random(in: 0..<5, using: &dice) })
        let times: [UInt64] = [1, book.time, 4_070_908_800]
        var items: [Item] = []
        for number in numbers.sorted() {
            let record = try Name(typed: "event/\(number)")
            let isDeletion = isRare(5)
            if isDeletion { tally["deletion", default: 0] += 1 }
            let text = isDeletion ? nil : "\(UInt8.random(in: 0...9, using: &dice))"
            let time: UInt64 = times.randomElement(using: &dice) ?? 1
            items.append(try Item(record.text, text, replacing: table.replacedNow(of: record), at: time))
        }
        try book.put(items, by: author)
    }

    /// The owner keeps what must be kept, and sometimes more.
    private mutating func checkpoint() throws {
        let upto = UInt64.random(in: 0...book.state.head.sequence, using: &dice)
        let items = try book.items()
        let table = try book.table()
        var cuts: [Name: UInt64] = [:]
        for name in table.names { cuts[name] = UInt64.random(in: 0...(upto + 1), using: &dice) }
        let flaw = flaw
        let kept = items.sorted { $0.key < $1.key }.filter { $0.key <= upto }.flatMap { sequence, items in
            items.filter { item in
                let cut = cuts[item.record] ?? 0
                return (flaw == .openVolumes ? sequence <= cut : sequence >= cut)
                    || table.heads(of: item.record).contains { $0.revision == sequence }
            }.map { KeptItem(sequence: sequence, item: $0) }
        }
        let before = book.state.floor
        let sequence = try book.checkpoint(kept, upto: upto)
        let isVoid = book.state.checkpoint != sequence
        tally[isVoid ? "refused checkpoint" : "checkpoint", default: 0] += 1
        #expect(isVoid == (book.state.floor == before))
        guard !isVoid else { return }
        do throws(TresorError) {
            let commits = items.keys.filter { $0 < sequence }.sorted()
            try RecordTable.comparePacks(kept, upto: upto, commits: commits) {
                (sequence) throws(TresorError) in try PackItem.all(items[sequence] ?? [])
            }
        } catch {
            guard flaw == .openVolumes, error == .altered else { throw error }
            tally["altered", default: 0] += 1
        }
    }

    /// Whether who comes with nothing sees another table than who has all packs.
    func showsOthersToNewcomers() throws -> Bool {
        let whole = try book.table()
        let late = try book.table(packs: book.packs.filter { $0.key > book.state.floor })
        return facts(late) != facts(whole)
    }

    /// Whether a member who came back would see another table by the keys of an earlier stay.
    func differsByEarlierKeys() throws -> Bool {
        try book.state.members.contains { user, member in
            guard case .from = member.history, let own = known[user], let first = own.keys.min() else { return false }
            let present = try book.table(history: member.history, keys: own)
            return try facts(book.table(history: .from(epoch: first), keys: own)) != facts(present)
        }
    }

    private func facts(_ table: RecordTable) -> [Name: [UInt64]] {
        Dictionary(
            uniqueKeysWithValues: table.names.map { name in
                (name, [table.shown(of: name)?.revision ?? 0] + table.heads(of: name).map(\.revision))
            })
    }

    /// The table of a reader who kept an index of it at some entry, and goes on from there.
    private mutating func indexed(history: History, keys: [UInt64: EpochKeys]?) throws -> RecordTable {
        let last = UInt64.random(in: 0...book.state.head.sequence, using: &dice)
        var table = RecordTable()
        let (book, commits) = (book, try book.commits)
        func take(_ entry: Entry) {
            table.take(
                book.outcome(of: entry, book.packs[entry.sequence], history: history, keys: keys), at: entry.sequence)
        }
        for entry in commits where entry.sequence <= last { take(entry) }
        var encoder = ByteEncoder()
        table.encode(into: &encoder)
        var decoder = ByteDecoder(encoder.bytes)
        table = try RecordTable(from: &decoder, upto: last)
        try decoder.end()
        for entry in commits where entry.sequence > last { take(entry) }
        return table
    }

    mutating func judge(_ seed: Comment) throws {
        let whole = try book.table()
        #expect(whole.isComplete, seed)
        let expected = facts(whole)
        tally["conflict", default: 0] += expected.values.count { $0.count > 2 }
        let newer = book.packs.filter { $0.key > book.state.floor }
        for (user, member) in book.state.members {
            let own = known[user]
            let table = try book.table(history: member.history, keys: own)
            #expect(table.isComplete, seed)
            let indexed = try self.indexed(history: member.history, keys: own)
            #expect(facts(indexed) == facts(table) && indexed.void == table.void, seed)
            switch member.history {
            case .all:
                #expect(facts(table) == expected, seed)
                // A reader who comes with nothing reads the volumes in place of the packs below the floor.
                let late = try book.table(keys: own, packs: newer)
                #expect(late.isComplete && facts(late) == expected, seed)
            case .from:
                let present = own?.filter { $0.key >= member.history.firstEpoch }
                #expect(try facts(book.table(history: member.history, keys: present)) == facts(table), seed)
                let fewer = try book.table(history: member.history, keys: own, packs: newer)
                #expect(fewer.isComplete && facts(fewer) == facts(table), seed)
                for (name, versions) in facts(table) {
                    #expect(Set(versions.dropFirst()).isSubset(of: expected[name]?.dropFirst() ?? []), seed)
                }
            }
        }
        for (user, own) in known { try judgeVolumes(of: user, own, seed) }
    }

    /// Every key that a person ever held is tried on every volume.
    private mutating func judgeVolumes(of user: UserID, _ own: [UInt64: EpochKeys], _ seed: Comment) throws {
        for (sequence, volumes) in book.volumes {
            let entry = try book.entry(at: sequence)
            guard case .checkpoint(let body) = try entry.body else { continue }
            let isEntitled = own[body.epoch]?.opensHistory == true
            for (epoch, keys) in own {
                let opened = Self.opens(volumes[0], entry, keys, in: book.state)
                #expect(opened == (isEntitled && epoch == body.epoch), seed)
                tally[opened ? "opened" : "closed", default: 0] += 1
            }
        }
    }

    /// As a volume, and as a file under either label.
    private static func opens(_ bytes: [UInt8], _ entry: Entry, _ keys: EpochKeys, in state: LogState) -> Bool {
        if (try? Volume.openVolume(bytes, at: 0, of: entry, in: state, with: keys)) != nil { return true }
        let sealed = bytes.span.extracting(FileHeader.byteCount..<bytes.count)
        let context = Array(bytes.prefix(FileHeader.byteCount))
        for label in [DomainLabel.fileSeal, .volumeSeal] {
            if (try? TC1.open(sealed, with: keys.content, label: label, context: context.span)) != nil { return true }
        }
        return false
    }
}

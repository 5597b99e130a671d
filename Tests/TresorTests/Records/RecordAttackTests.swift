// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Attacks on records: what a store, a reader, a writer and a removed member can do to them, and cannot.
@Suite struct RecordAttackTests {
    private let anna: Identity
    private let bob: Identity
    private let eve: Identity
    private var book: RecordBook
    private let name: Name

    init() throws {
        (anna, bob, eve) = (try identity("anna"), try identity("bob"), try identity("eve"))
        book = try RecordBook(anna)
        try book.admit(bob, as: .writer)
        try book.admit(eve, as: .reader)
        name = try Name(typed: "plan")
    }

    private func rule(_ entry: Entry) -> (error: TresorError?, broken: Rule?, void: Rule?) {
        var fold = Fold(state: book.state)
        return (error { try fold.apply(entry.bytes) }, fold.brokenRule, fold.voidRule)
    }

    @Test mutating func A139_recordsAreNeitherAddedNorLeftOutNorDoubled() throws {
        let first = try book.put(Item("plan", "one"))
        let second = try book.put(Item("plan", "two", replacing: [first]), by: bob)
        // A pack that no commit names is never asked for.
        var packs = book.packs
        packs[99] = try book.pack([Item("more", "extra")])
        #expect(try book.table(packs: packs).names == [name])
        packs[second] = nil
        let without = try book.table(packs: packs)
        #expect(without.missing == [second: .store(.withheld)] && !without.isComplete)
        packs[second] = packs[99]
        #expect(try book.table(packs: packs).missing == [second: .altered])
        // A record twice in one pack: nothing of it counts, for anybody.
        let twice: [UInt8] = [0, 0, 2] + (try Item("plan", nil).bytes) + (try Item("plan", nil).bytes)
        let doubled = try FileSealer.sealFile(
            twice, type: .pack, record: .empty, keys: try book.key(1), state: book.state, author: bob, time: 5)
        let entry = try book.entry(book.commit(doubled.bytes), by: bob)
        try book.add(try entry.body, by: bob)
        #expect(book.outcome(of: try book.entry(at: second + 1), doubled.bytes) == .void)
        var whole = book.packs
        whole[second + 1] = doubled.bytes
        let table = try book.table(packs: whole)
        #expect(table.isComplete && table.void == [second + 1] && table.shown(of: name)?.revision == second)
    }

    @Test mutating func A140_packsOfOtherPlacesDoNotFit() throws {
        var sequences: [UInt64] = []
        for text in ["one", "two", "three"] { sequences.append(try book.put(Item("plan", text), by: bob)) }
        var other = try RecordBook(anna)
        sequences.append(try other.put(Item("plan", "four")))
        let packs = sequences.dropLast().compactMap { book.packs[$0] } + [try #require(other.packs[sequences[3]])]
        for (place, sequence) in sequences.dropLast().enumerated() {
            let entry = try book.entry(at: sequence)
            for (index, pack) in packs.enumerated() {
                let outcome = book.outcome(of: entry, pack)
                if index == place {
                    #expect(outcome != .void && outcome != .missing(.altered))
                } else {
                    #expect(outcome == .missing(.altered), "\(place) \(index)")
                }
            }
        }
        // A writer who commits what somebody else sealed, here or in another tresor, commits nothing.
        let stolen = try book.pack([Item("plan", "by anna")])
        for pack in [stolen, packs[3]] {
            let sequence = try book.add(book.commit(pack), by: bob)
            #expect(book.outcome(of: try book.entry(at: sequence), pack) == .void)
        }
        // A version that a writer sealed and commits again is a revision of that writer's.
        let again = try book.add(book.commit(packs[0]), by: bob)
        #expect(book.outcome(of: try book.entry(at: again), packs[0]) == .items([try Item("plan", "one")]))
    }

    @Test mutating func A141_aCommitNeedsTheRightAndTheCurrentKey() throws {
        let pack = try book.pack([Item("plan", "one")])
        let body = try book.commit(pack)
        #expect(rule(try book.entry(body, by: eve)) == (.noAccess, .r15, nil))
        #expect(rule(try book.entry(body, by: identity("mallory"))) == (.noAccess, .r11, nil))
        try book.add(.renew(RenewBody(bob.renewCard(time: 5).identity.chain.newest)), by: bob)
        #expect(rule(try book.entry(body, by: bob)) == (.noAccess, .r14, nil))
        #expect(rule(try book.entry(body, by: anna)) == (nil, nil, .r40))
        try book.remove(bob)
        #expect(rule(try book.entry(body, by: bob)) == (.noAccess, .r13, nil))
        #expect(rule(try book.entry(body, by: anna)) == (nil, nil, .r39))
        #expect(rule(try book.entry(book.commit(pack), by: anna)) == (nil, nil, nil))
        // Sealed before the removal and committed after it: not under the current key.
        let sequence = try book.add(book.commit(pack))
        #expect(book.outcome(of: try book.entry(at: sequence), pack) == .void)
    }

    @Test func A142_twoContentsOfOneRevisionAreAFork() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let owner = try await world.quick("owner")
        let tresor = try await owner.tresors.create(Name(typed: "plans")).tresor
        let before = try await owner.client.logs.state(of: tresor)
        func commit(_ size: UInt64) throws -> Entry {
            try Entry(
                tresor: tresor, sequence: 1, previous: before.head.hash, author: owner.identity, time: 5,
                body: .commit(CommitBody(epoch: 1, blobs: [Blob(hash: .zero, size: size)])))
        }
        let first = LogChange(
            tresor: tresor, sequence: 1, previous: before.head.hash, entry: try commit(674).bytes)
        #expect(try await evil.append(first) == .done)
        _ = try await owner.client.logs.state(of: tresor)
        evil.fork(1, [try commit(700).bytes])
        #expect(await failure { _ = try await owner.client.logs.state(of: tresor) } == .forked)
        #expect(owner.evidenceCount == 1)
    }

    @Test mutating func A146_aDeletionStays() throws {
        let first = try book.put(Item("plan", "one"))
        let second = try book.put(Item("plan", nil, replacing: [first]))
        let table = try book.table()
        #expect(table.shown(of: name) == nil && table.heads(of: name).map(\.revision) == [second])
        // The earlier pack in the place of the deletion.
        var packs = book.packs
        packs[second] = packs[first]
        #expect(try book.table(packs: packs).missing == [second: .altered])
        // A device that did not see the deletion: its version stands beside it, and is shown.
        let third = try book.put(Item("plan", "late", replacing: [first]), by: bob)
        let beside = try book.table()
        #expect(beside.shown(of: name)?.revision == third)
        #expect(beside.different(of: name).count == 2)
        // Without the log's newer entries it would be there again, and the reader has seen them.
        var fold = Fold(tresor: book.tresor)
        try fold.apply(Array(book.entries.dropLast(2)))
        #expect(fold.state?.contains(book.state.head) == false)
    }

    @Test mutating func A147_aFalseCheckpointIsFound() throws {
        let first = try book.put(Item("plan", "one"))
        let second = try book.put(Item("plan", "two", replacing: [first]))
        let items = try book.items()
        let one = KeptItem(sequence: first, item: try #require(items[first]?.first))
        let two = KeptItem(sequence: second, item: try #require(items[second]?.first))
        func compared(_ kept: [KeptItem]) -> TresorError? {
            error {
                try RecordTable.comparePacks(kept, upto: second, commits: items.keys.sorted()) {
                    (sequence) throws(TresorError) in try PackItem.all(items[sequence] ?? [])
                }
            }
        }
        #expect(compared([two]) == nil && compared([one, two]) == nil)
        #expect(compared([]) == .altered && compared([one]) == .altered)
        #expect(compared([KeptItem(sequence: second, item: try Item("plan", "2", replacing: [first]))]) == .altered)
        #expect(compared([two, KeptItem(sequence: second, item: try Item("z", "more"))]) == .altered)
        // A floor never falls, and a writer sets none.
        try book.checkpoint([two], upto: second)
        let volume = Blob(hash: .zero, size: 674)
        for (author, upto, expected) in [(anna, second, Rule.r41), (anna, first, .r41), (bob, second + 1, .r15)] {
            let body = CheckpointBody(upto: upto, epoch: 1, volumes: [volume])
            #expect(rule(try book.entry(.checkpoint(body), by: author)) == (nil, nil, expected))
        }
        // An item of no commit, and one that is not the commit's, are refused by whoever reads the volumes.
        for kept in [[KeptItem(sequence: 1, item: two.item)], [two, one]] {
            let refused = error {
                try RecordTable.checkVolumes(kept, upto: second) { items[$0] == nil ? nil : 1 }
            }
            #expect(refused == .altered)
        }
    }

    @Test func A147_aNewcomerOpensNoVolume() throws {
        var book = book
        let first = try book.put(Item("plan", "one"))
        let late = try identity("late")
        try book.admit(late, as: .writer, fromNow: true)
        let items = try book.items()
        let kept = [KeptItem(sequence: first, item: try #require(items[first]?.first))]
        let begun = book.state.head.sequence
        try book.put(Item("plan", "two", replacing: [first]), by: late)
        // A checkpoint above the newcomer's beginning would take packs that only the newcomer could not replace.
        let body = CheckpointBody(upto: begun, epoch: 2, volumes: [Blob(hash: .zero, size: 674)])
        var fold = Fold(state: book.state)
        try fold.apply(try book.entry(.checkpoint(body), by: anna).bytes)
        #expect(fold.voidRule == .r42 && fold.state?.floor == 0)
        try book.checkpoint(kept, upto: first)
        let secret = try book.key(2).secret()
        let content = try EpochKeys(epoch: 2, unwrapped: secret.span.extracting(first: 32))
        #expect(error { _ = try book.kept([2: content]) } == .noAccess)
        #expect(try book.kept() == kept)
        // It is not the newcomer's business: the table is whole without it.
        let table = try book.table(
            history: .from(epoch: 2), keys: [2: content], packs: book.packs.filter { $0.key > first })
        #expect(table.isComplete && table.names == [name])
    }

    /// Two tresors whose members write other names and texts of the same sizes look alike to a store.
    @Test func A148_theStoreSeesTheSameForOtherNames() throws {
        func told(_ names: [String]) throws -> RecordBook {
            var book = try RecordBook(anna)
            try book.put(try names.map { try Item($0, "given") })
            for name in names { try book.put(Item(name, nil, replacing: [1])) }
            return book
        }
        let (one, two) = (try told(["ibuprofen", "morphine"]), try told(["toothache", "headache"]))
        #expect(one.entries.map(\.count) == two.entries.map(\.count))
        #expect(one.packs.mapValues(\.count) == two.packs.mapValues(\.count))
        // Neither does the number of records show, as long as the sizes are padded alike.
        let three = try told(["pain", "rash"])
        #expect(three.packs[1]?.count == one.packs[1]?.count)
        for bytes in one.entries + one.packs.values {
            for name in ["ibuprofen", "morphine"] { #expect(!bytes.contains(Array(name.utf8))) }
        }
        // A program that carelessly names the record in the log shows it.
        let careless = try one.entry(.additive(AdditiveBody(type: 200, Array("ibuprofen".utf8))), by: anna).bytes
        #expect(careless.contains(Array("ibuprofen".utf8)))
    }

    @Test mutating func A149_anOlderVersionIsNeverShownAsTheNewest() throws {
        let first = try book.put(Item("plan", "one"))
        let second = try book.put(Item("plan", "two", replacing: [first]))
        let old = book.packs[first]
        for (pack, expected) in [(nil, TresorError.store(.withheld)), (old, .altered)] as [([UInt8]?, TresorError)] {
            var packs = book.packs
            packs[second] = pack
            var table = try book.table(packs: packs)
            #expect(table.missing == [second: expected] && !table.isComplete)
            // A version that comes late counts as if it had been there.
            table.take(book.outcome(of: try book.entry(at: second), book.packs[second]), at: second)
            #expect(table.isComplete && table.shown(of: name)?.revision == second)
            #expect(table.heads(of: name).count == 1)
        }
    }

    @Test mutating func A150_aRemovedMemberBackdatesNoRecord() throws {
        let first = try book.put(Item("plan", "one"))
        let before = book
        let forged = try before.pack([Item("plan", "forged", replacing: [first])], by: bob)
        try book.remove(bob)
        // With the old key and head, in an entry of their own.
        #expect(rule(try book.entry(before.commit(forged), by: bob)) == (.noAccess, .r13, nil))
        // In the entry of an accomplice.
        for body in [try before.commit(forged), try book.commit(forged)] {
            let sequence = try book.add(body)
            #expect(book.outcome(of: try book.entry(at: sequence), forged) == .void)
        }
        #expect(try book.table().shown(of: name)?.revision == first)
        // A version that was committed in time stays.
        var honest = before
        let second = try honest.put(Item("plan", "bob's", replacing: [first]), by: bob)
        try honest.remove(bob)
        #expect(try honest.table().shown(of: name)?.revision == second)
    }
}

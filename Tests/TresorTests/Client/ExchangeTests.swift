// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A tresor on its way from one store to another (SPEC §11.1).
@Suite struct ExchangeTests {
    let world = World()
    /// The doctor's store, which has never seen the tresor.
    let other = EvilStore()
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("house", seeing: other)
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
    }

    private func exported() async throws -> TresorExport {
        try TresorExport(try await anna.client.exchange.export(tresor).bytes)
    }

    /// Everything that a store shows of the tresor, its people and their keys.
    private func shown(by store: any Store) async throws -> [[UInt8]] {
        var objects = try await log(tresor, in: store)
        for user in [anna.identity.user, house.identity.user].sorted() {
            objects.append(try await store.card(of: user) ?? [])
            objects += try await store.wraps(of: user, in: tresor, epoch: nil)
        }
        return objects
    }

    @Test func anExportHoldsWhatTheStoreHoldsAndNoMore() async throws {
        try await anna.tresors.perform(.rotate, on: tresor)
        let export = try await exported()
        #expect(export.entries == (try await log(tresor, in: world.store)))
        #expect(Set(export.cards.map(\.user)) == [anna.identity.user, house.identity.user])
        #expect(export.wraps.count == 4)
        #expect(try TresorExport(armoured: export.armoured) == export)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let later = try await exported()
        #expect(later.cards.map(\.user) == [anna.identity.user])
        #expect(later.wraps.allSatisfy { $0.user == anna.identity.user })
    }

    @Test func anExportHasAtMost256MiB() async throws {
        let keys = try await anna.keyRing.keys(of: 1, in: anna.client.logs.state(of: tresor))
        let identity = house.identity
        // The shorter of the two forms of a wrap.
        let wrap = try Wrap(keys, of: tresor, for: identity.chain.newest, user: identity.user, history: .from(epoch: 1))
        let full = [UInt8](repeating: 0, count: 1 << 20)
        let rest = (1 << 28) - (58 + 255 * (4 + full.count) + 4 + 2 + wrap.bytes.count)
        func export(last count: Int) throws(TresorError) -> TresorExport {
            let entries = [[UInt8]](repeating: full, count: 255) + [[UInt8](repeating: 0, count: count)]
            return try TresorExport(tresor: tresor, entries: entries, cards: [], wraps: [wrap.unverified])
        }
        #expect(try export(last: rest).bytes.count == 1 << 28)
        #expect(throws: TresorError.usage(.contentTooLong)) { try export(last: rest + 1) }
    }

    @Test func aMailedFileIsEnoughToReadAndToAnswer() async throws {
        let file = try await anna.seal("plan", in: tresor)
        let arrival = try await house.client.exchange.take(try await exported())
        #expect(arrival.entryCount == 2 && arrival.wrapCount == 2 && arrival.cardCount == 1)
        #expect(try await log(tresor, in: other) == log(tresor, in: world.store))
        #expect(try await house.files.open(file, expecting: .anyTresor).content == Array("plan".utf8))
        let answer = try await house.seal("answer", in: tresor)
        #expect(try await anna.files.open(answer, expecting: .anyTresor).content == Array("answer".utf8))
        let writes = other.writeCount
        let again = try await house.client.exchange.take(try await exported())
        #expect(again.isNothing && other.writeCount == writes)
    }

    @Test func aRemovalArrivesWithTheNextFileAndTakesTheKeysAway() async throws {
        let first = try await exported()
        _ = try await house.client.exchange.take(first)
        try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        let arrival = try await house.client.exchange.take(try await exported())
        #expect(arrival.state.members[house.identity.user] == nil)
        #expect(try await other.wraps(of: house.identity.user, in: tresor, epoch: nil) == [])
        // An older file is no finding, and puts no key of a removed member.
        let older = try await house.client.exchange.take(first)
        #expect(older.isNothing)
        #expect(try await other.wraps(of: house.identity.user, in: tresor, epoch: nil) == [])
        #expect(house.evidenceCount == 0)
    }

    /// A store keeps the id of a tresor that was deleted from it.
    @Test func whatWasDeletedFromAStoreDoesNotComeBack() async throws {
        let export = try await exported()
        let store = MemoryStore()
        let before = world.session(of: house, home: MemoryHome(), seeing: store)
        _ = try await before.client.exchange.take(export)
        await store.deleteTresor(tresor)
        let after = world.session(of: house, home: MemoryHome(), seeing: store)
        #expect(await failure { _ = try await after.client.exchange.take(export) } == .notFound)
    }

    @Test func anImportThatBreaksOffIsResumed() async throws {
        try await anna.tresors.perform(.rotate, on: tresor)
        let export = try await exported()
        let whole = EvilStore()
        let model = world.session(of: house, home: MemoryHome(), seeing: whole)
        _ = try await model.client.exchange.take(export)
        var count = 0
        while true {
            for behind in [false, true] {
                let store = EvilStore()
                let session = world.session(
                    of: house, home: try #require(house.client.home as? MemoryHome).copy(), seeing: store)
                store.fail(after: count, behind: behind)
                let error = await failure { _ = try await session.client.exchange.take(export) }
                store.behave()
                let state = try? await session.client.logs.state(of: tresor)
                #expect(state.map { $0.entryCount <= 3 } ?? true)
                _ = try await session.client.exchange.take(export)
                #expect(try await shown(by: store) == shown(by: whole), "after \(count) calls")
                if error == nil {
                    #expect(count > 5)
                    return
                }
            }
            count += 1
        }
    }

    /// Two branches of one log, each of them valid.
    private func branch() async throws -> TresorExport {
        let store = StageStores.make()
        let genesis = try await log(tresor, in: world.store)[0]
        let change = LogChange(tresor: tresor, sequence: 0, previous: .zero, entry: genesis)
        #expect(try await store.append(change) == .done)
        let wraps = try await world.store.wraps(of: anna.identity.user, in: tresor, epoch: nil)
        try await store.putWraps([StoredWrap(user: anna.identity.user, epoch: 1, bytes: wraps[0])], in: tresor)
        let twin = try await world.settle(anna.identity, seeing: store)
        try await twin.tresors.perform(.rotate, on: tresor)
        return try await twin.client.exchange.export(tresor)
    }

    @Test func A222_aForkIsReportedAndChangesNothing() async throws {
        let branch = try await branch()
        _ = try await house.client.exchange.take(try await exported())
        let writes = other.writeCount
        #expect(await failure { _ = try await house.client.exchange.take(branch) } == .forked)
        #expect(house.evidenceCount == 1)
        // A home that has seen nothing compares the file with the store alone.
        let fresh = world.session(of: house, home: MemoryHome(), seeing: other)
        #expect(await failure { _ = try await fresh.client.exchange.take(branch) } == .forked)
        #expect(other.writeCount == writes)
        // Nor does a fork begin a log in an empty store.
        let empty = EvilStore()
        let elsewhere = world.session(of: house, seeing: empty)
        #expect(await failure { _ = try await elsewhere.client.exchange.take(branch) } == .forked)
        #expect(empty.writeCount == 0)
    }

    @Test func anOlderFileDoesNotBeginALog() async throws {
        let old = try await exported()
        try await anna.tresors.perform(.rotate, on: tresor)
        _ = try await house.client.exchange.take(try await exported())
        let empty = EvilStore()
        let elsewhere = world.session(of: house, seeing: empty)
        #expect(await failure { _ = try await elsewhere.client.exchange.take(old) } == .forked)
        #expect(empty.writeCount == 0)
        _ = try await elsewhere.client.exchange.take(try await exported())
        #expect(try await log(tresor, in: empty) == log(tresor, in: world.store))
    }

    @Test func aForgedFileIsAlteredAndChangesNothing() async throws {
        let export = try await exported()
        let writes = other.writeCount
        let stranger = try identity("eve")
        var flipped = export.entries
        flipped[1][300] ^= 1
        let forgeries = try [
            TresorExport(tresor: tresor, entries: flipped, cards: export.cards, wraps: export.wraps),
            TresorExport(tresor: tresor, entries: [export.entries[1]], cards: export.cards, wraps: export.wraps),
            TresorExport(
                tresor: tresor, entries: export.entries, cards: export.cards + [stranger.chain],
                wraps: export.wraps),
        ]
        for forgery in forgeries {
            #expect(await failure { _ = try await house.client.exchange.take(forgery) } == .altered)
        }
        #expect(other.writeCount == writes)
        #expect(house.evidenceCount == 0)
    }

    @Test func aContradictingCardIsForked() async throws {
        let export = try await exported()
        // Anna's keys were renewed twice, apart from one another.
        let renewals = try (5...6).map { try anna.identity.renewCard(time: UInt64($0)).identity.chain }
        try house.client.people.pinBlocking(renewals[0])
        let cards = export.cards.filter { $0.user != anna.identity.user } + [renewals[1]]
        let forged = try TresorExport(tresor: tresor, entries: export.entries, cards: cards, wraps: export.wraps)
        let writes = other.writeCount
        #expect(await failure { _ = try await house.client.exchange.take(forged) } == .forked)
        #expect(other.writeCount == writes)
    }

    @Test func wrapsArePutWhereNoneLiesAndWhereTheLogCallsForThem() async throws {
        let export = try await exported()
        let user = house.identity.user
        let mine = try #require(export.wraps.first { $0.user == user })
        // Another wrap for the same place, and one for somebody who is no member.
        let keys = try await anna.keyRing.keys(of: 1, in: anna.client.logs.state(of: tresor))
        let eve = try identity("eve")
        let second = try Wrap(keys, of: tresor, for: house.identity.chain.newest, user: user, history: .all)
        let uncalled = try Wrap(keys, of: tresor, for: eve.chain.newest, user: eve.user, history: .all)
        let short = try Wrap(keys, of: tresor, for: house.identity.chain.newest, user: user, history: .from(epoch: 1))
        #expect(second.unverified != mine)
        for wraps in [[uncalled], [short]] {
            let forged = try TresorExport(
                tresor: tresor, entries: export.entries, cards: [], wraps: wraps.map(\.unverified))
            #expect(try await house.client.exchange.take(forged).wrapCount == 0)
        }
        #expect(try await other.wraps(of: eve.user, in: tresor, epoch: nil) == [])
        #expect(try await other.wraps(of: user, in: tresor, epoch: nil) == [])
        #expect(try await house.client.exchange.take(export).wrapCount == 2)
        let replaced = try TresorExport(tresor: tresor, entries: export.entries, cards: [], wraps: [second.unverified])
        #expect(try await house.client.exchange.take(replaced).isNothing)
        #expect(try await other.wraps(of: user, in: tresor, epoch: nil) == [mine.bytes])
    }

    @Test func aStoreThatKeepsNothingIsFoundOut() async throws {
        let export = try await exported()
        other.lie(.storesNothing)
        let error = await failure { _ = try await house.client.exchange.take(export) }
        #expect(error == .busy || error == .notFound || error == .store(.notStored), "\(String(describing: error))")
    }
}

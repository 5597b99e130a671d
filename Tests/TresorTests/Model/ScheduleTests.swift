// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// Three clients act on one tresor at once, and the order of their calls to the store is drawn. Seeds 0 to 59, or as
/// many as `TRESOR_SCHEDULES` says.
@Suite struct ScheduleTests {
    private static let batchCount = 4

    /// The tresor before anybody races for it: anna's, with another owner, a writer and a reader.
    private struct Start {
        let tresor: TresorID
        let anna: Session
        let other: Session
        let house: Session
        let guest: Session
        let cards: [CardChain]
        let entries: [[UInt8]]
        let wraps: [StoredWrap]
        /// The people who have seen it so far.
        let onlooker: Onlooker

        init() async throws {
            let world = World()
            (anna, other) = (try await world.quick("anna"), try await world.quick("other"))
            (house, guest) = (try await world.quick("house"), try await world.quick("guest"))
            let people = [anna, other, house, guest]
            try world.introduce(anna, other, house, guest)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.share(tresor, with: [other], as: .owner)
            try await anna.share(tresor, with: [house], as: .writer)
            try await anna.share(tresor, with: [guest])
            for person in people { _ = try await person.client.logs.state(of: tresor) }
            cards = people.map(\.identity.chain)
            entries = try await log(tresor, in: world.store)
            var wraps: [StoredWrap] = []
            for user in cards.map(\.user) {
                for bytes in try await world.store.wraps(of: user, in: tresor, epoch: nil) {
                    wraps.append(StoredWrap(user: user, epoch: try UnverifiedWrap(bytes).epoch, bytes: bytes))
                }
            }
            self.wraps = wraps
            var onlooker = try Onlooker(genesis: entries[0], people: cards.map(\.user).sorted())
            try onlooker.look(at: entries, changes: [], wraps: wraps, as: people.map(\.identity))
            self.onlooker = onlooker
        }

        func store() async throws -> any Store {
            let store = StageStores.make()
            for chain in cards {
                _ = try await store.putCard(chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
            }
            for (index, entry) in entries.enumerated() {
                let previous = index == 0 ? nil : entries[index - 1]
                let change = try LogChange(tresor: tresor, sequence: UInt64(index), after: previous, entry: entry)
                #expect(try await store.append(change) == .done)
            }
            try await store.putWraps(wraps, in: tresor)
            return store
        }
    }

    /// The attempt of one client.
    private struct Deed: Sendable {
        let session: Session
        let act: Act
        let error: TresorError?
        let notes: ScheduledStore.Notes

        /// Whether this was done, and `other` is the same on another device of the same person.
        func isTwin(of other: Deed) -> Bool {
            session.keyRing !== other.session.keyRing && session.identity.user == other.session.identity.user
                && act == other.act
                && error == nil && !notes.written.isEmpty
        }
    }

    @Test(arguments: 0..<batchCount) func A67_inEveryScheduleEachActIsDoneOnceOrNotAtAll(batch: Int) async throws {
        let start = try await Start()
        for seed in seeds("TRESOR_SCHEDULES", else: 60, batch: batch, of: Self.batchCount) {
            try await race(seed, from: start)
        }
    }

    private func race(_ seed: UInt64, from start: Start) async throws {
        var dice = Dice(seed: seed)
        let store = try await start.store()
        let schedule = Schedule(of: 3, seed: dice.next())
        let clients = [start.anna, start.anna, start.other, start.house].shuffled(using: &dice).prefix(3)
        let deeds = try await withThrowingTaskGroup(of: [Deed].self) { group in
            for (index, person) in clients.enumerated() {
                let view = ScheduledStore(store, schedule, person: index)
                let home = try #require(person.client.home as? MemoryHome).copy()
                let session = World(store: view).session(of: person, home: home, seeing: view)
                let acts = try (0..<2).map { _ in try act(of: person, start, &dice) }
                group.addTask {
                    var deeds: [Deed] = []
                    for act in acts {
                        let error = await failure { try await session.tresors.perform(act, on: start.tresor) }
                        deeds.append(Deed(session: session, act: act, error: error, notes: view.takeNotes()))
                    }
                    await schedule.finish()
                    return deeds
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        try await judge(deeds, in: store, start, "seed \(seed)")
    }

    private func act(of person: Session, _ start: Start, _ dice: inout Dice) throws -> Act {
        func some(_ people: Session...) -> CardChain {
            (people.randomElement(using: &dice) ?? start.guest).identity.chain
        }
        switch Int.random(in: 0..<10, using: &dice) {
        case 0, 1: return .rotate
        case 2: return .rename(try Name(typed: "name \(Int.random(in: 0..<3, using: &dice))"))
        case 3, 4: return .revoke([some(start.guest, start.house, start.other).user])
        case 5 where person.identity.user != start.anna.identity.user: return .leave
        case 5, 6:
            return .share(with: [some(start.guest, start.house)], role: .writer, fromNow: false, notAfter: nil)
        case 7:
            return .share(with: [some(start.guest, start.house)], role: .reader, fromNow: false, notAfter: nil)
        case 8: return .share(with: [start.other.identity.chain], role: .owner, fromNow: false, notAfter: nil)
        default: return .share(with: [start.guest.identity.chain], role: .reader, fromNow: true, notAfter: nil)
        }
    }

    /// The log is valid, and no person has more keys than they should. Each successful writer wrote the act once, if it
    /// changed anything; each failed one did not. The entry means what its author meant at the start: no removed member
    /// is back.
    private func judge(_ deeds: [Deed], in store: any Store, _ start: Start, _ seed: Comment) async throws {
        let entries = try await log(start.tresor, in: store)
        let people = [start.anna, start.other, start.house, start.guest]
        var onlooker = start.onlooker
        try onlooker.look(
            at: entries, changes: deeds.flatMap(\.notes.asked), wraps: [], as: people.map(\.identity))
        #expect(onlooker.disputes.isEmpty, seed)
        let states = onlooker.told.states
        var writtenCount = start.entries.count
        for deed in deeds {
            writtenCount += deed.notes.written.count
            let known: [TresorError?] = [
                nil, .busy, .noAccess, .usage(.historyCannotChange), .usage(.yourself), .notFound,
            ]
            #expect(known.contains(deed.error), "\(seed) \(deed.act) \(String(describing: deed.error))")
            let first = states[try #require(deed.notes.firstLength) - 1]
            let own = try deed.notes.written.filter { try Self.does(deed.act, Entry(entries[Int($0)]).body) }
            let others = deed.notes.written.count - own.count
            #expect(others == 0 || isRename(deed.act), "\(seed) \(deed.act)")
            guard let sequence = own.first else {
                // Two devices of one person who do the same at one time sign the same entry: done once, and so for
                // both.
                guard !deeds.contains(where: { $0.isTwin(of: deed) }) else { continue }
                let meant = try? deed.session.tresors.effectBlocking(of: deed.act, in: first)
                #expect(deed.error != nil || meant?.isNothing == true, "\(seed) \(deed.act)")
                continue
            }
            #expect(own.count == 1 && deed.error == nil, "\(seed) \(deed.act) \(String(describing: deed.error))")
            // A rename reads once before, to see whether the key must change first; any name means the same at any
            // time.
            guard !isRename(deed.act) else { continue }
            let meant = try deed.session.tresors.effectBlocking(of: deed.act, in: first)
            let done = try deed.session.tresors.effectBlocking(of: deed.act, in: states[Int(sequence) - 1])
            #expect(meant.means(done), "\(seed) \(deed.act)")
        }
        #expect(entries.count == writtenCount, seed)
        let state = try #require(states.last)
        for person in people {
            let session = World(store: store).session(of: person, seeing: store)
            let refused = await failure { _ = try await session.keyRing.keys(of: state.epoch, in: state) }
            #expect(refused == (state.members[person.identity.user] == nil ? .noAccess : nil), seed)
        }
    }

    private func isRename(_ act: Act) -> Bool { if case .rename = act.kind { true } else { false } }

    /// Whether an entry is what an act writes, and not the rotation that comes before it.
    private static func does(_ act: Act, _ body: EntryBody) -> Bool {
        switch (act.kind, body) {
        case (.share, .grant), (.share, .role), (.revoke, .remove), (.leave, .leave), (.rotate, .epoch),
            (.rename, .rename):
            true
        default: false
        }
    }
}

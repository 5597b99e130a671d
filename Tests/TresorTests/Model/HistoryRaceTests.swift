// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Random histories of several devices on a store that lies, goes back and forks now and then: whatever happens, the
/// invariants of keys and log hold. Seeds 0 to 7, or as many as `TRESOR_HISTORIES` says.
@Suite struct HistoryRaceTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func A60_A66_A76_randomHistoriesWithLiesKeepTheInvariants(batch: Int) async throws
    {
        for seed in seeds("TRESOR_HISTORIES", else: 8, batch: batch, of: Self.batchCount) {
            let history = try await RaceHistory(seed)
            for _ in 0..<25 { try await history.step() }
        }
    }
}

/// Two owners and two who come and go, each with a view of the store of their own.
private final class RaceHistory {
    /// A person with one view of the store, at present.
    private final class Party {
        var session: Session
        let view: EvilStore
        /// All that they were, and are.
        var generations: [Identity]
        var opened: [UInt64: EpochKeys] = [:]

        init(_ session: Session, _ view: EvilStore) {
            self.session = session
            self.view = view
            generations = [session.identity]
        }

        var user: UserID { session.identity.user }
    }

    private let honest = StageStores.make()
    private let world: World
    private let seed: Comment
    private let tresor: TresorID
    private let parties: [Party]
    private var dice: Dice
    private var onlooker: Onlooker

    init(_ seed: UInt64) async throws {
        self.seed = "seed \(seed)"
        dice = Dice(seed: seed)
        world = World(store: honest)
        // The roles do not depend on the order of user ids, which no seed decides.
        let identities = rising(try identity("a"), try identity("b"), try identity("c"), try identity("d"))
        var parties: [Party] = []
        for identity in identities.shuffled(using: &dice) {
            let view = EvilStore(honest)
            parties.append(Party(try await world.settle(identity, seeing: view), view))
        }
        self.parties = parties
        try world.introduce(parties[0].session, parties[1].session, parties[2].session, parties[3].session)
        tresor = try await parties[0].session.tresors.create(Name(typed: "plans")).tresor
        try await parties[0].session.share(tresor, with: [parties[1].session], as: .owner)
        _ = try await parties[1].session.client.logs.state(of: tresor)
        onlooker = try Onlooker(genesis: try await log(tresor, in: honest)[0], people: identities.map(\.user))
    }

    func step() async throws {
        let owner = parties[Int.random(in: 0..<2, using: &dice)]
        let lies: [EvilStore.Lie?] = [.storesNothing, .saysConflict, .storesEntryAlone, nil, nil, nil]
        let lie = lies.randomElement(using: &dice) ?? nil
        owner.view.lie(lie)
        switch Int.random(in: 0..<9, using: &dice) {
        case 0, 1: owner.view.older(Int.random(in: 0..<4, using: &dice))
        case 2: try await fork(owner)
        case 3, 4: overtake(owner)
        default: break
        }
        let error = await failure { try await act(owner.session) }
        let known: [TresorError?] = [
            nil, .busy, .forked, .altered, .noAccess, .usage(.historyCannotChange), .notFound, .store(.notStored),
            .unverified,
        ]
        #expect(known.contains(error), "\(seed) \(String(describing: error))")
        for party in parties { party.view.behave() }
        try await trespass()
        try await compare()
        try #require(onlooker.disputes.isEmpty, seed)
    }

    /// The other owner is faster with what may mean something else to this one.
    private func overtake(_ owner: Party) {
        let other = parties[owner === parties[0] ? 1 : 0].session
        let guest = parties[Int.random(in: 2..<4, using: &dice)].session.identity
        let acts: [Act] = [
            .rotate, .revoke([guest.user]),
            .share(with: [guest.chain], role: .reader, fromNow: .random(using: &dice), notAfter: nil),
        ]
        guard let act = acts.randomElement(using: &dice) else { return }
        owner.view.beforeNextAppend { [tresor] in _ = try? await other.tresors.perform(act, on: tresor) }
    }

    /// Another continuation from an earlier entry, signed by an owner in league with the store and by later authors. No
    /// other member accepts it: all have seen the last entry.
    private func fork(_ victim: Party) async throws {
        let count = try await log(tresor, in: honest).count
        guard count > 2 else { return }
        let root = Int.random(in: 1..<(count - 1), using: &dice)
        let cast = Cast(parties.map(\.generations))
        let traitor = parties[1].user
        let length = Int.random(in: 1...4, using: &dice)
        let branch = try onlooker.branch(after: root + 1, of: length) { model, state, step in
            guard step == 0, let number = cast.users.firstIndex(of: traitor) else {
                return try cast.entry(cast.line(in: model, using: &dice), after: state)
            }
            let line = NaiveLog.Line(
                author: number, generation: model.generations[number] ?? 0, time: 1_777_730_400, cards: [:],
                deed: Bool.random(using: &dice) ? .rename : .epoch(model.epoch + 1))
            return try cast.entry(line, after: state)
        }
        #expect(!branch.isEmpty, seed)
        victim.view.fork(root + 1, branch)
        let evidence = victim.session.evidenceCount
        let home = victim.session.home
        #expect(await failure { _ = try await victim.session.client.logs.state(of: tresor) } == .forked, seed)
        #expect(victim.session.home == home, seed)
        #expect(victim.session.evidenceCount >= evidence, seed)
    }

    private func act(_ session: Session) async throws {
        let party = parties[Int.random(in: 2..<4, using: &dice)]
        switch Int.random(in: 0..<8, using: &dice) {
        case 7: try await renew(party)
        case 0: try await session.tresors.perform(.rotate, on: tresor)
        case 1: try await party.session.tresors.perform(.leave, on: tresor)
        case 2, 3: try await session.tresors.perform(.revoke([party.user]), on: tresor)
        case 4: try await session.share(tresor, with: [party.session], as: .writer)
        case 5: try await session.share(tresor, with: [party.session], fromNow: true)
        default:
            let name = try Name(typed: "name \(Int.random(in: 0..<99, using: &dice))")
            try await session.tresors.perform(.rename(name), on: tresor)
        }
    }

    /// New keys for a person, whom all compare again.
    private func renew(_ party: Party) async throws {
        let (next, sealed) = try party.session.identity.renewCard(time: world.clock.now)
        let file = try party.session.client.identityFileBlocking()
        let home = try #require(party.session.client.home as? MemoryHome)
        party.generations.append(next)
        party.session = try await world.settle(next, previous: [sealed] + file.previous, home: home, seeing: party.view)
        _ = try await party.session.renewal.finishInEachTresor()
        for other in parties where other !== party { try other.session.client.people.pinBlocking(next.chain) }
    }

    /// Other members try the acts of owners: the client asks nothing of the store, and nothing changes.
    private func trespass() async throws {
        let before = try await log(tresor, in: honest)
        let state = try Fold.state(of: before, tresor: tresor)
        for party in parties[2...] {
            let others = parties.filter { $0 !== party }.map(\.session.identity)
            let other = try #require(others.randomElement(using: &dice))
            let acts: [Act] = [
                .revoke([other.user]),
                .share(with: [other.chain], role: .owner, fromNow: false, notAfter: nil),
            ]
            let asked = party.view.writeCount
            let wanted = state.chain(of: party.user) == nil ? StageStores.errorOfStrangers : .noAccess
            for act in acts {
                let refused = await failure { try await party.session.tresors.perform(act, on: tresor) }
                #expect(refused == wanted, "\(seed) \(act)")
            }
            #expect(party.view.writeCount == asked, seed)
            #expect(state.members[party.user]?.role != .owner, seed)
        }
        #expect(try await log(tresor, in: honest) == before, seed)
    }

    /// The log is valid and replays the same. Heads never fall. All members agree on the keys they may have. A removed
    /// member gets no later key, whatever the store kept for them.
    private func compare() async throws {
        let entries = try await log(tresor, in: honest)
        let changes = parties.flatMap(\.view.everyChange)
        let wraps = parties.flatMap(\.view.everyWrap)
        let halves = parties.flatMap(\.view.everyHalf)
        let identities = parties.map(\.session.identity)
        try onlooker.look(at: entries, changes: changes, wraps: wraps, halves: halves, as: identities)
        // If a lie has cost the founder the newest keys, the founder changes the key and continues.
        if !onlooker.hasFileOfEpoch, !onlooker.state.isRekeyPending {
            let file = try await parties[0].session.seal("now", in: tresor)
            let later = try await log(tresor, in: honest)
            try onlooker.look(
                at: later, changes: parties.flatMap(\.view.everyChange), wraps: parties.flatMap(\.view.everyWrap),
                as: identities)
            try onlooker.take(file)
            try onlooker.look(at: later, changes: [], wraps: [], as: identities)
        }
        for party in parties { try await compare(party, onlooker.state) }
    }

    private func compare(_ party: Party, _ state: LogState) async throws {
        let seen = await failure { _ = try await party.session.client.logs.state(of: tresor) }
        let isKnown = state.chain(of: party.user) != nil || !StoreKind.current.judges
        #expect(seen == (isKnown ? nil : .notFound), "\(seed) \(String(describing: seen))")
        let fresh = Session(client: party.session.client, identity: party.session.identity)
        for epoch in 1...state.epoch {
            guard let keys = try? await fresh.keyRing.keys(of: epoch, in: state) else { continue }
            #expect(state.members[party.user] != nil, seed)
            try keys.checkKeys(against: #require(state.statement(of: epoch)), of: tresor)
            for other in parties {
                guard let others = other.opened[epoch] else { continue }
                let isSame = keys.content.matches(others.content)
                #expect(isSame, "\(seed): one epoch, two keys")
            }
            party.opened[epoch] = keys
        }
    }
}

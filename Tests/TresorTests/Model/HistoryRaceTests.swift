// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

/// Random histories of several devices on a store that lies, goes back and forks now and then: whatever happens, the invariants of keys and log
/// hold. Sixteen of them, or as many as `TRESOR_HISTORIES` says.
@Suite struct HistoryRaceTests {
    /// Somebody with one view of the store, as they are now.
    private final class Party {
        var session: Session
        let view: EvilStore
        var opened: [UInt64: EpochKeys] = [:]

        init(_ session: Session, _ view: EvilStore) {
            self.session = session
            self.view = view
        }
    }

    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func A60_A66_A76_randomHistoriesWithLiesKeepTheInvariants(batch: Int) async throws
    {
        let count = repetitions("TRESOR_HISTORIES", else: 16)
        for _ in stride(from: batch, to: count, by: Self.batchCount) { try await history() }
    }

    private func history() async throws {
        let honest = MemoryStore()
        let world = World(store: honest)
        var parties: [Party] = []
        for name in ["anna", "second", "b", "c"] {
            let view = EvilStore(honest)
            parties.append(Party(try await world.quick(name, seeing: view), view))
        }
        try world.introduce(parties[0].session, parties[1].session, parties[2].session, parties[3].session)
        let tresor = try await parties[0].session.create(Name(typed: "plans")).tresor
        try await parties[0].session.share(tresor, with: [parties[1].session], as: .owner)
        _ = try await parties[1].session.client.state(of: tresor)
        var removedAt: [UserID: UInt64] = [:]
        for _ in 0..<25 {
            let owner = parties[Int.random(in: 0..<2)]
            let lies: [EvilStore.Lie?] = [.storesNothing, .saysConflict, .storesEntryAlone, nil, nil, nil]
            let lie = lies.randomElement() ?? nil
            owner.view.lie(lie)
            switch Int.random(in: 0..<8) {
            case 0, 1: owner.view.older(Int.random(in: 0..<4))
            case 2: try await fork(owner, by: parties[1], tresor, honest)
            default: break
            }
            let error = await failure { try await step(owner.session, parties, world, tresor) }
            let known: [TresorError?] = [
                nil, .busy, .forked, .altered, .noAccess, .usage, .notFound, .store(.notStored), .unverified,
            ]
            #expect(known.contains(error), "\(String(describing: error))")
            owner.view.behave()
            try await compare(parties, tresor, honest, &removedAt)
        }
    }

    /// Another continuation from an entry before the last, signed by an owner who has gone over to the store. Nobody goes along with it: all have
    /// seen the last.
    private func fork(_ victim: Party, by traitor: Party, _ tresor: TresorID, _ honest: any Store) async throws {
        let entries = try await log(tresor, in: honest)
        guard entries.count > 2 else { return }
        let root = Int.random(in: 1..<(entries.count - 1))
        var branch = entries.prefix(root + 1)
        for _ in 0..<Int.random(in: 1...4) {
            let state = try Fold.state(of: Array(branch), tresor: tresor)
            let body =
                Bool.random() ? EntryBody.rename(try Chronicle.anyName()) : .epoch(try Chronicle.epoch(state.epoch + 1))
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash,
                author: traitor.session.identity, time: 1_777_730_400, body: body)
            branch.append(entry.bytes)
        }
        victim.view.fork(root + 1, Array(branch.dropFirst(root + 1)))
        let evidence = victim.session.evidenceCount
        let home = victim.session.home
        #expect(await failure { _ = try await victim.session.client.state(of: tresor) } == .forked)
        #expect(victim.session.home == home)
        #expect(victim.session.evidenceCount >= evidence)
    }

    /// New keys for somebody, whom all compare again.
    private func renew(_ party: Party, _ parties: [Party], _ world: World) async throws {
        let (next, sealed) = try party.session.identity.renewed(time: world.clock.now)
        let file = try party.session.client.identityFile()
        let home = try #require(party.session.client.home as? MemoryHome)
        party.session = try await world.settle(next, previous: [sealed] + file.previous, home: home, seeing: party.view)
        _ = try await party.session.finishRenewal()
        for other in parties where other !== party { try other.session.client.pin(next.chain) }
    }

    private func step(_ session: Session, _ parties: [Party], _ world: World, _ tresor: TresorID) async throws {
        let party = parties[Int.random(in: 2..<4)]
        switch Int.random(in: 0..<8) {
        case 7: try await renew(party, parties, world)
        case 0: try await session.perform(.rotate, on: tresor)
        case 1: try await party.session.perform(.leave, on: tresor)
        case 2, 3: try await session.perform(.revoke([party.session.identity.user]), on: tresor)
        case 4: try await session.share(tresor, with: [party.session], as: .writer)
        case 5: try await session.share(tresor, with: [party.session], fromNow: true)
        default: try await session.perform(.rename(Name(typed: "name \(Int.random(in: 0..<99))")), on: tresor)
        }
    }

    /// The log is valid and replays alike; heads never fall; all who are in agree on the keys they may have; whoever was put out gets none
    /// that came later.
    private func compare(
        _ parties: [Party], _ tresor: TresorID, _ store: any Store, _ removedAt: inout [UserID: UInt64]
    ) async throws {
        let entries = try await log(tresor, in: store)
        let state = try Fold.state(of: entries, tresor: tresor)
        #expect(try Fold.state(of: entries, tresor: tresor).head == state.head)
        for party in parties {
            let user = party.session.identity.user
            let seen = await failure { _ = try await party.session.client.state(of: tresor) }
            #expect(seen == nil, "\(String(describing: seen))")
            if state.members[user] == nil {
                removedAt[user] = removedAt[user] ?? state.epoch
            } else {
                removedAt[user] = nil
            }
            let fresh = Session(client: party.session.client, identity: party.session.identity)
            for epoch in 1...state.epoch {
                guard let keys = try? await fresh.keys(of: epoch, in: state) else { continue }
                try keys.check(against: #require(state.statement(of: epoch)), of: tresor)
                if let end = removedAt[user] { #expect(epoch < end, "a key after the removal") }
                for other in parties {
                    guard let others = other.opened[epoch] else { continue }
                    let isSame = keys.content.matches(others.content)
                    #expect(isSame, "one epoch, two keys")
                }
                party.opened[epoch] = keys
            }
        }
    }
}

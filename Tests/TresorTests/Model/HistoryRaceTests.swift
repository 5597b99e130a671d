// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

/// Random histories of several devices on a store that lies now and then: whatever happens, the invariants of keys and log hold.
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

    @Test(arguments: 0..<20) func A66_A76_randomHistoriesWithLiesKeepTheInvariants(round: Int) async throws {
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
            if Int.random(in: 0..<4) == 0 { owner.view.older(Int.random(in: 0..<4)) }
            let error = await failure { try await step(owner.session, parties, tresor) }
            let known: [TresorError?] = [
                nil, .busy, .forked, .altered, .noAccess, .usage, .notFound, .store(.notStored), .unverified,
            ]
            #expect(known.contains(error), "\(String(describing: error))")
            owner.view.behave()
            try await compare(parties, tresor, honest, &removedAt)
        }
    }

    private func step(_ session: Session, _ parties: [Party], _ tresor: TresorID) async throws {
        let party = parties[Int.random(in: 2..<4)]
        switch Int.random(in: 0..<7) {
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

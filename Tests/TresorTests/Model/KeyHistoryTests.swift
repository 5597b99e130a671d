// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Random histories with real keys on a store that forgets nothing and colludes with all removed members. Seeds 0 to
/// 7, or as many as `TRESOR_HISTORIES` says.
@Suite struct KeyHistoryTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func A76_aRemovedMemberOpensNothingLater(batch: Int) async throws {
        for seed in seeds("TRESOR_HISTORIES", else: 8, batch: batch, of: Self.batchCount) {
            let history = try await KeyHistory(seed)
            for _ in 0..<14 {
                try await history.step()
                try await history.judge()
            }
        }
    }
}

/// A tresor of anna's, three others who come and go, and what is known about keys.
private final class KeyHistory {
    private let store = EvilStore()
    private let world: World
    private let tresor: TresorID
    private let seed: Comment
    private var dice: Dice
    private var anna: Session
    private var others: [Session]
    /// The keys of every epoch as first seen.
    private var agreed: [UInt64: EpochKeys] = [:]
    private var onlooker: Onlooker

    init(_ seed: UInt64) async throws {
        self.seed = "seed \(seed)"
        dice = Dice(seed: seed)
        world = World(store: store)
        store.keep()
        anna = try await world.quick("anna")
        others = [try await world.quick("b"), try await world.quick("c"), try await world.quick("d")]
        try world.introduce(anna, others[0], others[1], others[2])
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let people = ([anna] + others).map(\.identity.user).sorted()
        onlooker = try Onlooker(genesis: try await log(tresor, in: store)[0], people: people)
    }

    func step() async throws {
        let index = Int.random(in: others.indices, using: &dice)
        let person = others[index]
        let user = person.identity.user
        let member = try await anna.client.logs.state(of: tresor).members[user]
        let draw = Int.random(in: 0..<8, using: &dice)
        if draw == 0 {
            try await anna.tresors.perform(.rotate, on: tresor)
        } else if draw == 1 {
            others[index] = try await renew(person)
        } else if draw == 2 {
            anna = try await renew(anna)
        } else if member == nil {
            let role: Role = Bool.random(using: &dice) ? .writer : .reader
            try await anna.share(tresor, with: [person], as: role, fromNow: draw > 5)
        } else if draw == 3 {
            try await person.tresors.perform(.leave, on: tresor)
        } else if draw == 4, member?.role == .writer {
            _ = try await person.seal("by a writer", in: tresor)
        } else {
            try await anna.tresors.perform(.revoke([user]), on: tresor)
        }
    }

    /// New keys for a person, whom all compare again.
    private func renew(_ person: Session) async throws -> Session {
        let (next, sealed) = try person.identity.renewCard(time: world.clock.now)
        let file = try person.client.identityFileBlocking()
        let home = try #require(person.client.home as? MemoryHome)
        let session = try await world.settle(next, previous: [sealed] + file.previous, home: home)
        for renewal in try await session.renewal.finishInEachTresor() { #expect(renewal.error == nil) }
        for other in [anna] + others where other.identity.user != next.user {
            try other.client.people.pinBlocking(next.chain)
        }
        return session
    }

    /// A file that is sealed now opens for who is in and for nobody else, whatever they put together.
    func judge() async throws {
        let file = try await anna.seal("now", in: tresor)
        let state = try await anna.client.logs.state(of: tresor)
        #expect(file.header.epoch == state.epoch, seed)
        for person in [anna] + others { try await judge(person, file, state) }
        let (entries, identities) = (try await log(tresor, in: store), ([anna] + others).map(\.identity))
        try onlooker.look(at: entries, changes: store.everyChange, wraps: store.everyWrap, as: identities)
        try onlooker.take(file)
        try onlooker.look(at: entries, changes: [], wraps: [], as: identities)
        try #require(onlooker.disputes.isEmpty, seed)
    }

    private func judge(_ person: Session, _ file: SealedFile, _ state: LogState) async throws {
        let session = world.session(of: person)
        let member = state.members[person.identity.user]
        let opened = await failure { _ = try await session.files.open(file) }
        #expect(opened == (member == nil ? .noAccess : nil), seed)
        for epoch in 1...state.epoch {
            let isEntitled = Self.mayRead(member, epoch)
            let refused = await failure { _ = try await session.keyRing.keys(of: epoch, in: state) }
            #expect(refused == (isEntitled ? nil : .noAccess), seed)
            guard refused == nil else { continue }
            let found = try await session.keyRing.keys(of: epoch, in: state)
            let first = agreed[epoch] ?? found
            agreed[epoch] = first
            let isSame = first.content.matches(found.content)
            #expect(isSame, "\(seed): one epoch, two keys")
        }
    }

    private static func mayRead(_ member: Member?, _ epoch: UInt64) -> Bool {
        switch member?.history {
        case .all: true
        case .from(let first): epoch >= first
        case nil: false
        }
    }
}

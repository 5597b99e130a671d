// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

/// Random histories with real keys on a store that forgets nothing and is in league with everybody who is out. Sixteen of them, or as many as
/// `TRESOR_HISTORIES` says.
@Suite struct KeyHistoryTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func A76_whoIsOutOpensNothingLater(batch: Int) async throws {
        let count = repetitions("TRESOR_HISTORIES", else: 16)
        for _ in stride(from: batch, to: count, by: Self.batchCount) {
            let history = try await KeyHistory()
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
    private var anna: Session
    private var others: [Session]
    /// Every key that anybody ever came to hold, by user and epoch.
    private var held: [UserID: [UInt64: EpochKeys]] = [:]
    /// The keys of every epoch, as whoever saw them first did.
    private var agreed: [UInt64: EpochKeys] = [:]
    /// How many of the wraps that were ever stored were tried by those who are out.
    private var triedCount = 0

    init() async throws {
        world = World(store: store)
        store.keep()
        anna = try await world.quick("anna")
        others = [try await world.quick("b"), try await world.quick("c"), try await world.quick("d")]
        try world.introduce(anna, others[0], others[1], others[2])
        tresor = try await anna.create(Name(typed: "plans")).tresor
    }

    func step() async throws {
        let index = Int.random(in: 0..<others.count)
        let person = others[index]
        let user = person.identity.user
        let member = try await anna.client.state(of: tresor).members[user]
        let draw = Int.random(in: 0..<8)
        if draw == 0 {
            try await anna.perform(.rotate, on: tresor)
        } else if draw == 1 {
            others[index] = try await renew(person)
        } else if draw == 2 {
            anna = try await renew(anna)
        } else if member == nil {
            let role: Role = Bool.random() ? .writer : .reader
            try await anna.share(tresor, with: [person], as: role, fromNow: draw > 5)
        } else if draw == 3 {
            try await person.perform(.leave, on: tresor)
        } else if draw == 4, member?.role == .writer {
            _ = try await person.seal("by a writer", in: tresor)
        } else {
            try await anna.perform(.revoke([user]), on: tresor)
        }
    }

    /// New keys for somebody, whom all compare again.
    private func renew(_ person: Session) async throws -> Session {
        let (next, sealed) = try person.identity.renewed(time: world.clock.now)
        let file = try person.client.identityFile()
        let home = try #require(person.client.home as? MemoryHome)
        let session = try await world.settle(next, previous: [sealed] + file.previous, home: home)
        for renewal in try await session.finishRenewal() { #expect(renewal.error == nil) }
        for other in [anna] + others where other.identity.user != next.user { try other.client.pin(next.chain) }
        return session
    }

    /// A file that is sealed now opens for who is in and for nobody else, whatever they put together.
    func judge() async throws {
        let file = try await anna.seal("now", in: tresor)
        let state = try await anna.client.state(of: tresor)
        #expect(file.header.epoch == state.epoch)
        for person in [anna] + others { try await judge(person, file, state) }
        try collude(against: file, in: state)
    }

    private func judge(_ person: Session, _ file: SealedFile, _ state: State) async throws {
        let session = world.session(of: person)
        let member = state.members[person.identity.user]
        let opened = await failure { _ = try await session.open(file) }
        #expect(opened == (member == nil ? .noAccess : nil))
        for epoch in 1...state.epoch {
            let isEntitled = Self.mayRead(member, epoch)
            let refused = await failure { _ = try await session.keys(of: epoch, in: state) }
            #expect(refused == (isEntitled ? nil : .noAccess))
            guard refused == nil else { continue }
            let found = try await session.keys(of: epoch, in: state)
            held[person.identity.user, default: [:]][epoch] = found
            let first = agreed[epoch] ?? found
            agreed[epoch] = first
            let isSame = first.content.matches(found.content)
            #expect(isSame, "one epoch, two keys")
        }
    }

    private static func mayRead(_ member: Member?, _ epoch: UInt64) -> Bool {
        switch member?.history {
        case .all: true
        case .from(let first): epoch >= first
        case nil: false
        }
    }

    /// All who are out, with every key that one of them ever held and every wrap that ever was.
    private func collude(against file: SealedFile, in state: State) throws {
        let outsiders = others.map(\.identity).filter { state.members[$0.user] == nil }
        let wraps = Array(store.everyWrap[triedCount...])
        triedCount += wraps.count
        for outsider in outsiders {
            for stored in wraps { try refuse(stored, to: outsider, in: state) }
            for keys in (held[outsider.user] ?? [:]).values { try refuse(file, to: keys, in: state) }
        }
    }

    private func refuse(_ stored: StoredWrap, to outsider: Identity, in state: State) throws {
        let wrap = try Wrap(stored.bytes)
        let card = try #require(state.chain(of: wrap.user)?.card(generation: wrap.generation))
        for generation in 0...outsider.generation where wrap.epoch == state.epoch {
            #expect(error { _ = try wrap.steal(as: outsider, generation, card) } != nil, "a wrap for another")
        }
    }

    private func refuse(_ file: SealedFile, to keys: EpochKeys, in state: State) throws {
        #expect(keys.epoch < state.epoch)
        #expect(error { _ = try file.open(with: keys, in: state) } == .altered, "a key from before")
        guard keys.opensHistory else { return }
        let statement = try #require(state.statement(of: state.epoch))
        let secret = try keys.secret()
        let turned = try EpochKeys(epoch: state.epoch, unwrapped: secret.span)
        #expect(error { _ = try turned.openBackLink(statement, of: tresor) } == .altered, "a link forward")
    }
}

extension Wrap {
    /// Opens it with another's key, or with an older one of one's own.
    fileprivate func steal(as thief: Identity, _ generation: UInt32, _ card: Card) throws -> SecretBytes {
        let place = tresor.digest.bytes + bigEndianBytes(epoch)
        let info = Label.epochWrap.message(place + user.digest.bytes + card.hash.bytes)
        return try thief.unwrap(wrapped, generation: generation, info: info)
    }
}

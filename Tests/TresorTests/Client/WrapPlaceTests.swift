// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Three people, of whom one has new keys since the first epoch, with three epochs of three tresors: twenty-seven
/// wraps, each in the place of each other.
@Suite struct WrapPlaceTests {
    private struct Place: Hashable {
        let user: UserID
        let tresor: TresorID
        let epoch: UInt64
    }

    private let evil = EvilStore()
    private let world: World
    private let people: [Session]
    private let tresors: [TresorID]

    init() async throws {
        world = World(store: evil)
        let anna = try await world.quick("anna")
        let house = try await world.quick("house")
        let third = try await world.quick("third")
        try world.introduce(anna, house, third)
        var tresors: [TresorID] = []
        for name in ["one", "two", "three"] {
            let tresor = try await anna.tresors.create(Name(typed: name)).tresor
            try await anna.share(tresor, with: [house, third], as: .writer)
            tresors.append(tresor)
        }
        let kit: RecoveryKit? = try RecoveryKit()
        let renewed = try await house.renewal.renew(password: password("new"), cost: .floor, kit: kit)
        #expect(try await renewed.renewal.finishInEachTresor().count == 3)
        for tresor in tresors { for _ in 0..<2 { try await anna.tresors.perform(.rotate, on: tresor) } }
        self.tresors = tresors
        people = [anna, renewed, third]
    }

    private func wraps() async throws -> [Place: [UInt8]] {
        var wraps: [Place: [UInt8]] = [:]
        for person in people {
            for tresor in tresors {
                for epoch in 1...3 as ClosedRange<UInt64> {
                    let place = Place(user: person.identity.user, tresor: tresor, epoch: epoch)
                    wraps[place] = try await evil.truth.wraps(of: place.user, in: tresor, epoch: epoch).first
                }
            }
        }
        return wraps
    }

    /// The wrap with another place written on it.
    private func labelled(_ bytes: [UInt8], for place: Place, generation: UInt32) throws -> [UInt8] {
        let sealed = Array(bytes.suffix(1120 + 2 + (try UnverifiedWrap(bytes)).wrapped.ciphertext.count))
        var labelled = Array(bytes.dropLast(sealed.count + 32 + 8 + 32 + 4))
        labelled += place.tresor.digest.bytes + bigEndianBytes(place.epoch)
        labelled += place.user.digest.bytes + bigEndianBytes(generation)
        return labelled + sealed
    }

    @Test func A81_everyWrapOpensInItsOwnPlaceOnly() async throws {
        let wraps = try await wraps()
        #expect(wraps.count == 27)
        #expect(Set(try wraps.values.map { try UnverifiedWrap($0).generation }) == [0, 1])
        for person in people {
            for tresor in tresors {
                let state = try await person.client.logs.state(of: tresor)
                for place in wraps.keys where place.user == person.identity.user && place.tresor == tresor {
                    let own = try #require(wraps[place])
                    let generation = try UnverifiedWrap(own).generation
                    var shown = try wraps.filter { $0.key != place }.values.flatMap {
                        [$0, try labelled($0, for: place, generation: generation)]
                    }
                    shown.append(try labelled(own, for: place, generation: 1 - generation))
                    for wrap in shown {
                        evil.showWraps { _, _, _ in [wrap] }
                        let fresh = world.session(of: person)
                        let refused = await failure {
                            _ = try await fresh.keyRing.open(wrap, of: place.epoch, in: state, history: .all)
                        }
                        #expect(refused == .altered)
                    }
                    evil.showWraps { _, _, _ in [own] }
                    let fresh = world.session(of: person)
                    #expect(
                        try await fresh.keyRing.open(own, of: place.epoch, in: state, history: .all).epoch
                            == place.epoch)
                    evil.behave()
                }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Everything signed or sealed in the place of everything else.
@Suite struct PlaceMatrixTests {
    @Test func A13_aSignatureFitsOneLabelOnly() throws {
        let anna = try identity("anna")
        let labels = DomainLabel.registry.filter { $0.use == .sign }.map(\.label)
        #expect(labels.count == 7)
        let message: [UInt8] = [1, 2, 3]
        for one in labels {
            let signature = try anna.sign(one, message)
            for other in labels {
                let error = error {
                    try Ed25519.verify(signature, of: other.message(message), by: anna.chain.newest.signingKey)
                }
                #expect(error == (one == other ? nil : .altered))
            }
        }
    }

    @Test func A4_A75_sealedObjectsOpenInTheirOwnPlaceOnly() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        var places: [(sealed: SealedName, keys: EpochKeys, tresor: TresorID, epoch: UInt64, sequence: UInt64)] = []
        for name in ["one", "two"] {
            let tresor = try await anna.tresors.create(Name(typed: name)).tresor
            for step in 0..<3 {
                if step == 1 { try await anna.tresors.perform(.rename(Name(typed: name + "b")), on: tresor) }
                if step == 2 {
                    try await anna.tresors.perform(.rotate, on: tresor)
                    try await anna.tresors.perform(.rename(Name(typed: name + "c")), on: tresor)
                }
                let state = try await anna.client.logs.state(of: tresor)
                let keys = try await anna.keyRing.keys(of: state.name.epoch, in: state)
                places.append((state.name.sealed, keys, tresor, state.name.epoch, state.name.sequence))
            }
        }
        for (index, one) in places.enumerated() {
            for (other, place) in places.enumerated() {
                let error = error {
                    _ = try one.sealed.open(
                        with: place.keys.content, tresor: place.tresor, epoch: place.epoch, sequence: place.sequence)
                }
                #expect(error == (index == other ? nil : .altered), "\(index) \(other)")
            }
        }
        let file = try await anna.seal("x", in: places[0].tresor)
        let context = file.header.bytes
        let name = places[0].sealed.bytes
        let asFile = error {
            _ = try TC1.open(name.span, with: places[0].keys.content, label: .fileSeal, context: context.span)
        }
        #expect(asFile == .altered)
    }

    @Test func A75_aNameOfAnotherTresorInTheLogIsAltered() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let one = try await anna.tresors.create(Name(typed: "one"))
        let two = try await anna.tresors.create(Name(typed: "two"))
        let entry = try Entry(
            tresor: one.tresor, sequence: 1, previous: one.head.hash, author: anna.identity, time: 5,
            body: .rename(RenameBody(two.name.sealed)))
        _ = try await world.store.append(
            LogChange(tresor: one.tresor, sequence: 1, previous: entry.previous, entry: entry.bytes))
        let state = try await anna.client.logs.state(of: one.tresor)
        #expect(await failure { _ = try await anna.tresors.name(in: state) } == .altered)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Every sealed object of two people and their tresors, in the place of every other.
@Suite struct SealedMatrixTests {
    private struct Place {
        let name: String
        let sealed: [UInt8]
        /// Opens other bytes where these belong.
        let open: ([UInt8]) async throws -> Void
    }

    /// Secrets cannot be captured by value.
    private final class SlotKey: Sendable {
        let key: SecretKey<SlotUse>

        init(_ key: consuming SecretKey<SlotUse>) { self.key = key }
    }

    @Test func A4_everySealedObjectOpensInItsOwnPlaceOnly() async throws {
        let world = World()
        var places: [Place] = []
        for name in ["anna", "house"] {
            let person = try await world.quick(name)
            places += try slots(of: person.identity, name)
            places += try previous(of: person.identity, name)
            for plan in ["one", "two"] {
                places += try await objects(of: person, plan, "\(plan) of \(name)", in: world)
            }
            places.append(
                Place(name: "known names of \(name)", sealed: try #require(person.home[.names])) {
                    _ = try KnownNames($0, of: person.identity)
                })
            places.append(
                Place(name: "marks of \(name)", sealed: try #require(person.home[.marks])) {
                    _ = try Marks($0, of: person.identity)
                })
        }
        #expect(places.count == 32)
        for (index, one) in places.enumerated() {
            for (other, place) in places.enumerated() {
                let error = await failure { try await place.open(one.sealed) }
                let expected: [TresorError?] = index == other ? [nil] : [.altered, .wrongPassword, .unsupported]
                #expect(expected.contains(error), "\(one.name) as \(place.name): \(String(describing: error))")
            }
        }
    }

    private func objects(of person: Session, _ plan: String, _ name: String, in world: World) async throws -> [Place] {
        let tresor = try await person.tresors.create(Name(typed: plan)).tresor
        try await person.tresors.perform(.rotate, on: tresor)
        let state = try await person.client.logs.state(of: tresor)
        let keys = try await person.keyRing.keys(of: 2, in: state)
        let nameKeys = try await person.keyRing.keys(of: state.name.epoch, in: state)
        let statement = try #require(state.statement(of: 2))
        let file = try await person.seal("content", in: tresor)
        let user = person.identity.user
        let card = person.identity.chain.newest
        let wraps = try await world.store.wraps(of: user, in: tresor, epoch: nil)
        var places = [
            Place(name: "file \(name)", sealed: Array(file.bytes.dropFirst(FileHeader.byteCount))) {
                _ = try FileOpener.openFile(SealedFile(file.header.bytes + $0), with: keys, in: state)
            },
            Place(name: "name \(name)", sealed: state.name.sealed.bytes) {
                var decoder = ByteDecoder($0)
                let sealed = try SealedName(from: &decoder)
                try decoder.end()
                _ = try sealed.open(
                    with: nameKeys.content, tresor: tresor, epoch: state.name.epoch, sequence: state.name.sequence)
            },
            Place(name: "back-link \(name)", sealed: statement.backLink) {
                let other = Epoch(
                    number: 2, contentCommitment: statement.contentCommitment,
                    historyCommitment: statement.historyCommitment, backLink: $0)
                _ = try keys.openBackLink(other, of: tresor)
            },
        ]
        for (index, wrap) in wraps.enumerated() {
            let epoch = try #require(state.statement(of: UInt64(index + 1)))
            places.append(
                Place(name: "wrap \(index + 1) \(name)", sealed: wrap) {
                    _ = try UnverifiedWrap($0).openWrap(
                        as: person.identity, of: tresor, statement: epoch, card: card, history: .all)
                })
        }
        return places
    }

    /// A password's, a kit's and a device's slot.
    private func slots(of identity: Identity, _ name: String) throws -> [Place] {
        let kinds: [Slot.Kind] = [
            .password(cost: .floor, salt: try randomBytes(16)), .kit(locator: try anyDigest()),
            .device(name: try Name(typed: "ward"), until: 9),
        ]
        return try kinds.map { kind in
            let secret = try SecretKey<SlotUse>()
            let key = SlotKey(secret)
            let slot = try identity.seal(under: key.key, id: .random(), kind: kind, since: 1)
            var encoder = ByteEncoder()
            slot.encode(into: &encoder)
            let fields = Array(encoder.bytes.dropLast(slot.sealed.count))
            return Place(name: "slot \(kind) of \(name)", sealed: slot.sealed) {
                var decoder = ByteDecoder(fields + $0)
                let slot = try Slot(from: &decoder)
                try decoder.end()
                _ = try slot.open(with: key.key, user: identity.user, generation: 0)
            }
        }
    }

    /// The seed of the generation before, in an identity file whose maker knew the newest.
    private func previous(of identity: Identity, _ name: String) throws -> [Place] {
        let (second, sealed) = try identity.renewCard(time: 5)
        let kit = try RecoveryKit()
        let key = try kit.slotKey()
        let slot = try second.seal(under: key, id: .random(), kind: .kit(locator: kit.locator()), since: 1)
        let words = try kit.words()
        let typed = words.span.publicBytes
        return [
            Place(name: "previous of \(name)", sealed: sealed) {
                guard $0.count == Slot.sealedByteCount else { throw TresorError.altered }
                let words = try SecretBytes(copying: typed.span)
                let kit = try RecoveryKit(typed: words)
                _ = try IdentityFile(IdentityFile(of: second, previous: [$0], slots: [slot]).bytes).open(withKit: kit)
            }
        ]
    }
}

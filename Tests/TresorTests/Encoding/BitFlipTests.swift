// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Every single bit of one object of each kind; in the gate, one of five.
@Suite struct BitFlipTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house])
        _ = try await house.client.logs.state(of: tresor)
    }

    private func bits(_ bytes: [UInt8]) -> Range<Int> { 0..<(bytes.count * 8) }

    @Test func A1_A92_everyBitOfASealedFile() async throws {
        let file = try await anna.seal("a small plan", in: tresor)
        _ = try await house.files.open(file)
        let state = try await house.client.logs.state(of: tresor)
        let keys = try await house.keyRing.keys(of: 1, in: state)
        let home = house.home
        for bit in bits(file.bytes).sampled(5) {
            let damaged = flipped(file.bytes, bit)
            switch bit / 8 {
            case 0..<6: #expect(error { _ = try SealedFile(damaged) } == .altered)
            case 6..<10: #expect(error { _ = try SealedFile(damaged) } == .unsupported)
            case 10..<50 where bit % 8 == bit / 8 % 8:
                let damaged = try SealedFile(damaged)
                #expect(await failure { _ = try await house.files.open(damaged) } == .noAccess)
            default:
                let damaged = try SealedFile(damaged)
                #expect(error { _ = try FileOpener.openFile(damaged, with: keys, in: state) } == .altered)
            }
        }
        let last = try SealedFile(flipped(file.bytes, file.bytes.count * 8 - 1))
        #expect(await failure { _ = try await house.files.open(last) } == .altered)
        #expect(house.home == home)
    }

    @Test func A1_everyBitOfACard() throws {
        let chain = try house.identity.renewCard(time: 5).identity.chain
        let length = chain.cards[0].bytes.count
        for bit in bits(chain.bytes).sampled(5) {
            let error = error { _ = try CardChain(flipped(chain.bytes, bit)) }
            let expected: TresorError =
                (6..<10).contains(bit / 8 < length ? bit / 8 : bit / 8 - length) ? .unsupported : .altered
            #expect(error == expected, "\(bit)")
        }
    }

    @Test func A1_A26_everyBitOfAnIdentityFile() async throws {
        let kit = try await anna.unlocking.makeKit()
        _ = try await anna.unlocking.rememberDevice(name: Name(typed: "phone"), until: world.clock.now + 9)
        let bytes = try #require(anna.home[.identity])
        let home = anna.home
        let kitSlot = try #require(
            try IdentityFile(bytes).slots.first { if case .kit = $0.kind { true } else { false } })
        var encoder = ByteEncoder()
        kitSlot.encode(into: &encoder)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: encoder.bytes) })
        let slot = start..<(start + encoder.bytes.count)
        for bit in bits(bytes).sampled(5) {
            let damaged = flipped(bytes, bit)
            let place = bit / 8
            let error = error { _ = try IdentityFile(damaged).open(withKit: kit) }
            let expected: [TresorError]
            switch place {
            case 0..<6: expected = [.altered]
            case 6..<10: expected = [.unsupported]
            case slot.lowerBound: expected = [.wrongPassword, .altered, .unsupported]
            case slot: expected = [.wrongPassword, .altered]
            default: expected = [.altered, .unsupported]
            }
            #expect(error.map(expected.contains) == true, "\(place)")
        }
        #expect(anna.home == home)
        #expect(throws: Never.self) { try IdentityFile(bytes).open(withKit: kit) }
    }

    @Test func A1_everyBitOfALogEntry() async throws {
        let fresh = try await world.quick("fresh")
        let home = fresh.home
        let entries = try await log(tresor, in: evil.truth)
        let first = try Fold.state(of: [entries[0]], tresor: tresor)
        for bit in bits(entries[1]).sampled(5) {
            var fold = Fold(state: first)
            let error = error { try fold.apply(flipped(entries[1], bit)) }
            #expect(error == .altered || error == .unsupported || error == .noAccess, "\(bit)")
            #expect(fold.state?.head == first.head)
        }
        for bit in stride(from: 0, to: entries[1].count * 8, by: 97) {
            evil.flip(entry: 1, bit: bit)
            #expect(await failure { _ = try await fresh.client.logs.state(of: tresor) } != nil)
            #expect(await failure { _ = try await house.client.logs.state(of: tresor) } != nil)
        }
        #expect(fresh.home == home)
    }

    @Test func A1_A15_everyBitOfAWrap() async throws {
        let state = try await house.client.logs.state(of: tresor)
        let bytes = try #require(try await evil.truth.wraps(of: house.identity.user, in: tresor, epoch: 1).first)
        let statement = try #require(state.statement(of: 1))
        let card = house.identity.chain.newest
        // One bit of each byte of the ML-KEM ciphertext, which are all alike and cost a decapsulation each; all of the
        // rest.
        let lattice = 85..<(85 + 1088)
        for bit in bits(bytes).sampled(5) where !lattice.contains(bit / 8) || bit % 8 == bit / 8 % 8 {
            let error = error {
                _ = try UnverifiedWrap(flipped(bytes, bit)).openWrap(
                    as: house.identity, of: tresor, statement: statement, card: card, history: .all)
            }
            #expect(error == ((6..<9).contains(bit / 8) ? .unsupported : .altered), "\(bit)")
        }
    }
}

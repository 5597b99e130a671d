// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Every single bit of objects that are sealed for one place, opened by their receiver. Every failure has the same
/// error.
@Suite struct SealedBitTests {
    let world = World()
    let anna: Session

    init() async throws { anna = try await world.quick("anna") }

    /// Refuses `sealed` with any one bit changed with this very error, and opens it as it is.
    private func expectEveryBit(
        of sealed: [UInt8], _ expected: TresorError, source: SourceLocation = #_sourceLocation,
        open: ([UInt8]) throws -> Void
    ) {
        #expect(error { try open(sealed) } == nil, sourceLocation: source)
        for bit in 0..<(sealed.count * 8) {
            #expect(error { try open(flipped(sealed, bit)) } == expected, "\(bit)", sourceLocation: source)
        }
    }

    @Test func A1_everyBitOfABackLink() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        for _ in 0..<2 { try await anna.tresors.perform(.rotate, on: tresor) }
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 3, in: state)
        let second = try #require(state.statement(of: 2))
        let third = try #require(state.statement(of: 3))
        expectEveryBit(of: third.backLink, .altered) {
            let changed = Epoch(
                number: 3, contentCommitment: third.contentCommitment, historyCommitment: third.historyCommitment,
                backLink: $0)
            try keys.openBackLink(changed, of: tresor)[0].checkKeys(against: second, of: tresor)
        }
    }

    @Test func A1_everyBitOfATresorsName() async throws {
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 1, in: state)
        expectEveryBit(of: state.name.sealed.bytes, .altered) {
            var decoder = ByteDecoder($0)
            let sealed = try SealedName(from: &decoder)
            try decoder.end()
            _ = try sealed.open(with: keys.content, tresor: tresor, epoch: 1, sequence: state.name.sequence)
        }
    }

    /// A file with `slot` alone, other bytes in the place of its sealed seed, and a tag that holds.
    private func file(_ slot: Slot, sealing sealed: [UInt8]) throws -> IdentityFile {
        try IdentityFile(of: anna.identity, previous: [], slots: [slot.with(sealed: sealed)])
    }

    @Test func A1_everyBitOfAPreviousSeed() throws {
        let (renewed, previous) = try anna.identity.renewCard(time: 5)
        let kit = try RecoveryKit()
        let slot = try Slot.kit(of: renewed, kit: kit, time: 5)
        expectEveryBit(of: previous, .altered) {
            _ = try IdentityFile(of: renewed, previous: [$0], slots: [slot]).open(withKit: kit)
        }
    }

    /// The salt, the commitment and the body of the sealed seed: all of it.
    @Test func A1_everyBitOfAKitsSealedSeed() throws {
        let kit = try RecoveryKit()
        let slot = try Slot.kit(of: anna.identity, kit: kit, time: 5)
        expectEveryBit(of: slot.sealed, .wrongPassword) {
            _ = try file(slot, sealing: $0).open(withKit: kit)
        }
    }

    @Test func A1_everyBitOfADevicesSealedSeed() throws {
        let user = anna.identity.user
        let device = try DeviceShare(user: user)
        let serverShare = try SecretBytes(randomCount: 32)
        let kind = Slot.Kind.device(name: try Name(typed: "ward"), until: 9)
        let slot = try anna.identity.seal(
            under: device.slotKey(serverShare: serverShare), id: device.id, kind: kind, since: 5)
        expectEveryBit(of: slot.sealed, .altered) {
            _ = try file(slot, sealing: $0).open(withDevice: device, serverShare: serverShare, now: 1)
        }
    }
}

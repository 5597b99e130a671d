// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Every part of the context that a wrap is bound to: the right key wrapped under another context does not open (SPEC
/// §9.6).
@Suite struct WrapInfoTests {
    private enum Part: CaseIterable {
        case tresor, epoch, user, card, noCard, label
    }

    @Test func theCardAndEverythingElseIsInTheContext() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let house = try await world.quick("house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
        let state = try await anna.client.logs.state(of: tresor)
        let secret = try await anna.keyRing.keys(of: 1, in: state).secret()
        let user = house.identity.user
        let card = house.identity.chain.newest
        let right = try #require(try await world.store.wraps(of: user, in: tresor, epoch: 1).first)

        /// The same keys for the same card, wrapped with a context of which one part is another.
        func wrapped(other part: Part?) throws -> [UInt8] {
            let other = try anyDigest()
            let epoch: UInt64 = part == .epoch ? 2 : 1
            let place =
                (part == .tresor ? other.bytes : tresor.digest.bytes) + bigEndianBytes(epoch)
                + (part == .user ? other.bytes : user.digest.bytes)
            let hash = part == .card ? other.bytes : part == .noCard ? [] : card.hash.bytes
            let label = part == .label ? DomainLabel.cardHash : DomainLabel.epochWrap
            let sealed = try XWing.hpkeWrap(secret.span, for: card.kemKey, info: label.message(place + hash))
            let start: [UInt8] = right.dropLast(sealed.encapsulated.count + 2 + sealed.ciphertext.count)
            let count: [UInt8] = [0, UInt8(sealed.ciphertext.count)]
            return start + sealed.encapsulated + count + sealed.ciphertext
        }

        func opens(_ wrap: [UInt8]) async throws -> TresorError? {
            try await world.store.putWraps([StoredWrap(user: user, epoch: 1, bytes: wrap)], in: tresor)
            return await failure {
                // A session of its own keeps nothing of what another one opened.
                _ = try await world.session(of: house).keyRing.keys(of: 1, in: state)
            }
        }

        for part in Part.allCases { #expect(try await opens(wrapped(other: part)) == .altered, "\(part)") }
        #expect(try await opens(wrapped(other: nil)) == nil)
    }
}

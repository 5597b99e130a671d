// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The links between a card and the previous one: each part is changed alone, and everything is signed again (SPEC
/// §7.3).
@Suite struct CardLinkTests {
    private let first: Identity
    private let second: Identity
    /// The start of the fields of the second card, after the preamble, the handle and the generation.
    private let userPlace: Int
    private let previousPlace: Int

    init() throws {
        first = try Identity.make(handle: Name(typed: "anna"), time: 1)
        second = try first.renewCard(time: 2).identity
        userPlace = 10 + 2 + first.chain.handle.bytes.count + 4
        previousPlace = userPlace + 32
    }

    /// The chain of both cards, the second one with another body that both generations have signed.
    private func chain(_ change: (inout [UInt8]) -> Void) throws -> CardChain {
        var body = second.chain.newest.body
        change(&body)
        let own = try second.sign(.cardSignature, body)
        let succession = try first.sign(.cardSuccession, body)
        return try CardChain(first.chain.bytes + body + own + succession)
    }

    @Test func theHashOfTheCardBeforeIsCompared() throws {
        #expect(try chain { _ in } == second.chain)
        let hash = first.chain.newest.hash.bytes
        let body = second.chain.newest.body
        #expect(Array(body[previousPlace..<(previousPlace + 32)]) == hash)
        for bit in stride(from: 0, to: 256, by: 15) {
            #expect(error { _ = try chain { $0[previousPlace + bit / 8] ^= 1 << UInt8(bit % 8) } } == .altered)
        }
    }

    /// Cards that were read before are not verified again, and all others are.
    @Test func A240_whatFollowsTheKnownPartIsVerified() throws {
        let known = first.chain.bytes
        #expect(try CardChain(second.chain.bytes, knowing: known) == second.chain)
        var broken = second.chain.bytes
        broken[broken.count - 1] ^= 1
        #expect(error { _ = try CardChain(broken) } == .altered)
        #expect(error { _ = try CardChain(broken, knowing: known) } == .altered)
        #expect(try CardChain(broken, knowing: broken).bytes == broken)
        // A chain that does not begin with the known part, or that ends inside a card, is none of it.
        #expect(error { _ = try CardChain(known, knowing: second.chain.bytes) } == .altered)
        #expect(error { _ = try CardChain(second.chain.bytes, knowing: known + [broken[known.count]]) } == .altered)
        #expect(error { _ = try CardChain(second.chain.bytes, knowing: [known[0]]) } == .altered)
    }

    @Test func theUserIsCompared() throws {
        for bit in stride(from: 0, to: 256, by: 15) {
            #expect(error { _ = try chain { $0[userPlace + bit / 8] ^= 1 << UInt8(bit % 8) } } == .altered)
        }
    }

    @Test func theHandleIsCompared() throws {
        #expect(error { _ = try chain { $0[12] ^= 1 } } == .altered)
    }

    @Test func theGenerationIsCompared() throws {
        #expect(error { _ = try chain { $0[userPlace - 1] = 2 } } == .altered)
    }
}

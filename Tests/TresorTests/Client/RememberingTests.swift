// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor

/// What a home keeps of a log, and from whom.
@Suite struct RememberingTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let house: Session
    let tresor: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try anna.client.pin(house.identity.chain)
        tresor = try await anna.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .writer)
    }

    @Test func A68_nothingIsKeptOfATresorWhoseOwnerNobodyCompared() async throws {
        let file = try await anna.seal("x", in: tresor)
        let home = house.home
        let uses: [() async throws -> Void] = [
            { _ = try await house.open(file) }, { _ = try await house.seal("y", in: tresor) },
            { try await house.perform(.leave, on: tresor) }, { try await house.perform(.rotate, on: tresor) },
        ]
        for use in uses { #expect(await failure(use) == .unverified) }
        #expect(try await house.tresors().map(\.founderTrust) == [.unverified])
        #expect(try await house.client.records(of: tresor).records.count == 2)
        #expect(house.home == home)
        try house.client.pin(anna.identity.chain)
        _ = try await house.open(file)
        #expect(try house.client.knownTresors() == [tresor])
    }

    @Test func A68_whatIsKnownAlreadyGoesOnBeingKept() async throws {
        try house.client.pin(anna.identity.chain)
        let file = try await anna.seal("x", in: tresor)
        _ = try await house.open(file)
        let stranger = try identity("anna")
        try house.client.pin(stranger.chain, replacing: true)
        try await anna.perform(.rotate, on: tresor)
        #expect(await failure { _ = try await house.open(file) } == .unverified)
        #expect(try house.client.heads()[tresor]?.sequence == 2)
        evil.frozen(2)
        #expect(await failure { _ = try await house.open(file) } == .forked)
    }

    @Test func A74_aLogIsNotVerifiedTwice() async throws {
        var state = try await anna.client.state(of: tresor)
        state.headTime = 77
        anna.client.folded.keep(state)
        #expect(try await anna.client.state(of: tresor).headTime == 77)
        #expect(try world.session(of: anna).client.verifiedState(of: tresor)?.headTime != 77)
        try await anna.perform(.rotate, on: tresor)
        let after = try await anna.client.state(of: tresor)
        #expect(anna.client.folded.state(of: tresor, at: after.head)?.head == after.head)
        #expect(anna.client.folded.state(of: tresor, at: state.head) == nil)
    }

    @Test func A74_whatWasFoldedIsBoundToItsHead() async throws {
        let state = try await anna.client.state(of: tresor)
        let folded = LogCache()
        folded.keep(state)
        #expect(folded.state(of: tresor, at: state.head) != nil)
        let other = Head(sequence: state.head.sequence, hash: try anyDigest())
        #expect(folded.state(of: tresor, at: other) == nil)
        #expect(folded.state(of: tresor, at: Head(sequence: 0, hash: state.head.hash)) == nil)
        #expect(folded.state(of: TresorID(try anyDigest()), at: state.head) == nil)
        for _ in 0..<LogCache.maximumCount {
            folded.keep(try Chronicle(founder: anna.identity).state)
        }
        #expect(folded.state(of: tresor, at: state.head) == nil)
    }
}

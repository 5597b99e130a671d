// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A removed owner, and a store that shows a new reader a false continuation of the log with them.
@Suite struct FalseBranchTests {
    let honest = StageStores.make()
    let evil: EvilStore
    let world: World
    let anna: Session
    let bob: Session
    let accomplice: Session
    let tresor: TresorID

    /// `bob`, a writer, has seen the log up to where the accomplice was an owner; then she is removed.
    init() async throws {
        evil = EvilStore(honest)
        world = World(store: honest)
        anna = try await world.quick("anna")
        bob = try await world.quick("bob", seeing: evil)
        accomplice = try await world.quick("accomplice")
        try world.introduce(anna, bob, accomplice)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [bob], as: .writer)
        try await anna.share(tresor, with: [accomplice], as: .owner)
        _ = try await bob.client.logs.state(of: tresor)
        // She keeps the log that she has read.
        _ = try await accomplice.keyRing.keys(of: 1, in: accomplice.client.logs.state(of: tresor))
        try await anna.tresors.perform(.revoke([accomplice.identity.user]), on: tresor)
    }

    /// The entry that the accomplice signs in place of her removal.
    enum Branch: CaseIterable, Sendable {
        /// The branch adds a member, and the key stays.
        case ghost
        /// It begins a key of hers, that the store gives to everybody.
        case key
        /// It begins the very key that the owner's removal begins.
        case ownersKey

        /// How the owner's next file, under the key that she began and at her head, is refused: its key is beyond the
        /// branch, is another there, or is the same, and then its head tells.
        var refusal: TresorError {
            switch self {
            case .ghost: .noAccess
            case .key: .altered
            case .ownersKey: .forked
            }
        }
    }

    private func entry(_ body: EntryBody, at state: LogState) throws -> Entry {
        try Entry(
            tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: accomplice.identity,
            time: world.clock.now, body: body)
    }

    /// Makes the store show the branch to `bob`.
    private func show(_ branch: Branch) async throws -> Head {
        let log = try await log(tresor, in: honest)
        let state = try Fold.state(of: Array(log.prefix(3)), tresor: tresor)
        let body: EntryBody
        switch branch {
        case .ghost: body = try Chronicle.grant([identity("ghost").chain], .reader)
        case .key:
            let keys = try EpochKeys(epoch: 2)
            body = .epoch(
                EpochBody(
                    try keys.statement(of: tresor, linking: [try await accomplice.keyRing.keys(of: 1, in: state)])))
            let card = bob.identity.chain.newest
            let wrap = try Wrap(keys, of: tresor, for: card, user: bob.identity.user, history: .all).bytes
            evil.showWraps { wraps, _, epoch in epoch == 2 ? [wrap] : wraps }
        case .ownersKey: body = .epoch(EpochBody(try #require(try Entry(log[3]).body.nextEpoch)))
        }
        let entry = try entry(body, at: state)
        evil.fork(3, [entry.bytes])
        return Head(sequence: entry.sequence, hash: try entry.hash())
    }

    @Test(arguments: Branch.allCases)
    func A64_aFalseBranchIsBelievedUntilAnythingOfTheTrueOneComes(branch: Branch) async throws {
        let head = try await show(branch)
        // This is what is bounded and no more: he believes it and writes at it.
        #expect(try await bob.client.logs.state(of: tresor).head == head)
        let file = try await bob.seal("mine", in: tresor)
        #expect(file.header.head == head)
        #expect(try bob.client.heads()[tresor] == head)
        let refused = await failure { _ = try await anna.files.open(file) }
        #expect(refused == (branch == .key ? .altered : .forked))
        let (home, writes) = (bob.home, evil.writeCount)
        let owners = try await anna.seal("true", in: tresor)
        #expect(await failure { _ = try await bob.files.open(owners) } == branch.refusal)
        #expect(bob.evidenceCount == 0)
        evil.behave()
        let uses: [() async throws -> Void] = [
            { _ = try await bob.client.logs.state(of: tresor) }, { _ = try await bob.seal("x", in: tresor) },
            { _ = try await bob.files.open(owners) }, { _ = try await bob.files.open(file) },
            { _ = try await bob.files.reseal(file) },
            { try await bob.tresors.perform(.rotate, on: tresor) },
            { try await bob.tresors.perform(.leave, on: tresor) },
        ]
        for use in uses { #expect(await failure(use) == .forked) }
        #expect(evil.writeCount == writes)
        #expect(bob.home == home)
        #expect(bob.evidenceCount > 0)
    }

    @Test func A64_aFalseBranchThatRemovesTheFounderIsNotBelieved() async throws {
        let state = try await Fold.state(of: Array(log(tresor, in: honest).prefix(3)), tresor: tresor)
        let keys = try EpochKeys(epoch: 2)
        let statement = try keys.statement(of: tresor, linking: [try await accomplice.keyRing.keys(of: 1, in: state)])
        let home = bob.home
        for users in [[anna.identity.user], [anna.identity.user, bob.identity.user].sorted()] {
            evil.fork(
                3,
                [try entry(.remove(RemoveBody(users: users, epoch: statement)), at: state).bytes]
            )
            #expect(await failure { _ = try await bob.client.logs.state(of: tresor) } == .altered)
            #expect(await failure { _ = try await bob.seal("x", in: tresor) } == .altered)
        }
        #expect(bob.home == home)
        #expect(evil.writeCount == 1, "his card")
    }
}

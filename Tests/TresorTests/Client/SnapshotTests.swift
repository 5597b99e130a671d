// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The snapshot of a home is the state of the log, or nothing.
@Suite struct SnapshotTests {
    let world = World()
    let anna: Session
    let house: Session
    let home: MemoryHome
    let tresor: TresorID
    let state: LogState
    let keeper: Snapshots

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .owner, fromNow: false)
        try await anna.tresors.perform(.rename(Name(typed: "care")), on: tresor)
        state = try await anna.client.logs.state(of: tresor)
        home = try #require(anna.client.home as? MemoryHome)
        keeper = try Snapshots(anna.identity)
    }

    /// The snapshot with another name in it. No log gives that name, so a state that has it came from the home.
    private func marked(_ state: LogState) throws -> LogState {
        var state = state
        state.name = LogState.NameRecord(sealed: try Chronicle.anyName(), epoch: state.name.epoch, sequence: 2)
        return state
    }

    private func known(_ session: Session) throws -> [UInt8]? {
        try session.client.archive.verifiedState(of: tresor).map { try keeper.bytes(of: $0) }
    }

    /// A person who has read nothing yet.
    private func later(_ identity: Identity? = nil) -> Session {
        Session(client: world.client(home), identity: identity ?? anna.identity)
    }

    @Test func A74_aSessionStartsFromTheSnapshot() async throws {
        let marked = try marked(state)
        try home.replace(.state(tresor), with: try keeper.bytes(of: marked))
        #expect(try known(later()) == keeper.bytes(of: marked))
        #expect(try await later().client.logs.state(of: tresor).name.sealed == marked.name.sealed)
        #expect(try world.client(home).archive.verifiedState(of: tresor)?.name.sealed == state.name.sealed)
        #expect(world.client(home).operation.snapshots == nil)
    }

    @Test func A74_nothingThatIsKeptInOrderIsReadAgain() async throws {
        try home.replace(.log(tresor), with: [1, 2, 3])
        #expect(try world.client(home).archive.verifiedState(of: tresor) == nil)
        #expect(try known(later()) == keeper.bytes(of: state))
        try await house.tresors.perform(.rotate, on: tresor)
        #expect(try await later().client.logs.state(of: tresor).head.sequence == 3)
        let entries = try await log(tresor, in: world.store)
        #expect(home.read(.log(tresor)) == LogCopy(entries: entries).bytes)
    }

    @Test func A74_everyChangedByteOfASnapshotIsNoticed() throws {
        let good = try keeper.bytes(of: state)
        for index in good.indices {
            #expect(error { _ = try keeper.openSnapshot(flipped(good, index * 8 + index % 8)) } == .altered, "\(index)")
        }
        for count in [0, 1, 31, 32, 33, good.count / 2, good.count - 1] {
            #expect(error { _ = try keeper.openSnapshot(Array(good.prefix(count))) } == .altered, "\(count)")
        }
    }

    @Test func A74_anInvalidSnapshotCountsAsNone() async throws {
        let good = try keeper.bytes(of: marked(state))
        let second = try await anna.tresors.create(Name(typed: "other")).tresor
        let other = try await anna.client.logs.state(of: second)
        let thief = try Snapshots(identity("anna"))
        let renewed = try Snapshots(try anna.identity.renewCard(time: 5).identity)
        var branch = try marked(state)
        branch.hashes[2] = try anyDigest()
        branch.head = Head(sequence: 2, hash: branch.hashes[2])
        var ahead = try marked(state)
        ahead.hashes.append(try anyDigest())
        ahead.head = Head(sequence: 3, hash: ahead.hashes[3])
        let poisons = [
            [], [1], Array(good.dropLast()), good + [0], flipped(good, 900), flipped(good, good.count * 8 - 1),
            try keeper.bytes(of: other), try thief.bytes(of: marked(state)), try renewed.bytes(of: marked(state)),
            try keeper.bytes(of: branch), try keeper.bytes(of: ahead),
        ]
        for (index, poison) in poisons.enumerated() {
            try home.replace(.state(tresor), with: poison)
            #expect(try known(later()) == keeper.bytes(of: state), "\(index)")
            #expect(try await later().client.logs.state(of: tresor).head == state.head)
            #expect(home.read(.state(tresor)) == (try keeper.bytes(of: state)), "made again, \(index)")
        }
        home.delete(.state(tresor))
        #expect(try known(later()) == keeper.bytes(of: state))
    }

    @Test func A74_anOlderSnapshotContinuesWithTheLocalLogCopy() async throws {
        let entries = try await log(tresor, in: world.store)
        for count in 1...3 {
            let older = try Fold.state(of: Array(entries.prefix(count)), tresor: tresor)
            try home.replace(.state(tresor), with: try keeper.bytes(of: older))
            #expect(try known(later()) == keeper.bytes(of: state))
        }
        let older = try marked(Fold.state(of: entries, tresor: tresor))
        try home.replace(.state(tresor), with: try keeper.bytes(of: older))
        home.delete(.log(tresor))
        try await house.tresors.perform(.rotate, on: tresor)
        #expect(try await later().client.logs.state(of: tresor).name.sealed == older.name.sealed)
    }

    @Test func A74_withAnOlderHeadTheStateBehindItIsNotUsed() async throws {
        let entries = try await log(tresor, in: world.store)
        let first = try Fold.state(of: Array(entries.prefix(2)), tresor: tresor)
        var heads = PinnedHeads()
        try heads.raise(to: first, me: nil)
        try home.replace(.heads, with: heads.bytes)
        #expect(try known(later()) == keeper.bytes(of: first))
        try home.replace(.state(tresor), with: try keeper.bytes(of: first))
        #expect(try await later().client.logs.state(of: tresor).head == state.head)
        home.delete(.heads)
        try home.replace(.state(tresor), with: try keeper.bytes(of: marked(state)))
        #expect(try known(later()) == nil)
        #expect(try await later().client.logs.state(of: tresor).name.sealed == state.name.sealed)
    }

    @Test func A74_aRenewedIdentityMakesItsStatesAgain() async throws {
        let next = try anna.identity.renewCard(time: world.clock.now).identity
        try home.replace(.state(tresor), with: try keeper.bytes(of: marked(state)))
        #expect(try later(next).client.archive.verifiedState(of: tresor)?.name.sealed == state.name.sealed)
        try await world.publish(next.chain, replacing: anna.identity.chain)
        _ = try await later(next).client.logs.state(of: tresor)
        #expect(try Snapshots(next).state(of: tresor, in: home)?.head == state.head)
    }

    @Test func A74_aDeepCheckFindsAStateThatNoLogGives() async throws {
        #expect(try await later().audit.check().map(\.remark) == [.fine])
        try home.replace(.state(tresor), with: try keeper.bytes(of: marked(state)))
        #expect(try await later().audit.check().map(\.remark) == [.failed(.altered)])
        var moved = state
        moved.headTime += 1
        try home.replace(.state(tresor), with: try keeper.bytes(of: moved))
        #expect(try await later().audit.check().map(\.remark) == [.failed(.altered)])
        home.delete(.state(tresor))
        #expect(try await later().audit.check().map(\.remark) == [.fine])
    }

    @Test func whatCannotBeKeptIsNoError() async throws {
        home.delete(.state(tresor))
        home.fill(after: 0)
        #expect(try await later().client.logs.state(of: tresor).head == state.head)
        home.fill(after: nil)
        #expect(home.read(.state(tresor)) == nil)
        _ = try await later().client.logs.state(of: tresor)
        #expect(home.read(.state(tresor)) != nil)
    }

    @Test func aLongLogsStateIsKeptSeldom() throws {
        var state = state
        func grow(to count: Int) {
            state.hashes = EntryHashes(repeatElement(.zero, count: count))
            state.head = Head(sequence: UInt64(count - 1), hash: .zero)
        }
        grow(to: 6400)
        #expect(keeper.isDue(state))
        try keeper.keep(state, in: home)
        #expect(!keeper.isDue(state))
        grow(to: 6500)
        #expect(!keeper.isDue(state))
        grow(to: 6510)
        #expect(keeper.isDue(state))
    }
}

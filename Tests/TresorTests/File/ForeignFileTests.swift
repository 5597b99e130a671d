// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A handle refuses a file of another tresor by its header alone.
@Suite struct ForeignFileTests {
    private let store = CountingStore(store: StageStores.make())
    private let anna: Session
    /// The tresor of a session that has read nothing of it.
    private let plans: TresorHandle
    private let foreign: SealedFile

    init() async throws {
        let world = World(store: store)
        anna = try await world.quick("anna")
        let id = try await anna.create("plans").id
        foreign = try await anna.create("other").seal(Array(repeating: 1, count: 100_000))
        plans = world.session(of: anna).tresor(id)
        store.tally.reset()
    }

    @Test func A93_openedAloneItIsRefusedWithoutTheStore() async throws {
        #expect(await failure { _ = try await plans.open(foreign) } == .altered)
        #expect(await failure { _ = try await plans.open(foreign, record: "one", author: anna.user) } == .altered)
        #expect(store.tally.counts == [:])
    }

    @Test func A93_openedWithOthersItIsRefusedWithoutTheStore() async throws {
        let together = await plans.open([
            ExpectedFile(foreign), ExpectedFile(foreign, record: "one"),
            ExpectedFile(foreign, expecting: Expectations(tresor: foreign.tresor)),
        ])
        #expect(together == Array(repeating: .failure(.altered), count: 3))
        #expect(store.tally.counts == [:])
    }

    @Test func A93_verifiedAsAStreamItIsRefusedWithoutTheStore() async throws {
        let source = MemorySource(foreign.bytes)
        #expect(await failure { _ = try await plans.verify(source) } == .altered)
        #expect(store.tally.counts == [:])
    }

    @Test func A93_resealedItIsRefusedWithoutTheStore() async throws {
        #expect(await failure { _ = try await plans.reseal(foreign) } == .altered)
        #expect(await failure { _ = try await plans.reseal(foreign, acceptingNewcomers: true) } == .altered)
        #expect(store.tally.counts == [:])
    }

    @Test func A93_resealedAsAStreamItIsRefusedWithoutTheStore() async throws {
        let error = await failure {
            var sink = MemorySink()
            defer { #expect(sink.bytes.isEmpty) }
            _ = try await plans.reseal(MemorySource(foreign.bytes), to: &sink)
        }
        #expect(error == .altered)
        #expect(store.tally.counts == [:])
    }

    /// The counts are not empty because nothing is counted.
    @Test func aFileOfThisTresorIsJudgedByItsLog() async throws {
        let file = try await plans.seal([1])
        store.tally.reset()
        #expect(try await plans.open(file).content == [1])
        #expect(store.tally.counts["entries", default: 0] > 0)
        store.tally.reset()
        #expect(try await plans.verify(MemorySource(file.bytes)).proof.tresor == plans.id)
        #expect(store.tally.counts["entries", default: 0] > 0)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// Deleting a tresor for everybody (SPEC §9.7).
@Suite struct DeletionTests {
    private struct Scene {
        let store: FaultyStore
        let home = MemoryHome()
        let cast: PreviewCast
        let anna: Session
        let plans: TresorHandle

        init(choosing choose: @escaping @Sendable (StoreCall) async -> FaultyStore.Fault? = { _ in nil }) async throws {
            store = FaultyStore(choosing: choose)
            cast = PreviewCast(store: store)
            anna = try await cast.person("anna", home: home)
            plans = try await cast.tresor("plans", of: anna)
        }
    }

    @Test func aDeletedTresorIsGoneFromStoreAndHome() async throws {
        let scene = try await Scene()
        _ = try await scene.plans.name()
        try await scene.plans.delete()
        #expect(try await scene.store.base.entries(of: scene.plans.id, from: 0, limit: 1).isEmpty)
        #expect(try await scene.anna.allTresors().isEmpty)
        let left = scene.home.contents.keys.filter { $0.hasPrefix("logs/") || $0.hasPrefix("records/") }
        #expect(left.isEmpty, "\(left)")
        await #expect(throws: TresorError.notFound) { try await scene.plans.delete() }
        // The name is free again, and the id is not.
        #expect(try await scene.anna.create("plans").id != scene.plans.id)
    }

    /// Nobody can tell a deletion from a store that is silent. A person who is told of it has their home forget it.
    @Test func theHomesOfOthersForgetItWhenAskedTo() async throws {
        let scene = try await Scene()
        let house = try await scene.cast.person("house")
        try scene.cast.introduce(scene.anna, house)
        let plans = try await scene.cast.tresor("more", of: scene.anna, readers: [house])
        let theirs = house.tresor(plans.id)
        _ = try await theirs.name()
        await #expect(throws: TresorError.noAccess) { try await theirs.delete() }
        try await plans.delete()
        #expect(try await house.allTresors().map(\.error) == [TresorError.forked])
        try await theirs.delete()
        #expect(try await house.allTresors().isEmpty)
        #expect(try await scene.anna.allTresors().map(\.tresor) == [scene.plans.id])
    }

    @Test func anOwnerDeletesItOnceItsFounderHasLeft() async throws {
        let scene = try await Scene()
        let house = try await scene.cast.person("house")
        try scene.cast.introduce(scene.anna, house)
        try await scene.plans.perform(
            .share(with: [house.identity.chain], role: .owner, fromNow: false, notAfter: nil))
        let theirs = house.tresor(scene.plans.id)
        await #expect(throws: TresorError.noAccess) { try await theirs.delete() }
        try await scene.plans.perform(.leave)
        await #expect(throws: TresorError.noAccess) { try await scene.plans.delete() }
        try await theirs.delete()
        #expect(try await house.allTresors().isEmpty)
    }

    @Test func aStoreThatDeletesNothingIsNoticed() async throws {
        let scene = try await Scene { $0.name == "deleteTresor" ? .losingWrite : nil }
        await #expect(throws: TresorError.store(.notStored)) { try await scene.plans.delete() }
        #expect(try await scene.anna.allTresors().map(\.tresor) == [scene.plans.id])
    }

    @Test func aDeletionWhoseAnswerIsLostIsRepeated() async throws {
        let scene = try await Scene { $0.name == "deleteTresor" ? .losingAnswer(.store(.inputOutput)) : nil }
        await #expect(throws: TresorError.store(.inputOutput)) { try await scene.plans.delete() }
        try await scene.plans.delete()
        #expect(try await scene.anna.allTresors().isEmpty)
    }
}

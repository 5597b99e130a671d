// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRecords

extension RealAttackTests {
    /// Checkpoints that an owner made against another one, and what a compaction does with them.
    @Suite struct Compactions {
        @Test func A147_packsGoForWhatTheyDoNotSay() async throws {
            await RealAttackTests.expectReal(nil, without: .provedVolumes, isLate: true) {
                let owners = try await Owners()
                try await owners.lie(by: owners.scene.bob)
                _ = try await owners.scene.anna.records(in: owners.scene.tresor).compact()
                return try await owners.shown().content == Array("false".utf8)
            }
        }

        @Test func A147_anItemThatNobodyCanJudgeHidesAFalseOne() async throws {
            await RealAttackTests.expectReal(nil, without: .judgedItems, isLate: true) {
                let owners = try await Owners()
                _ = try await owners.scene.anna.records(in: owners.scene.tresor).compact()
                let mine = owners.newDevice().records(in: owners.scene.tresor)
                _ = try await mine.sync()
                try await owners.lie(by: owners.scene.bob, beside: [Item("extra", "x")])
                _ = try await mine.sync()
                return try await mine.check().checkpointError == nil
            }
        }

        @Test func A147_aKeyThatNobodyComparedVouchesForWhatIsSealedAgain() async throws {
            await RealAttackTests.expectReal(.unverified, without: .vouchersKey, isLate: true) {
                let owners = try await Owners()
                let thief = try await owners.renewed(owners.scene.bob)
                try await owners.lie(by: thief)
                try await owners.delete(owners.packs())
                let mine = owners.newDevice().records(in: owners.scene.tresor)
                try await mine.put("more", "x".utf8)
                _ = try await mine.compact()
                let shown = try await owners.shown()
                return shown.content == Array("false".utf8) && shown.vouchedBy == owners.scene.anna.user
            }
        }

        @Test func A147_aFormerKeySpeaksForTheNewestOne() async throws {
            await RealAttackTests.expectReal(nil, without: .newestKey, isLate: true) {
                let owners = try await Owners()
                // By a thief of anna's seed, before she replaces it.
                try await owners.lie(by: owners.scene.anna)
                let mine = try await owners.renewed(owners.newDevice()).records(in: owners.scene.tresor)
                _ = try await mine.compact()
                return try await mine.get("plan").content == Array("false".utf8)
            }
        }

        @Test func A147_aCheckpointIsMadeWithoutAPack() async throws {
            await RealAttackTests.expectReal(nil, without: .lostPacks, isLate: true) {
                let scene = try await Scene()
                let home = scene.anna.client.home
                var mine = scene.anna.records(in: scene.tresor)
                mine.leastIndexedCount = 1
                for text in ["one", "two"] {
                    try await mine.put("plan", text.utf8)
                    _ = try await mine.sync()
                }
                _ = try await mine.view()
                // Of the version that nobody needs, no pack is left.
                let place = HomeObject.records(scene.tresor, part: 0)
                var piece = try KeptPacks(home.read(place) ?? [])
                guard let first = piece.packs.min(by: { $0.key < $1.key }) else { throw TresorError.failed(.other) }
                piece.packs[first.key] = nil
                try home.replace(place, with: piece.bytes)
                try await scene.store.truth.deleteBlobs([Blob(of: first.value).hash], in: scene.tresor)
                _ = try? await scene.fresh(scene.anna).records(in: scene.tresor).compact()
                return try await scene.state.checkpoint > 0
            }
        }

        @Test func A147_theLastEvidenceGoesForAnothersWord() async throws {
            await RealAttackTests.expectReal(.store(.withheld), without: .packsLeft, isLate: true) {
                let owners = try await Owners()
                try await owners.lie(by: owners.scene.bob)
                try await owners.delete(owners.packs().dropLast())
                _ = try await owners.newDevice().records(in: owners.scene.tresor).compact()
                return try await owners.packs().isEmpty
            }
        }

        @Test func A147_anothersWordTakesThePlaceOfOnesOwn() async throws {
            await RealAttackTests.expectReal(nil, without: .ownVolumes, isLate: true) {
                let owners = try await Owners()
                let records = owners.scene.anna.records(in: owners.scene.tresor)
                _ = try await records.compact()
                let mine = owners.newDevice().records(in: owners.scene.tresor)
                _ = try await mine.sync()
                try await owners.lie(by: owners.scene.bob)
                _ = try await mine.sync()
                return try await mine.get("plan").content == Array("false".utf8)
            }
        }

        @Test(arguments: [false, true])
        func A147_ofPacksThatAreLostAnothersWordIsLeft(isIndexed: Bool) async throws {
            await RealAttackTests.expectReal(nil, without: .lookedAtPacks, isLate: true) {
                let owners = try await Owners()
                let (anna, tresor) = (owners.scene.anna, owners.scene.tresor)
                _ = try await anna.records(in: tresor).compact()
                var earlier = owners.scene.fresh(anna).records(in: tresor)
                earlier.leastIndexedCount = isIndexed ? 1 : .max
                _ = try await earlier.view()
                // Reads the index that is there, or all packs. They are lost, and then the store shows what bob made.
                let mine = owners.scene.fresh(anna).records(in: tresor)
                _ = try await mine.sync()
                try anna.client.home.delete(.records(tresor, part: 0))
                try await owners.lie(by: owners.scene.bob)
                _ = try await mine.sync()
                let later = owners.scene.fresh(anna).records(in: tresor)
                _ = try await later.sync()
                return try await later.get("plan").content == Array("false".utf8)
            }
        }

        @Test func A147_aThiefOfAnOldSeedMakesACheckpoint() async throws {
            let (anna, bob) = (try identity("anna"), try identity("bob"))
            var book = try RecordBook(anna)
            try book.admit(bob, as: .owner)
            let sequence = try book.put(Item("plan", "true"))
            try book.add(.renew(RenewBody(bob.renewCard(time: 5).identity.chain.newest)), by: bob)
            try book.rotate()
            let body = CheckpointBody(
                upto: sequence, epoch: book.state.epoch, volumes: [Blob(hash: .zero, size: 674)])
            let (before, entry) = (book.state, try book.entry(.checkpoint(body), by: bob))
            await RealAttackTests.expectReal(withoutRule: .r14) {
                var fold = Fold(state: before)
                try fold.apply(entry.bytes)
                return fold.state?.floor == sequence
            }
        }

        @Test func A76_volumesComeBackBehindARemoval() async throws {
            await RealAttackTests.expectReal(nil, without: .memberVolumes, isLate: true) {
                let scene = try await Owners().scene
                let (anna, house, tresor) = (scene.anna, scene.house, scene.tresor)
                _ = try await anna.records(in: tresor).compact()
                // While the volumes are on their way, another program with this home sees the removal.
                let slow = SlowStore(truth: scene.store) {
                    do {
                        try await anna.tresors.perform(.revoke([house.user]), on: tresor)
                        #expect(try await scene.fresh(house).records(in: tresor).sync().isGone)
                    } catch {
                        Issue.record(error)
                    }
                }
                _ = try await scene.world.session(of: house, seeing: slow).records(in: tresor).pull()
                return house.home.keys.contains { if case .volume = $0.kind { true } else { false } }
            }
        }
    }
}

/// A tresor with two owners, anna and bob, and two records of anna's, each with a pack of its own.
private struct Owners {
    let scene: Scene
    /// A home of anna's from before.
    private let empty: MemoryHome
    private let plan: UInt64

    init() async throws {
        scene = try await Scene()
        let owner = RoleBody(user: scene.bob.user, role: .owner, notAfter: nil)
        try await scene.append(.role(owner), by: scene.anna)
        try await scene.settle()
        empty = try #require(scene.anna.client.home as? MemoryHome).copy()
        let records = scene.anna.records(in: scene.tresor)
        for name in ["plan", "note"] {
            try await records.put(name, "true".utf8)
            _ = try await records.sync()
        }
        plan = try #require(try await records.get("plan").revision)
    }

    /// Appends a checkpoint up to the head by which the plan says something else, and nothing else was ever there.
    ///
    /// - Parameter items: what it keeps beside the plan, by rising names below that.
    func lie(by author: Session, beside items: [Item] = []) async throws {
        let state = try await scene.state
        let kept = (items + [try Item("plan", "false")]).map { KeptItem(sequence: plan, item: $0) }
        let volume = try Volume(of: kept).seal(
            with: try await scene.keys(state.epoch), at: state, by: author.identity, time: scene.world.clock.now)
        let blob = try Blob(of: volume.bytes)
        try await scene.append(
            .checkpoint(CheckpointBody(upto: state.head.sequence, epoch: state.epoch, volumes: [blob])), by: author,
            blobs: [StoredBlob(hash: blob.hash, size: blob.size, bytes: volume.bytes)])
    }

    /// The packs that the store has, in the order of the log.
    func packs() async throws -> [Hash256] {
        let commits = try await CommitReader(client: scene.anna.client).commits(of: try await scene.state, from: 0)
        let packs = try commits.compactMap { try $0.body.blobs.first?.hash }
        let found = try await scene.store.truth.blobs(packs, in: scene.tresor)
        return zip(packs, found).filter { $0.1 != nil }.map(\.0)
    }

    func delete(_ packs: some Sequence<Hash256>) async throws {
        try await scene.store.truth.deleteBlobs(Array(packs), in: scene.tresor)
    }

    /// A device of anna's that has read no record.
    func newDevice() -> Session { scene.world.session(of: scene.anna, home: empty.copy()) }

    /// A person with new keys, which the tresor has.
    func renewed(_ person: Session) async throws -> Session {
        let next = try await person.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await next.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        return next
    }

    /// The plan, as another new device shows it.
    func shown() async throws -> Record {
        let records = newDevice().records(in: scene.tresor)
        _ = try await records.sync()
        return try await records.get("plan")
    }
}

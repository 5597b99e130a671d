// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The end of attachments and pieces that nobody needs: in the store, and in a home whose tresor is deleted (SPEC
/// §8.5, §9.7, §19.7).
@Suite struct AttachmentReleaseTests {
    private typealias Scene = AttachmentScene
    private static let content = AttachmentScene.content(600_000)

    /// House has put an attachment into the store, and its commit is frozen.
    private func frozen() async throws -> (scene: Scene, blob: Blob) {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.content)
        let failing = scene.device(scene.houseHome, over: scene.refusing("append"), of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let blob = try #require(try scene.theirs.outbox.read().sentAttachments.first?.blob)
        let isThere = try await isThere(blob, scene)
        #expect(isThere)
        return (scene, blob)
    }

    private func isThere(_ blob: Blob, _ scene: Scene) async throws -> Bool {
        for part in 0..<blob.partCount {
            if try await scene.store.blob(blob.hash, part: part, in: scene.tresor) != nil { return true }
        }
        return false
    }

    /// Anna's entry takes the place of the frozen commit.
    private func takePlace(_ scene: Scene) async throws {
        try await scene.records.put("note", "x".utf8)
        _ = try await scene.records.sync()
    }

    @Test func theStoreLosesWhatAnotherChangeReplaced() async throws {
        let (scene, blob) = try await frozen()
        try await scene.theirs.put("scan", "small".utf8)
        // It is frozen still, and may come into the log.
        #expect(try await isThere(blob, scene))
        try await takePlace(scene)
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(try await !isThere(blob, scene))
        #expect(scene.isClean(scene.houseHome))
    }

    @Test func theStoreLosesWhatWasMadeForAnotherEpoch() async throws {
        let (scene, blob) = try await frozen()
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(try await !isThere(blob, scene))
        #expect(try await scene.theirs.get("scan").content == Self.content)
    }

    @Test func theStoreLosesWhatWasDropped() async throws {
        let (scene, blob) = try await frozen()
        try await takePlace(scene)
        _ = try await scene.theirs.pull()
        #expect(try await isThere(blob, scene))
        #expect(try await scene.theirs.dropUnsent() == ["scan"])
        #expect(try await !isThere(blob, scene))
    }

    @Test func theStoreLosesWhatARemovedPersonDidNotSend() async throws {
        let (scene, blob) = try await frozen()
        try await scene.revoke()
        #expect(try await scene.theirs.sync().isGone)
        #expect(try await !isThere(blob, scene))
    }

    /// The sync is cancelled at each call to the store in turn. The next one ends what it began.
    @Test func aCancelledSyncLeavesNothingBehind() async throws {
        var cancelledCount = 0
        for point in 0... {
            let (scene, blob) = try await frozen()
            try await scene.theirs.put("scan", "small".utf8)
            try await takePlace(scene)
            let cancellation = CallCancellation(of: scene.store, at: point)
            let device = scene.device(scene.houseHome, over: cancellation.store, of: scene.house)
            let error = await Task { await failure { _ = try await device.sync() } }.value
            _ = try await scene.theirs.sync()
            #expect(try await !isThere(blob, scene), "\(point)")
            #expect(scene.isClean(scene.houseHome), "\(point)")
            if error != nil { cancelledCount += 1 }
            guard cancellation.hasCome else { break }
        }
        #expect(cancelledCount > 2)
    }

    /// The home stops at each of its writes. The rows stay until the store was asked.
    @Test(arguments: [false, true]) func aStopLeavesNothingInTheStore(isRemoved: Bool) async throws {
        for point in 0... {
            let (scene, blob) = try await frozen()
            if isRemoved {
                try await scene.revoke()
            } else {
                try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
            }
            let home = StoppingHome(scene.houseHome, stoppingAt: point)
            _ = await failure { _ = try await scene.device(home, of: scene.house).sync() }
            scene.world.clock.advance(by: Held.patience)
            _ = try await scene.theirs.sync()
            #expect(try await !isThere(blob, scene), "\(point)")
            guard home.stop != nil else { break }
        }
    }

    /// The home lost a piece after a part was put. Once the place of the commit is taken, no row tells of that part.
    @Test func theStoreLosesWhatTheHomeHasLostAPieceOf() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", AttachmentScene.content((1 << 20) + 70_000))
        let counts = CallCounts()
        let breaking = FaultyStore(scene.store) { call in
            guard call.name == "putBlob" else { return nil }
            counts.count("putBlob")
            return counts.counts["putBlob"] == 3 ? .refusing(.store(.unreachable)) : nil
        }
        let failing = scene.device(scene.houseHome, over: breaking, of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let lost = try #require(try scene.theirs.outbox.read().sentAttachments.first)
        let number = try #require(lost.number)
        scene.houseHome.delete(.unsent(scene.tresor, number: number.value, piece: 1))
        #expect(try await scene.theirs.sync().damaged == "scan")
        #expect(try await isThere(lost.blob, scene))
        try await takePlace(scene)
        #expect(try await scene.theirs.sync().sentCount == 1)
        #expect(try await !isThere(lost.blob, scene))
        #expect(scene.isClean(scene.houseHome))
    }

    /// A change that is kept for later needs no store. What it replaced goes with the next sync.
    @Test func aChangeAsksNoStore() async throws {
        let (scene, blob) = try await frozen()
        try await takePlace(scene)
        _ = try await scene.theirs.pull()
        let theirs = scene.theirs
        let count = scene.store.calls.count
        try await theirs.put("scan", "small".utf8)
        #expect(scene.store.calls.count == count)
        #expect(try await isThere(blob, scene))
        #expect(try await theirs.get("scan").content == Array("small".utf8))
        #expect(try await theirs.sync().sentCount == 1)
        #expect(try await !isThere(blob, scene))
        #expect(scene.isClean(scene.houseHome))
    }

    /// One call may take a store long that overwrites what it deletes.
    @Test func largeAttachmentsAreDeletedOneByOne() async throws {
        let scene = try await Scene()
        let state = try await scene.state()
        let header = FileHeader(tresor: scene.tresor, epoch: state.epoch, head: state.head)
        let blob = Blob(hash: .zero, size: 1 << 39)
        let row = HeldAttachment(content: 1, generation: 0, blob: blob, header: header)
        let isOver = await scene.records.outbox.forgetParts(of: [row, row, row])
        #expect(isOver && scene.calls("deleteBlobs") == 3)
    }

    /// A store that cannot delete keeps it, and nothing else stops.
    @Test func aStoreThatDoesNotDeleteStopsNothing() async throws {
        let (scene, blob) = try await frozen()
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        let refusing = scene.device(scene.houseHome, over: scene.refusing("deleteBlobs"), of: scene.house)
        #expect(try await refusing.sync().sentCount == 1)
        #expect(try await isThere(blob, scene))
        #expect(scene.isClean(scene.houseHome))
    }

    /// A change that came into the log stays, although the answer was lost and a newer change waits.
    @Test func theStoreKeepsWhatTheLogNames() async throws {
        let scene = try await Scene()
        try await scene.theirs.put("scan", Self.content)
        let losing = FaultyStore(scene.store) { $0.name == "append" ? .losingAnswer(.store(.unreachable)) : nil }
        let failing = scene.device(scene.houseHome, over: losing, of: scene.house)
        #expect(try await failing.sync().held == .store(.unreachable))
        let blob = try #require(try scene.theirs.outbox.read().sentAttachments.first?.blob)
        try await scene.theirs.put("scan", "small".utf8)
        #expect(try await scene.theirs.sync().sentCount == 2)
        #expect(try await isThere(blob, scene))
        #expect(scene.isClean(scene.houseHome))
    }

    /// A row may be left of what is in the log by now. The log decides.
    @Test func aRowOfWhatTheLogNamesTakesNothingAway() async throws {
        let scene = try await Scene()
        let before = try await scene.state()
        try await scene.records.put("scan", Self.content)
        _ = try await scene.records.sync()
        let blob = try #require(try await scene.newest().last)
        let stray = Blob(hash: .zero, size: 674)
        try await scene.store.putBlob(0, [1, 2, 3], of: stray.hash, in: scene.tresor)
        let header = FileHeader(tresor: scene.tresor, epoch: before.epoch, head: before.head)
        let rows = [blob, stray].map { HeldAttachment(content: 1, generation: 0, blob: $0, header: header) }
        let isOver = await scene.records.outbox.forgetParts(of: rows)
        #expect(isOver)
        #expect(try await isThere(blob, scene))
        #expect(try await !isThere(stray, scene))
    }
}

/// The pieces of a home whose tresor is deleted.
@Suite struct UnsentDeletionTests {
    private typealias Scene = AttachmentScene

    private func delete(_ scene: Scene, in home: any Home) async throws {
        let session = Session(client: scene.world.client(home), identity: scene.anna.identity)
        let deletion = Deletion(session: session)
        try await deletion.perform(try await deletion.plan(scene.tresor))
    }

    /// A tresor with an outbox, beside which many pieces lie.
    private func filled(_ counts: [UInt16: UInt64]) async throws -> Scene {
        let scene = try await Scene()
        try await scene.records.put("note", "x".utf8)
        for (number, count) in counts {
            for piece in 0..<count {
                try scene.home.replace(.unsent(scene.tresor, number: number, piece: piece), with: [1])
            }
        }
        return scene
    }

    @Test func othersGetTheHomeBetweenAFewPieces() async throws {
        let scene = try await filled([2: 200, 7: 3, 2046: 70])
        let home = PortionHome(scene.home)
        try await delete(scene, in: home)
        #expect(home.most == 64)
        #expect(scene.isClean())
    }

    /// A program that is slow writes no piece behind those that are gone.
    @Test func nobodyWritesWhileItGoesOn() async throws {
        let scene = try await filled([:])
        let outbox = scene.records.outbox
        let number = try await outbox.reserve(isContent: true)
        for piece in 0..<3 { try await outbox.keep([UInt8(piece)], asPiece: UInt64(piece), of: number) }
        try scene.anna.client.archive.forgetUnsent(of: scene.tresor, atOnce: 1)
        #expect(scene.pieces().isEmpty)
        #expect(await failure { try await outbox.keep([3], asPiece: 3, of: number) } == .altered)
        #expect(await failure { try await scene.records.put("late", "x".utf8) } == .altered)
        try await delete(scene, in: scene.home)
        #expect(scene.isClean())
    }

    /// Another program begins an outbox just before any of its locks but the last, under which the name goes.
    @Test func anOutboxThatBeginsMeanwhileGoesToo() async throws {
        let count = try await beginning(at: .max).callCount
        #expect(count > 3)
        for place in 0..<(count - 1) {
            let home = try await beginning(at: place)
            #expect(home.callCount >= count && home.base.read(.outbox(home.tresor)) == nil)
            #expect(home.base.read(.unsent(home.tresor, number: 1, piece: 0)) == nil, "\(place)")
        }
    }

    private func beginning(at place: Int) async throws -> BeginningHome {
        let scene = try await Scene()
        let home = BeginningHome(scene.home, scene.tresor, at: place)
        try await delete(scene, in: home)
        return home
    }

    /// It stops at each of its writes, and is repeated.
    @Test func aDeletionThatStopsAnywhereIsEndedByTheNext() async throws {
        var families: Set<String> = []
        for point in 0... {
            let scene = try await filled([1: 3, 9: 2])
            let home = StoppingHome(scene.home, stoppingAt: point)
            _ = await failure { try await delete(scene, in: home) }
            guard let stop = home.stop else { break }
            families.insert(stop.isDeletion ? "\(stop.object) deleted" : stop.object)
            // Once the log is forgotten, there is nothing to repeat.
            let repeated = await failure { try await delete(scene, in: scene.home) }
            #expect(repeated == nil || repeated == .notFound)
            #expect(scene.isClean())
        }
        #expect(families.isSuperset(of: ["outbox", "unsent deleted", "outbox deleted", "heads"]))
    }
}

/// A home that counts the pieces that are deleted under one lock.
private final class PortionHome: ForwardingHome {
    let base: MemoryHome
    private let counts = Mutex((now: 0, most: 0))

    init(_ base: MemoryHome) { self.base = base }

    /// The most pieces that were deleted under one lock.
    var most: Int { counts.withLock(\.most) }

    func look() {}

    func delete(_ object: HomeObject) throws(TresorError) {
        if case .unsent = object.kind { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        base.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        counts.withLock { $0.now = 0 }
        return try base.exclusively(body)
    }
}

/// A home in which another program begins an outbox with a piece, just before a lock is taken.
private final class BeginningHome: ForwardingHome {
    let base: MemoryHome
    let tresor: TresorID
    private let place: Int
    private let calls = Mutex(0)

    init(_ base: MemoryHome, _ tresor: TresorID, at place: Int) {
        (self.base, self.tresor, self.place) = (base, tresor, place)
    }

    var callCount: Int { calls.withLock { $0 } }

    func look() {}

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        let call = calls.withLock { calls in
            calls += 1
            return calls - 1
        }
        if call == place {
            try base.replace(.unsent(tresor, number: 1, piece: 0), with: [1])
            try base.replace(.outbox(tresor), with: [1])
        }
        return try base.exclusively(body)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Attachments whose home or store fails, or that several programs handle at once (SPEC §8.5, §19.7).
@Suite struct AttachmentFaultTests {
    private typealias Scene = AttachmentScene

    /// Two pieces.
    private static let content = AttachmentScene.content((1 << 20) + 70_000)

    /// Runs work that stops at each write of a home in turn, before it and behind it, and what comes after.
    ///
    /// - Returns: the families of the objects at whose writes and deletions it stopped.
    private func everyStop(
        of work: (Records) async throws -> Void, behind prepare: (Scene) async throws -> Void = { _ in },
        then: (Scene) async throws -> Void
    ) async throws -> Set<String> {
        var families: Set<String> = []
        for point in 0... {
            let scene = try await Scene()
            try await prepare(scene)
            let home = StoppingHome(scene.home, stoppingAt: point)
            _ = await failure { try await work(scene.device(home)) }
            guard let stop = home.stop else { break }
            families.insert(stop.isDeletion ? "\(stop.object) deleted" : stop.object)
            // A file that another program may have been writing is left alone for a time.
            scene.world.clock.advance(by: Held.patience)
            try await then(scene)
        }
        return families
    }

    @Test func aPutThatStopsAnywhereHappensWhollyOrNotAtAll() async throws {
        var outcomes: Set<Bool> = []
        let families = try await everyStop(
            of: { try await $0.put("scan", Self.content) },
            then: { scene in
                let isThere = try await scene.records.unsent() == ["scan"]
                outcomes.insert(isThere)
                if isThere { #expect(try await scene.records.get("scan").content == Self.content) }
                #expect(try await scene.records.sync().held == nil)
                #expect(scene.isClean())
                let second = scene.device(scene.other)
                _ = try await second.sync()
                let error = await failure {
                    let content = try await second.get("scan").content
                    #expect(content == Self.content)
                }
                #expect(error == (isThere ? nil : .notFound))
            })
        #expect(families == ["outbox", "unsent"] && outcomes == [true, false])
    }

    @Test func aReplacementThatStopsAnywhereLeavesNothingOld() async throws {
        let newer = Scene.content(70_000, 9)
        let families = try await everyStop(
            of: { try await $0.put("scan", newer) }, behind: { try await $0.records.put("scan", Self.content) }
        ) { scene in
            let present = try #require(try await scene.records.get("scan").content)
            #expect(present == newer || present == Self.content)
            // The next change cleans up.
            try await scene.records.put("note", "x".utf8)
            #expect(scene.pieces().values.reduce(0, +) == (present == newer ? 1 : 2))
            _ = try await scene.records.sync()
            #expect(scene.isClean())
            #expect(try await scene.records.get("scan").content == present)
        }
        #expect(families == ["outbox", "unsent", "unsent deleted"])
    }

    @Test func aSyncThatStopsAnywhereIsGoneOnWith() async throws {
        let families = try await everyStop(
            of: { _ = try await $0.sync() }, behind: { try await $0.records.put("scan", Self.content) }
        ) { scene in
            #expect(try await scene.records.sync().held == nil)
            #expect(scene.isClean())
            #expect(try await scene.newest().count == 2)
            #expect(try await scene.state().entryCount == 3)
            let second = scene.device(scene.other)
            _ = try await second.sync()
            #expect(try await second.versions(of: "scan").count == 1)
            #expect(try await second.get("scan").content == Self.content)
        }
        #expect(families.isSuperset(of: ["outbox", "unsent", "unsent deleted", "outbox deleted", "records"]))
    }

    @Test func aDropThatStopsAnywhereLeavesNothing() async throws {
        let families = try await everyStop(
            of: { _ = try await $0.dropUnsent() }, behind: { try await $0.records.put("scan", Self.content) }
        ) { scene in
            _ = try await scene.records.dropUnsent()
            #expect(scene.isClean())
        }
        #expect(families == ["outbox", "unsent deleted", "outbox deleted"])
    }

    /// Every call to the store fails in turn, or its answer is lost. The next sync ends what began.
    @Test(arguments: [FaultyStore.Fault.refusing(.store(.unreachable)), .losingAnswer(.store(.unreachable))])
    func aStoreThatFailsAnywhereGetsAllOfItOnce(_ fault: FaultyStore.Fault) async throws {
        for count in 0... {
            let scene = try await Scene()
            try await scene.records.put("scan", Self.content)
            let before = try await scene.state().entryCount
            scene.store.fail(after: count, by: fault)
            let first = scene.store.calls.count
            _ = await failure { _ = try await scene.records.sync() }
            let isOver = scene.store.calls.count - first <= count
            scene.store.heal()
            _ = try await scene.records.sync()
            #expect(scene.isClean())
            #expect(try await scene.state().entryCount == before + 1)
            let second = scene.device(scene.other)
            _ = try await second.sync()
            #expect(try await second.get("scan").content == Self.content)
            if isOver { break }
        }
    }

    @Test func whatWasPutIsNotPutAgain() async throws {
        for failing in 1...5 {
            let scene = try await Scene()
            try await scene.records.put("scan", Self.content)
            let counts = CallCounts()
            let losing = FaultyStore(scene.store) { call in
                guard call.name == "putBlob" else { return nil }
                counts.count("putBlob")
                return counts.counts["putBlob"] == failing ? .losingAnswer(.store(.unreachable)) : nil
            }
            #expect(try await scene.device(scene.home, over: losing).sync().held == .store(.unreachable))
            #expect(scene.calls("putBlob") == failing)
            #expect(try await scene.records.sync().sentCount == 1)
            let blob = try #require(try await scene.newest().last)
            #expect(blob.partCount == 5 && scene.calls("putBlob") == 5)
        }
    }

    /// A store that has forgotten a part, or all, of what was put takes no entry. Then all of it is put again.
    @Test func whatTheStoreForgotIsPutAgain() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        let counts = CallCounts()
        let (honest, tresor, box) = (scene.store, scene.tresor, scene.records.outbox)
        let forgetting = FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            guard counts.counts["append"] == 1, let blob = try? box.read().sentAttachments.first?.blob else {
                return nil
            }
            try? await honest.deleteBlobs([blob.hash], in: tresor)
            return nil
        }
        #expect(try await scene.device(scene.home, over: forgetting).sync().sentCount == 1)
        #expect(counts.counts["append"] == 2 && scene.calls("putBlob") == 10)
        let second = scene.device(scene.other)
        _ = try await second.sync()
        #expect(try await second.get("scan").content == Self.content)
    }

    /// The store seems to have all: its last part is there. The entry shows that it does not.
    @Test func aGapInTheStoreIsFilled() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        #expect(try await scene.device(scene.home, over: scene.refusing("append")).sync().held == .store(.unreachable))
        let blob = try #require(try scene.records.outbox.read().sentAttachments.first?.blob)
        let last = blob.partCount - 1
        let part = try #require(try await scene.store.blob(blob.hash, part: last, in: scene.tresor))
        try await scene.store.deleteBlobs([blob.hash], in: scene.tresor)
        try await scene.store.putBlob(last, part, of: blob.hash, in: scene.tresor)
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(try await scene.records.get("scan").content == Self.content)
    }

    /// A home that gave other bytes than it was given would make an entry whose attachment nobody can read. Once the place
    /// of the commit is taken, another attachment is made of the content.
    @Test(arguments: 0..<3) func aDamagedPieceIsNotCommitted(_ damage: Int) async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        #expect(try await scene.device(scene.home, over: scene.refusing("putBlob")).sync().held == .store(.unreachable))
        let before = try await scene.state().entryCount
        let attachment = try #require(try scene.records.outbox.read().sentAttachments.first)
        let number = try #require(attachment.number)
        let piece = HomeObject.unsent(scene.tresor, number: number.value, piece: 1)
        let bytes = try #require(scene.home.read(piece))
        switch damage {
        case 0: try scene.home.replace(piece, with: flipped(bytes, 800))
        case 1: try scene.home.replace(piece, with: Array(bytes.prefix(10)))
        default: scene.home.delete(piece)
        }
        for _ in 0..<2 {
            let report = try await scene.records.sync()
            #expect(report.held == .failed(.inputOutput) && report.damaged == "scan")
        }
        #expect(try await scene.state().entryCount == before)
        try await scene.theirs.put("note", "x".utf8)
        _ = try await scene.theirs.sync()
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(scene.isClean())
        #expect(try await scene.newest().last != attachment.blob)
        #expect(try await scene.records.get("scan").content == Self.content)
    }

    /// An attachment that the home has lost is sent if the store has it.
    @Test func whatTheStoreHasNeedsNoPiece() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        #expect(try await scene.device(scene.home, over: scene.refusing("append")).sync().held == .store(.unreachable))
        let number = try #require(try scene.records.outbox.read().sentAttachments.first?.number)
        scene.home.delete(HomeObject.unsent(scene.tresor, number: number.value, piece: 1))
        let report = try await scene.records.sync()
        #expect(report.held == nil && report.sentCount == 1)
        #expect(try await scene.records.get("scan").content == Self.content)
    }

    /// A damaged piece of a content is refused, and so is one that lies in another's place.
    @Test func aPieceOfAContentOpensInItsPlaceAlone() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        let pieces = (0..<2).map { HomeObject.unsent(scene.tresor, number: 1, piece: $0) }
        let bytes = try pieces.map { try #require(scene.home.read($0)) }
        for (place, lie) in [(0, flipped(bytes[0], 9000)), (1, bytes[0]), (0, bytes[1])] {
            try scene.home.replace(pieces[place], with: lie)
            #expect(await failure { _ = try await scene.records.get("scan") } == .altered)
            let report = try await scene.records.sync()
            #expect(report.held == .altered && report.damaged == "scan")
            for (piece, bytes) in zip(pieces, bytes) { try scene.home.replace(piece, with: bytes) }
        }
        #expect(try await scene.records.sync().sentCount == 1)
    }

    /// Of two attachments that two programs made of one content, the first that is whole counts.
    @Test func twoProgramsMakeOneAttachment() async throws {
        let scene = try await Scene()
        try await scene.records.put("scan", Self.content)
        let state = try await scene.state()
        let keys = try await scene.anna.keyRing.keys(of: state.epoch, in: state)
        let number = try await scene.records.outbox.reserve(isContent: false)
        try await scene.records.outbox.keep([1, 2, 3], asPiece: 0, of: number)
        var failing: Name?
        let last = try scene.records.outbox.read()
        try await AttachmentSealing(outbox: scene.records.outbox).seal(last, in: state, with: keys, failing: &failing)
        let outbox = try scene.records.outbox.read()
        let content = try #require(outbox.content(1))
        let first = try #require(outbox.attachment(of: 1))
        let late = HeldAttachment(
            content: 1, generation: 0, blob: Blob(hash: .zero, size: 674), header: first.attachment.header)
        let author = scene.anna.identity
        try await scene.records.outbox.change { (outbox) throws(TresorError) in
            outbox.finish(late, of: content, as: number, in: state, by: author)
        }
        #expect(try scene.records.outbox.read().attachment(of: 1)?.attachment == first.attachment)
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(try await scene.newest().last == first.attachment.blob)
        #expect(scene.isClean())
    }

    /// The least free number is taken, and no more than there may be.
    @Test func numbersAreTakenInOrder() throws {
        var outbox = Outbox()
        func taken(_ areContents: [Bool]) throws(TresorError) -> [UInt16] {
            var numbers: [UInt16] = []
            for isContent in areContents {
                numbers.append(try outbox.reserve(isContent: isContent, at: 5, mark: 7).value)
            }
            return numbers
        }
        #expect(try taken([true, true, false]) == [1, 2, 3])
        outbox.forget(HeldNumber(2, mark: 7))
        #expect(try taken([true]) == [2])
        #expect(try Outbox(outbox.bytes) == outbox)
        #expect(try taken([Bool](repeating: false, count: 2043)) == Array(4...2046))
        #expect(throws: TresorError.busy) { try taken([false]) }
        #expect(outbox.unneeded(at: 5).isEmpty)
        #expect(outbox.unneeded(at: 605).count == 2046)
        for number in 1...1023 { outbox[HeldNumber(UInt16(number), mark: 7)] = .content(byteCount: 70_000) }
        outbox.forget(HeldNumber(2000, mark: 7))
        #expect(throws: TresorError.usage(.tooManyContents)) { try taken([true]) }
        #expect(try taken([false]) == [2000])
    }

    /// Two programs took numbers while there was room for one content.
    @Test func noMoreContentsAreMadeWholeThanThereMayBe() throws {
        var outbox = Outbox()
        for number in UInt16(1)...1022 { outbox[HeldNumber(number, mark: 7)] = .content(byteCount: 70_000) }
        let last = HeldContent(number: try outbox.reserve(isContent: true, at: 5, mark: 7), byteCount: 70_000)
        let other = HeldContent(number: try outbox.reserve(isContent: true, at: 5, mark: 7), byteCount: 70_000)
        try outbox.finish(last)
        #expect(throws: TresorError.usage(.tooManyContents)) { try outbox.finish(other) }
        #expect(outbox.content(1024) == nil && outbox.content(1023) == last)
    }

    /// A session that is locked while a content is taken in reads no further.
    @Test func aLockedSessionGoesNoFurther() async throws {
        let scene = try await Scene()
        var source = LockingSource(Self.content, scene.anna.identity)
        #expect(await failure { _ = try await scene.records.attachments.hold(&source) } == .usage(.locked))
        #expect(scene.pieces() == [1: 1])
    }
}

/// A content behind whose first piece somebody locks the session.
private struct LockingSource: ContentSource {
    private var base: MemorySource
    private let identity: Identity
    private var isBehindFirst = false

    init(_ bytes: [UInt8], _ identity: Identity) {
        base = MemorySource(bytes)
        self.identity = identity
    }

    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        if isBehindFirst { identity.lock() }
        isBehindFirst = true
        try await base.read(into: &output)
    }
}

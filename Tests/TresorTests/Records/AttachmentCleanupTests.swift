// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The cleanup of contents and attachments beside other programs that write (SPEC §8.5).
@Suite struct AttachmentCleanupTests {
    private typealias Scene = AttachmentScene

    /// A cleanup of several batches stops anywhere. A program that was slow goes on only if every piece is there.
    @Test func nobodyWritesBehindAGap() async throws {
        var gapCount = 0
        for point in 0... {
            let scene = try await Scene()
            let outbox = scene.records.outbox
            let number = try await outbox.reserve(isContent: true)
            for piece in 0..<3 { try await outbox.keep([UInt8(piece)], asPiece: UInt64(piece), of: number) }
            scene.world.clock.advance(by: Held.patience)
            let home = StoppingHome(scene.home, stoppingAt: point)
            await scene.device(home).outbox.clean(atOnce: 1)
            guard home.stop != nil else {
                #expect(scene.isClean())
                break
            }
            guard scene.pieces() != [1: 3] else { continue }
            gapCount += 1
            #expect(await failure { try await outbox.keep([3], asPiece: 3, of: number) } == .busy)
            await outbox.clean(atOnce: 1)
            #expect(scene.isClean())
        }
        #expect(gapCount > 3)
    }

    /// Where the identity was erased or moved away, nobody sends what a program that still runs would write.
    @Test func aHomeWithoutAnIdentityTakesNoChange() async throws {
        let scene = try await Scene()
        let outbox = scene.records.outbox
        let number = try await outbox.reserve(isContent: true)
        let before = scene.home.read(.outbox(scene.tresor))
        scene.home.delete(.identity)
        #expect(await failure { _ = try await outbox.reserve(isContent: true) } == .busy)
        #expect(await failure { try await outbox.keep([1], asPiece: 0, of: number) } == .busy)
        #expect(scene.home.read(.outbox(scene.tresor)) == before)
        #expect(scene.pieces() == [:])
    }

    /// Another program takes a number while a cleanup waits for the home.
    @Test func aCleanupThatWaitedLooksAtTheClockAgain() async throws {
        let scene = try await Scene()
        let start = scene.world.clock.now
        try await scene.records.outbox.change { (outbox) throws(TresorError) in
            outbox[HeldNumber(1, mark: 7)] = .unfinished(until: 0)
            outbox[HeldNumber(2, mark: 7)] = .unfinished(until: start + 700 + Held.patience)
        }
        await scene.device(WaitingHome(scene.home, scene.world.clock)).outbox.clean()
        #expect(try scene.records.outbox.read().held.map(\.number.value) == [2])
    }

    /// The clocks of two programs may differ a little.
    @Test func aClockThatIsAheadALittleCounts() {
        var outbox = Outbox()
        let number = HeldNumber(1, mark: 7)
        outbox[number] = .unfinished(until: 1000 + Held.patience + Held.clockTolerance)
        #expect(outbox.unneeded(at: 1000) == [])
        #expect(outbox.unneeded(at: 999) == [number])
    }

    /// A program that lost its number to another one neither writes there, nor makes it whole, nor gives it up.
    @Test func aNumberThatWasTakenAgainIsAnothersOwn() async throws {
        let scene = try await Scene()
        let outbox = scene.records.outbox
        let former = try await outbox.reserve(isContent: true)
        scene.world.clock.advance(by: Held.patience)
        await outbox.clean()
        let number = try await outbox.reserve(isContent: true)
        #expect(number.value == former.value && number != former)
        #expect(await failure { try await outbox.keep([1], asPiece: 0, of: former) } == .busy)
        let late = HeldContent(number: former, byteCount: 70_000)
        #expect(await failure { try await scene.records.change([.put("scan", late, type: "")]) } == .busy)
        await outbox.release([former])
        try await outbox.keep([2], asPiece: 0, of: number)
        #expect(try outbox.read().isReserved(number))
        #expect(scene.pieces() == [1: 1])
    }

    /// While the second version is sealed, a third and a fourth take its place, and the fourth its number.
    @Test func aSealingDoesNotReadOnInAnotherContent() async throws {
        let scene = try await Scene()
        let outbox = scene.records.outbox
        let versions = (2...4).map { Scene.content((1 << 20) + 70_000, UInt8(50 * $0)) }
        try await scene.records.put("scan", versions[0])
        let old = try #require(try outbox.read().content(1))
        var source = HeldSource(outbox, old)
        let start = try await source.nextBytes(OutboxFile.pieceByteCount)
        #expect(start == Array(versions[0].prefix(OutboxFile.pieceByteCount)))
        try await scene.records.put("scan", versions[1])
        try await scene.records.put("scan", versions[2])
        let new = try #require(try outbox.read().content(1))
        #expect(new.byteCount == old.byteCount && new != old)
        #expect(await failure { _ = try await source.nextBytes(OutboxFile.pieceByteCount) } == .altered)
        // Nor is an attachment of the old content taken for one of the new.
        let state = try await scene.state()
        let header = FileHeader(tresor: scene.tresor, epoch: state.epoch, head: state.head)
        let made = HeldAttachment(content: 1, generation: 0, blob: Blob(hash: .zero, size: 674), header: header)
        let number = try await outbox.reserve(isContent: false)
        let author = scene.anna.identity
        try await outbox.change { (outbox) throws(TresorError) in
            outbox.finish(made, of: old, as: number, in: state, by: author)
        }
        #expect(try outbox.read().attachment(of: 1) == nil)
        #expect(try await scene.records.sync().sentCount == 1)
        #expect(try await scene.records.get("scan").content == versions[2])
    }
}

/// A home for which a program waits 700 seconds.
private struct WaitingHome: ForwardingHome {
    let base: MemoryHome
    private let clock: TestClock
    private let end: UInt64

    init(_ base: MemoryHome, _ clock: TestClock) {
        (self.base, self.clock) = (base, clock)
        end = clock.now + 700
    }

    func look() {}

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        clock.now = end
        return try base.exclusively(body)
    }
}

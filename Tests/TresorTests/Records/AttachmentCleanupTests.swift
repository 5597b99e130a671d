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

    /// Another program takes a number while a cleanup waits for the home.
    @Test func aCleanupThatWaitedLooksAtTheClockAgain() async throws {
        let scene = try await Scene()
        let start = scene.world.clock.now
        try await scene.records.outbox.change { (outbox) throws(TresorError) in
            outbox[1] = .unfinished(until: 0)
            outbox[2] = .unfinished(until: start + 700 + Held.patience)
        }
        await scene.device(WaitingHome(scene.home, scene.world.clock)).outbox.clean()
        #expect(try scene.records.outbox.read().held.map(\.number) == [2])
    }

    /// The clocks of two programs may differ a little.
    @Test func aClockThatIsAheadALittleCounts() {
        var outbox = Outbox()
        outbox[1] = .unfinished(until: 1000 + Held.patience + Held.clockTolerance)
        #expect(outbox.unneeded(at: 1000) == [])
        #expect(outbox.unneeded(at: 999) == [1])
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

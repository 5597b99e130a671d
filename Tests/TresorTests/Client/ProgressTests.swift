// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Whatever may take longer than a second says how far it is.
@Suite struct ProgressTests {
    private let world = World()

    /// The reports so far.
    private final class Reports: Sendable {
        private let said = Mutex<[WorkDone]>([])
        var all: [WorkDone] { said.withLock { $0 } }
        var take: @Sendable (WorkDone) -> Void { { done in self.said.withLock { $0.append(done) } } }
    }

    private func isRising(_ reports: Reports) -> Bool {
        zip(reports.all, reports.all.dropFirst()).allSatisfy { $0.completed <= $1.completed && $0.total == $1.total }
    }

    @Test func aListSaysHowManyTresorsAreVerified() async throws {
        let anna = try await world.quick("anna")
        for name in ["a", "b", "c"] { _ = try await anna.create(name) }
        let reports = Reports()
        let all = try await anna.allTresors(progress: reports.take)
        #expect(all.count == 3)
        #expect(reports.all == (1...3).map { WorkDone($0, of: 3) })
    }

    @Test func aRenewalSaysHowManyTresorsAreDone() async throws {
        let anna = try await world.quick("anna")
        for name in ["a", "b"] { _ = try await anna.create(name) }
        let renewed = try await anna.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
        let reports = Reports()
        #expect(try await renewed.renewal.finish(progress: reports.take).isEmpty)
        #expect(reports.all == (1...2).map { WorkDone($0, of: 2) })
    }

    @Test func aStreamSaysHowManyBytesAreRead() async throws {
        let anna = try await world.quick("anna")
        let plans = try await anna.create("plans")
        let count = 3 << 20
        var source = MemorySource(Array(repeating: 7, count: count))
        var sink = MemorySink()
        let sealing = Reports()
        try await plans.seal(&source, to: &sink, record: "scan", progress: sealing.take)
        #expect(sealing.all.last == WorkDone(UInt64(count)) && isRising(sealing))
        let file = MemorySource(sink.bytes)
        let whole = UInt64(sink.bytes.count)
        let verifying = Reports()
        _ = try await plans.verify(file, record: "scan", progress: verifying.take)
        #expect(verifying.all.last == WorkDone(UInt64(count), of: whole) && isRising(verifying))
        try await plans.plan(.rotate).perform()
        var other = MemorySink()
        let resealing = Reports()
        #expect(try await plans.reseal(file, to: &other, record: "scan", progress: resealing.take))
        #expect(resealing.all.last == WorkDone(whole + UInt64(count), of: 2 * whole) && isRising(resealing))
        #expect(resealing.all.count > 4)
    }
}

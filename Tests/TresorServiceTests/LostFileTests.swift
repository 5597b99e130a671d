// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// An SQLite file that somebody moves or replaces while a process works on it.
    @Suite struct LostFileTests {
        private static let items = Schema(steps: [[Table(name: "items", columns: [.bytes("item")], key: ["item"])]])

        private final class Bodies: Sendable {
            let count = Mutex(0)
        }

        /// A write that waited, or that is at work, takes nothing that no later start would find.
        @Test func aFileThatIsMovedBelowAWriteTakesNothing() async throws {
            let directory = try TestDirectory()
            let (path, lost) = (directory["service.db"], directory["lost.db"])
            let engine = try await SQLiteEngine.open(at: path, creating: true)
            try await Self.items.migrate(engine)
            let (hasBegun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let bodies = Bodies()
            @Sendable func write(waiting: Bool) async -> TresorError? {
                do throws(TresorError) {
                    try await engine.write { (transaction) throws(TresorError) in
                        bodies.count.withLock { $0 += 1 }
                        if waiting {
                            hasBegun.signal()
                            goOn.wait()
                        }
                        _ = try transaction.run([SQL("INSERT INTO items (item) VALUES ($1)", [.bytes([1])])])
                    }
                    return nil
                } catch {
                    return error
                }
            }
            let first = Task { await write(waiting: true) }
            try await Cores.apart { hasBegun.wait() }
            let second = Task { await write(waiting: false) }
            #expect(rename(path, lost) == 0)
            goOn.signal()
            let failures = [await first.value, await second.value]
            let failure: TresorError? = .store(.inputOutput)
            #expect(failures == [failure, failure])
            let count = bodies.count.withLock { $0 }
            #expect(count == 1 && engine.outage.reason != nil)
            #expect(rename(lost, path) == 0)
            let rows = try await engine.read(SQL("SELECT count(*) FROM items"))
            #expect(rows == [SQLRow([0])])
            await engine.close()
        }
    }
#endif

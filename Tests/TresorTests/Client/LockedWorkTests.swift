// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Locking a session ends the work that is under way at its next piece.
@Suite struct LockedWorkTests {
    private let world = World()
    private let anna: Session
    private let plans: TresorHandle

    init() async throws {
        anna = try await world.quick("anna")
        plans = try await anna.create("plans")
    }

    /// A content without end that locks the session before its third piece.
    private struct EndlessSource: ContentSource {
        let session: Session
        var reads = 0

        mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
            reads += 1
            if reads == 3 { session.lock() }
            output.append(repeating: 7, count: output.freeCapacity, as: UInt8.self)
        }
    }

    /// A sealed file that locks the session when it was read so often.
    private final class LockingSource: SealedSource {
        let byteCount: Int
        private let bytes: [UInt8]
        private let session: Session
        private let last: Int
        private let count = Mutex(0)

        init(_ bytes: [UInt8], locking session: Session, after last: Int) {
            (self.bytes, self.session, self.last, byteCount) = (bytes, session, last, bytes.count)
        }

        var reads: Int { count.withLock { $0 } }

        func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError) {
            let reads = count.withLock { count in
                count += 1
                return count
            }
            if reads == last { session.lock() }
            for byte in bytes[offset..<(offset + output.freeCapacity)] { output.append(byte, as: UInt8.self) }
        }
    }

    private func sealed(_ count: Int) async throws -> [UInt8] {
        var source = MemorySource(Array(repeating: 7, count: count))
        var sink = MemorySink()
        try await plans.seal(&source, to: &sink)
        return sink.bytes
    }

    @Test func sealingEnds() async throws {
        let plans = plans
        var source = EndlessSource(session: anna)
        var sink = MemorySink()
        await #expect(throws: TresorError.usage(.locked)) { try await plans.seal(&source, to: &sink) }
        #expect(source.reads == 3)
    }

    @Test func verifyingEnds() async throws {
        let chunks = 64
        let source = LockingSource(
            try await sealed(chunks * ChunkBuffer.byteCount), locking: anna, after: 6)
        let plans = plans
        await #expect(throws: TresorError.usage(.locked)) { _ = try await plans.verify(source) }
        #expect(source.reads < chunks)
    }

    @Test func aVerifiedFileReadsNoMore() async throws {
        let file = try await plans.verify(MemorySource(try await sealed(100_000)))
        #expect(try await file.read(0..<3) == [7, 7, 7])
        anna.lock()
        await #expect(throws: TresorError.usage(.locked)) { _ = try await file.read(0..<3) }
    }

    @Test func aBatchEnds() async throws {
        let file = try await plans.seal([1])
        let results = await plans.open(Array(repeating: ExpectedFile(file), count: 5000)) { _ in anna.lock() }
        #expect(results.count == 5000)
        #expect(results.contains(.failure(.usage(.locked))))
    }

    @Test func aBatchOfContentsEnds() async throws {
        let plans = plans
        let content = try NamedContent([1], record: "one")
        await #expect(throws: TresorError.usage(.locked)) {
            _ = try await plans.seal(Array(repeating: content, count: 5000)) { [anna] _ in anna.lock() }
        }
    }

    /// At whichever call of the store the session is locked: the key was changed and the act says so, or neither.
    @Test(arguments: 0..<16) func aChangeIsMadeAsAWholeOrNotAtAll(call: Int) async throws {
        let store = CancellingStore()
        let world = World(store: store)
        let anna = try await world.quick("anna")
        let plans = try await anna.create("plans")
        store.cancel(at: call) { anna.lock() }
        let error = await failure { try await plans.plan(.rotate).perform() }
        let count = try await log(plans.id, in: store).count
        #expect(error == (count == 1 ? .usage(.locked) : nil), "locked at call \(call)")
        #expect(count == 1 || count == 2)
    }

    /// At whichever call of the store the task is cancelled: there is an identity with its card, or neither.
    @Test(arguments: 0..<6) func anIdentityIsMadeWithItsCardOrNotAtAll(call: Int) async throws {
        let store = CancellingStore()
        let home = MemoryHome()
        let client = World(store: store).client(home)
        let task = Mutex<Task<TresorError?, Never>?>(nil)
        store.cancel(at: call) { task.withLock { $0?.cancel() } }
        let (gate, opening) = AsyncStream<Void>.makeStream()
        task.withLock { task in
            task = Task {
                for await _ in gate { break }
                return await failure {
                    _ = try await client.makeIdentity("anna", password: password("anna"), cost: .floor)
                }
            }
        }
        opening.finish()
        let error = await task.withLock { $0 }?.value
        let chain = try client.people.ownChain()
        #expect(error == (chain == nil ? .cancelled : nil), "cancelled at call \(call)")
        if let chain { #expect(try await store.card(of: chain.user) == chain.bytes) }
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorPostgres

    /// Those who wait for a connection to PostgreSQL. No server is asked.
    @Suite struct PostgresPoolTests {
        /// A pool with one write at a time, which is at work until it is told to end.
        private struct Stage {
            let pool: PostgresPool
            let work: Task<Void, any Error>
            private let isSeen = DispatchSemaphore(value: 0)

            init(count: Int, waitingMaximum: Int = 4096) async throws {
                let pool = PostgresPool(
                    try #require(PostgresLocation("host=/nowhere")), count: count, waitingMaximum: waitingMaximum)
                let (isOpen, isSeen) = (DispatchSemaphore(value: 0), self.isSeen)
                work = Task {
                    try await pool.run(.write) { (_) throws(TresorError) in
                        isOpen.signal()
                        isSeen.wait()
                    }
                }
                self.pool = pool
                try await Cores.apart { isOpen.wait() }
            }

            /// Lets something wait.
            func wait(_ kind: PostgresTransaction.Kind) async throws -> Task<Int, any Error> {
                let count = pool.waitingCount
                let task = Task { [pool] in try await pool.run(kind) { (_) throws(TresorError) in 7 } }
                try await TestSupport.wait { pool.waitingCount > count }
                return task
            }

            func end() async throws {
                isSeen.signal()
                try await work.value
                await pool.close()
            }
        }

        /// How much runs at once.
        private final class Running: Sendable {
            let count = Mutex(0)
        }

        @Test func aWriteWaitsForAConnectionNoLongerThanForTheServer() async throws {
            let stage = try await Stage(count: 2)
            let time = ContinuousClock.now
            let early = try await stage.wait(.write)
            stage.pool.endWaits(begunBefore: time)
            #expect(stage.pool.waitingCount == 1)
            #expect(try await stage.pool.run(.read) { (_) throws(TresorError) in 1 } == 1)
            stage.pool.endWaits(begunBefore: .now + .seconds(1))
            #expect(stage.pool.waitingCount == 0)
            await #expect(throws: TresorError.busy) { try await early.value }
            let late = try await stage.wait(.write)
            try await stage.end()
            #expect(try await late.value == 7)
        }

        @Test func writesThatWaitRefuseNoRead() async throws {
            let stage = try await Stage(count: 1, waitingMaximum: 1)
            let write = try await stage.wait(.write)
            await #expect(throws: TresorError.busy) {
                try await stage.pool.run(.write) { (_) throws(TresorError) in 0 }
            }
            let read = try await stage.wait(.read)
            await #expect(throws: TresorError.busy) {
                try await stage.pool.run(.read) { (_) throws(TresorError) in 0 }
            }
            try await stage.end()
            #expect(try await write.value == 7)
            #expect(try await read.value == 7)
        }

        /// A connection that is set for a transaction comes first, and another one is opened before one is set anew. None is
        /// opened where the server refused one, or keeps those of commits that hang.
        @Test func theConnectionThatSuitsATransactionBestIsChosen() {
            func place(_ idle: [PostgresConnection.Readiness], opening: Bool = true) -> Int? {
                PostgresPool.place(for: .write, among: idle, opening: opening)
            }
            #expect(place([.closed, .open(.write), .open(.read)]) == 1)
            #expect(place([.open(.write), .open(.write)]) == 1)
            #expect(place([.closed, .closed, .open(.read)]) == 1)
            #expect(place([.closed, .unavailable, .open(.read)]) == 0)
            #expect(place([.closed, .open(.read)], opening: false) == 1)
            #expect(place([.unavailable, .open(.read)]) == 1)
            #expect(place([.unavailable, .unavailable]) == 1)
            #expect(place([.closed, .closed], opening: false) == 1)
            #expect(place([]) == nil)
            #expect(PostgresPool.place(for: .read, among: [.open(.read), .open(.write)], opening: true) == 0)
        }

        @Test func aConnectionThatCouldNotBeOpenedIsUnavailable() throws {
            let connection = PostgresConnection(try #require(PostgresLocation("host=/nowhere")), PostgresWatch())
            #expect(connection.readiness == .closed)
            #expect(throws: PostgresFailure.self) { try connection.prepare() }
            #expect(connection.readiness == .unavailable)
        }

        /// PostgreSQL keeps the connections of commits that were given up. No more of them come until one succeeds.
        @Test func afterCommitsThatHungOneWriteAtATimeTries() async throws {
            let pool = PostgresPool(try #require(PostgresLocation("host=/nowhere")), count: 4)
            let time = ContinuousClock.now
            func write(_ end: PostgresConnection.CommitEnd) -> Task<Void, any Error> {
                Task {
                    try await pool.run(.write) { (connection) throws(TresorError) in connection.lastCommit = end }
                }
            }
            func hang() async throws { for _ in 0..<3 { try await write(.hung).value } }
            try await hang()
            let first = write(.hung)
            try await wait { pool.waitingCount == 1 }
            let second = write(.done)
            try await wait { pool.waitingCount == 2 }
            #expect(try await pool.run(.read) { (_) throws(TresorError) in 1 } == 1)
            for (task, left) in [(first, 1), (second, 0)] {
                pool.endWaits(begunBefore: time)
                try await task.value
                #expect(pool.waitingCount == left)
            }

            // One has succeeded: all may run at once again.
            let running = Running()
            let isSeen = DispatchSemaphore(value: 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { for _ in 0..<3 { isSeen.signal() } }
                for _ in 0..<3 {
                    group.addTask {
                        try await pool.run(.write) { (connection) throws(TresorError) in
                            connection.lastCommit = .done
                            running.count.withLock { $0 += 1 }
                            isSeen.wait()
                        }
                    }
                }
                try await wait { running.count.withLock { $0 } == 3 }
            }

            // The ones who still wait at the end are told so.
            try await hang()
            let left = write(.done)
            try await wait { pool.waitingCount == 1 }
            await pool.close()
            await #expect(throws: TresorError.store(.other)) { try await left.value }
        }
    }
#endif

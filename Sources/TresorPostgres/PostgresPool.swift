// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TresorCrypto

    /// Connections, each with a thread of its own while it works. One that is free takes the work that has waited longest.
    ///
    /// Writes never use all connections, if there are several: commits that hang stop no read. PostgreSQL keeps the
    /// connection of such a commit, although it was given up here. So its write counts until a commit succeeds; when all
    /// that may run at once have been given up, one at a time tries whether commits succeed again.
    final class PostgresPool: Sendable {
        /// Works on a connection, and returns what tells the caller. Who is told finds the connection free.
        typealias ConnectionUse = @Sendable (PostgresConnection) -> @Sendable () -> Void

        /// A connection that its queue alone uses.
        private final class Worker: @unchecked Sendable {
            let queue: DispatchQueue
            let watch = PostgresWatch()
            let connection: PostgresConnection

            init(_ location: PostgresLocation, number: Int) {
                queue = DispatchQueue(label: "tresor.postgres.\(number)", qos: .userInitiated)
                connection = PostgresConnection(location, watch)
            }
        }

        private struct Job {
            let kind: PostgresTransaction.Kind
            let start = ContinuousClock.now
            let work: ConnectionUse
            let refuse: @Sendable (TresorError) -> Void
        }

        private struct State {
            var idle: [Worker]
            var waiting: [Job] = []
            /// The number of writes that run at once.
            let writeCount: Int
            /// The number of writes that may still begin.
            var freeWrites: Int
            /// The number of writes whose commit was given up, since the last commit that succeeded.
            var hungWrites = 0
            var openCount: Int
            var isClosed = false
            var closing: [CheckedContinuation<Void, Never>] = []

            func mayBegin(_ job: Job) -> Bool { job.kind == .read || freeWrites > 0 }

            /// Begins a job, if it may. While commits hang, a write takes the worker that has the least to lose, and a read
            /// opens no connection beside those that are open: PostgreSQL has those of the commits too.
            mutating func begin(_ job: Job) -> Worker? {
                guard mayBegin(job), !idle.isEmpty else { return nil }
                let isWrite = job.kind == .write
                freeWrites -= isWrite ? 1 : 0
                guard !isWrite || hungWrites == 0 else { return idle.removeFirst() }
                let connections = idle.map(\.connection.readiness)
                return PostgresPool.place(for: job.kind, among: connections, opening: hungWrites == 0).map {
                    idle.remove(at: $0)
                }
            }

            /// Begins what waits and may begin, the oldest first.
            mutating func beginWaiting() -> [(job: Job, worker: Worker)] {
                var begun: [(job: Job, worker: Worker)] = []
                while let place = waiting.firstIndex(where: mayBegin), let worker = begin(waiting[place]) {
                    begun.append((waiting.remove(at: place), worker))
                }
                return begun
            }

            /// Ends a job. Workers without a connection stand before those with one.
            mutating func end(_ job: Job, on worker: Worker) {
                if job.kind == .write {
                    switch worker.connection.lastCommit {
                    case .done:
                        freeWrites += 1 + hungWrites
                        hungWrites = 0
                    case .hung: hungWrites += 1
                    case nil: freeWrites += 1
                    }
                }
                idle.insert(worker, at: worker.connection.isOpen ? idle.endIndex : 0)
            }
        }

        /// Returns the place of the connection that suits a transaction of a kind best; `nil` if there is none.
        ///
        /// One that is set for the kind comes first. Setting another one costs each time that the kind changes, and opening
        /// one costs once. A server that refused one more connection is asked again when there is no other way.
        ///
        /// - Parameters:
        ///   - idle: what the connections are, those that are open last.
        ///   - opening: whether a connection may be opened although another one is open.
        static func place(
            for kind: PostgresTransaction.Kind, among idle: [PostgresConnection.Readiness], opening: Bool
        ) -> Int? {
            if let place = idle.lastIndex(of: .open(kind)) { return place }
            if opening, let place = idle.lastIndex(of: .closed) { return place }
            return idle.indices.last
        }

        private let watches: [PostgresWatch]
        private let state: Mutex<State>
        /// The maximum number of reads, and of writes, that wait for a connection. More are refused at once.
        private let waitingMaximum: Int

        init(_ location: PostgresLocation, count: Int, waitingMaximum: Int = 4096) {
            let workers = (0..<count).reversed().map { Worker(location, number: $0) }
            let writeCount = max(1, count - max(1, count / 4))
            watches = workers.map(\.watch)
            state = Mutex(
                State(idle: workers, writeCount: writeCount, freeWrites: writeCount, openCount: count))
            self.waitingMaximum = waitingMaximum
        }

        /// The number of jobs that wait for a connection.
        var waitingCount: Int { state.withLock { $0.waiting.count } }

        /// Breaks the connections whose waits for the server began before a time, and refuses the jobs that have waited
        /// for a connection since then. Lets one write try if all others hang.
        func endWaits(begunBefore time: ContinuousClock.Instant) {
            for watch in watches { watch.endWait(begunBefore: time) }
            let (late, begun) = state.withLock { state in
                let late = state.waiting.filter { $0.start < time }
                state.waiting.removeAll { $0.start < time }
                if state.hungWrites == state.writeCount {
                    state.hungWrites -= 1
                    state.freeWrites += 1
                }
                return (late, state.beginWaiting())
            }
            for job in late { job.refuse(.busy) }
            begin(begun)
        }

        /// Runs work on a connection.
        ///
        /// - Throws: the error of the work; `TresorError.busy` if too much waits, or for too long; `TresorError.store(_:)`
        ///   after ``close()``.
        func run<Value: Sendable>(
            _ kind: PostgresTransaction.Kind,
            _ work: @escaping @Sendable (PostgresConnection) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let result = await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<Value, TresorError>, Never>) in
                submit(
                    Job(
                        kind: kind,
                        work: { connection in
                            let result = Result { () throws(TresorError) in try work(connection) }
                            return { continuation.resume(returning: result) }
                        }, refuse: { continuation.resume(returning: .failure($0)) }))
            }
            return try result.get()
        }

        private func submit(_ job: Job) {
            let (free, refusal) = state.withLock { state -> (Worker?, TresorError?) in
                guard !state.isClosed else { return (nil, .store(.other)) }
                if let free = state.begin(job) { return (free, nil) }
                guard state.waiting.count(where: { $0.kind == job.kind }) < waitingMaximum else { return (nil, .busy) }
                state.waiting.append(job)
                return (nil, nil)
            }
            if let refusal { return job.refuse(refusal) }
            if let free { begin([(job, free)]) }
        }

        private func begin(_ jobs: [(job: Job, worker: Worker)]) {
            for (job, worker) in jobs { worker.queue.async { self.perform(job, on: worker) } }
        }

        /// Does a job, and begins what may begin after it.
        private func perform(_ job: Job, on worker: Worker) {
            let tell = job.work(worker.connection)
            let (begun, leaving) = state.withLock { state in
                state.end(job, on: worker)
                let begun = state.beginWaiting()
                guard state.isClosed else { return (begun, [Worker]()) }
                defer { state.idle = [] }
                return (begun, state.idle)
            }
            tell()
            begin(begun)
            for worker in leaving { worker.queue.async { self.close(worker) } }
        }

        /// Closes the connections, each after the work that has begun or waits.
        func close() async {
            let idle = state.withLock { state in
                state.isClosed = true
                defer { state.idle = [] }
                return state.idle
            }
            for worker in idle { worker.queue.async { self.close(worker) } }
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.openCount > 0 { state.closing.append(continuation) }
                    return state.openCount == 0
                }
                if isDone { continuation.resume() }
            }
        }

        private func close(_ worker: Worker) {
            worker.connection.close()
            let (left, closing) = state.withLock { state -> ([Job], [CheckedContinuation<Void, Never>]) in
                state.openCount -= 1
                guard state.openCount == 0 else { return ([], []) }
                defer { (state.waiting, state.closing) = ([], []) }
                return (state.waiting, state.closing)
            }
            // Writes that no commit before them let begin.
            for job in left { job.refuse(.store(.other)) }
            for continuation in closing { continuation.resume() }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TresorCrypto

    /// Connections, each with a thread of its own while it works. One that is free takes the work that has waited longest.
    ///
    /// Writes never use all connections, if there are several: commits that hang stop no read.
    final class PostgresPool: Sendable {
        typealias Work = @Sendable (PostgresConnection) -> Void

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
            let work: Work
        }

        private struct State {
            var idle: [Worker]
            var waiting: [Job] = []
            /// The number of writes that may still begin.
            var freeWrites: Int
            var openCount: Int
            var isClosed = false
            var closing: [CheckedContinuation<Void, Never>] = []

            func mayBegin(_ job: Job) -> Bool { job.kind == .read || freeWrites > 0 }
            mutating func begin(_ job: Job) { freeWrites -= job.kind == .write ? 1 : 0 }
            mutating func end(_ job: Job) { freeWrites += job.kind == .write ? 1 : 0 }
        }

        /// The maximum amount of work that waits for a connection. More is refused at once.
        private static let waitingCount = 4096

        private let watches: [PostgresWatch]
        private let state: Mutex<State>

        init(_ location: PostgresLocation, count: Int) {
            let workers = (0..<count).reversed().map { Worker(location, number: $0) }
            watches = workers.map(\.watch)
            state = Mutex(
                State(idle: workers, freeWrites: max(1, count - max(1, count / 4)), openCount: count))
        }

        /// Breaks the connections whose waits for the server began before a time.
        func endWaits(begunBefore time: ContinuousClock.Instant) {
            for watch in watches { watch.endWait(begunBefore: time) }
        }

        /// Runs work on a connection.
        ///
        /// - Throws: the error of the work; `TresorError.busy` if too much waits; `TresorError.store(_:)` after ``close()``.
        func run<Value: Sendable>(
            _ kind: PostgresTransaction.Kind,
            _ work: @escaping @Sendable (PostgresConnection) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let result = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
                submit(
                    Job(kind: kind) { connection in
                        continuation.resume(
                            returning: Result { () throws(TresorError) in try work(connection) })
                    },
                    refuse: { continuation.resume(returning: .failure($0)) })
            }
            return try result.get()
        }

        private func submit(_ job: Job, refuse: (TresorError) -> Void) {
            let (free, refusal) = state.withLock { state -> (Worker?, TresorError?) in
                guard !state.isClosed else { return (nil, .store(.other)) }
                if state.mayBegin(job), let free = state.idle.popLast() {
                    state.begin(job)
                    return (free, nil)
                }
                guard state.waiting.count < Self.waitingCount else { return (nil, .busy) }
                state.waiting.append(job)
                return (nil, nil)
            }
            if let refusal { return refuse(refusal) }
            if let free { free.queue.async { self.begin(job, on: free) } }
        }

        /// Works until nothing waits that may begin.
        private func begin(_ job: Job, on worker: Worker) {
            job.work(worker.connection)
            var last = job
            while let next = next(for: worker, after: last) {
                next.work(worker.connection)
                last = next
            }
        }

        private func next(for worker: Worker, after last: Job) -> Job? {
            let (next, isLast) = state.withLock { state -> (Job?, Bool) in
                state.end(last)
                if let place = state.waiting.firstIndex(where: state.mayBegin) {
                    let next = state.waiting.remove(at: place)
                    state.begin(next)
                    return (next, false)
                }
                if !state.isClosed { state.idle.append(worker) }
                return (nil, state.isClosed)
            }
            if isLast { close(worker) }
            return next
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
            let waiting = state.withLock { state in
                state.openCount -= 1
                guard state.openCount == 0 else { return [CheckedContinuation<Void, Never>]() }
                defer { state.closing = [] }
                return state.closing
            }
            for continuation in waiting { continuation.resume() }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TresorCrypto

    /// Connections, each with a thread of its own while it works. One that is free takes the work that has waited longest.
    final class PostgresPool: Sendable {
        typealias Work = @Sendable (PostgresConnection) -> Void

        /// A connection that its queue alone uses.
        private final class Worker: @unchecked Sendable {
            let queue: DispatchQueue
            let connection: PostgresConnection

            init(_ location: PostgresLocation, number: Int) {
                queue = DispatchQueue(label: "tresor.postgres.\(number)", qos: .userInitiated)
                connection = PostgresConnection(location)
            }
        }

        private struct State {
            var idle: [Worker]
            var waiting: [Work] = []
            var openCount: Int
            var isClosed = false
            var closing: [CheckedContinuation<Void, Never>] = []
        }

        /// The maximum amount of work that waits for a connection. More is refused at once.
        private static let waitingCount = 4096

        private let state: Mutex<State>

        init(_ location: PostgresLocation, count: Int) {
            let workers = (0..<count).reversed().map { Worker(location, number: $0) }
            state = Mutex(State(idle: workers, openCount: count))
        }

        /// Runs work on a connection.
        ///
        /// - Throws: the error of the work; `TresorError.busy` if too much waits; `TresorError.store(_:)` after ``close()``.
        func run<Value: Sendable>(
            _ work: @escaping @Sendable (PostgresConnection) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let result = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
                submit(
                    { connection in
                        continuation.resume(
                            returning: Result { () throws(TresorError) in try work(connection) })
                    },
                    refuse: { continuation.resume(returning: .failure($0)) })
            }
            return try result.get()
        }

        private func submit(_ work: @escaping Work, refuse: (TresorError) -> Void) {
            let (free, refusal) = state.withLock { state -> (Worker?, TresorError?) in
                guard !state.isClosed else { return (nil, .store(.other)) }
                if let free = state.idle.popLast() { return (free, nil) }
                guard state.waiting.count < Self.waitingCount else { return (nil, .busy) }
                state.waiting.append(work)
                return (nil, nil)
            }
            if let refusal { return refuse(refusal) }
            if let free { free.queue.async { self.begin(work, on: free) } }
        }

        /// Works until nothing waits.
        private func begin(_ work: Work, on worker: Worker) {
            work(worker.connection)
            while let next = next(for: worker) { next(worker.connection) }
        }

        private func next(for worker: Worker) -> Work? {
            let (next, isLast) = state.withLock { state -> (Work?, Bool) in
                guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), false) }
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

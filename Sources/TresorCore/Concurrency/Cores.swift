// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Parallel work on all cores, and work on threads of its own.
package enum Cores {
    /// The number of online processors.
    package static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Computes the values for `0..<count` in parallel and returns them in order. The calling thread waits: for a few
    /// milliseconds of work.
    ///
    /// - Parameters:
    ///   - grain: the number of values that a core computes at once.
    ///   - body: computes the values of a range.
    /// - Throws: the failure of the first range that failed. All other ranges are computed nevertheless.
    package static func map<Value: Sendable>(
        _ count: Int, grain: Int, _ body: @Sendable (Range<Int>) throws(TresorError) -> [Value]
    ) throws(TresorError) -> [Value] {
        guard count > grain else { return try body(0..<count) }
        let ranges = (count + grain - 1) / grain
        var results = [Result<[Value], TresorError>](repeating: .success([]), count: ranges)
        unsafe results.withUnsafeMutableBufferPointer { results in
            nonisolated(unsafe) let results = unsafe results
            DispatchQueue.concurrentPerform(iterations: ranges) { index in
                let range = (index * grain)..<min((index + 1) * grain, count)
                func compute() -> Result<[Value], TresorError> {
                    Result { () throws(TresorError) in try body(range) }
                }
                unsafe results[index] = compute()
            }
        }
        var values: [Value] = []
        values.reserveCapacity(count)
        for result in results { values += try result.get() }
        return values
    }

    private static let lanes = Lanes(count: max(4, 2 * count))

    /// Runs the tasks that prefer it on the threads of ``apart(_:)``.
    static var executor: any TaskExecutor { lanes }

    /// Runs work that holds its thread for long: a key from a password, or waiting for a lock.
    ///
    /// It runs on a thread of its own. The threads that serve all tasks of the process stay free.
    package static func apart<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            lanes.run {
                continuation.resume(returning: Result { () throws(TresorError) in try work() })
                return false
            }
        }
        return try result.get()
    }

    /// Computes the values for `0..<count` on all cores and returns them in order, as ``map(_:grain:_:)`` does.
    ///
    /// The threads that serve all tasks of the process stay free, and other work gets its turn after each range.
    ///
    /// - Parameters:
    ///   - grain: the number of values that a core computes at once.
    ///   - progress: takes the number of values that are done, rising, after each range.
    ///   - body: computes the values of a range.
    /// - Throws: the failure of the first range that failed; ``TresorError/cancelled`` when the task is cancelled,
    ///   after the ranges under way.
    package static func mapApart<Value: Sendable>(
        _ count: Int, grain: Int, progress: (@Sendable (Int) -> Void)? = nil,
        _ body: @escaping @Sendable (Range<Int>) throws(TresorError) -> [Value]
    ) async throws(TresorError) -> [Value] {
        try Cancellation.check()
        guard count > grain else {
            let values = try body(0..<count)
            progress?(count)
            return values
        }
        let ranges = Ranges(count, grain: grain, progress: progress, body)
        let results = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ranges.begin(continuation)
                for _ in 0..<min(Cores.count, ranges.count) { lanes.run(ranges.computeNext) }
            }
        } onCancel: {
            ranges.cancel()
        }
        var values: [Value] = []
        values.reserveCapacity(count)
        for result in results {
            guard let result else { throw .cancelled }
            values += try result.get()
        }
        return values
    }
}

/// Threads beside those that serve all tasks of the process. Each of these queues has its own while it works.
private final class Lanes: TaskExecutor {
    private let queues: [DispatchQueue]
    /// The number of works on each queue.
    private let loads: Mutex<[Int]>

    init(count: Int) {
        queues = (0..<count).map { DispatchQueue(label: "tresor.apart.\($0)") }
        loads = Mutex(Array(repeating: 0, count: count))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
            return false
        }
    }

    /// Runs work until it returns `false`. Other work gets its turn after each run.
    func run(_ work: @escaping @Sendable () -> Bool) {
        let lane = loads.withLock { loads in
            let lane = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[lane] += 1
            return lane
        }
        run(work, on: lane)
    }

    private func run(_ work: @escaping @Sendable () -> Bool, on lane: Int) {
        queues[lane].async { [self] in
            guard !work() else { return run(work, on: lane) }
            loads.withLock { $0[lane] -= 1 }
        }
    }
}

/// The ranges of one computation, which several threads take one after the other.
private final class Ranges<Value: Sendable>: Sendable {
    typealias Outcome = [Result<[Value], TresorError>?]

    private struct State {
        var next = 0
        var running = 0
        var valueCount = 0
        var isCancelled = false
        /// The results; `nil` for a range that was not computed.
        var results: Outcome
        var continuation: CheckedContinuation<Outcome, Never>?

        /// Whether no range will be computed any more.
        var isOver: Bool { running == 0 && (isCancelled || next == results.count) }

        /// Takes the continuation when all is over.
        mutating func end() -> CheckedContinuation<Outcome, Never>? {
            guard isOver else { return nil }
            defer { continuation = nil }
            return continuation
        }
    }

    private let total: Int
    private let grain: Int
    private let progress: (@Sendable (Int) -> Void)?
    private let body: @Sendable (Range<Int>) throws(TresorError) -> [Value]
    private let state: Mutex<State>
    /// The number of values that was last reported.
    private let reported = Mutex(0)

    /// The number of ranges.
    let count: Int

    init(
        _ total: Int, grain: Int, progress: (@Sendable (Int) -> Void)?,
        _ body: @escaping @Sendable (Range<Int>) throws(TresorError) -> [Value]
    ) {
        (self.total, self.grain, self.progress, self.body) = (total, grain, progress, body)
        count = (total + grain - 1) / grain
        state = Mutex(State(results: Array(repeating: nil, count: count)))
    }

    /// Gives the results to `continuation` when the last range is computed, or after a cancellation.
    func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        finish { $0.continuation = continuation }
    }

    func cancel() {
        finish { $0.isCancelled = true }
    }

    /// Computes a range that nobody has taken.
    ///
    /// - Returns: whether there are others.
    @Sendable func computeNext() -> Bool {
        let taken = state.withLock { state -> Int? in
            guard !state.isCancelled, state.next < count else { return nil }
            defer { state.next += 1 }
            state.running += 1
            return state.next
        }
        guard let taken else { return false }
        let range = (taken * grain)..<min((taken + 1) * grain, total)
        let result = Result { () throws(TresorError) in try body(range) }
        report(range.count)
        return finish { state in
            state.running -= 1
            state.results[taken] = result
            return !state.isCancelled && state.next < count
        }
    }

    private func report(_ done: Int) {
        let sum = state.withLock { state in
            state.valueCount += done
            return state.valueCount
        }
        guard let progress else { return }
        reported.withLock { last in
            guard sum > last else { return }
            last = sum
            progress(sum)
        }
    }

    /// Changes the state, and resumes who waits if nothing is left to do.
    private func finish<Answer>(_ change: (inout State) -> Answer) -> Answer {
        let (answer, continuation) = state.withLock { state in
            let answer = change(&state)
            return (answer, state.end().map { ($0, state.results) })
        }
        if let (continuation, results) = continuation { continuation.resume(returning: results) }
        return answer
    }
}

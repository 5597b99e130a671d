// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
package import TresorCrypto

#if canImport(Darwin)
    import Darwin
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
        guard count > grain, !isAlone else { return try body(0..<count) }
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

    /// Whether the work at hand keeps to its thread: ``map(_:grain:_:)`` then computes everything there.
    @TaskLocal private static var isAlone = false

    /// Runs work on one thread apart, and on no other. So who counts such work knows how many threads it takes.
    package static func alone<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        let task = Task(executorPreference: executor) { () async -> Result<Value, TresorError> in
            computeAlone(work)
        }
        return try await task.value.get()
    }

    private static func computeAlone<Value>(
        _ work: () throws(TresorError) -> Value
    ) -> Result<Value, TresorError> {
        $isAlone.withValue(true) { () -> Result<Value, TresorError> in
            Result { () throws(TresorError) in try work() }
        }
    }

    private static let workers = Workers(count: max(4, 2 * count))

    /// Runs the tasks that prefer it on the threads of ``apart(_:)``.
    static var executor: any TaskExecutor { workers }

    /// Runs work that holds its thread for long: a key from a password, or waiting for a lock.
    ///
    /// It runs on a thread of its own. The threads that serve all tasks of the process stay free.
    package static func apart<Value: Sendable>(
        _ work: @escaping @Sendable () throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        let once = Once(work)
        let isIgnored = Cancellation.isIgnored
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            workers.run {
                // The work is released before its caller continues: a session that ends leaves no key here.
                continuation.resume(returning: Cancellation.$isIgnored.withValue(isIgnored) { once.run() })
                return false
            }
        }
        return try result.get()
    }

    /// Waits for somebody else, for a minute perhaps, on a thread that does nothing else: however many wait, the threads
    /// of ``apart(_:)`` stay free.
    package static func waiting<Value: Sendable>(
        _ wait: @escaping @Sendable () throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        let once = Once(wait)
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let queue = DispatchQueue(label: "tresor.waiting", qos: .userInitiated)
            queue.async { continuation.resume(returning: once.run()) }
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
                for _ in 0..<min(Cores.count, ranges.count) { workers.run(ranges.computeNext) }
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

/// Threads beside those that serve all tasks of the process. One that is free takes the work that has waited longest.
private final class Workers: TaskExecutor {
    /// Returns whether it goes on after other work had its turn.
    typealias Run = @Sendable () -> Bool

    private struct State {
        /// The queues that have nothing to do.
        var idle: [Int]
        var waiting: [Run] = []
    }

    /// Each of these queues has a thread of its own while it works.
    private let queues: [DispatchQueue]
    private let state: Mutex<State>

    init(count: Int) {
        queues = (0..<count).map { DispatchQueue(label: "tresor.apart.\($0)", qos: .userInitiated) }
        state = Mutex(State(idle: Array((0..<count).reversed())))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
            return false
        }
    }

    /// Runs work until it returns `false`. Other work gets its turn after each run.
    func run(_ work: @escaping Run) {
        let free = state.withLock { state in
            let free = state.idle.popLast()
            if free == nil { state.waiting.append(work) }
            return free
        }
        guard let free else { return }
        queues[free].async { self.begin(work, on: free) }
    }

    /// Works until nothing waits.
    private func begin(_ work: @escaping Run, on queue: Int) {
        var work = work
        while true {
            let goesOn = work()
            let next = state.withLock { state -> Run? in
                if goesOn { state.waiting.append(work) }
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.idle.append(queue)
                return nil
            }
            guard let next else { return }
            work = next
        }
    }
}

/// Work that is done once, and released then.
private final class Once<Value: Sendable>: Sendable {
    private let work: Mutex<(@Sendable () throws(TresorError) -> Value)?>

    init(_ work: @escaping @Sendable () throws(TresorError) -> Value) { self.work = Mutex(work) }

    func run() -> Result<Value, TresorError> {
        let taken = work.withLock { $0.take() }
        return Result { () throws(TresorError) in
            guard let taken else { throw .cancelled }
            return try taken()
        }
    }
}

/// The ranges of one computation, which several threads take one after the other.
private final class Ranges<Value: Sendable>: Sendable {
    typealias Outcome = [Result<[Value], TresorError>?]
    typealias Body = @Sendable (Range<Int>) throws(TresorError) -> [Value]

    private struct State {
        var next = 0
        var running = 0
        var valueCount = 0
        var isCancelled = false
        /// The results; `nil` for a range that was not computed.
        var results: Outcome
        var continuation: CheckedContinuation<Outcome, Never>?
        /// The computation of a range; `nil` when all is over, so that nothing it holds outlives the call.
        var body: Body?

        /// Whether no range will be computed any more.
        var isOver: Bool { running == 0 && (isCancelled || next == results.count) }

        /// Takes a range that nobody has taken.
        mutating func takeNext(of count: Int) -> Int? {
            guard !isCancelled, next < count else { return nil }
            defer { next += 1 }
            running += 1
            return next
        }

        /// Takes the continuation when all is over, and moves the results to `outcome`.
        mutating func end(_ outcome: inout Outcome) -> CheckedContinuation<Outcome, Never>? {
            guard isOver, let resumed = continuation else { return nil }
            (continuation, body) = (nil, nil)
            swap(&outcome, &results)
            return resumed
        }
    }

    private let total: Int
    private let grain: Int
    private let progress: (@Sendable (Int) -> Void)?
    private let state: Mutex<State>
    /// The number of values that was last reported.
    private let reported = Mutex(0)

    /// The number of ranges.
    let count: Int

    init(
        _ total: Int, grain: Int, progress: (@Sendable (Int) -> Void)?,
        _ body: @escaping Body
    ) {
        (self.total, self.grain, self.progress) = (total, grain, progress)
        count = (total + grain - 1) / grain
        state = Mutex(State(results: Array(repeating: nil, count: count), body: body))
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
        guard let taken = state.withLock({ $0.takeNext(of: count) }) else { return false }
        let range = (taken * grain)..<min((taken + 1) * grain, total)
        let result = compute(range)
        report(range.count)
        return finish { state in
            state.running -= 1
            state.results[taken] = result
            return !state.isCancelled && state.next < count
        }
    }

    private func compute(_ range: Range<Int>) -> Result<[Value], TresorError> {
        let body = state.withLock { $0.body }
        return Result { () throws(TresorError) in
            guard let body else { throw .cancelled }
            return try body(range)
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
        var outcome: Outcome = []
        let (answer, resumed) = state.withLock { state in
            let answer = change(&state)
            return (answer, state.end(&outcome))
        }
        resumed?.resume(returning: consume outcome)
        return answer
    }
}

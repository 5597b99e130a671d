// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// Works of several accounts, begun one after the other. Each runs until all are let go.
    final class Works: Sendable {
        let work: WorkApart
        private let ended = Mutex<[UInt8]>([])
        private let gate = Gate()
        private let tasks = Mutex<[Task<Bool, Never>]>([])

        /// - Parameter count: the weight that an account may ask for. It does not flow in again.
        init(width: Int = 1, count: Int = 1_000) {
            let start = ContinuousClock.now
            work = WorkApart(
                limits: RateLimits(clock: { start }), rate: RateLimits.Rate(count: count, seconds: 60), width: width)
        }

        /// Begins the work of an account, and waits until it runs, waits, or was refused.
        func begin(for account: UInt8) async {
            let before = work.counts
            let refusal = Refusal()
            let task: Task<Bool, Never> = Task { [self] in
                do throws(TresorError) {
                    try await work.turn(of: [account]) { (_) async throws(TresorError) in
                        await gate.pass()
                        ended.withLock { $0.append(account) }
                    }
                    return true
                } catch {
                    refusal.note()
                    return false
                }
            }
            tasks.withLock { $0.append(task) }
            while work.counts == before, !refusal.isNoted { await Task.yield() }
        }

        /// Lets all go. Returns the accounts in the order of their works, and the number of those that were refused.
        func finish() async -> (order: [UInt8], refused: Int) {
            gate.open()
            var refused = 0
            for task in tasks.withLock({ $0 }) {
                if await !task.value { refused += 1 }
            }
            return (ended.withLock { $0 }, refused)
        }

        func run(_ weight: Int, for account: UInt8) async throws(TresorError) {
            try await work.run(weight: weight, for: [account]) { () throws(TresorError) in }
        }

        private final class Refusal: Sendable {
            private let flag = Atomic(false)
            var isNoted: Bool { flag.load(ordering: .relaxed) }
            func note() { flag.store(true, ordering: .relaxed) }
        }

        /// Lets all pass once it is open.
        private final class Gate: Sendable {
            private struct State {
                var isOpen = false
                var waiting: [CheckedContinuation<Void, Never>] = []
            }

            private let state = Mutex(State())

            func pass() async {
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    let isOpen = state.withLock { state in
                        if !state.isOpen { state.waiting.append(continuation) }
                        return state.isOpen
                    }
                    if isOpen { continuation.resume() }
                }
            }

            func open() {
                let waiting = state.withLock { state in
                    state.isOpen = true
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for continuation in waiting { continuation.resume() }
            }
        }
    }

    /// Work apart, in turns of the accounts.
    @Suite struct WorkApartTests {
        @Test func A231_theAccountsHaveTurns() async {
            let works = Works()
            for account in [1, 1, 1, 2, 3] as [UInt8] { await works.begin(for: account) }
            #expect(works.work.counts == (1, 4))
            #expect(await works.finish().order == [1, 2, 3, 1, 1])
            #expect(works.work.counts == (0, 0))
        }

        @Test func A231_oneWorkOfAnAccountRunsAtATime() async {
            let works = Works(width: 3)
            for account in [1, 1, 2] as [UInt8] { await works.begin(for: account) }
            #expect(works.work.counts == (2, 1))
            #expect(await works.finish().refused == 0)
        }

        @Test func A231_anAccountWaitsForFewWorks() async {
            let works = Works()
            for _ in 0...WorkApart.greatestWaiting + 1 { await works.begin(for: 1) }
            await works.begin(for: 2)
            #expect(works.work.counts == (1, WorkApart.greatestWaiting + 1))
            #expect(await works.finish().refused == 1)
        }

        @Test func A231_anAccountPaysForTheWeight() async throws {
            let works = Works(count: 100)
            for _ in 0..<2 { try await works.run(60, for: 1) }
            // Light work costs, too.
            for weight in [60, 1] {
                await #expect(throws: TresorError.busy) { try await works.run(weight, for: 1) }
            }
            for _ in 0..<100 { try await works.run(1, for: 2) }
            await #expect(throws: TresorError.busy) { try await works.run(1, for: 2) }
        }

        /// A bucket takes more than it holds, and the next waits until so much has flowed in.
        @Test func A231_aDebtIsPaidBeforeTheNext() {
            let start = ContinuousClock.now
            let limits = RateLimits(clock: { start })
            let rate = RateLimits.Rate(count: 10, seconds: 1)
            limits.charge(30, .work([1]), rate, at: start)
            #expect(limits.look(.work([1]), rate, at: start + .seconds(20)) == 2)
            #expect(limits.look(.work([1]), rate, at: start + .seconds(21)) == nil)
            #expect(limits.look(.work([2]), rate, at: start) == nil)
        }

        /// So the number of works is the number of threads that they take.
        @Test func A231_aWorkTakesOneThread() async throws {
            let threads = try await Works().work.run(weight: WorkApart.leastWeight, for: [1]) {
                () throws(TresorError) in
                Set(
                    try Cores.map(64, grain: 1) { (range) throws(TresorError) in
                        range.map { _ in ObjectIdentifier(Thread.current) }
                    })
            }
            #expect(threads.count == 1)
        }
    }
#endif

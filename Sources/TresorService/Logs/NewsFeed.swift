// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The people who wait for news in this process.
    final class NewsFeed: Sendable {
        /// The number of waits of one account.
        private static let greatestCount = 4

        /// One wait of one person.
        final class Wait: Sendable {
            private struct State {
                var isRung = false
                var continuation: CheckedContinuation<Void, Never>?
            }

            let user: UserID
            fileprivate let number: UInt64
            private let state = Mutex(State())

            fileprivate init(_ user: UserID, number: UInt64) {
                self.user = user
                self.number = number
            }

            /// Waits until a time or the end of the task. No ring ends it.
            fileprivate func rest(until time: ContinuousClock.Instant, unless isOver: () -> Bool) async {
                while ContinuousClock.now < time, !isOver(), !Task.isCancelled {
                    reset()
                    guard !isOver() else { return }
                    await wait(until: time)
                }
            }

            /// Forgets a ring, before the database is asked again.
            func reset() { state.withLock { $0.isRung = false } }

            /// Ends the present wait, or the next one.
            func ring() {
                let waiting = state.withLock { state in
                    state.isRung = true
                    return state.continuation.take()
                }
                waiting?.resume()
            }

            /// Waits for a ring, the end of a time, or the end of the task.
            func wait(until deadline: ContinuousClock.Instant) async {
                let timer = Task {
                    try? await Task.sleep(until: deadline, clock: .continuous)
                    ring()
                }
                defer { timer.cancel() }
                await withTaskCancellationHandler {
                    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                        let isRung = state.withLock { state in
                            if !state.isRung { state.continuation = continuation }
                            return state.isRung
                        }
                        if isRung { continuation.resume() }
                    }
                } onCancel: {
                    ring()
                }
            }
        }

        /// The time between two looks for one person.
        static let pause: Duration = .seconds(1)

        private struct State {
            var waits: [UserID: [UInt64: Wait]] = [:]
            /// The time of the last look for a person, or of the next one.
            var looks: [UserID: ContinuousClock.Instant] = [:]
            /// The number of people from which those are forgotten who may look at once.
            var manyLooks = 10_000
            var next: UInt64 = 0
            var isClosed = false
        }

        private let state = Mutex(State())

        /// Whether the service shuts down.
        var isClosed: Bool { state.withLock(\.isClosed) }
        /// The number of waits.
        var count: Int { state.withLock { $0.waits.values.reduce(0) { $0 + $1.count } } }
        /// Whether nobody waits.
        var isEmpty: Bool { state.withLock { $0.waits.isEmpty } }

        /// Begins a wait.
        ///
        /// - Throws: ``TresorError/busy`` for the fifth of one account.
        func begin(for user: UserID) throws(TresorError) -> Wait {
            let wait = state.withLock { state -> Wait? in
                guard state.waits[user]?.count ?? 0 < Self.greatestCount else { return nil }
                state.next += 1
                let wait = Wait(user, number: state.next)
                state.waits[user, default: [:]][state.next] = wait
                return wait
            }
            guard let wait else { throw .busy }
            return wait
        }

        /// Returns when somebody may look for the news of a person: at most once a second, however often their logs grow
        /// and however often they ask.
        func nextLook(for user: UserID, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
            state.withLock { state in
                if state.looks.count >= state.manyLooks {
                    state.looks = state.looks.filter { now < $0.value + Self.pause }
                    state.manyLooks = max(10_000, 2 * state.looks.count)
                }
                // Waits that ended before their turn delay this person no further than all waits of an account do.
                let next = state.looks[user].map {
                    min(max(now, $0 + Self.pause), now + Self.pause * Self.greatestCount)
                }
                state.looks[user] = next ?? now
                return next ?? now
            }
        }

        /// Rests until somebody may look for this person, or until the end of a wait. Who does not wait looks at once.
        func rest(_ wait: Wait, until deadline: ContinuousClock.Instant) async {
            let now = ContinuousClock.now
            guard now < deadline else { return }
            await wait.rest(until: min(nextLook(for: wait.user, at: now), deadline)) { isClosed }
        }

        func end(_ wait: Wait) {
            state.withLock { state in
                state.waits[wait.user]?[wait.number] = nil
                if state.waits[wait.user]?.isEmpty == true { state.waits[wait.user] = nil }
            }
        }

        /// Wakes these people; everybody for `nil`.
        func ring(_ users: [UserID]?) {
            let waits = state.withLock { state in
                (users.map { $0.compactMap { state.waits[$0] } } ?? Array(state.waits.values)).flatMap(\.values)
            }
            for wait in waits { wait.ring() }
        }

        /// Ends all waits, now and from now on.
        func close() {
            state.withLock { $0.isClosed = true }
            ring(nil)
        }
    }
#endif

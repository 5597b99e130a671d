// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The requests that this process answered once while the disk had no room for their ids (SPEC §18.3).
    ///
    /// The memory of a process before this one is gone. So this one answers no request that the other may have answered.
    final class SpentRequests: Sendable {
        private struct Spent {
            let id: [UInt8]
            let time: UInt64
        }

        private struct State {
            var people: [UserID: [Spent]] = [:]
            var count = 0
            /// The time of the last look for what may be forgotten.
            var look: UInt64 = 0
        }

        /// The seconds for which an id is kept. An authorization may be sent from its time less the window of clocks on, and
        /// until its time and the window.
        private static let duration = 2 * RequestStatement.clockWindow

        private let start: UInt64
        /// The number of requests of one person, and of all.
        private let share: Int
        private let maximum: Int
        private let state = Mutex(State())

        /// - Parameter start: the start of this process, in seconds since 1970.
        init(start: UInt64, share: Int = 256, maximum: Int = 65_536) {
            self.start = start
            self.share = share
            self.maximum = maximum
        }

        /// Whether a request was spent here.
        func contains(_ request: RequestKey) -> Bool {
            state.withLock { $0.people[request.user]?.contains { $0.id == request.id } ?? false }
        }

        /// Spends a request.
        ///
        /// - Throws: ``TresorError/noAccess`` for one that is spent; ``TresorError/store(_:)`` with `full` for one that an
        ///   earlier process may have answered, and if there is no room for it.
        func spend(_ request: RequestKey, at now: UInt64) throws(TresorError) {
            guard request.time > start + RequestStatement.clockWindow else { throw .store(.full) }
            let failure = state.withLock { state -> TresorError? in
                Self.forget(before: now - min(now, Self.duration), at: now, &state)
                let present = state.people[request.user] ?? []
                guard !present.contains(where: { $0.id == request.id }) else { return .noAccess }
                guard present.count < share, state.count < maximum else { return .store(.full) }
                state.people[request.user] = present + [Spent(id: request.id, time: now)]
                state.count += 1
                return nil
            }
            if let failure { throw failure }
        }

        /// Gives back a request that was spent here, and that got nothing.
        func release(_ request: RequestKey) {
            state.withLock { state in
                guard let present = state.people[request.user] else { return }
                let left = present.filter { $0.id != request.id }
                state.people[request.user] = left.isEmpty ? nil : left
                state.count -= present.count - left.count
            }
        }

        /// Forgets what is kept for long enough, once a second.
        private static func forget(before time: UInt64, at now: UInt64, _ state: inout State) {
            guard state.look != now else { return }
            state.look = now
            state.people = state.people.compactMapValues { spent in
                let left = spent.filter { $0.time >= time }
                return left.isEmpty ? nil : left
            }
            state.count = state.people.values.reduce(0) { $0 + $1.count }
        }
    }
#endif

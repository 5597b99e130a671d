// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// Work above a millisecond: folds, card chains, large entries. It runs apart, so that the threads that serve all
    /// requests stay free (SPEC §18.3, *Work*).
    ///
    /// All of it takes all cores but one, and that of one account takes one thread. The accounts have turns one after the
    /// other, so that nobody waits for all the work of somebody else. Who asks for work pays for its weight.
    final class WorkApart: Sendable {
        /// The payer of work: the bytes of a user id, or the address of somebody who has not proved who they are.
        typealias Account = [UInt8]

        /// The weight from which work has a turn. What is lighter is done at once.
        static let leastWeight = 8
        /// The number of works of an account that may wait for their turns.
        static let greatestWaiting = 8

        /// The weight of checking bytes of cards or entries, in signatures: about a tenth of a millisecond each. A card has
        /// two in 1720 bytes.
        static func weight(ofBytes count: Int) -> Int { 1 + count / 1_024 }

        /// The weight of the statements of a change: an eighth of a signature each. Other changes wait for them.
        static func weight(ofStatements count: Int) -> Int { count / 8 }

        private struct State {
            /// The number of works that may still begin.
            var free: Int
            /// The accounts whose work runs.
            var busy: Set<Account> = []
            /// The works that wait, by account.
            var waiting: [Account: [CheckedContinuation<Void, Never>]] = [:]
            /// The accounts that have the next turns.
            var order: [Account] = []
        }

        private let limits: RateLimits
        private let rate: RateLimits.Rate
        private let width: Int
        private let state: Mutex<State>

        /// - Parameters:
        ///   - rate: the weight that an account may ask for.
        ///   - width: the number of works that run at once.
        init(limits: RateLimits, rate: RateLimits.Rate = .work, width: Int = max(1, Cores.count - 1)) {
            self.limits = limits
            self.rate = rate
            self.width = width
            state = Mutex(State(free: width))
        }

        /// The number of works that run, and of those that wait.
        var counts: (running: Int, waiting: Int) {
            state.withLock { (width - $0.free, $0.waiting.values.reduce(0) { $0 + $1.count }) }
        }

        /// Does work of a known weight.
        ///
        /// - Throws: the error of the work; ``TresorError/busy`` for an account that has not paid for its last works, or
        ///   that waits for too many.
        func run<Value: Sendable>(
            weight: Int, for account: Account, _ work: @escaping @Sendable () throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            guard weight >= Self.leastWeight else {
                try begin(weight, for: account)
                return try work()
            }
            return try await turn(of: account) { (turn) async throws(TresorError) in
                try await turn.compute(weight, work)
            }
        }

        /// Waits for the turn of an account, and does several works in it.
        ///
        /// - Throws: as ``run(weight:for:_:)``.
        func turn<Value: Sendable>(
            of account: Account, _ body: (Turn) async throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try begin(0, for: account)
            guard await take(account) else { throw .busy }
            defer { giveBack(account) }
            return try await body(Turn(work: self, account: account))
        }

        /// The turn of an account.
        struct Turn: Sendable {
            fileprivate let work: WorkApart
            fileprivate let account: Account

            /// Does one work apart.
            func compute<Value: Sendable>(
                _ weight: Int, _ body: @escaping @Sendable () throws(TresorError) -> Value
            ) async throws(TresorError) -> Value {
                work.charge(weight, to: account)
                return try await Cores.alone(body)
            }
        }

        private func begin(_ weight: Int, for account: Account) throws(TresorError) {
            guard limits.look(.work(account), rate) == nil else { throw .busy }
            charge(weight, to: account)
        }

        private func charge(_ weight: Int, to account: Account) {
            if weight > 0 { limits.charge(weight, .work(account), rate) }
        }

        /// - Returns: `false` if too many works of the account wait.
        private func take(_ account: Account) async -> Bool {
            let isFull = state.withLock { ($0.waiting[account]?.count ?? 0) >= Self.greatestWaiting }
            guard !isFull else { return false }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let begins = state.withLock { state in
                    let isIdle = !state.busy.contains(account)
                    if isIdle, state.free > 0 {
                        state.free -= 1
                        state.busy.insert(account)
                        return true
                    }
                    if isIdle, state.waiting[account] == nil { state.order.append(account) }
                    state.waiting[account, default: []].append(continuation)
                    return false
                }
                if begins { continuation.resume() }
            }
            return true
        }

        /// Ends a turn, and begins that of the account that has waited longest.
        private func giveBack(_ account: Account) {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.free += 1
                state.busy.remove(account)
                if state.waiting[account] != nil { state.order.append(account) }
                guard !state.order.isEmpty else { return nil }
                let next = state.order.removeFirst()
                let first = state.waiting[next]?.removeFirst()
                if state.waiting[next]?.isEmpty == true { state.waiting[next] = nil }
                state.free -= 1
                state.busy.insert(next)
                return first
            }
            next?.resume()
        }
    }

    extension WorkApart {
        /// Reads a card chain. The cards that were read before are not verified again.
        ///
        /// - Parameter known: the bytes of those; empty for none.
        /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``; ``TresorError/busy``.
        func readChain(
            _ bytes: [UInt8], knowing known: [UInt8] = [], for account: Account
        ) async throws(TresorError) -> CardChain {
            let weight = Self.weight(ofBytes: max(0, bytes.count - known.count))
            return try await run(weight: weight, for: account) { () throws(TresorError) in
                try CardChain(bytes, knowing: known)
            }
        }
    }
#endif

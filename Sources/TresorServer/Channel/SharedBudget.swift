// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// An amount of which each source or account takes a share, and each network that a source is in: several shares, and
    /// no more than a quarter of the whole, so that no line takes it away from all others. All accounts of a line leave half
    /// of the whole to others.
    ///
    /// Large amounts leave an eighth of the whole and of each share to small ones.
    final class SharedBudget: Sendable {
        /// The taker of a share.
        private enum Taker: Hashable {
            /// A network, with what no account has taken.
            case network([UInt8])
            case account(UserID)
            /// All accounts in a network.
            case accounts([UInt8])
        }

        private struct State {
            var total = 0
            var shares: [Taker: Int] = [:]
        }

        /// The size in bytes above which a body is large.
        let smallByteCount: Int
        private let maximum: Int
        private let share: Int
        private let whole: SharedBudget?
        private let state = Mutex(State())

        /// - Parameters:
        ///   - maximum: the amount for all sources.
        ///   - share: the amount for one source or account.
        ///   - whole: the amount of which this one is a part: what is taken here is taken there.
        ///   - smallByteCount: the size in bytes above which a body is large.
        init(
            maximum: Int, share: Int, partOf whole: SharedBudget? = nil,
            smallByteCount: Int = ServiceHead.smallByteCount
        ) {
            self.smallByteCount = smallByteCount
            self.maximum = maximum
            self.share = share
            self.whole = whole
        }

        /// The amount that is taken.
        var taken: Int { state.withLock { $0.total } }

        /// The takers of what a client takes, each with the most that it may have.
        private func takers(_ source: [UInt8], _ account: UserID?) -> [(taker: Taker, most: Int)] {
            let networks = SourceNetwork.all(of: source)
            guard let account else {
                return networks.map { (.network($0.prefix), $0.limit(ofAddress: share, outOf: maximum)) }
            }
            var takers: [(taker: Taker, most: Int)] = [(.account(account), share)]
            if let line = networks.last { takers.append((.accounts(line.prefix), max(share, maximum / 2))) }
            return takers
        }

        /// Whether a source could take an amount now.
        ///
        /// - Parameters:
        ///   - account: the account there that takes it; `nil` for none.
        ///   - isLarge: whether it leaves room to small ones.
        func hasRoom(
            for amount: Int, of source: [UInt8], by account: UserID? = nil, isLarge: Bool = false
        ) -> Bool {
            guard whole?.hasRoom(for: amount, of: source, by: account, isLarge: isLarge) ?? true else { return false }
            let takers = takers(source, account)
            return state.withLock { fits(amount, takers, isLarge, $0) }
        }

        private func fits(
            _ amount: Int, _ takers: [(taker: Taker, most: Int)], _ isLarge: Bool, _ state: State
        ) -> Bool {
            func limit(_ maximum: Int) -> Int { isLarge ? maximum - maximum / 8 : maximum }
            return state.total + amount <= limit(maximum)
                && takers.allSatisfy { state.shares[$0.taker, default: 0] + amount <= limit($0.most) }
        }

        /// Takes an amount for a source.
        ///
        /// - Parameters:
        ///   - source: the source; empty for one without a share of its own.
        ///   - account: the account there that takes it; `nil` for none.
        ///   - isLarge: whether it leaves room to small ones.
        /// - Returns: `false` if too little is left; then nothing is taken.
        func take(
            _ amount: Int, for source: [UInt8], by account: UserID? = nil, isLarge: Bool = false
        ) -> Bool {
            guard whole?.take(amount, for: source, by: account, isLarge: isLarge) ?? true else { return false }
            let takers = takers(source, account)
            let isTaken = state.withLock { state in
                guard fits(amount, takers, isLarge, state) else { return false }
                state.total += amount
                for (taker, _) in takers { state.shares[taker, default: 0] += amount }
                return true
            }
            if !isTaken { whole?.giveBack(amount, for: source, by: account) }
            return isTaken
        }

        /// Gives back what was taken.
        func giveBack(_ amount: Int, for source: [UInt8], by account: UserID? = nil) {
            whole?.giveBack(amount, for: source, by: account)
            let takers = takers(source, account)
            state.withLock { state in
                state.total -= amount
                for (taker, _) in takers {
                    let rest = state.shares[taker, default: 0] - amount
                    state.shares[taker] = rest > 0 ? rest : nil
                }
            }
        }
    }

    extension SourceNetwork {
        /// The most that a network takes out of a maximum: its shares, and no more than a quarter, or than the share of an
        /// address if that is more.
        func limit(ofAddress share: Int, outOf maximum: Int) -> Int { max(share, min(share * self.share, maximum / 4)) }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// An amount of which each source or account takes a share, and each network that a source is in: several shares, and
    /// no more than a quarter of the whole, so that no line takes it away from all others.
    ///
    /// Large amounts leave an eighth of the whole and of each share to small ones.
    final class SharedBudget: Sendable {
        private struct State {
            var total = 0
            var shares: [[UInt8]: Int] = [:]
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

        /// Whether a source could take an amount now.
        ///
        /// - Parameter isLarge: whether it leaves room to small ones.
        func hasRoom(for amount: Int, of source: [UInt8], isLarge: Bool = false) -> Bool {
            let networks = SourceNetwork.all(of: source)
            guard whole?.hasRoom(for: amount, of: source, isLarge: isLarge) ?? true else { return false }
            return state.withLock { fits(amount, networks, isLarge, $0) }
        }

        private func fits(_ amount: Int, _ networks: [SourceNetwork], _ isLarge: Bool, _ state: State) -> Bool {
            func limit(_ maximum: Int) -> Int { isLarge ? maximum - maximum / 8 : maximum }
            return state.total + amount <= limit(maximum)
                && networks.allSatisfy { network in
                    let share = network.limit(ofAddress: share, outOf: maximum)
                    return state.shares[network.prefix, default: 0] + amount <= limit(share)
                }
        }

        /// Takes an amount for a source.
        ///
        /// - Parameters:
        ///   - source: the source, or the id of an account; empty for one without a share of its own.
        ///   - isLarge: whether it leaves room to small ones.
        /// - Returns: `false` if too little is left; then nothing is taken.
        func take(_ amount: Int, for source: [UInt8], isLarge: Bool = false) -> Bool {
            guard whole?.take(amount, for: source, isLarge: isLarge) ?? true else { return false }
            let networks = SourceNetwork.all(of: source)
            let isTaken = state.withLock { state in
                guard fits(amount, networks, isLarge, state) else { return false }
                state.total += amount
                for network in networks { state.shares[network.prefix, default: 0] += amount }
                return true
            }
            if !isTaken { whole?.giveBack(amount, for: source) }
            return isTaken
        }

        /// Gives back what was taken.
        func giveBack(_ amount: Int, for source: [UInt8]) {
            whole?.giveBack(amount, for: source)
            let networks = SourceNetwork.all(of: source)
            state.withLock { state in
                state.total -= amount
                for network in networks {
                    let rest = state.shares[network.prefix, default: 0] - amount
                    state.shares[network.prefix] = rest > 0 ? rest : nil
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

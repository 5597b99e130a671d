// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore

    /// The places of connections and, behind a proxy, of requests (SPEC §18.3).
    ///
    /// A place is a stranger's until a head proves who asks. Strangers have a part of all places, and an address has a
    /// share of that part. Where one of them is full, the newest takes the place of the oldest for whose client the
    /// service waits. An account has a share of the other places, and so have all accounts of a line; beyond either a place
    /// stays a stranger's.
    final class Places: Sendable {
        private struct Place {
            /// The networks of its source, the smallest first, and last the one without bytes, in which all are.
            let networks: [[UInt8]]
            /// Tells its connection that another one has the place.
            let displaced: @Sendable (UInt64) -> Void
            /// Whether the service waits for the client.
            var isIdle = true
            /// The account that has it; `nil` for a stranger.
            var account: UserID?

            /// The widest network of its source, which counts for accounts; `nil` for a source in none.
            var line: [UInt8]? { networks.dropLast().last }
        }

        /// A place has a number, and a later one has a greater number.
        private struct State {
            var last: UInt64 = 0
            var places: [UInt64: Place] = [:]
            /// The places of strangers in each network, the oldest first.
            var strangers: [[UInt8]: [UInt64]] = [:]
            var accounts: [UserID: Int] = [:]
            /// The places of accounts in each line.
            var lines: [[UInt8]: Int] = [:]

            /// The number of places that accounts have.
            var provedCount: Int { places.count - strangers[[], default: []].count }
        }

        private let strangersMaximum: Int
        private let provedMaximum: Int
        private let shareOfSource: Int
        private let shareOfAccount: Int
        private let shareOfLine: Int
        private let state = Mutex(State())

        init(_ limits: ServerLimits) {
            strangersMaximum = limits.connectionsOfStrangers
            provedMaximum = limits.connectionsOfAccounts
            shareOfSource = limits.connectionsOfSource
            shareOfAccount = limits.connectionsOfAccount
            shareOfLine = limits.connectionsOfLine
        }

        /// Takes a place for a stranger. The service waits for its client.
        ///
        /// - Parameters:
        ///   - source: the source; empty for one without a share of its own.
        ///   - displaced: is told the number of the place when another one has it.
        /// - Returns: the number of the place; `nil` if there is none, since the service works for all who have one.
        func take(for source: [UInt8], displaced: @escaping @Sendable (UInt64) -> Void) -> UInt64? {
            let shares = SourceNetwork.all(of: source).map {
                (prefix: $0.prefix, limit: $0.limit(ofAddress: shareOfSource, outOf: strangersMaximum))
            }
            let limits = shares + [([], strangersMaximum)]
            let (number, leaving) = state.withLock { state -> (UInt64?, Leaving?) in
                var leaving: Leaving?
                // A network is in the wider ones: who leaves the smallest that is full makes room in all.
                if let full = limits.first(where: { state.strangers[$0.prefix, default: []].count >= $0.limit }) {
                    leaving = Self.removeOldest(in: full.prefix, &state)
                    guard leaving != nil else { return (nil, nil) }
                }
                state.last += 1
                let place = Place(networks: limits.map(\.prefix), displaced: displaced)
                state.places[state.last] = place
                for network in place.networks { state.strangers[network, default: []].append(state.last) }
                return (state.last, leaving)
            }
            if let leaving { leaving.displaced(leaving.number) }
            return number
        }

        /// A place that another one gets, and what its connection is told.
        private typealias Leaving = (number: UInt64, displaced: @Sendable (UInt64) -> Void)

        private static func removeOldest(in network: [UInt8], _ state: inout State) -> Leaving? {
            let oldest = state.strangers[network, default: []].first { state.places[$0]?.isIdle == true }
            guard let oldest, let place = state.places.removeValue(forKey: oldest) else { return nil }
            remove(oldest, of: place, &state)
            return (oldest, place.displaced)
        }

        private static func remove(_ number: UInt64, of stranger: Place, _ state: inout State) {
            for network in stranger.networks {
                guard let index = state.strangers[network]?.firstIndex(of: number) else { continue }
                state.strangers[network]?.remove(at: index)
                if state.strangers[network]?.isEmpty == true { state.strangers[network] = nil }
            }
        }

        /// Gives a stranger's place to the account that has proved itself there.
        ///
        /// - Returns: `false` if the account has too many, or all accounts of its line, or all accounts have, or the place
        ///   is another one's by now.
        func give(_ number: UInt64, to account: UserID) -> Bool {
            state.withLock { state in
                let count = state.accounts[account, default: 0]
                guard let place = state.places[number], place.account == nil, count < shareOfAccount,
                    state.provedCount < provedMaximum
                else { return false }
                if let line = place.line {
                    let countOfLine = state.lines[line, default: 0]
                    guard countOfLine < shareOfLine else { return false }
                    state.lines[line] = countOfLine + 1
                }
                Self.remove(number, of: place, &state)
                state.places[number]?.account = account
                state.accounts[account] = count + 1
                return true
            }
        }

        /// Notes whether the service waits for the client of a place.
        func mark(_ number: UInt64, isIdle: Bool) { state.withLock { $0.places[number]?.isIdle = isIdle } }

        /// Gives a place back, unless another one has it by now.
        func giveBack(_ number: UInt64) {
            state.withLock { state in
                guard let place = state.places.removeValue(forKey: number) else { return }
                guard let account = place.account else { return Self.remove(number, of: place, &state) }
                Self.count(down: account, in: &state.accounts)
                if let line = place.line { Self.count(down: line, in: &state.lines) }
            }
        }

        private static func count<Key>(down key: Key, in counts: inout [Key: Int]) {
            let rest = counts[key, default: 0] - 1
            counts[key] = rest > 0 ? rest : nil
        }
    }

    /// The place that a connection has, if any. Lives on its event loop.
    struct HeldPlace {
        private let places: Places
        private var number: UInt64?
        private var isStrangers = true

        init(in places: Places) { self.places = places }

        /// Takes a place for a source.
        ///
        /// - Returns: whether there was one.
        mutating func take(for source: [UInt8], displaced: @escaping @Sendable (UInt64) -> Void) -> Bool {
            isStrangers = true
            number = places.take(for: source, displaced: displaced)
            return number != nil
        }

        /// Whether it is the place of an account.
        var isAccounts: Bool { number != nil && !isStrangers }

        /// Makes it the place of an account that has proved itself.
        mutating func give(to account: UserID) {
            if isStrangers, let number { isStrangers = !places.give(number, to: account) }
        }

        /// Notes whether the service waits for the client. Nobody displaces an account.
        func mark(isIdle: Bool) {
            if isStrangers, let number { places.mark(number, isIdle: isIdle) }
        }

        /// Whether another one has this place now.
        mutating func isLost(_ lost: UInt64) -> Bool {
            guard number == lost else { return false }
            number = nil
            return true
        }

        mutating func giveBack() {
            if let number { places.giveBack(number) }
            number = nil
        }
    }
#endif

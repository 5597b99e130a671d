// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The statements of a request that one exchange with the database answers, and how their rows do.
    ///
    /// In a session that was open lately they go along with those that prove it. Then the request is one exchange.
    struct Lookup: Sendable {
        let statements: [SQL]
        let answer: @Sendable (_ found: [[SQLRow]]) throws(TresorError) -> ServiceReply

        /// The rows that the statements of a lookup found.
        struct Found: Sendable {
            let lookup: Lookup
            let rows: [[SQLRow]]

            func answer() throws(TresorError) -> ServiceReply { try lookup.answer(rows) }
        }

        /// Returns the lookup of a request; `nil` for one that takes more.
        ///
        /// - Throws: the errors of a body that does not read.
        static func of(_ call: ServiceCall, by user: UserID) throws(TresorError) -> Lookup? {
            switch call.operation {
            case .card: return Cards.lookup(try CardRequest(call.body))
            case .cards: return Cards.lookup(try CardsRequest(call.body))
            case .entries: return Logs.lookup(try EntriesRequest(call.body), by: user)
            case .tresors: return Logs.lookup(try TresorsRequest(call.body), by: user)
            case .wraps: return Wraps.lookup(try WrapsRequest(call.body), by: user)
            default: return nil
            }
        }
    }
#endif

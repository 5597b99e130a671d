// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The parts that the operations share.
    struct ServiceContext: Sendable {
        let engine: any SQLEngine
        let settings: ServiceSettings
        /// The id of the service.
        let server: Hash256
        let work: WorkApart
        let states: StateCache
        let news: NewsFeed
        let limits: RateLimits
        let usage: UsageCache
        let sweeps: SweepRequests
        let spent: SpentRequests
        let closed: ClosedAccounts
        let removals: Removals

        init(engine: any SQLEngine, settings: ServiceSettings) throws(TresorError) {
            self.engine = engine
            self.settings = settings
            server = try settings.server.id()
            let key = settings.server.key.bytes
            guard settings.logins?.publicKey ?? key == key else { throw .altered }
            news = NewsFeed()
            limits = RateLimits(clock: settings.steadyClock)
            work = WorkApart(limits: limits)
            states = StateCache(engine: engine, work: work, greatestCost: settings.stateByteCount)
            usage = UsageCache(engine: engine)
            sweeps = SweepRequests()
            spent = SpentRequests(start: settings.clock())
            closed = ClosedAccounts(at: server)
            removals = Removals(at: server)
        }

        /// The time in seconds since 1970.
        var now: UInt64 { settings.clock() }

        /// Reads the chain of a body, unless that was done to prove the session.
        ///
        /// - Parameter known: the bytes of the cards that were read before; empty for none.
        func readChain(
            _ bytes: [UInt8], knowing known: [UInt8] = [], of caller: Caller
        ) async throws(TresorError) -> CardChain {
            if let chain = caller.chain { return chain }
            return try await work.readChain(bytes, knowing: known, for: caller.user.digest.bytes)
        }

        /// Runs a change in one transaction that also keeps the answer.
        ///
        /// A conflict has written nothing, so it is not kept: the request may be sent again.
        ///
        /// - Parameter erasing: whether deleted bytes must not stay readable.
        /// - Throws: the errors of `body` and of the engine; ``TresorError/busy`` if another process has answered the
        ///   request in the meantime.
        func change<Answer: ServiceMessage>(
            for caller: Caller, erasing: Bool = false,
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer {
            try await revoke(for: caller, erasing: erasing) { (transaction, _) throws(TresorError) in
                try body(transaction)
            }
        }

        /// Runs a change, as ``change(for:erasing:_:)`` does, and writes down what it revokes: after the last check, so that
        /// no request that is refused stands there, and before the commit.
        func revoke<Answer: ServiceMessage>(
            for caller: Caller, erasing: Bool = false,
            _ body: @escaping @Sendable (any SQLTransaction, inout [Revocation]) throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer {
            let request = caller.request
            let now = now
            return try await engine.write(erasing: erasing) { [settings] (transaction) throws(TresorError) in
                var revoked: [Revocation] = []
                let answer = try body(transaction, &revoked)
                if (answer as? OutcomeAnswer)?.outcome == .conflict { return answer }
                _ = try transaction.run([request.keeping(answer.bytes, at: now).orElse(.busy)])
                try settings.note(revoked)
                return answer
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// The person or device that asks, proved by the signatures of the session and of the request.
    struct Caller: Sendable {
        let user: UserID
        /// The device that speaks for itself; `nil` for a person.
        let device: DeviceID?
        /// `nil` for a person without an account, who may only register.
        let account: Account?
        let request: RequestKey
    }

    /// Proves who asks (SPEC §18.2). The row of the account is read for every request: the end of a session counts at
    /// once in every process.
    struct Authentication: Sendable {
        /// The caller, and the answer that the same request got before.
        struct Outcome: Sendable {
            let caller: Caller
            let kept: RequestKey.Kept?
        }

        private struct Rows {
            let account: Account?
            let requests: [SQLRow]
            let deviceKey: Hash256?
        }

        let engine: any SQLEngine
        let server: Hash256
        let `operator`: UserID
        let clock: @Sendable () -> UInt64
        private let statements = VerifiedStatements()

        init(
            engine: any SQLEngine, server: Hash256, operator: UserID, clock: @escaping @Sendable () -> UInt64
        ) {
            self.engine = engine
            self.server = server
            self.operator = `operator`
            self.clock = clock
        }

        /// Checks the session and the request.
        ///
        /// - Throws: 401 for a session or a signature that does not hold; 403 for a caller who may not ask for this, or
        ///   who waits for the operator; 400 for a body that proves the session and does not read.
        func authenticate(_ call: ServiceCall) async throws(Refusal) -> Outcome {
            let unauthorized = Refusal(.unauthorized, .noAccess)
            guard let text = call.authorization, let authorization = try? Authorization(text),
                authorization.statement.server == server, isInTime(authorization)
            else { throw unauthorized }
            let outcome: Outcome?
            do throws(TresorError) {
                outcome = try await prove(authorization, call)
            } catch {
                throw Refusal(error)
            }
            guard let outcome else { throw unauthorized }
            return outcome
        }

        private func isInTime(_ authorization: Authorization) -> Bool {
            let now = clock()
            let window = RequestStatement.clockWindow
            let statement = authorization.statement
            return statement.since <= now + window && now <= statement.until && authorization.time <= now + window
                && now <= authorization.time + window
        }

        /// Returns `nil` for a session or a signature that does not hold.
        private func prove(_ authorization: Authorization, _ call: ServiceCall) async throws(TresorError) -> Outcome? {
            let statement = authorization.statement
            let request = try RequestStatement(
                session: try statement.hash(), id: authorization.id, time: authorization.time,
                operation: call.operation, body: call.body)
            let key = RequestKey(request, of: statement.user)
            let rows = try await rows(of: statement, key)
            guard let signer = try await signer(of: statement, call, rows) else { return nil }
            do throws(TresorError) {
                try statements.verify(statement, hash: request.session, by: signer)
                try Ed25519.verify(authorization.signature, of: request.message, by: statement.key)
            } catch { return nil }
            let caller = Caller(
                user: statement.user, device: statement.kind == .device ? statement.device : nil,
                account: rows.account, request: key)
            if let kept = try key.kept(rows.requests) { return Outcome(caller: caller, kept: kept) }
            guard isOpen(statement, rows) else { return nil }
            try admit(caller, to: call.operation)
            return Outcome(caller: caller, kept: nil)
        }

        private func rows(of statement: SessionStatement, _ key: RequestKey) async throws(TresorError) -> Rows {
            try await engine.read { (transaction) throws(TresorError) in
                var searches = [Account.search(statement.user), key.search]
                if let device = statement.device { searches.append(ServerShares.key(statement.user, device)) }
                let found = try transaction.run(searches, finishing: true).map(\.rows)
                return Rows(
                    account: try found[0].first.map { (row) throws(TresorError) in try Account(row) },
                    requests: found[1],
                    deviceKey: found.count > 2
                        ? try found[2].first.map { (row) throws(TresorError) in try row.digest(0) } : nil)
            }
        }

        /// The key that must have signed the session; `nil` if there is none.
        private func signer(
            of statement: SessionStatement, _ call: ServiceCall, _ rows: Rows
        ) async throws(TresorError) -> Hash256? {
            switch (statement.kind, call.operation) {
            case (.device, _):
                return rows.deviceKey
            case (.identity, .register):
                return try key(in: RegisterRequest(call.body).chain, of: statement)
            case (.identity, .putCard) where statement.generation > rows.account?.generation ?? .max:
                let request = try PutCardRequest(call.body)
                let present = try await engine.read(Account.chain(of: statement.user, .asked ... .active)).first
                guard let present, try CardChain(request.chain).extends(CardChain(present.bytes(0))) else { return nil }
                return try key(in: request.chain, of: statement)
            case (.identity, _):
                guard let account = rows.account, account.generation == statement.generation else { return nil }
                return account.key
            }
        }

        /// The newest key of a chain that proves its session itself.
        private func key(in chain: [UInt8], of statement: SessionStatement) throws(TresorError) -> Hash256? {
            let chain = try CardChain(chain)
            guard chain.user == statement.user, chain.newest.generation == statement.generation else { return nil }
            return chain.newest.signingKey
        }

        /// Whether the session was not ended, and its device not removed.
        private func isOpen(_ statement: SessionStatement, _ rows: Rows) -> Bool {
            if statement.device != nil, rows.deviceKey == nil { return false }
            guard let account = rows.account else { return true }
            return account.state != .closed && statement.since >= account.sessionsSince
        }

        /// Refuses what the caller may not ask for, whatever it is about.
        private func admit(_ caller: Caller, to operation: ServiceOperation) throws(TresorError) {
            switch operation.speaker {
            case .anyone: return
            case .applicant:
                guard caller.device == nil, caller.account != nil || operation == .register else { throw .noAccess }
            case .person, .device, .operator:
                guard let account = caller.account else { throw .noAccess }
                guard account.state == .active else { throw .waiting }
                if operation.speaker != .device { guard caller.device == nil else { throw .noAccess } }
                if operation.speaker == .operator { guard caller.user == `operator` else { throw .noAccess } }
            }
        }
    }

    /// The statements of sessions whose signatures were verified, with the keys that signed them.
    private final class VerifiedStatements: Sendable {
        private static let greatestCount = 50_000

        private let signers = Mutex<[Hash256: Hash256]>([:])

        /// Verifies a statement, unless this was done before for the same key.
        func verify(_ statement: SessionStatement, hash: Hash256, by signer: Hash256) throws(TresorError) {
            guard signers.withLock({ $0[hash] }) != signer else { return }
            try statement.verify(by: signer)
            signers.withLock { signers in
                if signers.count >= Self.greatestCount { signers = [:] }
                signers[hash] = signer
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// Proves who asks (SPEC §18.2). The row of the account is read for every request: the end of a session counts at
    /// once in every process. An append of a recent session reads it where it writes.
    ///
    /// The cheap checks come first: form and time, the signature of the request by the key that the statement names, the
    /// rows, the signature of the statement, and only then the chain of a body. A source that fails too often is barred:
    /// it is still heard for an account whose rows prove the session, and a chain is read for a good invitation alone.
    struct Authentication: Sendable {
        /// The proof that a request gives.
        enum Outcome: Sendable {
            /// The caller, who may ask for this.
            case caller(Caller)
            /// The answer that the same request got before.
            case kept(RequestKey.KeptAnswer)
            /// That somebody asks too often: they may again after so many seconds.
            case tooOften(UInt32)
            /// A session of another era than this one, in which the account is.
            case ended(Era)
        }

        private struct Rows {
            let account: Account?
            let requests: [SQLRow]
            let deviceKey: Hash256?
            /// The rows that other statements found.
            let others: [[SQLRow]]
        }

        /// The key that must have signed a session.
        private struct Signer {
            let key: Hash256
            /// The chain of the body that names the key and still has to prove it; empty for a key of the rows.
            var chain: [UInt8] = []
        }

        let engine: any SQLEngine
        let server: Hash256
        let `operator`: UserID
        let limits: RateLimits
        let work: WorkApart
        /// The rate of the requests of an account.
        let rate: RateLimits.Rate
        let clock: @Sendable () -> UInt64
        let statements = Held<SignedStatement>()
        private let readingAhead = PeopleAtOnce()
        /// The time for which a session is known that has held, in seconds: it may have ended since.
        static let knownDuration: UInt64 = 60

        init(context: ServiceContext) {
            engine = context.engine
            server = context.server
            `operator` = context.settings.operator
            limits = context.limits
            work = context.work
            rate = .requests(context.settings.quotas.requestsPerSecond)
            clock = context.settings.clock
        }

        /// Checks the session and the request.
        ///
        /// - Parameter payment: what it takes from the limits.
        /// - Throws: 401 for a session or a signature that does not hold; 403 for a caller who may not ask for this, or
        ///   who waits for the operator; 400 for a body that proves the session and does not read.
        func authenticate(_ call: ServiceCall, _ payment: Payment) async throws(Refusal) -> Outcome {
            guard let authorization = try read(call.authorization, call.audiences) else {
                throw Refusal(.unauthorized, .noAccess, cause: cause(of: call.authorization))
            }
            let barred = limits.look(.failure, of: call.source)
            let refusal: Refusal
            do throws(TresorError) {
                let session = try authorization.statement.hash()
                var cause: Refusal.Cause?
                let outcome = try await prove(session, authorization, call, payment, &cause, isBarred: barred != nil)
                // Nobody else has the statement of a session, so nobody makes that of somebody else forgotten.
                switch outcome {
                case .ended, nil: statements.forget(of: authorization.statement.user) { $0.session == session }
                case .caller, .kept, .tooOften: break
                }
                if let outcome { return outcome }
                refusal = Refusal(.unauthorized, .noAccess, cause: cause)
            } catch {
                guard error == .altered || error == .unsupported else { throw Refusal(error) }
                refusal = Refusal(error)
            }
            noteFailure(of: call.source)
            if let barred { return .tooOften(barred) }
            throw refusal
        }

        /// Judges the head of a request before its body comes.
        ///
        /// - Returns: the person with an active account whom it proves by itself; `nil` for none, and for a device, which
        ///   takes nothing from its person. A small body needs no other proof than that its session has held in the last
        ///   minute: nobody else has its statement.
        /// - Throws: 401 for a large body that no head and no chain in it can prove, and 403 for one of a device; 429 if
        ///   the source is barred; the error of an engine that does not answer.
        func proves(_ head: ServiceHead) async throws(Refusal) -> UserID? {
            if case .anyone = head.operation.speaker { return nil }
            guard let statement = try read(head.authorization, head.audiences)?.statement else {
                if head.isLarge { throw Refusal(.unauthorized, .noAccess, cause: cause(of: head.authorization)) }
                return nil
            }
            let isBarred = limits.look(.failure, of: head.source) != nil
            let person = statement.signingDevice == nil ? statement.user : nil
            let state: SessionState?
            do throws(TresorError) {
                // A small request makes a session known, and its key, whether the source is barred or not.
                let session = try statement.hash()
                let isKnown = statements.contains(of: statement.user) { $0.session == session }
                if head.isLarge, isBarred, !isKnown, try !isSignedAsBefore(statement) { throw TresorError.busy }
                if !head.isLarge, recent(statement, session) != nil { return person }
                state = try await self.state(of: statement, hash: session)
            } catch {
                throw Refusal(error)
            }
            switch state {
            case .open:
                guard person != nil || !head.isLarge else { throw .forbidden }
                return person
            // Somebody who waits for the operator is heard, and stays a stranger.
            case .waiting:
                guard head.isLarge, head.operation.speaker != .applicant else { return nil }
                throw Refusal(.waiting)
            // The answer to a small request may be kept from before its era ended.
            case .ended(let era):
                guard head.isLarge else { return nil }
                throw .ended(now: era)
            case .closed, nil: break
            }
            // An invitation stands in the body, and comes before the limits of a source.
            if !head.isLarge, head.operation == .register { return nil }
            guard !isBarred else { throw Refusal(.busy) }
            if head.isLarge, !head.operation.isProvedByBody {
                noteFailure(of: head.source)
                throw Refusal(.unauthorized, .noAccess, cause: state == nil ? .unknownKey : .closed)
            }
            return nil
        }

        /// Notes that a source sent something that proves nothing.
        func noteFailure(of source: [UInt8]) { _ = limits.take(.failure, of: source) }

        /// Reads the header; `nil` for none, for another service or address, and for a time that is not now.
        func read(_ text: String?, _ audiences: [Audience]) throws(Refusal) -> Authorization? {
            guard let text, let authorization = try? Authorization(text), authorization.statement.server == server,
                isInTime(authorization)
            else { return nil }
            return try isMeant(authorization.statement, audiences) ? authorization : nil
        }

        /// Whether a session names the address of this service at which it came. Somebody who stands between a person and
        /// the service has another one.
        private func isMeant(_ statement: SessionStatement, _ audiences: [Audience]) throws(Refusal) -> Bool {
            do throws(TresorError) {
                for audience in audiences where try audience.hash() == statement.audience { return true }
                return false
            } catch {
                throw Refusal(error)
            }
        }

        /// The state of a session that the rows of an account prove; `nil` for another one.
        private func state(
            of statement: SessionStatement, hash session: Hash256
        ) async throws(TresorError) -> SessionState? {
            let rows = try await rows(of: statement, nil)
            guard rows.account != nil, let key = Self.key(of: statement, rows),
                try verify(statement, hash: session, by: key)
            else { return nil }
            return state(of: statement, rows)
        }

        /// Whether a key has signed a statement. One that has held is not verified again.
        private func verify(
            _ statement: SessionStatement, hash session: Hash256, by signer: Hash256
        ) throws(TresorError) -> Bool {
            let isKnown = statements.contains(of: statement.user) { $0.session == session && $0.signer == signer }
            if isKnown { return true }
            return try Self.holds { () throws(TresorError) in try statement.verify(by: signer) }
        }

        /// Whether the key that a statement names by its generation or device signed it, and one that has held. Checks one
        /// signature at most: nothing is proved yet.
        private func isSignedAsBefore(_ statement: SessionStatement) throws(TresorError) -> Bool {
            guard let known = statements.newest(of: statement.user, where: { $0.namesSigner(of: statement) }) else {
                return false
            }
            return try Self.holds { () throws(TresorError) in try statement.verify(by: known.signer) }
        }

        private func isInTime(_ authorization: Authorization) -> Bool {
            let now = clock()
            let window = RequestStatement.clockWindow
            let statement = authorization.statement
            return statement.since <= now + window && now <= statement.until && authorization.time <= now + window
                && now <= authorization.time + window
        }

        /// Returns `nil` for a session or a signature that does not hold, and says why if it is the account.
        private func prove(
            _ session: Hash256, _ authorization: Authorization, _ call: ServiceCall, _ payment: Payment,
            _ cause: inout Refusal.Cause?, isBarred: Bool
        ) async throws(TresorError) -> Outcome? {
            let statement = authorization.statement
            let request = try RequestStatement(authorization, in: session, call)
            let isSigned = try Self.holds { () throws(TresorError) in
                try Ed25519.verify(authorization.signature, of: request.message, by: statement.key)
            }
            guard isSigned else { return nil }
            let key = RequestKey(request, of: statement.user)
            return try await prove(key, statement, session, call, payment, &cause, isBarred: isBarred)
        }

        /// Returns `nil` for a session that does not hold, or that was ended.
        private func prove(
            _ request: RequestKey, _ statement: SessionStatement, _ session: Hash256, _ call: ServiceCall,
            _ payment: Payment, _ cause: inout Refusal.Cause?, isBarred: Bool
        ) async throws(TresorError) -> Outcome? {
            // One request of a person reads ahead of its payment at a time: the others pay before they read much.
            var lookup = lookup(of: call, in: statement, session)
            if lookup != nil, !readingAhead.begin(statement.user) { lookup = nil }
            defer { if lookup != nil { readingAhead.end(statement.user) } }
            let rows = try await rows(of: statement, request, and: lookup?.statements ?? [])
            cause = rows.account?.state == .closed ? .closed : .unknownKey
            guard let signer = try signer(of: statement, call, rows),
                try verify(statement, hash: session, by: signer.key)
            else { return nil }
            var chain: CardChain?
            if !signer.chain.isEmpty {
                let invitation = try await goodInvitation(in: call, of: statement.user)
                if isBarred, invitation == nil { return nil }
                if rows.account == nil, let seconds = takeRegistration(from: call.source, invitation, payment) {
                    noteFailure(of: call.source)
                    return .tooOften(seconds)
                }
                chain = try await prove(
                    signer.chain, of: statement, rows.account, for: invitation?.bytes ?? call.source)
                guard chain != nil else { return nil }
            }
            // A device has a bucket of its own: a thief of it uses up nothing of the person's.
            let device = statement.signingDevice
            let bucket = RateLimits.Key.requests(statement.user.digest.bytes + (device?.bytes ?? []))
            let state = state(of: statement, rows)
            // A thief of a session that has ended brings nobody into debt.
            if !state.isOpen { payment.dropPromise(of: bucket) }
            if let seconds = payment.take(bucket, rate) { return .tooOften(seconds) }
            if let kept = try request.kept(rows.requests) { return .kept(kept) }
            switch state {
            case .open:
                statements.keep(SignedStatement(statement, session, by: signer.key, at: clock()), of: statement.user)
            // A session that is not open is not tried where it would write.
            case .waiting: statements.forget(of: statement.user) { $0.session == session }
            case .ended(let era): return .ended(era)
            case .closed: return nil
            }
            let caller = Caller(
                user: statement.user, device: device, account: rows.account, chain: chain, request: request,
                found: lookup.map { Lookup.Found(lookup: $0, rows: rows.others) })
            try admit(caller, to: call.operation)
            return .caller(caller)
        }

        /// Reads the rows of a session and, unless it is `nil`, of a request, and what other statements find.
        private func rows(
            of statement: SessionStatement, _ key: RequestKey?, and others: [SQL] = []
        ) async throws(TresorError) -> Rows {
            let device = statement.device.map { ServerShares.key(statement.user, $0) }
            let searches = [Account.search(statement.user)] + [device, key?.search].compactMap { $0 }
            let found = try await engine.read(searches + others)
            return Rows(
                account: try found[0].first.map { (row) throws(TresorError) in try Account(row) },
                requests: key == nil ? [] : found[searches.count - 1],
                deviceKey: device != nil
                    ? try found[1].first.map { (row) throws(TresorError) in try row.digest(0) } : nil,
                others: Array(found[searches.count...]))
        }

        /// The key of the rows that must have signed a session; `nil` if there is none.
        private static func key(of statement: SessionStatement, _ rows: Rows) -> Hash256? {
            guard statement.kind == .identity else { return rows.deviceKey }
            return rows.account.flatMap { $0.generation == statement.generation && $0.isNewest ? $0.key : nil }
        }

        /// The key that must have signed the session; `nil` if there is none.
        private func signer(
            of statement: SessionStatement, _ call: ServiceCall, _ rows: Rows
        ) throws(TresorError) -> Signer? {
            let known = Self.key(of: statement, rows).map { Signer(key: $0) }
            guard statement.kind == .identity else { return known }
            let chain: [UInt8]
            switch call.operation {
            // Below the newest generation nothing is proved. An old seed takes nothing from the bucket of its person.
            case .register where statement.generation >= rows.account?.generation ?? 0:
                chain = try RegisterRequest(call.body).chain
            case .putCard where statement.generation > rows.account?.generation ?? .max:
                chain = try PutCardRequest(call.body).chain
            default: chain = []
            }
            guard !chain.isEmpty else { return known }
            let claim = try CardClaim(newestIn: chain)
            // The same key may have signed cards of two user ids.
            guard claim.user == statement.user, claim.generation == statement.generation else { return nil }
            // The key of the newest card that is there needs no other proof.
            if let known, known.key == claim.signingKey { return known }
            return Signer(key: claim.signingKey, chain: chain)
        }

        /// Reads the chain of a body; `nil` for one of somebody else, and for one that does not continue the chain that
        /// is there.
        ///
        /// - Parameter payer: who pays for the work, since nobody is proved yet: the source, or the invitation.
        private func prove(
            _ bytes: [UInt8], of statement: SessionStatement, _ account: Account?, for payer: WorkApart.Account
        ) async throws(TresorError) -> CardChain? {
            var known: [UInt8] = []
            if account != nil {
                let found = try await engine.read(Account.chain(of: statement.user, .asked ... .active))
                guard let present = try found.first?.bytes(0) else { return nil }
                // Cards lie one after the other: a chain begins with the bytes of each chain that it extends.
                guard bytes.starts(with: present) else { return nil }
                known = present
            }
            let chain = try await work.readChain(bytes, knowing: known, for: payer)
            guard account?.isContinued(by: chain) ?? true else { return nil }
            return chain.user == statement.user ? chain : nil
        }

        /// Takes a registration from the bucket of its source. Whom the operator invited goes on where others used that
        /// up: each invitation has a bucket.
        private func takeRegistration(
            from source: [UInt8], _ invitation: Hash256?, _ payment: Payment
        ) -> UInt32? {
            guard let seconds = payment.take(.registration, of: source) else { return nil }
            guard let invitation else { return seconds }
            return payment.take(.registration(invitation.bytes), .registration)
        }

        /// Returns the hash of the invitation in a registration; `nil` for none, and for one that is not good.
        private func goodInvitation(in call: ServiceCall, of user: UserID) async throws(TresorError) -> Hash256? {
            guard call.operation == .register, let request = try? RegisterRequest(call.body),
                let hash = try? Invitation(request.invitation).hash()
            else { return nil }
            let found = try await engine.read(
                SQL(
                    "SELECT account FROM invitations WHERE hash = $1 AND until >= $2",
                    [.digest(hash), .number(clock())]))
            guard let row = found.first else { return nil }
            if try row.isNull(0) { return hash }
            return try row.digest(0) == user.digest ? hash : nil
        }

        /// Whether a session that holds may be used.
        private enum SessionState {
            case open
            /// There is no account yet, or one that waits for its end or for the operator.
            case waiting
            /// It is of another era than this one, in which the account is.
            case ended(Era)
            /// Its device was removed, or the account closed.
            case closed

            var isOpen: Bool { if case .open = self { true } else { false } }
        }

        private func state(of statement: SessionStatement, _ rows: Rows) -> SessionState {
            if statement.device != nil, rows.deviceKey == nil { return .closed }
            guard let account = rows.account else { return .waiting }
            guard account.state != .closed else { return .closed }
            guard statement.era == account.era else { return .ended(account.era) }
            return account.state == .active ? .open : .waiting
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
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    package import TresorCrypto

    /// Judges requests, and answers them from a database (SPEC §18).
    ///
    /// It holds no key of anybody, and opens nothing. Several processes may serve one database.
    package final class Service: ServiceHandler {
        private let context: ServiceContext
        private let authentication: Authentication
        private let health: Health
        private let hints: Task<Void, Never>

        /// Takes a database whose schema is there.
        ///
        /// - Throws: ``TresorError/altered`` for the secret of another service; ``TresorError/failed(_:)`` if the library
        ///   fails.
        package init(engine: any SQLEngine, settings: ServiceSettings) throws(TresorError) {
            let context = try ServiceContext(engine: engine, settings: settings)
            self.context = context
            authentication = Authentication(context: context)
            health = Health(engine: engine, revocations: settings.revocations, clock: settings.steadyClock)
            let stream = engine.hints()
            hints = Task { await News(context: context).listen(to: stream) }
        }

        deinit { hints.cancel() }

        /// The id of the service.
        package var id: Hash256 { context.server }

        /// Answers one request.
        package func answer(_ call: ServiceCall) async -> ServiceReply {
            let payment = Payment(to: context.limits)
            do throws(Refusal) {
                return try await lookingTwice { (isSecond) throws(Refusal) in
                    let reply = try await judge(call, payment)
                    guard !isSecond || reply.status != Refusal.Status.tooManyRequests.rawValue else {
                        throw Refusal(.busy)
                    }
                    return reply
                }
            } catch {
                switch error.status {
                case .tooManyRequests, .unavailable: return ServiceReply(error, retryAfter: 1)
                default: return ServiceReply(error)
                }
            }
        }

        /// Judges the head of a request before its body comes.
        package func proves(_ head: ServiceHead) async throws(Refusal) -> UserID? {
            try await lookingTwice { (_) throws(Refusal) in try await authentication.proves(head) }
        }

        /// Judges, and once more where the database looks damaged: what other transactions made look so is over then. What
        /// looks so twice stays to be seen. A limit says nothing about the database, so the damage does not hide behind one.
        private func lookingTwice<Value: Sendable>(
            _ judge: (_ isSecond: Bool) async throws(Refusal) -> Value
        ) async throws(Refusal) -> Value {
            let first: Refusal
            do throws(Refusal) {
                return try await judge(false)
            } catch {
                guard error.cause == .damaged else { throw error }
                first = error
            }
            do throws(Refusal) {
                return try await judge(true)
            } catch {
                health.note(error.cause)
                throw error.status == .tooManyRequests ? first : error
            }
        }

        /// Returns the person whose session has held in the last minute, for a head with a small body.
        package func knows(_ head: ServiceHead) -> UserID? { authentication.knows(head) }

        /// Notes that a source sent something that proves nothing.
        package func noteFailure(of source: [UInt8]) { authentication.noteFailure(of: source) }

        /// Whether the database can be written.
        package func isHealthy() async -> Bool { await health.isGood() }

        /// The number of waits for news in this process.
        package var waitCount: Int { context.news.count }

        /// The number of removals that this process keeps, since the logs of the database lack them.
        package var lackedRemovalCount: Int { context.removals.count }

        /// Ends all waits. Requests that run come to their end.
        package func shutDown() {
            context.news.close()
            context.sweeps.close()
            hints.cancel()
        }

        /// When ``sweep()`` is due: whenever ``askForSweep()`` was called, or something was deleted that is more than a
        /// request should wait for. One task of a process iterates over it, so that one sweep runs at a time.
        package var dueSweeps: AsyncStream<Void> { context.sweeps.stream }

        /// Makes a sweep due.
        package func askForSweep() { context.sweeps.ask() }

        /// Drops what is kept for a time only: answers to requests, invitations, registrations that nobody ended,
        /// mailboxes, blobs that no entry names, attempts to log in, and what lies behind tombstones. A step that fails ends
        /// no other one.
        ///
        /// - Throws: the last error of the engine.
        package func sweep() async throws(TresorError) {
            var failure: TresorError?
            do throws(TresorError) { try await Registrations(context: context).sweep() } catch { failure = error }
            do throws(TresorError) { try await Mailboxes(context: context).sweep() } catch { failure = error }
            do throws(TresorError) { try await Blobs(context: context).sweep() } catch { failure = error }
            do throws(TresorError) { try await Logins(context: context).sweep() } catch { failure = error }
            do throws(TresorError) { try await Deletions(context: context).sweep() } catch { failure = error }
            if let failure { throw failure }
        }

        /// The accounts and invitations, for the person who runs the service.
        package var directory: AccountDirectory { AccountDirectory(context: context) }

        /// The user who admits people and invites them.
        package var operatorsID: UserID { context.settings.operator }

        /// Folds every log and compares the database with it.
        ///
        /// - Throws: the errors of the engine.
        package func check() async throws(TresorError) -> CheckReport { try await Check(context: context).run() }

        /// Looks at an embedded store before it is taken. Nothing is changed.
        ///
        /// - Throws: the errors of the store and of the engine; the error of a log that does not fold;
        ///   ``TresorError/unverified`` for two cards of a person of which neither continues the other.
        package func planImport(of store: any Store) async throws(TresorError) -> ImportPlan {
            try await Import(context: context).plan(store)
        }

        /// Takes an embedded store whole, as the operator has seen it: its logs are judged entry by entry.
        ///
        /// - Throws: the errors of the store and of the engine; the error of a log that does not fold;
        ///   ``TresorError/unverified`` for a handle that belongs to somebody else.
        package func importStore(
            _ store: any Store, by plan: ImportPlan
        ) async throws(TresorError) -> ImportReport {
            try await Import(context: context).run(store, by: plan)
        }

        /// Takes out of the database what was revoked, before anybody is answered. A database that is not older than the
        /// revocations stays as it is.
        ///
        /// - Throws: the errors of the engine.
        package func apply(_ revocations: [Revocation]) async throws(TresorError) {
            try await Restoration(context: context).apply(revocations)
        }

        /// Takes out of a database from a backup all that may have been revoked since: server shares, invitations and
        /// sessions. The operator decides about each account's next card.
        ///
        /// - Parameter chain: the chain of the operator, if they have made new keys since the backup.
        /// - Throws: ``TresorError/unverified`` for a chain that does not continue theirs; the errors of the engine.
        package func distrust(operator chain: CardChain?) async throws(TresorError) {
            try await Restoration(context: context).distrust(operator: chain)
        }

        private func judge(_ call: ServiceCall, _ payment: Payment) async throws(Refusal) -> ServiceReply {
            guard call.body.count <= call.operation.maximumBodyByteCount else {
                throw Refusal(.tooLarge, .failed(.other))
            }
            if case .anyone = call.operation.speaker {
                // The answer about the service itself lies in memory, and each command of a whole ward asks for it.
                if call.operation != .server, let seconds = payment.take(.kitCopy, of: call.source) {
                    return Self.refusal(until: seconds)
                }
                do throws(TresorError) { return try await answerAnyone(call) } catch { throw Refusal(error) }
            }
            var refusal: TresorError?
            var isTried = false
            if call.operation == .append {
                do throws(TresorError) {
                    switch try await appendAtOnce(call, payment) {
                    case true?: return ServiceReply(OutcomeAnswer(.done))
                    case let tried: isTried = tried != nil
                    }
                } catch {
                    refusal = error
                }
            }
            let caller: Caller
            switch try await authentication.authenticate(call, payment) {
            case .tooOften(let seconds): return Self.refusal(until: seconds)
            case .kept(let kept): return try Self.reply(kept)
            case .ended(let era): throw .ended(now: era)
            case .caller(let proved): caller = proved
            }
            if let seconds = limit(call, caller, payment) { return Self.refusal(until: seconds) }
            if refusal == nil {
                do throws(TresorError) {
                    let dispatch = Dispatch(context: context, isAppendTried: isTried)
                    let reply = try await dispatch.answer(call, of: caller)
                    guard reply == Self.conflict else { return reply }
                } catch {
                    refusal = error
                }
            }
            // A copy of this very request may have been answered in the meantime. It did what this one could not.
            if let kept = try? await kept(caller.request) { return try Self.reply(kept) }
            guard let refusal else { return Self.conflict }
            throw Refusal(refusal)
        }

        /// Appends in one transaction that also proves the session, where all of it is likely to hold.
        ///
        /// - Returns: `false` if it did not hold, and `nil` if it was not likely: nothing was written, and the request is
        ///   judged in order.
        /// - Throws: the errors of the engine.
        private func appendAtOnce(_ call: ServiceCall, _ payment: Payment) async throws(TresorError) -> Bool? {
            let appending = Appending(context: context)
            let found = try authentication.recentSession(of: call, payment) {
                appending.expected(call.body, by: $0)
            }
            guard let (recent, request) = found else { return nil }
            guard try await appending.append(request, in: recent) else { return false }
            authentication.confirm(recent, payment)
            return true
        }

        private static let conflict = ServiceReply(OutcomeAnswer(.conflict))

        private static func refusal(until seconds: UInt32) -> ServiceReply {
            ServiceReply(Refusal(.tooManyRequests, .busy), retryAfter: seconds)
        }

        fileprivate static func reply(_ limited: Limited<some ServiceMessage>) -> ServiceReply {
            switch limited {
            case .answer(let answer): ServiceReply(answer)
            case .tooOften(let seconds): refusal(until: seconds)
            }
        }

        private static func reply(_ kept: RequestKey.KeptAnswer) throws(Refusal) -> ServiceReply {
            switch kept {
            case .answer(let body): return ServiceReply(body: body)
            case .spent: throw .forbidden
            case .other: throw Refusal(.failed(.other))
            }
        }

        private func kept(_ request: RequestKey) async throws(TresorError) -> RequestKey.KeptAnswer? {
            try request.kept(try await context.engine.read(request.search))
        }

        /// Returns the seconds after which the caller may ask for this again, if they ask for it too often.
        private func limit(_ call: ServiceCall, _ caller: Caller, _ payment: Payment) -> UInt32? {
            let user = caller.user.digest.bytes
            switch call.operation {
            // Somebody who waits rewrites what is kept for them, and may be many.
            case .finish where caller.account?.state == .complete:
                return payment.take(.registration, of: call.source) ?? payment.take(.finish(user), .accountRegistration)
            // Each reads a chain; without an account the source has paid for that. A step that was let through costs the other
            // one nothing: with an active account, who begins to set a password here can end it here.
            case .register where caller.account != nil:
                return payment.take(.registration(user), .accountRegistration)
            case .finish: return payment.take(.finish(user), .accountRegistration)
            case .serverShare:
                return payment.take(.serverShare(user + (caller.device?.bytes ?? [])), .serverShare)
            default: return nil
            }
        }

        private func answerAnyone(_ call: ServiceCall) async throws(TresorError) -> ServiceReply {
            switch call.operation {
            case .server:
                _ = try ServerRequest(call.body)
                return ServiceReply(
                    ServerAnswer(
                        server: context.settings.server, registration: context.settings.registration,
                        approvers: context.settings.approvers.map(\.bytes)))
            case .putOffer:
                return ServiceReply(try await Mailboxes(context: context).put(PutOfferRequest(call.body)))
            case .login:
                return Self.reply(try await Logins(context: context).begin(LoginRequest(call.body), from: call.source))
            case .finishLogin:
                let request = try FinishLoginRequest(call.body)
                return ServiceReply(try await Logins(context: context).finish(request, from: call.source))
            default: return ServiceReply(try await KitCopies(context: context).copy(KitCopyRequest(call.body)))
            }
        }
    }

    /// Hands each request to the operation that it asks for.
    private struct Dispatch: Sendable {
        let context: ServiceContext
        /// Whether the end of the log that this process knows was tried already.
        let isAppendTried: Bool

        func answer(_ call: ServiceCall, of caller: Caller) async throws(TresorError) -> ServiceReply {
            if let found = caller.found { return try found.answer() }
            if let lookup = try Lookup.of(call, by: caller.user) {
                return try lookup.answer(try await context.engine.read(lookup.statements))
            }
            let body = call.body
            let cards = Cards(context: context)
            let wraps = Wraps(context: context)
            let blobs = Blobs(context: context)
            let shares = ServerShares(context: context)
            let registrations = Registrations(context: context)
            let office = OperatorsOffice(context: context)
            switch call.operation {
            // Anyone asks for the first ones, and the others are lookups.
            case .server, .kitCopy, .putOffer, .login, .finishLogin, .card, .cards, .entries, .tresors: throw .noAccess
            case .users: return ServiceReply(try await cards.users(UsersRequest(body)))
            case .putCard: return ServiceReply(try await cards.put(PutCardRequest(body), by: caller))
            case .append:
                let appending = Appending(context: context)
                return ServiceReply(
                    try await appending.append(AppendRequest(body), by: caller, triesKnownEnd: !isAppendTried))
            case .wraps: return ServiceReply(try await wraps.wraps(WrapsRequest(body), by: caller))
            case .putWraps: return ServiceReply(try await wraps.put(PutWrapsRequest(body), by: caller))
            case .putBlob: return ServiceReply(try await blobs.put(PutBlobRequest(body), by: caller))
            case .blob: return ServiceReply(try await blobs.blob(BlobRequest(body), by: caller))
            case .blobs: return ServiceReply(try await blobs.blobs(BlobsRequest(body), by: caller))
            case .deleteBlobs: return ServiceReply(try await blobs.delete(DeleteBlobsRequest(body), by: caller))
            case .news: return ServiceReply(try await News(context: context).news(NewsRequest(body), by: caller))
            case .putServerShare: return ServiceReply(try await shares.put(PutServerShareRequest(body), by: caller))
            case .serverShare: return ServiceReply(try await shares.share(ServerShareRequest(body), by: caller))
            case .deleteServerShares:
                return ServiceReply(try await shares.delete(DeleteServerSharesRequest(body), by: caller))
            case .putKitCopy:
                return ServiceReply(try await KitCopies(context: context).put(PutKitCopyRequest(body), by: caller))
            case .deleteKitCopy:
                return ServiceReply(
                    try await KitCopies(context: context).delete(DeleteKitCopyRequest(body), by: caller))
            case .register:
                return Service.reply(try await registrations.register(RegisterRequest(body), by: caller))
            case .finish: return ServiceReply(try await registrations.finish(FinishRequest(body), by: caller))
            case .account: return ServiceReply(try await registrations.account(AccountRequest(body), by: caller))
            case .endSessions:
                return ServiceReply(try await registrations.endSessions(EndSessionsRequest(body), by: caller))
            case .invite: return ServiceReply(try await office.invite(InviteRequest(body), by: caller))
            case .inbox: return ServiceReply(try await office.inbox(InboxRequest(body)))
            case .admit: return ServiceReply(try await office.admit(AdmitRequest(body), by: caller))
            case .deleteTresor:
                return ServiceReply(try await Deletions(context: context).tresor(DeleteTresorRequest(body), by: caller))
            case .deleteAccount:
                return ServiceReply(
                    try await Deletions(context: context).account(DeleteAccountRequest(body), by: caller))
            }
        }
    }
#endif

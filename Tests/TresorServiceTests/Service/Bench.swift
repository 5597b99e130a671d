// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// A service on a database of its own, with a clock that stands. The database is one of ``EngineKind/current``.
    final class Bench: Sendable {
        let engine: any SQLEngine
        let service: Service
        let settings: ServiceSettings
        let clock: FixedClock
        let operatorIdentity: Identity
        private let database: BenchDatabase

        /// - Parameter withLogins: whether the service has a server key, and so log-ins by password.
        init(
            _ registration: Registration = .open, withLogins: Bool = false, quotas: (inout Quotas) -> Void = { _ in }
        ) async throws {
            database = try await BenchDatabase.take(.current)
            engine = database.engine
            clock = FixedClock()
            operatorIdentity = try Identity.make(handle: try Name(typed: "operator"), time: clock.now)
            _ = try await engine.write([
                Account.insertion(of: operatorIdentity.chain, .active, invitation: nil, at: clock.now)
            ])
            var limits = Quotas()
            // No test waits for a bucket that it does not fill itself.
            limits.requestsPerSecond = 100_000
            quotas(&limits)
            let logins =
                withLogins
                ? try LoginSecret(
                    seed: SecretBytes(randomCount: OPAQUE.hashByteCount), privateKey: Ristretto255.randomScalar()) : nil
            let key = logins?.publicKey ?? [UInt8](repeating: 7, count: 32)
            var settings = ServiceSettings(
                server: Server(key: Hash256(key) ?? .zero, memoryKiB: 65_536, passes: 3),
                operator: operatorIdentity.user, registration: registration, quotas: limits, clock: clock.read)
            // A limit gets back nothing that a test takes of it while a slow machine runs it.
            let start = ContinuousClock.now
            settings.steadyClock = { start }
            settings.logins = logins
            self.settings = settings
            service = try Service(engine: engine, settings: settings)
        }

        deinit {
            service.shutDown()
            database.giveBack()
        }

        /// Another process on the same database.
        ///
        /// - Parameter change: makes its settings others.
        func anotherService(_ change: (inout ServiceSettings) -> Void = { _ in }) async throws -> Service {
            var settings = settings
            change(&settings)
            return try Service(engine: try await database.another(), settings: settings)
        }

        var admin: Signer { get throws { try signer(operatorIdentity) } }

        /// An identity that nobody has heard of.
        func stranger(_ handle: String) throws -> Signer {
            try signer(try Identity.make(handle: try Name(typed: handle), time: clock.now))
        }

        func signer(_ identity: Identity, device: DeviceID? = nil, in era: Era = .first) throws -> Signer {
            Signer(
                service: service, clock: clock, identity: identity,
                key: try SessionKey(
                    of: identity, device: device, server: service.id, era: era, since: clock.now, duration: 3_600))
        }

        /// The era of an account.
        func era(of user: UserID) async throws -> Era {
            let rows = try await engine.read(
                SQL("SELECT era FROM accounts WHERE account = $1", [.digest(user.digest)]))
            guard let bytes = try rows.first?.bytes(0), let era = Era(bytes) else { throw TresorError.notFound }
            return era
        }

        /// The same person in a session of the era in which their account is.
        func renewed(_ signer: Signer) async throws -> Signer {
            try await self.signer(signer.identity, in: era(of: signer.user)).at(signer.service)
        }

        /// Somebody with an active account, where everybody may register.
        func person(_ handle: String) async throws -> Signer {
            let signer = try stranger(handle)
            _ = try await signer.ask(signer.registration())
            _ = try await signer.ask(try signer.finishing())
            return signer
        }

        /// All that the database holds, the requests last.
        func rows() async throws -> [[SQLRow]] {
            try await engine.read { (transaction) throws(TresorError) in
                try transaction.rows(of: [
                    SQL("SELECT * FROM tresors ORDER BY tresor"),
                    SQL("SELECT * FROM entries ORDER BY tresor, sequence"),
                    SQL("SELECT * FROM wraps ORDER BY tresor, account, epoch, putter"),
                    SQL("SELECT * FROM access ORDER BY tresor, account"),
                    SQL("SELECT * FROM states ORDER BY tresor, count, part"),
                    SQL("SELECT * FROM accounts ORDER BY account"), SQL("SELECT * FROM invitations ORDER BY hash"),
                    SQL("SELECT * FROM server_shares ORDER BY account, device"),
                    SQL("SELECT * FROM kit_copies ORDER BY locator"),
                    SQL("SELECT * FROM blobs ORDER BY tresor, hash, part"),
                    SQL("SELECT * FROM blob_names ORDER BY tresor, hash"),
                    SQL("SELECT * FROM blob_orphans ORDER BY tresor, hash"),
                    SQL("SELECT * FROM authors ORDER BY tresor, account"), SQL("SELECT * FROM deletions"),
                    SQL("SELECT * FROM login_attempts ORDER BY attempt"),
                    SQL("SELECT * FROM login_failures ORDER BY account"),
                    SQL("SELECT * FROM login_limits ORDER BY bucket"),
                    SQL("SELECT * FROM requests ORDER BY scope, id"),
                ])
            }
        }
    }

    /// Somebody who signs requests.
    struct Signer: Sendable {
        let service: Service
        let clock: FixedClock
        let identity: Identity
        let key: SessionKey

        var user: UserID { identity.user }

        func call<Request: ServiceRequest>(_ request: Request, id: [UInt8]? = nil) throws -> ServiceCall {
            try call(Request.operation, request.bytes, id: id)
        }

        func call(_ operation: ServiceOperation, _ body: [UInt8], id: [UInt8]? = nil) throws -> ServiceCall {
            let authorization = try key.authorization(
                for: operation, body: body, id: try id ?? randomBytes(16), time: clock.now)
            return ServiceCall(
                operation: operation, body: body, authorization: authorization.text, source: [127, 0, 0, 1])
        }

        func reply<Request: ServiceRequest>(_ request: Request, id: [UInt8]? = nil) async throws -> ServiceReply {
            await service.answer(try call(request, id: id))
        }

        /// Asks, and throws the error of a refusal.
        func ask<Request: ServiceRequest>(_ request: Request, id: [UInt8]? = nil) async throws -> Request.Answer {
            let reply = try await reply(request, id: id)
            if let error = reply.error { throw error }
            return try Request.Answer(reply.body)
        }

        func registration(invitation: Invitation? = nil) -> RegisterRequest {
            RegisterRequest(chain: identity.chain.bytes, invitation: invitation?.code ?? [], blinded: [])
        }

        /// A request for the first entry of a tresor.
        func founding() throws -> AppendRequest {
            let root = try Root.make(founder: identity.chain)
            let tresor = try root.tresorID()
            let keys = try EpochKeys(epoch: 1)
            let genesis = GenesisBody(
                root: root, founder: identity.chain, approvers: [],
                sealedName: try SealedName(
                    try Name(typed: "plans"), kind: .empty, under: keys.content, tresor: tresor, epoch: 1, sequence: 0),
                epoch: try keys.statement(of: tresor, linking: []))
            let entry = try Entry(
                tresor: tresor, sequence: 0, previous: .zero, author: identity, time: clock.now,
                body: .genesis(genesis))
            let wrap = try Wrap(keys, of: tresor, for: identity.chain.newest, user: user, history: .all)
            return AppendRequest(
                tresor: tresor, sequence: 0, previous: .zero, entry: entry.bytes, wraps: [wrap.bytes], removing: [])
        }

        func finishing(server: Hash256? = nil) throws -> FinishRequest {
            FinishRequest(
                record: [],
                statement: try LoginStatement(
                    by: identity, server: server ?? service.id, revision: 1, record: .zero, copy: .zero,
                    time: clock.now),
                copy: [])
        }
    }

    extension ServiceReply {
        static let forbidden = ServiceReply(Refusal.forbidden)
        static let unauthorized = ServiceReply(Refusal(.unauthorized, .noAccess))

        static func refused(_ error: TresorError) -> ServiceReply { ServiceReply(Refusal(error)) }
    }
#endif

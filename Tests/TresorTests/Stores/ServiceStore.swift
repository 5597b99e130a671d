// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TresorCore
    import TresorCrypto
    import TresorPostgres
    import TresorRemote
    import TresorStore

    @testable import TresorService

    /// A store that is a service. Clients come over its wire; the hand of a test reaches into its database.
    final class ServiceStore: TestStore {
        private let house: Lazily<ServiceHouse>

        init(_ open: @escaping @Sendable () async throws -> ServiceHouse) { house = Lazily(open) }

        func pass<Answer>(
            _ call: (any Store) async throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer {
            let house = try await house.value
            return if ClientSide.isHere { try await call(house.entrance) } else { try await call(house.hand) }
        }
    }

    /// A service with a database of its own, where everybody may register.
    final class ServiceHouse: Sendable {
        let entrance: Entrance
        let hand: OperatorsHand
        private let database: ServiceDatabase
        private let service: Service

        private init(_ database: ServiceDatabase, _ service: Service, _ remote: any Store) {
            self.database = database
            self.service = service
            entrance = Entrance(of: service, remote)
            hand = OperatorsHand(engine: database.engine)
        }

        deinit { service.shutDown() }

        static func open(_ kind: StoreKind) async throws -> ServiceHouse {
            let database = try await ServiceDatabase.take(kind == .postgres ? .postgres : .sqlite)
            let clock = { @Sendable in UInt64(Date.now.timeIntervalSince1970) }
            let `operator` = try Identity.make(handle: Name(typed: "the operator"), time: clock())
            _ = try await database.engine.write([
                Account.insertion(of: `operator`.chain, .active, invitation: nil, at: clock())
            ])
            var quotas = Quotas()
            // No test waits for a bucket.
            quotas.requestsPerSecond = 100_000
            let key = try BLAKE2b.hash(.userID, try randomBytes(32))
            let service = try Service(
                engine: database.engine,
                settings: ServiceSettings(
                    server: Server(key: key, memoryKiB: 65_536, passes: 3), operator: `operator`.user,
                    registration: .open, quotas: quotas, clock: clock))
            let remote: any Store =
                if kind == .https {
                    try await TLSWay.open(to: service, server: service.id, clock: clock)
                } else {
                    HTTPStore(ServiceClient(over: LoopbackTransport(into: service, clock: clock), clock: clock))
                }
            return ServiceHouse(database, service, remote)
        }
    }

    /// The entrance of a service: somebody without an account registers before their first call.
    final class Entrance: TestStore {
        private let service: Service
        private let remote: any Store
        private let known = Mutex<Set<UserID>>([])

        init(of service: Service, _ remote: any Store) { (self.service, self.remote) = (service, remote) }

        func pass<Answer>(
            _ call: (any Store) async throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer {
            try await settle()
            return try await TaskCaller.pass(to: remote, call)
        }

        /// Somebody with the handle of another person does not come in: their card is not stored.
        func putCard(
            _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
        ) async throws(TresorError) -> StoreOutcome {
            do throws(TresorError) { try await settle() } catch {
                guard error == .unverified else { throw error }
                return .conflict
            }
            return try await TaskCaller.pass(to: remote) { (remote) async throws(TresorError) in
                try await remote.putCard(chain, user: user, handle: handle, replacing: replacing)
            }
        }

        private func settle() async throws(TresorError) {
            guard case .person(let identity, _) = TaskCaller.current?.key,
                !known.withLock({ $0.contains(identity.user) })
            else { return }
            let now = UInt64(Date.now.timeIntervalSince1970)
            let key = try SessionKey(of: identity, device: nil, server: service.id, since: now, duration: 3_600)
            let state = try await ask(
                RegisterRequest(chain: identity.chain.bytes, invitation: [], blinded: []), key, at: now
            ).state
            if state == .asked {
                let statement = try LoginStatement(
                    by: identity, server: service.id, revision: 1, record: .zero, copy: .zero, time: now)
                _ = try await ask(
                    FinishRequest(record: [], statement: statement, copy: []), key,
                    at: now)
            }
            known.withLock { _ = $0.insert(identity.user) }
        }

        private func ask<Request: ServiceRequest>(
            _ request: Request, _ key: SessionKey, at now: UInt64
        ) async throws(TresorError) -> Request.Answer {
            let authorization = try key.authorization(
                for: Request.operation, body: request.bytes, id: try randomBytes(16), time: now)
            // Each comes from a place of its own, since a service takes few registrations from one.
            let reply = await service.answer(
                ServiceCall(
                    operation: Request.operation, body: request.bytes, authorization: authorization.text,
                    source: try randomBytes(16)))
            if let error = reply.error { throw error }
            return try Request.Answer(reply.body)
        }
    }

    /// The database of one service at a time.
    final class ServiceDatabase: Sendable {
        private static let free = Mutex<[any SQLEngine]>([])

        let engine: any SQLEngine
        private let isKept: Bool

        private init(_ engine: any SQLEngine, isKept: Bool) { (self.engine, self.isKept) = (engine, isKept) }

        /// PostgreSQL takes long to make a database, so that the next service has one that is no longer used.
        deinit { if isKept { Self.free.withLock { $0.append(engine) } } }

        static func take(_ kind: EngineKind) async throws -> ServiceDatabase {
            guard kind == .postgres else {
                let engine = try await TestDatabase(kind).open()
                try await Schema.current.migrate(engine)
                return ServiceDatabase(engine, isKept: false)
            }
            if let engine = free.withLock({ $0.popLast() }) {
                _ = try await engine.write(emptying)
                return ServiceDatabase(engine, isKept: true)
            }
            let engine = try await PostgresEngine.open(PostgresCluster.newDatabase(), connectionCount: 3)
            try await Schema.current.migrate(engine)
            return ServiceDatabase(engine, isKept: true)
        }

        private static let emptying = [
            SQL("DELETE FROM tresors"), SQL("DELETE FROM entries"), SQL("DELETE FROM wraps"),
            SQL("DELETE FROM access"), SQL("DELETE FROM states"), SQL("DELETE FROM accounts"),
            SQL("DELETE FROM server_shares"), SQL("DELETE FROM kit_copies"), SQL("DELETE FROM requests"),
            SQL("DELETE FROM blobs"), SQL("DELETE FROM blob_names"), SQL("DELETE FROM blob_orphans"),
            SQL("DELETE FROM authors"), SQL("DELETE FROM deletions"), SQL("DELETE FROM login_attempts"),
            SQL("DELETE FROM login_failures"), SQL("DELETE FROM login_limits"),
        ]
    }
#endif

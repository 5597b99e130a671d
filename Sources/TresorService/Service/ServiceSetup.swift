// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    package import TresorCrypto

    /// The decisions of the operator about people and their limits.
    package struct Policy: Hashable, Sendable {
        package var registration = Registration.byInvitation
        package var quotas = Quotas()
        /// The people whom each tresor that is shared must name as approvers. A process is told of them; the database is not.
        package var approvers: [CardChain] = []

        package init() {}
    }

    /// The setup with which a service was made. It lies in its database, so that all its processes are of one mind.
    package struct ServiceSetup: Hashable, Sendable {
        /// The description of the service. It never changes.
        package let server: Server
        package let `operator`: UserID
        package let policy: Policy

        package init(server: Server, operator: UserID, policy: Policy) {
            self.server = server
            self.operator = `operator`
            self.policy = policy
        }

        /// Reads the setup of a database; `nil` if nobody made a service in it.
        ///
        /// - Throws: ``TresorError/store(_:)`` with `damaged`, and the errors of the engine.
        package static func read(from engine: some SQLEngine) async throws(TresorError) -> ServiceSetup? {
            let rows = try await engine.read(
                SQL(
                    "SELECT server, operator, registration, tresors, entries, bytes, requests FROM services WHERE id = 1"
                ))
            guard let row = rows.first else { return nil }
            guard
                let registration = UInt8(exactly: try row.integer(2)).flatMap(Registration.init(rawValue:)),
                let requests = UInt32(exactly: try row.integer(6)), let server = try? Server(row.bytes(0))
            else { throw .store(.damaged) }
            var policy = Policy()
            policy.registration = registration
            policy.quotas.tresors = try row.number(3)
            policy.quotas.entries = try row.number(4)
            policy.quotas.bytes = try row.number(5)
            policy.quotas.requestsPerSecond = requests
            return ServiceSetup(server: server, operator: UserID(try row.digest(1)), policy: policy)
        }

        /// Writes the setup of a new service and makes the account of its operator, which is active at once; or does
        /// neither.
        ///
        /// - Parameters:
        ///   - chain: the card of the operator.
        ///   - now: the time, in seconds since 1970.
        /// - Throws: ``TresorError/busy`` if another process was first; ``TresorError/unverified`` if the database has an
        ///   account with the handle; the errors of the engine.
        package func write(
            to engine: any SQLEngine, with chain: CardChain, at now: UInt64
        ) async throws(TresorError) {
            let (setup, account) = (insertion, Account.insertion(of: chain, .active, invitation: nil, at: now))
            try await engine.write { (transaction) throws(TresorError) in
                let changes = try transaction.run([setup, account])
                guard changes[0] == 1 else { throw .busy }
                guard changes[1] == 1 else { throw .unverified }
            }
        }

        /// Whether a process of this service has ever noted revocations.
        ///
        /// - Throws: the errors of the engine.
        package static func notesRevocations(in engine: some SQLEngine) async throws(TresorError) -> Bool {
            try await !engine.read(SQL("SELECT id FROM services WHERE id = 1 AND revoked IS NOT NULL")).isEmpty
        }

        /// Says from now on that revocations are noted.
        ///
        /// - Throws: the errors of the engine.
        package static func beginRevocations(in engine: some SQLEngine) async throws(TresorError) {
            _ = try await engine.write([SQL("UPDATE services SET revoked = 1 WHERE id = 1 AND revoked IS NULL")])
        }

        /// The number of the last start, which stands in the file of revocations of that process too; `nil` before the first.
        ///
        /// - Throws: the errors of the engine.
        package static func lastStart(in engine: some SQLEngine) async throws(TresorError) -> UInt64? {
            let found = try await engine.read(SQL("SELECT revoked FROM services WHERE id = 1 AND revoked > 1"))
            return try found.first?.number(0)
        }

        /// Notes the number of a start.
        ///
        /// - Throws: the errors of the engine.
        package static func noteStart(_ number: UInt64, in engine: some SQLEngine) async throws(TresorError) {
            _ = try await engine.write([SQL("UPDATE services SET revoked = $1 WHERE id = 1", [.number(number)])])
        }

        private var insertion: SQL {
            let quotas = policy.quotas
            return SQL(
                """
                INSERT INTO services (id, server, operator, registration, tresors, entries, bytes, requests)
                VALUES (1, $1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
                """,
                [
                    .bytes(server.bytes), .digest(`operator`.digest), .integer(Int64(policy.registration.rawValue)),
                    .number(quotas.tresors), .number(quotas.entries), .number(quotas.bytes),
                    .integer(Int64(quotas.requestsPerSecond)),
                ])
        }

        /// The settings of a process.
        ///
        /// - Parameters:
        ///   - policy: the policy of the process.
        ///   - clock: the clock, in seconds since 1970.
        package func settings(policy: Policy, clock: @escaping @Sendable () -> UInt64)
            -> ServiceSettings
        {
            ServiceSettings(
                server: server, operator: `operator`, registration: policy.registration,
                quotas: policy.quotas, approvers: policy.approvers, clock: clock)
        }
    }
#endif

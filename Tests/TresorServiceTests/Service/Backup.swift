// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// The people of a service, with their devices and invitations, as a backup has them.
    struct Backup: Sendable {
        private let accounts: [SQLRow]
        private let shares: [SQLRow]
        private let invitations: [SQLRow]

        init(of bench: Bench) async throws {
            let found = try await bench.engine.read { (transaction) throws(TresorError) in
                try transaction.rows(of: [
                    SQL(
                        """
                        SELECT account, state, chain, generation, sign_key, era, invitation, handle, asked, statement,
                        revision, record, copy FROM accounts
                        """),
                    SQL("SELECT account, device, share, device_key FROM server_shares"),
                    SQL("SELECT hash, label, until, account FROM invitations"),
                ])
            }
            (accounts, shares, invitations) = (found[0], found[1], found[2])
        }

        /// Sets a service back. Who came later is not there, and who went is.
        func restore(to bench: Bench) async throws {
            let present = try await bench.engine.read(SQL("SELECT account FROM accounts"))
            let later = try present.map { try $0.value(0) }.filter { user in
                !accounts.contains { $0.values.first == user }
            }
            let statements =
                [SQL("DELETE FROM server_shares"), SQL("DELETE FROM invitations")]
                + later.map { SQL("DELETE FROM accounts WHERE account = $1", [$0]) }
                + accounts.map { row in
                    SQL(
                        """
                        INSERT INTO accounts
                        (account, state, chain, generation, sign_key, era, invitation, handle, asked, statement, revision,
                        record, copy)
                        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                        ON CONFLICT (account) DO UPDATE SET state = $2, chain = $3, generation = $4, sign_key = $5,
                        era = $6, invitation = $7, asked = $9, statement = $10, revision = $11, record = $12, copy = $13,
                        awaited = NULL, awaited_card = NULL
                        """, row.values)
                }
                + shares.map {
                    SQL(
                        "INSERT INTO server_shares (account, device, share, device_key) VALUES ($1, $2, $3, $4)",
                        $0.values)
                }
                + invitations.map {
                    SQL("INSERT INTO invitations (hash, label, until, account) VALUES ($1, $2, $3, $4)", $0.values)
                }
            _ = try await bench.engine.write(statements)
        }
    }

    /// A service that writes down what is revoked, and that can be set back to a backup.
    struct NotingBench: Sendable {
        let bench: Bench
        private let directory: TestDirectory
        private let log: RevokedLog
        /// The process that serves everybody.
        let service: Service

        init(_ registration: Registration = .open) async throws {
            bench = try await Bench(registration)
            directory = try TestDirectory()
            let log = try RevokedLog.open(
                at: directory["server.key.revoked"], of: bench.service.id, creating: true)
            self.log = log
            service = try await bench.anotherService { $0.revocations = log }
        }

        /// Begins another process on a restored database.
        func restart(from backup: Backup) async throws -> Service {
            try await backup.restore(to: bench)
            return try await restart()
        }

        /// Begins another process.
        func restart() async throws -> Service {
            let service = try await bench.anotherService { $0.revocations = log }
            try await log.read { (revocations) throws(TresorError) in try await service.apply(revocations) }
            return service
        }

        func person(_ handle: String) async throws -> Signer { try await bench.person(handle).at(service) }

        /// The next generation of somebody, which the service does not have.
        func renewed(_ person: Signer) throws -> Signer {
            try bench.signer(try person.identity.renewCard(time: bench.clock.now).identity).at(service)
        }

        func invite() async throws -> Invitation {
            let invitation = try Invitation()
            _ = try await bench.admin.at(service).ask(
                InviteRequest(hash: try invitation.hash(), label: .empty, until: bench.clock.now + 1_000))
            return invitation
        }
    }

    /// Revocations that are written down in memory.
    final class NotedRevocations: RevocationLog {
        private let revocations = Mutex<[Revocation]>([])

        var list: [Revocation] { revocations.withLock { $0 } }

        func append(_ revocation: Revocation) { revocations.withLock { $0.append(revocation) } }
        func checkPlace() {}
    }

    extension Signer {
        /// Replaces the chain of somebody by one's own.
        func publish(after former: Signer) async throws -> ServiceReply {
            try await reply(PutCardRequest(chain: identity.chain.bytes, replacing: former.identity.chain.bytes))
        }
    }
#endif
